//! The virtual machine in which this process runs, as far as the process can find out.
//!
//! The sources are read in the order of `systemd-detect-virt --vm`. Firmware strings come first,
//! since one hypervisor may hide behind another's processor leaf. The leaf follows, then
//! `/sys/hypervisor/type`, then the processor's `hypervisor` flag.
//!
//! QEMU's user mode emulates a processor, but no machine. In user mode the leaf is the same as in
//! QEMU's system mode, but the files in `/proc` and `/sys` describe the machine below. So the model
//! name that the processor reports differs from the one in `/proc/cpuinfo`.

use std::fs;

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    /// From `/sys/class/dmi/id`.
    firmware: Vec<String>,
    /// The twelve letters of the processor's hypervisor leaf.
    leaf: Option<String>,
    /// The name that the processor itself reports; empty if the processor cannot report one.
    brand: String,
    /// From `/proc/cpuinfo`.
    model: String,
    flag: bool,
    /// From `/sys/hypervisor/type`.
    kind: Option<String>,
}

/// The virtual machine in words: `KVM`, `QEMU TCG (softmmu)`, `QEMU TCG (user mode)`, `none seen`.
pub fn name() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let flag = field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let firmware = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"]
        .into_iter()
        .filter_map(|name| fs::read_to_string(format!("/sys/class/dmi/id/{name}")).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    let kind = fs::read_to_string("/sys/hypervisor/type").ok().map(|text| text.trim().to_owned());
    let model = field("model name").unwrap_or_default();
    named(&Seen { firmware, leaf: leaf(), brand: brand(), model, flag, kind })
}

/// The leaf is valid only if the processor's own flag reports it.
#[cfg(target_arch = "x86_64")]
fn leaf() -> Option<String> {
    use core::arch::x86_64::__cpuid;
    let leaf = (__cpuid(1).ecx >> 31 == 1).then(|| __cpuid(0x4000_0000))?;
    Some(text(&[leaf.ebx, leaf.ecx, leaf.edx]))
}

#[cfg(target_arch = "x86_64")]
fn brand() -> String {
    use core::arch::x86_64::__cpuid;
    if __cpuid(0x8000_0000).eax < 0x8000_0004 {
        return String::new();
    }
    let words: Vec<u32> = (0x8000_0002..=0x8000_0004)
        .map(__cpuid)
        .flat_map(|part| [part.eax, part.ebx, part.ecx, part.edx])
        .collect();
    text(&words)
}

#[cfg(target_arch = "x86_64")]
fn text(words: &[u32]) -> String {
    let letters: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    String::from_utf8_lossy(&letters).trim_end_matches('\0').to_owned()
}

#[cfg(not(target_arch = "x86_64"))]
fn leaf() -> Option<String> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
fn brand() -> String {
    String::new()
}

/// The beginnings of firmware strings.
const FIRMWARE: [(&str, &str); 14] = [
    ("KVM", "KVM"),
    ("OpenStack", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "KVM (Google Compute Engine)"),
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("VMW", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Bochs", "Bochs"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
];

/// QEMU's own emulation.
const TCG: &str = "TCGTCGTCGTCG";

/// The letters that hypervisors write into the leaf.
const LEAVES: [(&str, &str); 9] = [
    ("KVMKVMKVM", "KVM"),
    ("Linux KVM Hv", "KVM"),
    (TCG, "QEMU TCG (softmmu)"),
    ("XenVMMXenVMM", "Xen"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("bhyve bhyve ", "bhyve"),
    ("QNXQVMBSQG", "QNX"),
    ("ACRNACRNACRN", "ACRN"),
];

/// Whether the processor is emulated, while the system knows another processor.
fn in_user_mode(seen: &Seen) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let both = !seen.brand.is_empty() && !seen.model.is_empty();
    seen.leaf.as_deref() == Some(TCG) && both && words(&seen.brand) != words(&seen.model)
}

fn named(seen: &Seen) -> String {
    if in_user_mode(seen) {
        return "QEMU TCG (user mode)".into();
    }
    let firmware = seen
        .firmware
        .iter()
        .find_map(|text| FIRMWARE.iter().find(|(start, _)| text.starts_with(start)).map(|(_, name)| *name));
    let leaf = seen.leaf.as_deref().map(|leaf| {
        LEAVES
            .iter()
            .find(|(letters, _)| *letters == leaf)
            .map_or("a hypervisor without a name", |(_, name)| name)
    });
    match (firmware, leaf) {
        // QEMU's firmware string is the same with and without KVM, so the leaf decides.
        (Some("QEMU"), Some(accelerator)) => accelerator.into(),
        (Some("QEMU"), None) if seen.model.contains("TCG") => "QEMU TCG (softmmu)".into(),
        (Some(name), _) | (None, Some(name)) => name.into(),
        (None, None) => match &seen.kind {
            Some(kind) => kind.clone(),
            None if seen.flag => "a hypervisor without a name".into(),
            None => "none seen".into(),
        },
    }
}

#[cfg(test)]
mod tests;
