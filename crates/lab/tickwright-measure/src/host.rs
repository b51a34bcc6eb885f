//! The facts about a machine on which measured times depend. If a fact cannot be read, the report
//! leaves it out.

use std::borrow::Cow;
use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// The facts about the host, read during the run.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// CPU model name.
    pub cpu: Option<String>,
    /// The number of logical processors that this process is allowed to use.
    pub cores: usize,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Whether the processor is allowed to exceed its nominal clock rate.
    pub turbo: Option<bool>,
    /// Whether two hardware threads share a core.
    pub smt: Option<bool>,
    /// The hypervisor, if the processor reports one.
    pub hypervisor: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// Operating system and kernel release.
    pub kernel: Option<String>,
    /// The compiler that built this program.
    pub rustc: Cow<'static, str>,
    /// `release` or `debug`.
    pub profile: Cow<'static, str>,
    /// The widest vector instructions for which this program was built, such as `SSE2` or `AVX2`.
    pub vectors: Option<Cow<'static, str>>,
    /// The revision from which this program was built.
    pub revision: Option<Cow<'static, str>>,
    /// The timer slack, in ns: how long the kernel is allowed to delay a wake-up of this process on
    /// purpose.
    pub timer_slack_ns: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub load: Option<[f64; 3]>,
    /// The size of the main memory, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Host {
    /// Reads the facts about this machine.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            cpuinfo.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            })
        };
        let virtualised =
            field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        Self {
            cpu: field("model name").or_else(|| field("Model")).or_else(|| field("uarch")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            turbo: turbo(),
            smt: line("/sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            hypervisor: virtualised.then(|| hypervisor(leaf().as_deref())),
            clocksource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            kernel: line("/proc/sys/kernel/osrelease")
                .map(|release| format!("{} {release}", std::env::consts::OS)),
            rustc: env!("TICKWRIGHT_RUSTC").into(),
            profile: env!("TICKWRIGHT_PROFILE").into(),
            vectors: vectors().map(Cow::from),
            revision: Some(env!("TICKWRIGHT_REVISION"))
                .filter(|revision| !revision.is_empty())
                .map(Cow::from),
            timer_slack_ns: line("/proc/self/timerslack_ns").and_then(|slack| slack.parse().ok()),
            load: line("/proc/loadavg").and_then(|text| load(&text)),
            memory_bytes: fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory(&text)),
        }
    }

    /// Returns the reasons to doubt figures from this machine; the list is empty if there are none.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.profile != "release" {
            doubts.push("built without optimisation: use `cargo run --release`".into());
        }
        if let Some([load, ..]) = self.load.filter(|[load, ..]| *load > 0.5) {
            doubts.push(format!("the machine was busy at the start (load average {load})"));
        }
        if let Some(hypervisor) = &self.hypervisor {
            doubts.push(format!("a virtual machine ({hypervisor}): neighbours may disturb the tails"));
        }
        if let Some(governor) = self.governor.as_deref().filter(|governor| *governor != "performance") {
            doubts.push(format!("frequency governor '{governor}' may change the clock rate within a run"));
        }
        doubts
    }
}

fn vectors() -> Option<&'static str> {
    let of = [
        (cfg!(target_feature = "avx512f"), "AVX-512"),
        (cfg!(target_feature = "avx2"), "AVX2"),
        (cfg!(target_feature = "sse2"), "SSE2"),
        (cfg!(target_feature = "neon"), "NEON"),
    ];
    of.into_iter().find_map(|(has, name)| has.then_some(name))
}

/// Returns the name of the hypervisor: the known name for its letters in the processor's leaf or,
/// without such letters, the name that the system states.
fn hypervisor(leaf: Option<&str>) -> String {
    let known = match leaf {
        Some("KVMKVMKVM" | "Linux KVM Hv") => Some("KVM"),
        Some("TCGTCGTCGTCG") => Some("QEMU TCG"),
        Some("XenVMMXenVMM") => Some("Xen"),
        Some("VMwareVMware") => Some("VMware"),
        Some("Microsoft Hv") => Some("Hyper-V"),
        Some("bhyve bhyve ") => Some("bhyve"),
        _ => None,
    };
    let own = || line("/sys/hypervisor/type").or_else(|| line("/sys/class/dmi/id/sys_vendor"));
    known.map(str::to_owned).or_else(own).unwrap_or_else(|| "a hypervisor without a name".into())
}

/// Returns the twelve letters that a hypervisor writes into the processor's leaf 0x4000_0000.
#[cfg(target_arch = "x86_64")]
fn leaf() -> Option<String> {
    let leaf = core::arch::x86_64::__cpuid(0x4000_0000);
    let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    Some(String::from_utf8_lossy(&letters).trim_end_matches('\0').to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn leaf() -> Option<String> {
    None
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
}

fn turbo() -> Option<bool> {
    let off = line("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0");
    off.or_else(|| line("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1"))
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split(' ').map_while(|number| number.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

fn memory(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switch = |on: bool| if on { "on" } else { "off" };
        let mut facts = vec![format!("{} x {}", self.cores, self.cpu.as_deref().unwrap_or("unknown CPU"))];
        facts.extend(self.hypervisor.as_ref().map(|name| format!("under {name}")));
        facts.extend(self.governor.as_ref().map(|name| format!("governor {name}")));
        facts.extend(self.turbo.map(|on| format!("turbo {}", switch(on))));
        facts.extend(self.smt.map(|on| format!("SMT {}", switch(on))));
        writeln!(f, "host   {}", facts.join(", "))?;
        let mut facts = Vec::new();
        facts.extend(self.kernel.clone());
        facts.extend(self.clocksource.as_ref().map(|name| format!("clock source {name}")));
        facts.extend(self.timer_slack_ns.map(|slack| format!("timer slack {slack} ns")));
        facts.extend(self.load.map(|[one, five, fifteen]| format!("load {one} {five} {fifteen}")));
        writeln!(f, "system {}", facts.join(", "))?;
        let revision = self.revision.as_deref().unwrap_or("unknown revision");
        let vectors = self.vectors.as_ref().map_or(String::new(), |name| format!("{name}, "));
        write!(f, "build  {}, {}, {vectors}{revision}", self.rustc, self.profile)
    }
}

#[cfg(test)]
mod tests;
