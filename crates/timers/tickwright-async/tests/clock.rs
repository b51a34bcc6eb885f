//! Tests of the clock for tests, with one and several threads: while it stands still, is moved by
//! calls, and moves by itself.

mod common;

use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};
use core::time::Duration;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use common::{Counter, ms};
use tickwright::time::{Alarm, Clock, DriverThread, Parker, VirtualClock};
use tickwright_async::{TestClock, TimerSettings, interval, sleep};

#[test]
fn a_clock_stands_still_until_it_is_moved() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let before = timers.now();
    assert!(clock.is_paused());
    std::thread::sleep(ms(2));
    assert_eq!(timers.now(), before);
    clock.advance(ms(5));
    clock.advance(Duration::from_nanos(3));
    assert_eq!(timers.now() - before, ms(5) + Duration::from_nanos(3));
    clock.pause();
    assert_eq!(timers.now() - before, ms(5) + Duration::from_nanos(3), "paused twice");
}

#[test]
fn a_clock_runs_after_resume_and_stops_again() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let before = timers.now();
    clock.resume();
    clock.resume();
    assert!(!clock.is_paused());
    while timers.now() == before {
        std::thread::yield_now();
    }
    let start = Instant::now();
    clock.block_on(async { sleep(ms(3)).await });
    assert!(start.elapsed() >= ms(3), "by the clock of the machine");
    clock.pause();
    let stopped = timers.now();
    std::thread::sleep(ms(1));
    assert_eq!(timers.now(), stopped);
}

#[test]
fn a_long_wait_takes_no_time() {
    let clock = TestClock::new();
    let start = clock.timers().now();
    let days = Duration::from_secs(86_400);
    let ticks = clock.block_on(async {
        let mut every = interval(days);
        every.tick().await;
        let mut ticks = Vec::new();
        for _ in 0..3 {
            ticks.push(every.tick().await - start);
        }
        ticks
    });
    assert_eq!(ticks, [days, days * 2, days * 3]);
}

#[test]
fn a_clock_stops_at_each_deadline_on_the_way() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let (times, start) = (Arc::new(Mutex::new(Vec::new())), timers.now());
    struct Noting(tickwright_async::Timers, Arc<Mutex<Vec<Instant>>>);
    impl std::task::Wake for Noting {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0.now());
        }
    }
    let waker = Waker::from(Arc::new(Noting(timers.clone(), Arc::clone(&times))));
    let mut sleeps: Vec<_> = [7, 3, 5].map(|delay| Box::pin(timers.sleep(ms(delay)))).into();
    for sleep in &mut sleeps {
        assert!(sleep.as_mut().poll(&mut core::task::Context::from_waker(&waker)).is_pending());
    }
    clock.advance(ms(10));
    assert_eq!(*times.lock().unwrap(), [3, 5, 7].map(|delay| start + ms(delay)));
    assert_eq!(timers.now(), start + ms(10));
}

#[test]
fn a_clock_is_stopped_and_moved_inside_of_a_task() {
    let clock = TestClock::new();
    let timers = clock.timers();
    clock.resume();
    clock.block_on(async {
        clock.pause();
        assert!(clock.is_paused());
        for is_polled in [true, false] {
            let start = timers.now();
            let mut sleep = pin!(sleep(ms(300)));
            if is_polled {
                assert!(!clock.is_ready(sleep.as_mut()));
            }
            clock.advance(ms(100));
            assert_eq!(timers.now() - start, ms(100));
            assert!(!clock.is_ready(sleep.as_mut()));
            sleep.await;
            // The clock was paused in the middle of a tick.
            let late = timers.now() - start - ms(300);
            assert!(late < timers.resolution(), "{late:?}");
        }
    });
}

#[test]
fn several_threads_wait_and_the_clock_moves_when_all_do() {
    let clock = TestClock::new();
    let start = clock.timers().now();
    let (sender, receiver) = std::sync::mpsc::channel();
    // No thread moves the clock before all of them are in `block_on`.
    let hold = clock.hold();
    let gate = Arc::new(std::sync::Barrier::new(4));
    let threads: Vec<_> = (1..=3_u64)
        .map(|thread| {
            let (clock, sender, gate) = (clock.clone(), sender.clone(), Arc::clone(&gate));
            std::thread::spawn(move || {
                gate.wait();
                clock.block_on(async {
                    for round in 1..=20 {
                        sleep(ms(thread * 10)).await;
                        let now = tickwright_async::now();
                        assert_eq!(now - start, ms(thread * 10 * round), "thread {thread}");
                        sender.send(thread).unwrap();
                    }
                });
            })
        })
        .collect();
    drop(sender);
    gate.wait();
    // The three threads are about to enter `block_on`. The clock must not move before all of them
    // have entered it.
    while !format!("{clock:?}").contains("threads: 3") {
        std::thread::yield_now();
    }
    drop(hold);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(receiver.iter().count(), 60);
}

#[test]
fn a_hold_keeps_the_clock() {
    let clock = TestClock::new();
    let hold = clock.hold();
    let sleeper = {
        let clock = clock.clone();
        std::thread::spawn(move || clock.block_on(async { sleep(Duration::from_secs(60)).await }))
    };
    let start = clock.timers().now();
    std::thread::sleep(ms(5));
    assert!(!sleeper.is_finished());
    assert_eq!(clock.timers().now(), start);
    drop(hold);
    sleeper.join().unwrap();
    assert_eq!(clock.timers().now() - start, Duration::from_secs(60));
}

#[test]
fn a_future_that_another_thread_wakes_is_waited_for() {
    let clock = TestClock::new();
    let (task, slot) = (Counter::new(), Arc::new(Mutex::new((false, None::<Waker>))));
    let waker = {
        let slot = Arc::clone(&slot);
        std::thread::spawn(move || {
            std::thread::sleep(ms(2));
            let mut slot = slot.lock().unwrap();
            slot.0 = true;
            if let Some(waker) = slot.1.take() {
                waker.wake();
            }
        })
    };
    clock.block_on(poll_fn(|cx| {
        let mut slot = slot.lock().unwrap();
        slot.1 = Some(cx.waker().clone());
        if slot.0 { Poll::Ready(()) } else { Poll::Pending }
    }));
    waker.join().unwrap();
    assert_eq!(task.count(), 0);
}

#[test]
fn timers_with_slack_fire_together_and_not_early() {
    let clock = TestClock::new();
    let timers = clock.timers_with(TimerSettings::new().resolution(ms(1)).slack(ms(64)));
    let task = Counter::new();
    let mut sleeps: Vec<_> = (20..30).map(|delay| Box::pin(timers.sleep(ms(delay)))).collect();
    for sleep in &mut sleeps {
        assert!(task.poll(sleep.as_mut()).is_pending());
    }
    clock.advance(ms(29));
    assert_eq!(task.count(), 0);
    clock.advance(ms(65));
    assert_eq!(task.count(), 10);
    assert_eq!(timers.report().lateness.max(), Duration::ZERO, "one time for all");
}

#[test]
fn the_clock_is_dropped_in_any_order() {
    for order in 0..3 {
        let clock = TestClock::new();
        let timers = clock.timers();
        let mut sleep = Box::pin(timers.sleep(ms(5)));
        assert!(!clock.is_ready(sleep.as_mut()));
        match order {
            0 => drop((clock, timers, sleep)),
            1 => drop((sleep, clock, timers)),
            _ => drop((timers, sleep, clock)),
        }
    }
    assert!(pin!(TestClock::default().timers().sleep(ms(1))).deadline() > Instant::now() - ms(60_000));
}

#[test]
fn nothing_is_kept_when_handles_threads_and_timers_are_gone() {
    let clock = Arc::new(tickwright::time::VirtualHost::new().monotonic());
    for order in 0..3 {
        let timers =
            TimerSettings::new().clock(Arc::clone(&clock) as Arc<dyn tickwright::time::Clock>).driven(|| {});
        let work = move || {
            let task = Counter::new();
            // There are two vacant timers in the thread's pool, one vacant timer in a slot, and one
            // armed timer.
            let mut sleeps = [5, 5, 9].map(|delay| Box::pin(timers.sleep(ms(delay))));
            sleeps.iter_mut().for_each(|sleep| assert!(task.poll(sleep.as_mut()).is_pending()));
            let [_, _, armed] = sleeps;
            let mut slot = timers.slot();
            slot.set_after(ms(7));
            assert!(slot.poll_elapsed(&mut task.context()).is_pending());
            slot.clear();
            match order {
                0 => drop((timers, armed, slot)),
                1 => drop((armed, slot, timers)),
                _ => drop((slot, timers, armed)),
            }
        };
        // The work runs on a separate thread, because a thread keeps its unused timers until it
        // ends.
        std::thread::spawn(work).join().unwrap();
        assert_eq!(Arc::strong_count(&clock), 1, "order {order}");
    }
}

#[test]
fn a_timer_that_was_moved_and_came_due_in_one_jump_has_fired() {
    let host = tickwright::time::VirtualHost::new();
    let settings = TimerSettings::new().resolution(Duration::from_nanos(8));
    let timers = settings.clock(Arc::new(host.monotonic())).driven(|| {});
    let task = Counter::new();
    let mut sleep = pin!(timers.sleep(ms(5)));
    assert!(task.poll(sleep.as_mut()).is_pending());
    sleep.reset_after(ms(8));
    assert_eq!(timers.poll_timeout(), Some(ms(5)), "it is filed for the deadline before");
    host.advance(ms(10));
    assert_eq!((timers.run(), task.count()), (1, 1));
    assert!(sleep.is_elapsed(), "for the later deadline");
    assert_eq!(timers.report().lateness.max(), ms(2));
}

#[test]
fn a_panic_of_a_waker_leaves_the_clock_to_others() {
    struct Panicking;
    impl std::task::Wake for Panicking {
        fn wake(self: Arc<Self>) {
            panic!("of a waker, as the test wants it");
        }
    }
    let clock = TestClock::new();
    let start = clock.timers().now();
    let waker = Waker::from(Arc::new(Panicking));
    let mut bad = pin!(clock.timers().sleep(ms(5)));
    assert!(bad.as_mut().poll(&mut core::task::Context::from_waker(&waker)).is_pending());
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        // The waker of this thread is not called, so this thread is still counted as waiting when
        // the other waker panics.
        clock.block_on(async { sleep(Duration::from_secs(3600)).await });
    }));
    assert!(panicked.is_err());
    clock.block_on(async { sleep(ms(10)).await });
    assert_eq!(clock.timers().now() - start, ms(15));
}

#[test]
fn a_thread_in_real_time_sees_the_pause() {
    let clock = TestClock::new();
    clock.resume();
    let sleeper = {
        let clock = clock.clone();
        std::thread::spawn(move || clock.block_on(async { sleep(Duration::from_secs(3600)).await }))
    };
    // The other thread waits in real time, or is about to wait.
    while !format!("{clock:?}").contains("waiting: 1") {
        std::thread::yield_now();
    }
    clock.pause();
    sleeper.join().unwrap();
}

#[test]
fn a_thread_in_real_time_sees_an_advance() {
    let clock = TestClock::new();
    clock.resume();
    let sleeper = {
        let clock = clock.clone();
        std::thread::spawn(move || {
            clock.block_on(async {
                sleep(Duration::from_secs(3600)).await;
                let before = clock.timers().now();
                sleep(ms(1)).await;
                clock.timers().now() - before
            })
        })
    };
    while !format!("{clock:?}").contains("waiting: 1") {
        std::thread::yield_now();
    }
    clock.advance(Duration::from_secs(3600));
    // These timers use the clock of the machine, and not the clock of the test.
    assert!(sleeper.join().unwrap() < Duration::from_secs(1800));
}

#[test]
fn tasks_and_a_driver_thread_go_by_one_clock() {
    let clock = TestClock::new();
    let parker = Parker::new(clock.host().boot_time());
    let minute = Duration::from_secs(60);
    let next = move |parker: &Parker<VirtualClock>| parker.set(Some(parker.clock().now() + 20 * minute));
    next(&parker);
    let alarm = Arc::clone(&parker);
    let driver = DriverThread::spawn("every 20 minutes", parker, move || next(&alarm)).unwrap();
    for hours in 1..=19 {
        let start = clock.timers().now();
        clock.block_on(async { sleep(61 * minute).await });
        assert_eq!(clock.timers().now() - start, 61 * minute);
        assert_eq!(driver.runs(), hours * 61 / 20, "the clock has waited for the thread");
    }
    driver.stop().unwrap();
}
