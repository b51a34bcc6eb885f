//! Models of what is handed over, in all schedules.

use super::*;
use crate::sync::Arc;

/// The driver gives, calls a waker, and looks later. The woken thread takes meanwhile.
#[test]
fn what_is_given_is_taken_once() {
    loom::model(|| {
        let handed = Arc::new(Handed::<Vec<u8>>::default());
        handed.give(|all| all.push(1));
        let woken = Arc::clone(&handed);
        let poll = loom::thread::spawn(move || woken.take());
        let left = handed.take();
        handed.give(|all| all.push(2));
        let mut all = [left, poll.join().unwrap(), handed.take()].concat();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
        assert!(!handed.any());
    });
}
