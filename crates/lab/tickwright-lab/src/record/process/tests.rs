//! Tests of a process's identity, and of the names of places.

use super::*;

const MAPS: &str = "\
55d0-55e0 r--p 00000000 08:01 12 /usr/bin/a program
55e0-55f0 r-xp 00000010 08:01 12 /usr/bin/memcached
7f00-7f10 rw-p 00000000 00:00 0
7ffc-7ffd r-xp 00000000 00:00 0 [vdso]
torn li";

#[test]
fn places_are_named_by_their_file() {
    let maps = mappings(MAPS);
    assert_eq!(maps.len(), 2);
    assert_eq!(named(&maps, 0x55e4).as_deref(), Some("memcached+0x14"));
    assert_eq!(named(&maps, 0x7f01), None);
}

#[test]
fn this_process_is_alive_and_no_other_is_it() {
    let own = stat(std::process::id().into()).unwrap();
    assert!(own.is_running);
    assert_ne!(own.began, "0");
    assert!(stat(u64::MAX).is_none());
}

/// Returns a line of `/proc/PID/stat` with a state and a number of threads.
fn line(state: &str, threads: &str) -> String {
    format!("7 (a ) b) {state} 1 7 7 0 -1 4 0 0 0 0 250 50 9 9 20 0 {threads} 0 12345 0 0")
}

#[test]
fn a_process_has_ended_when_its_last_thread_has() {
    let is_running = |state, threads| Stat::of(&line(state, threads)).unwrap().is_running;
    assert!(is_running("R", "1") && is_running("S", "8") && is_running("T", "1"));
    assert!(is_running("Z", "2"), "the main thread has ended, another goes on");
    assert!(!is_running("Z", "1") && !is_running("Z", "0") && !is_running("X", "0"));
    let stat = Stat::of(&line("S", "1")).unwrap();
    assert_eq!((stat.began.as_str(), stat.cpu), ("12345", Duration::from_secs(3)));
    for torn in ["", "7 (a", "7 (a) ", "7 (a) Z", "7 (a) Z 1 7 7 0 -1 4 0 0 0 0 2 3"] {
        assert!(Stat::of(torn).is_none(), "{torn}");
    }
}
