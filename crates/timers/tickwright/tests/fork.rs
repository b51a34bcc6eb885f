//! Forked children. In the child, schedulers, shards and drivers are consistent, although the
//! parent's other threads do not exist there, and no call hangs.
#![cfg(unix)]

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use tickwright::fork::Registration;
use tickwright::scheduler::{Boxed, Next, RunError, Scheduler, SchedulerThread, Settings, Site, Timing};
use tickwright::shard::{ShardDriver, Shards, TryCancel, Was};
use tickwright::time::{Alarm, DriverThread, Instant, Parker, Ticks, VirtualHost};

const MS: Duration = Duration::from_millis(1);

/// Runs `act` in a forked child, and requires that it returns `true`. A child that hangs is killed.
fn in_a_child(act: impl FnOnce() -> bool) {
    // SAFETY: 1. The child calls only what this crate allows in forked children, and ends without
    // the parent's exit handlers.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: `alarm` is a system call and touches no memory.
        unsafe { libc::alarm(60) };
        let right = catch_unwind(AssertUnwindSafe(act)).unwrap_or(false);
        // SAFETY: `_exit` ends the process.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    let mut status = 0;
    // SAFETY: 1. `status` may be written.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {}
    assert_eq!(status, 0, "the child's: 256 is a wrong answer, 14 a hang");
}

/// Creates two channels. A thread reports through the first channel that it has begun, and waits at
/// the second channel until it is allowed to go on.
fn gate() -> (Sender<()>, Receiver<()>, Sender<()>, Receiver<()>) {
    let (begun, has_begun) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    (begun, has_begun, go, goes)
}

fn counting(count: &Arc<AtomicUsize>) -> Boxed {
    let count = Arc::clone(count);
    Boxed::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Next::Again
    })
}

/// A registration of fork handlers waits until a fork that is in progress has ended.
#[test]
fn a_child_registers_what_its_parent_was_registering() {
    let registration = &Registration::new();
    thread::scope(|scope| {
        // The gate is created inside the scope, so that a failure of the test drops `go`, which
        // ends the thread.
        let (begun, has_begun, go, goes) = gate();
        let registers = scope.spawn(move || {
            registration.ensure(|| {
                begun.send(()).unwrap();
                goes.recv().is_ok()
            })
        });
        has_begun.recv().unwrap();
        in_a_child(|| registration.ensure(|| true) && registration.ensure(|| false));
        in_a_child(|| {
            // The child's handler runs, so the parent had registered it, but had not stored that
            // fact yet.
            registration.is_done();
            registration.ensure(|| false)
        });
        go.send(()).unwrap();
        assert!(registers.join().unwrap());
    });
    assert!(registration.ensure(|| false), "done once");
    let refused = Registration::new();
    assert!(!refused.ensure(|| false) && refused.ensure(|| true), "tried again");
}

#[test]
fn the_thread_of_a_scheduler_is_the_parents() {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let driver = SchedulerThread::start("parent", &scheduler).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    scheduler.add(MS, counting(&count)).unwrap();
    driver.settle();
    let mut driver = Some(driver);
    let mut child = || {
        host.advance(Duration::from_millis(1));
        let alone = count.load(Ordering::Relaxed) == 0 && driver.as_ref().is_some_and(|it| !it.settle());
        let own = SchedulerThread::start("child", &scheduler).unwrap();
        let ran = own.settle() && count.load(Ordering::Relaxed) == 1;
        let joined = own.stop().is_ok() && driver.take().is_some_and(|it| it.stop().is_ok());
        alone && ran && joined && scheduler.check().is_ok()
    };
    in_a_child(&mut child);
    host.advance(Duration::from_millis(1));
    assert!(driver.as_ref().is_some_and(SchedulerThread::settle));
    assert_eq!(count.load(Ordering::Relaxed), 1, "the parent's goes on");
}

#[test]
fn a_timer_that_runs_on_another_thread_is_gone_in_the_child() {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let (begun, has_begun, go, goes) = gate();
    let run = move || {
        begun.send(()).unwrap();
        let _ = goes.recv();
    };
    let mut run = Some(run);
    let kept = Boxed::new(move |_| {
        run.take().into_iter().for_each(|run| run());
        Next::Again
    });
    let id = scheduler.keep(&Site::here("kept"), kept).unwrap();
    scheduler.start(id, Timing::after(Duration::ZERO)).unwrap();
    let other = scheduler.add(Duration::ZERO, Boxed::new(|_| Next::Done)).unwrap();
    let own = Arc::clone(&scheduler);
    let runner = thread::spawn(move || own.run_queue());
    has_begun.recv().unwrap();
    in_a_child(|| {
        scheduler.check().unwrap();
        scheduler.find(id).is_none()
            && scheduler.find(other).is_some()
            && !scheduler.within_callback()
            && scheduler.run_queue() == Ok(1)
            && scheduler.shutdown().is_ok_and(|left| left.is_empty())
    });
    go.send(()).unwrap();
    assert_eq!(runner.join().unwrap(), Ok(2));
}

#[test]
fn the_child_of_a_callback_goes_on_with_the_pass() {
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic())));
    let told = Arc::downgrade(&scheduler);
    let fork = move |_: &tickwright::scheduler::Firing<'_, Boxed>| {
        in_a_child(|| {
            told.upgrade()
                .is_some_and(|own| own.within_callback() && own.run_queue() == Err(RunError::WithinCallback))
        });
    };
    scheduler.add(Duration::ZERO, Boxed::once(fork)).unwrap();
    assert_eq!(scheduler.run_queue(), Ok(1));
}

#[test]
fn the_driver_of_a_shard_is_the_parents() {
    let host = VirtualHost::new();
    let shards = Arc::new(Shards::new(2));
    let driver = ShardDriver::spawn(&shards, 1, host.monotonic(), Ticks::MILLISECOND).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&count);
    let timer = shards.shard(1).unwrap().timer(move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
    });
    timer.modify(5).unwrap();
    driver.settle();
    let mut driver = Some(driver);
    let mut child = || {
        host.advance(Duration::from_millis(10));
        let parents = driver.take().unwrap();
        let alone = !parents.settle() && count.load(Ordering::Relaxed) == 0 && parents.stop().is_ok();
        let own = ShardDriver::spawn(&shards, 1, host.monotonic(), Ticks::MILLISECOND).unwrap();
        alone && own.settle() && count.load(Ordering::Relaxed) == 1 && own.stop().is_ok()
    };
    in_a_child(&mut child);
    host.advance(Duration::from_millis(10));
    assert!(driver.as_ref().unwrap().settle());
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn a_shared_timer_that_fires_on_another_thread_is_idle_in_the_child() {
    let shards = Arc::new(Shards::new(1));
    let (begun, has_begun, go, goes) = gate();
    let goes = Mutex::new(Some(goes));
    let timer = shards.shard(0).unwrap().timer(move |_| {
        let first = goes.lock().unwrap().take();
        if let Some(goes) = first {
            begun.send(()).unwrap();
            let _ = goes.recv();
        }
    });
    timer.modify(1).unwrap();
    let own = Arc::clone(&shards);
    let runner = thread::spawn(move || own.shard(0).unwrap().advance(10).unwrap());
    has_begun.recv().unwrap();
    assert_eq!(timer.try_cancel(), TryCancel::Running);
    in_a_child(|| {
        shards.check().unwrap();
        let idle = timer.try_cancel() == TryCancel::NotPending && timer.cancel_sync() == Ok(Was::Idle);
        timer.add(20).unwrap();
        idle && shards.shard(0).unwrap().advance(100).unwrap() == 1 && timer.shutdown_sync().is_ok()
    });
    go.send(()).unwrap();
    assert_eq!(runner.join().unwrap(), 1);
}

/// While this thread forks, other threads take every lock of the crate again and again.
#[test]
fn locks_that_others_hold_are_free_in_the_child() {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.real_time())));
    let shards = Arc::new(Shards::new(2));
    let parker = Parker::new(host.monotonic());
    let told = Arc::clone(&parker);
    let driver = DriverThread::spawn("driver", Arc::clone(&parker), move || told.set(None)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let busy = || {
        let timer = shards.shard(0).unwrap().timer(|_| {});
        for round in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let id = scheduler.add(MS, Boxed::new(|_| Next::Done)).unwrap();
            scheduler.cancel(id);
            timer.modify_on(round % 2, 1000).unwrap();
            parker.set(Some(Instant::from_nanos(round as u64)));
            host.advance(Duration::from_nanos(1));
            let _ = driver.panics();
        }
    };
    thread::scope(|scope| {
        scope.spawn(busy);
        scope.spawn(busy);
        // Stops the threads when the test ends or panics.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&stop);
        for _ in 0..50 {
            in_a_child(|| {
                scheduler.check().unwrap();
                shards.check().unwrap();
                scheduler.add(Duration::ZERO, Boxed::new(|_| Next::Done)).unwrap();
                host.advance(Duration::from_millis(1));
                let _ = (parker.alarm(), driver.panics(), driver.settle());
                scheduler.run_queue().is_ok_and(|ran| ran > 0)
            });
        }
    });
    driver.stop().unwrap();
}

/// Locks are created and dropped while other threads fork.
#[test]
fn schedulers_are_made_and_dropped_beside_forks() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let host = VirtualHost::new();
                let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
                scheduler.add(MS, Boxed::new(|_| Next::Done)).unwrap();
                scheduler.set_alarm(Some(Parker::new(host.monotonic())));
                // The old alarm is dropped under the scheduler's lock.
                scheduler.set_alarm(None);
            }
        });
        for _ in 0..50 {
            in_a_child(|| Scheduler::<Boxed>::new(Settings::new()).check().is_ok());
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple"))]
mod descriptors {
    use std::os::fd::AsRawFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use tickwright::time::{Clock, Rung, SystemClock, TimerFd};

    use super::*;

    fn is_readable(fd: &TimerFd, most: Duration) -> bool {
        let most = Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: most.subsec_nanos().into() };
        let mut asked = [PollFd::new(fd, PollFlags::IN)];
        let begun = std::time::Instant::now();
        loop {
            match poll(&mut asked, Some(&most)) {
                Ok(found) => return found > 0,
                Err(_) if begun.elapsed() < Duration::from_secs(60) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn the_child_has_a_descriptor_of_its_own() {
        for clock in [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime] {
            let fd = TimerFd::new(clock).unwrap();
            let number = fd.as_raw_fd();
            fd.set(Some(clock.now()));
            assert!(is_readable(&fd, Duration::from_secs(60)));
            // The child's alarm is set to the same time as the parent's alarm. It goes off in the
            // child, and the child's read of its descriptor does not affect the parent.
            in_a_child(|| {
                let set = is_readable(&fd, Duration::from_secs(60)) && fd.acknowledge().unwrap() == Rung::Due;
                fd.set(None);
                set && number == fd.as_raw_fd() && !is_readable(&fd, Duration::ZERO)
            });
            assert_eq!(fd.acknowledge().unwrap(), Rung::Due, "{clock:?}");
            // Setting the child's alarm does not set the parent's alarm.
            fd.set(None);
            in_a_child(|| {
                fd.set(Some(Instant::ZERO));
                is_readable(&fd, Duration::from_secs(60))
            });
            assert!(!is_readable(&fd, Duration::ZERO), "{clock:?}");
            // The end of the child does not close the parent's descriptor either.
            fd.set(Some(Instant::ZERO));
            assert!(is_readable(&fd, Duration::from_secs(60)), "{clock:?}");
        }
    }
}
