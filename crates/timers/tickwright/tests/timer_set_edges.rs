//! Tests of a timer set with extreme inputs, clocks that misbehave, and user code that panics when
//! the set calls it.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::mpsc;

use tickwright::scheduler::{
    Boxed, Cancelled, Missed, Next, Origin, Plain, Scheduler, Settings, Site, TimerSet, Timing, When,
};
use tickwright::time::{Clock, Instant, VirtualHost};

const SECOND: u64 = 1_000_000_000;

/// The timer is due at the last date of the wall clock, and at the end of the steady timeline,
/// while the wall clock is behind.
#[test]
fn a_pass_at_the_end_of_time_ends() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let host = VirtualHost::starting_at(Instant::ZERO, -1);
        let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
        set.add(Timing::at(When::Wall(Duration::from_nanos(u64::MAX))), &Site::here("x"), ()).unwrap();
        host.advance(Duration::from_nanos(u64::MAX));
        set.begin_pass();
        let _ = set.take();
        let _ = sender.send(());
    });
    assert!(receiver.recv_timeout(Duration::from_secs(5)).is_ok(), "take() loops for ever");
}

#[test]
fn overruns_saturate() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    for _ in 0..2 {
        let timing = Timing::at(When::At(Instant::ZERO)).every(Duration::from_nanos(1)).missed(Missed::Skip);
        set.add(timing, &Site::here("x"), ()).unwrap();
    }
    host.advance(Duration::from_nanos(u64::MAX));
    set.begin_pass();
    for _ in 0..2 {
        let _ = set.take();
    }
}

#[test]
fn a_refused_add_counts_nothing() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).int_ids());
    assert!(set.add(Timing::at(When::Wall(Duration::from_nanos(5))), &Site::here("x"), ()).is_err());
    assert_eq!((set.statistics().high_water, set.sites().unwrap().len()), (0, 0));
}

/// An origin is user code, so it can panic.
#[test]
fn an_origin_that_panics_leaves_the_scheduler_whole() {
    struct Bad;
    impl Origin for Bad {
        fn key(&self) -> [usize; 3] {
            panic!("on purpose")
        }
        fn site(&self) -> Site {
            Site::here("bad")
        }
    }
    let host = VirtualHost::new();
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    let timing = Timing::after(Duration::from_secs(1));
    assert!(
        catch_unwind(AssertUnwindSafe(|| scheduler.timer(timing).origin(Bad).add(Boxed::once(|_| {}))))
            .is_err()
    );
    assert_eq!(scheduler.check(), Ok(()));
    assert_eq!(scheduler.report().statistics.timers, 0, "a slot is lost for ever");
}

/// After the wall clock was set back, a timer on a grid runs within one period, even if it was
/// already popped for the next pass.
#[test]
fn the_one_held_ahead_goes_with_the_wall() {
    let host = VirtualHost::starting_at(Instant::ZERO, 5_000 * SECOND as i64);
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    let burst = Timing::at(When::Wall(Duration::from_secs(5_010)))
        .every(Duration::from_secs(10))
        .missed(Missed::Burst);
    set.add(burst, &Site::here("x"), ()).unwrap();
    host.advance(Duration::from_secs(35));
    set.begin_pass();
    while let Some(due) = set.take() {
        let _ = set.finish(due.id, (), Next::Again);
    }
    set.end_pass();
    host.step_wall(-1_000 * SECOND as i64);
    set.begin_pass();
    while let Some(due) = set.take() {
        let _ = set.finish(due.id, (), Next::Again);
    }
    set.end_pass();
    let left = set.timeout().unwrap();
    assert!(left <= Duration::from_secs(10), "it comes in {left:?}");
}

/// If a poll loop did not read such a clock regularly, it would sleep through steps and suspends.
#[test]
fn a_poll_loop_is_told_to_look_at_a_clock_that_may_jump() {
    struct Jumps;
    impl Clock for Jumps {
        fn now(&self) -> Instant {
            Instant::from_nanos(5)
        }
        fn wall_offset(&self) -> Option<i64> {
            Some(0)
        }
        fn longest_sleep(&self) -> Option<Duration> {
            Some(Duration::from_secs(1))
        }
    }
    let mut scheduler = Scheduler::new(Settings::new().clock(Jumps));
    scheduler
        .timer(Timing::at(When::Wall(Duration::from_secs(3600))))
        .named("x")
        .add(Boxed::once(|_| {}))
        .unwrap();
    assert!(scheduler.timeout_ms() <= 1000, "{} ms", scheduler.timeout_ms());
}

/// A cancel during a run prevents the timer from running again. A second cancel, which waits for
/// the end of the run, must still report the suppression, because its caller releases the timer's
/// reference.
#[test]
fn who_waits_after_an_async_cancel_hears_that_it_was_suppressed() {
    use std::sync::{Arc, Barrier};
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let (begun, ended) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (b, e) = (Arc::clone(&begun), Arc::clone(&ended));
    let id = scheduler
        .add(
            Duration::ZERO,
            Boxed::new(move |_| {
                b.wait();
                e.wait();
                Next::Again
            }),
        )
        .unwrap();
    let runner = Arc::clone(&scheduler);
    let thread = std::thread::spawn(move || runner.run_queue());
    begun.wait();
    assert!(matches!(scheduler.cancel(id), Cancelled::Running { here: false }));
    let releaser = std::thread::spawn(move || {
        ended.wait();
    });
    let found = scheduler.cancel_sync(id).unwrap();
    releaser.join().unwrap();
    let _ = thread.join().unwrap();
    assert!(matches!(found, Cancelled::Finished { suppressed: true } | Cancelled::NotFound), "{found:?}");
}

/// Tests a clock that runs backwards.
#[test]
fn a_clock_that_goes_back_runs_nothing_early_nor_twice() {
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Arc;
    struct Loose(Arc<AtomicU64>);
    impl Clock for Loose {
        fn now(&self) -> Instant {
            Instant::from_nanos(self.0.load(Ordering::Relaxed))
        }
    }
    for structure in tickwright::scheduler::Structure::all() {
        let time = Arc::new(AtomicU64::new(100 * SECOND));
        let scheduler = Scheduler::new(Settings::new().clock(Loose(Arc::clone(&time))).structure(structure));
        let one = Plain::new((), |(), _| Next::Done);
        scheduler.add(Duration::from_secs(5), one).unwrap();
        time.store(200 * SECOND, Ordering::Relaxed);
        assert_eq!(scheduler.run_queue(), Ok(1));
        time.store(50 * SECOND, Ordering::Relaxed);
        scheduler.add(Duration::from_secs(5), one).unwrap();
        scheduler.run_queue().unwrap();
        time.store(300 * SECOND, Ordering::Relaxed);
        scheduler.run_queue().unwrap();
        assert_eq!(scheduler.report().statistics.fired, 2, "{structure}");
        assert_eq!(scheduler.check(), Ok(()));
    }
}

/// `Due::due` and `Due::now` are both on the steady timeline, and no timer runs before it is due.
#[test]
fn a_due_time_is_never_after_now() {
    let host = VirtualHost::starting_at(Instant::ZERO, 0);
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    set.add(Timing::at(When::Wall(Duration::from_secs(3600))), &Site::here("other"), ()).unwrap();
    // The wall clock is slewed by less than a step, and a grid that follows the wall clock
    // continues.
    host.step_wall(900_000);
    set.add(
        Timing::at(When::Wall(Duration::from_secs(10)))
            .every(Duration::from_micros(300))
            .missed(Missed::Skip),
        &Site::here("x"),
        (),
    )
    .unwrap();
    host.advance(Duration::from_secs(10));
    set.begin_pass();
    let due = set.take().unwrap();
    assert!(due.due <= due.now, "due {:?}, now {:?}", due.due, due.now);
}

/// A clock is user code, too. After a panic of the clock, the scheduler continues to work.
#[test]
fn a_clock_that_panics_once_does_not_block_the_scheduler() {
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Arc;
    struct Bad(Arc<AtomicBool>);
    impl Clock for Bad {
        fn now(&self) -> Instant {
            assert!(!self.0.swap(false, Ordering::Relaxed), "on purpose");
            Instant::from_nanos(5)
        }
    }
    let bad = Arc::new(AtomicBool::new(false));
    let scheduler = Scheduler::new(Settings::new().clock(Bad(Arc::clone(&bad))));
    scheduler.add(Duration::ZERO, Boxed::once(|_| {})).unwrap();
    bad.store(true, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| scheduler.run_queue())).is_err());
    assert_eq!(scheduler.run_queue(), Ok(1));
    assert!(scheduler.shutdown().is_ok());
}

/// A thread that waits for the end of a callback continues when the callback panics.
#[test]
fn who_waits_for_a_callback_that_panics_goes_on() {
    use std::sync::{Arc, Barrier};
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let (begun, ended) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (b, e) = (Arc::clone(&begun), Arc::clone(&ended));
    let bad = Boxed::new(move |_| {
        b.wait();
        e.wait();
        panic!("on purpose")
    });
    let id = scheduler.add(Duration::ZERO, bad).unwrap();
    let at = Arc::clone(&scheduler);
    let thread = std::thread::spawn(move || catch_unwind(AssertUnwindSafe(|| at.run_queue())).is_err());
    begun.wait();
    let waiting = Arc::clone(&scheduler);
    let waiter = std::thread::spawn(move || waiting.cancel_sync(id));
    ended.wait();
    assert!(thread.join().unwrap());
    assert!(matches!(
        waiter.join().unwrap(),
        Ok(Cancelled::Finished { suppressed: false } | Cancelled::NotFound)
    ));
    assert!(scheduler.shutdown().is_ok());
}
