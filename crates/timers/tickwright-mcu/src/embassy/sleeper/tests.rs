//! Tests that each waker is stored once and dropped once.

use std::sync::Arc;
use std::task::Wake;

use super::*;

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_waker_is_given_back_once_and_counted_right() {
    let nobody = Arc::new(Nobody);
    let waker = Waker::from(Arc::clone(&nobody));
    let sleeper = Sleeper::new();
    assert!(sleeper.take().is_none());
    for _ in 0..3 {
        sleeper.put(&waker);
        assert_eq!(Arc::strong_count(&nobody), 3, "the sleeper has one of its own");
        assert!(sleeper.take().is_some_and(|taken| taken.will_wake(&waker)));
        assert_eq!(Arc::strong_count(&nobody), 2);
        assert!(sleeper.take().is_none(), "it was taken");
    }
}
