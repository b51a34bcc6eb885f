//! What a process is told apart by, and the names of places.

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
