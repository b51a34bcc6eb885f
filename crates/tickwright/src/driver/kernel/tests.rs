use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

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
