//! Tests of timers with executors: tasks of tokio's runtimes that use our timers, timers of several
//! drivers, and timers without a runtime.

use core::cell::Cell;
use core::future::{Future, pending, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::time::Instant;

use tickwright_async::Timers;
use tokio::runtime::{Builder, Runtime};

use crate::common::{Unpark, ms};
use crate::scene::Scene;

crate::behaviours! {
    every_driver: a_task_that_wakes_itself_lets_the_timers_fire, a_sleep_stays_with_its_timers,
        a_timeout_that_nobody_completes_ends;
    virtual_time:
}

fn a_task_that_wakes_itself_lets_the_timers_fire(scene: &Scene) {
    if !scene.is_real() {
        // A virtual clock stands still while a task is ready, so the task moves the clock itself.
        let task = scene.task();
        let mut sleep = pin!(scene.timers.sleep(scene.span(10)));
        for _ in 0..10 {
            task.pending(sleep.as_mut());
            scene.advance(1);
        }
        return task.ready_at_once(sleep);
    }
    let deadline = scene.timers.now() + ms(10);
    let mut sleep = pin!(scene.timers.sleep_until(deadline));
    scene.block_on(poll_fn(|cx| {
        cx.waker().wake_by_ref();
        sleep.as_mut().poll(cx)
    }));
    assert!(scene.timers.now() >= deadline);
}

fn a_sleep_stays_with_its_timers(scene: &Scene) {
    let (task, other) = (scene.task(), scene.another());
    let mut sleep = pin!(scene.timers.sleep_until(scene.at(5)));
    task.pending(sleep.as_mut());
    let entered = other.timers.enter();
    sleep.reset(scene.at(10));
    task.pending(sleep.as_mut());
    drop(entered);
    assert_eq!((scene.timers.report().live, other.timers.report().live), (1, 0));
    drop(other);
    scene.advance(9);
    task.asleep();
    scene.advance(1);
    task.woken();
    task.ready(sleep);
}

fn a_timeout_that_nobody_completes_ends(scene: &Scene) {
    let start = scene.timers.now();
    let given_up = scene.block_on(scene.timers.timeout(scene.span(10), pending::<()>()));
    assert!(given_up.is_err());
    assert!(scene.timers.now() >= start + scene.span(10));
}

/// Returns tokio runtimes with the clock of the machine.
fn runtimes() -> [Runtime; 3] {
    let several = |workers| Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
    [Builder::new_current_thread().enable_all().build().unwrap(), several(1), several(4)]
}

/// Returns all kinds of timers that tasks of a runtime can use. The caller has entered the runtime.
fn timers_of_all_kinds() -> Vec<Timers> {
    vec![
        Timers::new().unwrap(),
        #[cfg(feature = "tokio")]
        tickwright_async::TimerSettings::new().on_tokio().unwrap(),
    ]
}

#[test]
fn tasks_of_each_runtime_sleep_and_are_given_up() {
    const TASKS: usize = 512;
    for runtime in runtimes() {
        runtime.block_on(async {
            for timers in timers_of_all_kinds() {
                let start = Instant::now();
                timers.sleep(ms(10)).await;
                assert!(start.elapsed() >= ms(10), "outside of a task");
                let task = |number: usize| {
                    let timers = timers.clone();
                    tokio::spawn(async move {
                        let start = Instant::now();
                        if number.is_multiple_of(2) {
                            timers.sleep(ms(10)).await;
                        } else {
                            assert!(timers.timeout(ms(10), pending::<()>()).await.is_err());
                        }
                        assert!(start.elapsed() >= ms(10), "early");
                    })
                };
                let tasks: Vec<_> = (0..TASKS).map(task).collect();
                for task in tasks {
                    task.await.unwrap();
                }
                assert_eq!(timers.report().live, 0);
            }
        });
    }
}

#[test]
fn a_task_of_each_runtime_wakes_itself_while_it_sleeps() {
    for runtime in runtimes() {
        runtime.block_on(async {
            for timers in timers_of_all_kinds() {
                let (start, polls) = (Instant::now(), Cell::new(0_u64));
                let mut sleep = pin!(timers.sleep(ms(10)));
                poll_fn(|cx| {
                    polls.set(polls.get() + 1);
                    cx.waker().wake_by_ref();
                    sleep.as_mut().poll(cx)
                })
                .await;
                assert!(start.elapsed() >= ms(10) && polls.get() > 1);
            }
        });
    }
}

#[test]
fn a_sleep_of_one_runtime_is_moved_in_another() {
    let [one, other, _] = runtimes();
    for timers in timers_of_all_kinds_in(&one) {
        let mut sleep = Box::pin(timers.sleep(Duration::from_secs(3600)));
        assert!(one.block_on(async { poll_once(sleep.as_mut()) }).is_pending());
        let deadline = timers.now() + ms(5);
        let moved = other.block_on(other.spawn(async move {
            sleep.reset(deadline);
            Some(sleep)
        }));
        one.block_on(moved.unwrap().unwrap());
        assert!(timers.now() >= deadline);
        assert_eq!(timers.report().live, 0);
    }
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn timers_of_all_kinds_in(runtime: &Runtime) -> Vec<Timers> {
    let _entered = runtime.enter();
    timers_of_all_kinds()
}

#[test]
fn without_a_runtime_the_timers_of_the_process_serve() {
    let deadline = Instant::now() + ms(2);
    Unpark::block_on(async {
        tickwright_async::sleep_until(deadline).await;
        assert!(Instant::now() >= deadline);
        let given_up = tickwright_async::timeout(ms(1), pending::<()>()).await;
        assert!(given_up.is_err());
        let given_up = tickwright_async::timeout_at(deadline, pending::<()>()).await;
        assert!(given_up.is_err());
        tickwright_async::interval(Duration::ZERO).tick().await;
        tickwright_async::interval_at(deadline, Duration::ZERO).tick().await;
    });
    // A tokio runtime whose time driver is not enabled can use our timers.
    let runtime = Builder::new_current_thread().build().unwrap();
    let given_up = runtime.block_on(async { tickwright_async::timeout(ms(1), pending::<()>()).await });
    assert!(given_up.is_err());
}

/// A future that never has to wait is still cancelled at its deadline, because tokio makes it
/// yield.
#[test]
fn a_future_that_is_always_busy_is_given_up() {
    use tokio::io::AsyncReadExt;
    for runtime in runtimes() {
        runtime.block_on(async {
            for timers in timers_of_all_kinds() {
                let busy = async {
                    loop {
                        let _ = tokio::io::empty().read(&mut [0]).await;
                    }
                };
                let given_up: Result<(), _> = timers.timeout(ms(1), busy).await;
                assert!(given_up.is_err());
            }
        });
    }
}

/// A sleep whose runtime has ended stays pending, its task is not woken, and its poll does not
/// panic.
#[cfg(feature = "tokio")]
#[test]
fn a_sleep_of_a_runtime_that_has_ended_is_pending() {
    let [_, runtime, _] = runtimes();
    let timers = timers_of_all_kinds_in(&runtime).pop().unwrap();
    let mut sleep = pin!(timers.sleep(Duration::from_secs(3600)));
    assert!(poll_once(sleep.as_mut()).is_pending());
    drop(runtime);
    sleep.reset_after(Duration::from_secs(1800));
    assert!(poll_once(sleep.as_mut()).is_pending());
    let mut later = pin!(timers.sleep(Duration::from_secs(3600)));
    assert!(poll_once(later.as_mut()).is_pending());
    assert_eq!(timers.report().live, 2);
}

/// As in tokio's own tests of its paused clock, a datagram is waiting at a socket. The clock must
/// stand still until the datagram was read.
#[cfg(all(unix, feature = "tokio"))]
#[test]
fn a_paused_clock_waits_for_a_datagram_that_is_there() {
    use tokio::net::UnixDatagram;
    for is_spawned in [false, true] {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let timers = tickwright_async::TimerSettings::new().on_tokio().unwrap();
            let start = timers.now();
            let (sender, receiver) = UnixDatagram::pair().unwrap();
            sender.send(&[1]).await.unwrap();
            let read = {
                let timers = timers.clone();
                async move {
                    receiver.recv(&mut [0]).await.unwrap();
                    assert_eq!(timers.now(), start, "the clock has moved");
                }
            };
            if is_spawned {
                let read = tokio::spawn(read);
                timers.sleep(ms(100)).await;
                read.await.unwrap();
            } else {
                tokio::join!(timers.sleep(ms(100)), read);
            }
            assert!(timers.now() - start >= ms(100));
        });
    }
}
