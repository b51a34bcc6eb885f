//! Tests of timers whose thread cannot be started.

use core::cell::Cell;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;

use crate::{Sleep, TimerSettings};

thread_local! {
    /// How many further attempts of this thread to start a driver thread fail.
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

/// Returns an error as often as the test has set.
pub(super) fn refuse() -> std::io::Result<()> {
    let left = REFUSED.get();
    REFUSED.set(left.saturating_sub(1));
    if left == 0 { Ok(()) } else { Err(std::io::ErrorKind::WouldBlock.into()) }
}

struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(sleep: Pin<&mut Sleep>, woken: &Arc<Woken>) -> Poll<()> {
    sleep.poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

#[test]
fn each_timer_tries_again_when_no_thread_was_started() {
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    // The first attempt to start a thread fails, and then two attempts when the timer is armed.
    REFUSED.set(3);
    let timers = TimerSettings::new().shards(1).start_or_retry();
    let mut sleep = pin!(timers.sleep(Duration::from_millis(20)));
    for tries in 1..=2 {
        assert!(poll(sleep.as_mut(), &woken).is_pending());
        assert_eq!(woken.0.load(Ordering::SeqCst), tries, "its task is called to try again");
        assert_eq!(timers.report().live, 0);
    }
    assert!(poll(sleep.as_mut(), &woken).is_pending());
    assert_eq!(REFUSED.get(), 0);
    while woken.0.load(Ordering::SeqCst) == 2 {
        std::thread::yield_now();
    }
    assert!(poll(sleep.as_mut(), &woken).is_ready(), "by the thread that was started at last");
}

#[test]
fn a_timer_that_another_thread_filed_meanwhile_is_told_too() {
    let (first, second) = (Arc::new(Woken(AtomicUsize::new(0))), Arc::new(Woken(AtomicUsize::new(0))));
    REFUSED.set(1);
    let timers = TimerSettings::new().shards(1).start_or_retry();
    // This is the state after the lock was released for an earlier timer, and before the attempt to
    // start a thread for that timer fails.
    crate::sync::lock(&timers.core.shards[0].state).alarm = 0;
    let mut one = pin!(timers.sleep(Duration::from_secs(60)));
    assert!(poll(one.as_mut(), &first).is_pending());
    assert_eq!((first.0.load(Ordering::SeqCst), timers.report().live), (0, 1));
    crate::sync::lock(&timers.core.shards[0].state).alarm = u64::MAX;
    REFUSED.set(1);
    let mut other = pin!(timers.sleep(Duration::from_secs(30)));
    assert!(poll(other.as_mut(), &second).is_pending());
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(timers.report().live, 0);
    // Both sleeps are pending again.
    assert!(poll(one.as_mut(), &first).is_pending() && poll(other.as_mut(), &second).is_pending());
    assert_eq!((first.0.load(Ordering::SeqCst), timers.report().live), (1, 2));
}
