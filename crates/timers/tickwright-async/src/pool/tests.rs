//! Tests of the number of timers that a thread keeps, and of drops of further timers. The counts
//! are stated on the crate's front page.

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;

use crate::{Sleep, TestClock, TimerSettings, Timers};

const SLEEPS: usize = 3000;
/// How many of them a thread keeps: 1024, and the timer that it has dropped last.
const KEPT: usize = 1025;
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns armed sleeps of a minute, and the task that all of them wake.
fn armed(timers: &Timers) -> (Vec<Sleep>, Arc<Woken>) {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut sleeps: Vec<_> = core::iter::repeat_with(|| timers.sleep(MINUTE)).take(SLEEPS).collect();
    for sleep in &mut sleeps {
        assert!(Pin::new(sleep).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    (sleeps, woken)
}

/// Runs `work` on a thread whose pool is empty.
fn on_a_new_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

/// Creates timers with one shard and a resolution of 8 ns.
fn timers_of(clock: &TestClock) -> Timers {
    clock.timers_with(TimerSettings::new().shards(1).resolution(Duration::from_nanos(8)))
}

fn counts(timers: &Timers) -> (usize, usize, u64) {
    let report = timers.report();
    (report.live, report.vacant, report.locks)
}

#[test]
fn drops_beyond_the_limit_take_a_lock_and_the_next_sleeps_all_fire() {
    on_a_new_thread(|| {
        let clock = TestClock::new();
        let timers = timers_of(&clock);
        let (sleeps, woken) = armed(&timers);
        assert_eq!(counts(&timers), (SLEEPS, 0, 3000));
        drop(sleeps);
        assert_eq!(counts(&timers), (0, KEPT, 3000 + 1975));
        clock.advance(Duration::from_secs(1));
        let (mut sleeps, woken_again) = armed(&timers);
        assert_eq!(counts(&timers), (SLEEPS, 0, 3000 + 1975 + 1975), "the kept timers are filed already");
        clock.advance(MINUTE);
        assert!(sleeps.iter_mut().all(|sleep| clock.is_ready(Pin::new(sleep))));
        assert_eq!(woken_again.0.load(Ordering::SeqCst), SLEEPS);
        assert_eq!(woken.0.load(Ordering::SeqCst), 0, "dropped sleeps wake no task");
        assert_eq!(timers.report().lateness.count(), 3000);
        assert_eq!(counts(&timers).0, 0);
    });
}

#[test]
fn drops_on_another_thread_beyond_its_limit_leave_the_other_sleeps_armed() {
    let clock = TestClock::new();
    let timers = timers_of(&clock);
    let (mut sleeps, woken) = armed(&timers);
    let (dropped, woken_of_dropped) = armed(&timers);
    on_a_new_thread(|| {
        let before = timers.report().locks;
        drop(dropped);
        assert_eq!(counts(&timers), (SLEEPS, KEPT, before + 1975));
    });
    assert_eq!(counts(&timers).1, 0, "a thread that ends keeps nothing");
    clock.advance(MINUTE);
    assert!(sleeps.iter_mut().all(|sleep| clock.is_ready(Pin::new(sleep))));
    assert_eq!(woken.0.load(Ordering::SeqCst), SLEEPS);
    assert_eq!(woken_of_dropped.0.load(Ordering::SeqCst), 0);
}
