//! Finds the limit of the host that stopped a run, and raises limits of this process for a time.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// A soft limit of this process, raised to the hard limit. Dropping the value restores the soft
/// limit.
#[derive(Debug)]
pub struct Raised {
    resource: Resource,
    before: Rlimit,
}

impl Raised {
    /// Raises the limit of open descriptors (`ulimit -n`). `None` if it cannot be raised.
    #[must_use]
    pub fn open_files() -> Option<Self> {
        Self::to_hard(Resource::Nofile)
    }

    /// Raises the limit of the user's threads (`ulimit -u`). `None` if it cannot be raised.
    #[must_use]
    pub fn threads() -> Option<Self> {
        Self::to_hard(Resource::Nproc)
    }

    fn to_hard(resource: Resource) -> Option<Self> {
        let before = getrlimit(resource);
        let most = Rlimit { current: before.maximum, maximum: before.maximum };
        (before.current != before.maximum && setrlimit(resource, most).is_ok())
            .then_some(Self { resource, before })
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // Lowering a limit needs no privilege.
        let _ = setrlimit(self.resource, self.before);
    }
}

/// A limit, its current use, and how to raise it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Limit {
    /// The system's name of the limit: `pid_max`, `cgroup pids.max`.
    pub name: String,
    /// The number in use.
    pub used: u64,
    /// The limit.
    pub most: u64,
    /// How to raise it.
    pub raise: String,
}

/// A limit counts as reached above this share, in percent. The share is below 100 because uses are
/// read a moment after the failure.
const MET: u64 = 97;

impl Limit {
    fn is_met(&self) -> bool {
        u128::from(self.used) * 100 >= u128::from(self.most) * u128::from(MET)
    }
}

/// Reads all known limits under `root` (`/` except in tests). A limit that cannot be read is left
/// out.
#[must_use]
pub fn read(root: &Path) -> Vec<Limit> {
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let number = |path: &str| text(path).trim().parse::<u64>().ok();
    let tasks = tasks(&text("proc/loadavg"));
    let users = users_threads(root, &text("proc/self/status"));
    let maps = text("proc/self/maps").lines().count() as u64;
    let cgroups = text("proc/self/cgroup");
    let mut limits = Vec::new();
    let mut add = |name: &str, used: Option<u64>, most: Option<u64>, raise: String| {
        if let (Some(used), Some(most)) = (used, most) {
            limits.push(Limit { name: name.into(), used, most, raise });
        }
    };
    add(
        "threads-max",
        tasks,
        number("proc/sys/kernel/threads-max"),
        "sysctl kernel.threads-max=N (memory bounds it too)".into(),
    );
    add("pid_max", tasks, number("proc/sys/kernel/pid_max"), "sysctl kernel.pid_max=N, up to 4194304".into());
    add(
        "max_map_count",
        Some(maps),
        number("proc/sys/vm/max_map_count"),
        "sysctl vm.max_map_count=N (a stack with a guard page takes two mappings)".into(),
    );
    add(
        "ulimit -u",
        users,
        // The limit does not apply to root.
        soft(&text("proc/self/limits"), "Max processes")
            .filter(|&most| users.is_some_and(|used| used <= most)),
        "ulimit -u N, or limits.conf nproc".into(),
    );
    let mapped = field(&text("proc/self/status"), "VmSize:").map(|kib| kib << 10);
    let space = soft(&text("proc/self/limits"), "Max address space");
    add("ulimit -v", mapped, space, "ulimit -v N (KiB), or smaller stacks".into());
    for folder in places(&cgroups, "pids") {
        let raise = format!("write N into /{folder}/pids.max (systemd: TasksMax=N)");
        add(
            "cgroup pids.max",
            number(&format!("{folder}/pids.current")),
            number(&format!("{folder}/pids.max")),
            raise,
        );
    }
    for folder in places(&cgroups, "memory") {
        let raise = format!(
            "write bytes into /{folder}/memory.max (version 1: memory.limit_in_bytes; systemd: MemoryMax=), or smaller stacks"
        );
        let current = ["memory.current", "memory.usage_in_bytes"];
        let most = ["memory.max", "memory.limit_in_bytes"];
        let either = |names: [&str; 2]| names.iter().find_map(|name| number(&format!("{folder}/{name}")));
        // Page cache that the kernel reclaims before it refuses memory.
        let cache = field(&text(&format!("{folder}/memory.stat")), "inactive_file").unwrap_or(0);
        add("cgroup memory", either(current).map(|used| used.saturating_sub(cache)), either(most), raise);
    }
    let meminfo = text("proc/meminfo");
    let total = field(&meminfo, "MemTotal:");
    let available = field(&meminfo, "MemAvailable:");
    let used = total.zip(available).map(|(total, available)| (total.saturating_sub(available)) << 10);
    add("memory", used, total.map(|kib| kib << 10), "more memory, or smaller stacks".into());
    if number("proc/sys/vm/overcommit_memory") == Some(2) {
        let bytes = |name| field(&meminfo, name).map(|kib: u64| kib << 10);
        let raise = "sysctl vm.overcommit_ratio=N, or vm.overcommit_memory=0".into();
        add("CommitLimit", bytes("Committed_AS:"), bytes("CommitLimit:"), raise);
    }
    limits
}

/// Counts the threads of all processes of this process's user, as `ulimit -u` does.
fn users_threads(root: &Path, mine: &str) -> Option<u64> {
    let user = field(mine, "Uid:");
    let others = fs::read_dir(root.join("proc")).into_iter().flatten().flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        field(&status, "Threads:").filter(|_| user.is_some() && field(&status, "Uid:") == user)
    });
    field(mine, "Threads:").map(|mine| others.sum::<u64>().max(mine))
}

/// Describes the limits that are reached, the fullest first.
#[must_use]
pub fn met(limits: &[Limit]) -> String {
    let mut met: Vec<&Limit> = limits.iter().filter(|limit| limit.is_met()).collect();
    met.sort_by(|a, b| {
        (u128::from(b.used) * u128::from(a.most)).cmp(&(u128::from(a.used) * u128::from(b.most)))
    });
    if met.is_empty() {
        let all: Vec<String> =
            limits.iter().map(|limit| format!("{} {} of {}", limit.name, limit.used, limit.most)).collect();
        return format!("no limit that can be read is met ({})", all.join(", "));
    }
    let words: Vec<String> = met
        .iter()
        .map(|limit| {
            format!("{} is met ({} of {}); to raise it: {}", limit.name, limit.used, limit.most, limit.raise)
        })
        .collect();
    words.join("; ")
}

/// Bytes that this process has mapped, and bytes that are resident.
#[must_use]
pub fn memory() -> (u64, u64) {
    let bytes = |file: &str, name: &str| {
        field(&fs::read_to_string(file).unwrap_or_default(), name).unwrap_or(0).saturating_mul(1024)
    };
    (bytes("/proc/self/status", "VmSize:"), bytes("/proc/self/smaps_rollup", "Rss:"))
}

/// Returns the number after a word at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns the number of tasks of the machine: the number after the slash.
fn tasks(loadavg: &str) -> Option<u64> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Returns a soft limit by its name; `None` if it is unlimited.
fn soft(limits: &str, name: &str) -> Option<u64> {
    let rest = limits.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Folders of a controller for this process's cgroup and its ancestors, of both cgroup versions.
/// The folder of the innermost cgroup comes first; paths have no leading slash.
fn places(cgroups: &str, controller: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let top = match names {
            "" => "sys/fs/cgroup".to_owned(),
            names if names.split(',').any(|name| name == controller) => format!("sys/fs/cgroup/{controller}"),
            _ => continue,
        };
        let mut path = path.trim_matches('/');
        loop {
            let folder = if path.is_empty() { top.clone() } else { format!("{top}/{path}") };
            found.push(folder);
            match path.rsplit_once('/') {
                Some((above, _)) => path = above,
                None if path.is_empty() => break,
                None => path = "",
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
