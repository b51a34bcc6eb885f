use super::*;

#[test]
fn text_files_are_read_or_left_out() {
    assert_eq!(load("0.15 0.04 0.01 1/91 6422"), Some([0.15, 0.04, 0.01]));
    assert_eq!(load("0.15 x"), None);
    assert_eq!(memory("MemTotal:       8 kB\nMemFree: 1 kB"), Some(8192));
    assert_eq!(memory("nothing"), None);
    assert_eq!(line("/no/such/file"), None);
}

#[test]
fn a_hypervisor_has_the_name_of_its_letters() {
    assert_eq!(hypervisor(Some("KVMKVMKVM")), "KVM");
    assert_eq!(hypervisor(Some("TCGTCGTCGTCG")), "QEMU TCG");
    assert!(!hypervisor(Some("?")).is_empty() && !hypervisor(None).is_empty());
}

#[test]
fn what_is_unknown_is_left_out_of_the_block() {
    let host = Host { cores: 2, rustc: "rustc 1.95.0".into(), profile: "release".into(), ..Host::default() };
    assert_eq!(
        host.to_string(),
        "host   2 x unknown CPU\nsystem \nbuild  rustc 1.95.0, release, unknown revision"
    );
    assert_eq!(host.doubts(), Vec::<String>::new());
    let known = Host { vectors: Some("AVX2".into()), revision: Some("abc".into()), ..host };
    assert!(known.to_string().ends_with("release, AVX2, abc"));
}

#[test]
fn doubts_name_their_cause() {
    let host = Host {
        profile: "debug".into(),
        load: Some([3.0, 0.0, 0.0]),
        governor: Some("powersave".into()),
        hypervisor: Some("KVM".into()),
        ..Host::default()
    };
    assert_eq!(host.doubts().len(), 4);
}
