use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::*;

#[test]
fn a_thread_runs_its_work_once_and_is_joined() {
    let ran = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&ran);
    let work = Box::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let join = start_thread(Some(c"a name that is longer than sixteen bytes"), None, work).unwrap();
    join().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    assert_eq!(Arc::strong_count(&ran), 1, "the work is dropped on the thread");
}

#[test]
fn a_thread_that_is_refused_drops_its_work() {
    let held = Arc::new(());
    let moved = Arc::clone(&held);
    let refused = start_thread(None, Some(usize::MAX), Box::new(move || drop(moved)));
    assert!(refused.is_err());
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_thread_that_nobody_waits_for_goes_by_itself() {
    let stacks = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
    let run = |count: usize| {
        for _ in 0..count {
            let done = Arc::new(());
            let work = Arc::clone(&done);
            // The smallest allowed stack is 16 KiB on x86-64, and 128 KiB on 64-bit Arm.
            let join = start_thread(None, Some(1 << 18), Box::new(move || drop(work))).unwrap();
            drop(join);
            while Arc::strong_count(&done) > 1 {
                std::thread::yield_now();
            }
        }
    };
    run(20);
    let before = stacks();
    run(200);
    // A thread that is not detached would leave two mappings. The test waits until most mappings
    // have disappeared, because other tests of this process also create mappings, and a thread ends
    // some time after its work, which can be long on a busy machine.
    let begun = Instant::now();
    while stacks() >= before + 150 {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "{before} mappings before, {} after", stacks());
        std::thread::yield_now();
    }
}
