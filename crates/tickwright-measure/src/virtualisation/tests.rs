use super::*;

fn seen(firmware: &str, leaf: Option<&str>) -> Seen {
    Seen {
        firmware: vec![firmware.into()],
        leaf: leaf.map(str::to_owned),
        flag: leaf.is_some(),
        ..Seen::default()
    }
}

#[test]
fn firmware_and_leaf_name_the_machine() {
    assert_eq!(named(&seen("", Some("KVMKVMKVM"))), "KVM");
    assert_eq!(named(&seen("QEMU", Some("KVMKVMKVM"))), "KVM");
    assert_eq!(named(&seen("QEMU", Some("TCGTCGTCGTCG"))), "QEMU TCG (softmmu)");
    assert_eq!(named(&seen("VMware Virtual Platform", Some("VMwareVMware"))), "VMware");
    assert_eq!(named(&seen("Dell Inc.", None)), "none seen");
    assert_eq!(named(&seen("", Some("something"))), "a hypervisor without a name");
}

#[test]
fn without_a_leaf_the_model_and_the_flag_are_what_is_left() {
    let tcg = Seen { model: "QEMU TCG CPU version 2.5+".into(), ..seen("QEMU", None) };
    assert_eq!(named(&tcg), "QEMU TCG (softmmu)");
    assert_eq!(named(&Seen { flag: true, ..Seen::default() }), "a hypervisor without a name");
    assert_eq!(named(&Seen { kind: Some("xen".into()), ..Seen::default() }), "xen");
}

#[test]
fn an_emulated_processor_on_a_machine_with_another_is_no_emulated_machine() {
    let tcg = || Seen { brand: "QEMU TCG CPU version 2.5+  ".into(), ..seen("", Some("TCGTCGTCGTCG")) };
    let on = |firmware: &str, model: &str| {
        named(&Seen { firmware: vec![firmware.into()], model: model.into(), ..tcg() })
    };
    assert_eq!(on("", "AMD EPYC"), "QEMU TCG (user mode)");
    assert_eq!(on("QEMU", "AMD EPYC"), "QEMU TCG (user mode)", "the firmware is the host's");
    assert_eq!(on("QEMU", "QEMU TCG CPU version 2.5+"), "QEMU TCG (softmmu)");
    assert_eq!(on("", ""), "QEMU TCG (softmmu)", "the system says nothing");
}

#[test]
fn this_machine_has_a_name() {
    assert!(!name().is_empty());
}
