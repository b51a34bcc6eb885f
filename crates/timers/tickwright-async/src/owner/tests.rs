//! Tests of an owner whose timer cannot be filed.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;

use tickwright_core::SlabQueue;

use crate::settings::TimerSettings;
use crate::sync::{Arc, AtomicUsize, Ordering, lock};

struct Count(AtomicUsize);

impl std::task::Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_task_whose_timer_finds_no_memory_is_woken_to_try_again() {
    let timers = TimerSettings::new().shards(1).driven(|| {});
    // A full queue rejects a timer in the same way as a queue without memory.
    lock(&timers.core.shards[0].state).queue = SlabQueue::bounded(0).unwrap();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    let mut sleep = pin!(timers.sleep(Duration::from_secs(5)));
    assert!(sleep.as_mut().poll(&mut cx).is_pending());
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    lock(&timers.core.shards[0].state).queue = SlabQueue::new();
    assert!(sleep.as_mut().poll(&mut cx).is_pending());
    assert_eq!(count.0.load(Ordering::Relaxed), 1, "it is filed now");
    assert_eq!(timers.report().live, 1);
}
