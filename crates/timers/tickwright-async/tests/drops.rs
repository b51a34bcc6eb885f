//! Tests in which a runtime, timers, a sleep and a delay queue are dropped in every order. No drop
//! panics, no memory is leaked, and the remaining parts work as long as there is a driver.

mod common;

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::time::Instant;

use futures_core::Stream;
use tickwright_async::delay_queue::Key;
use tickwright_async::{DelayQueue, Sleep, TimerSettings, Timers};
use tokio::runtime::{Builder, Runtime};

const HOUR: Duration = Duration::from_secs(3600);
/// The longest time for which a test waits for an event that must happen soon.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Runtime,
    Timers,
    Sleep,
    Queue,
}

const PARTS: [Part; 4] = [Part::Runtime, Part::Timers, Part::Sleep, Part::Queue];

/// Returns the 24 orders of the parts.
fn orders() -> Vec<[Part; 4]> {
    let mut orders = Vec::new();
    for number in 0..4_usize.pow(4) {
        let order = [0, 1, 2, 3].map(|at| PARTS[number / 4_usize.pow(at) % 4]);
        if PARTS.iter().all(|part| order.contains(part)) {
            orders.push(order);
        }
    }
    assert_eq!(orders.len(), 24);
    orders
}

/// The drivers, which fire the timers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Driver {
    Thread,
    #[cfg(feature = "tokio")]
    Tokio,
}

impl Driver {
    /// Creates timers with this driver. The caller has entered the runtime.
    fn timers(self) -> Timers {
        match self {
            Self::Thread => TimerSettings::new().shards(2).start().unwrap(),
            #[cfg(feature = "tokio")]
            Self::Tokio => TimerSettings::new().shards(2).on_tokio().unwrap(),
        }
    }
}

/// Creates a runtime. With 0 workers it has no threads of its own, so tasks run only inside of
/// `block_on`.
fn runtime(workers: usize) -> Runtime {
    let mut builder = if workers == 0 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(workers.max(1)).enable_time().build().unwrap()
}

/// A task whose waker holds a token. As long as the token has other owners, a clone of the waker
/// exists.
struct Counted {
    task: Waker,
    _token: Arc<()>,
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.task.wake_by_ref();
    }
}

/// The parts that are not dropped yet.
struct Scene {
    driver: Driver,
    runtime: Option<Runtime>,
    timers: Option<Timers>,
    sleep: Option<Sleep>,
    /// The queue, whose only value is a token.
    queue: Option<DelayQueue<Arc<()>>>,
    key: Key,
    /// The token, which the queue's value and the wakers share.
    token: Arc<()>,
}

impl Scene {
    /// Creates the parts. A task of the runtime polls the sleep and, if `polled` is true, also the
    /// queue. The deadlines are `span` from now.
    fn new(driver: Driver, workers: usize, polled: bool, span: Duration) -> Self {
        let runtime = runtime(workers);
        let entered = runtime.enter();
        let timers = driver.timers();
        drop(entered);
        let token = Arc::new(());
        let (mut sleep, mut queue) = (timers.sleep(span), timers.delay_queue());
        let key = queue.insert(Arc::clone(&token), span);
        let counted = Arc::clone(&token);
        let task = runtime.spawn(async move {
            poll_fn(|cx| {
                let (task, _token) = (cx.waker().clone(), Arc::clone(&counted));
                let waker = Waker::from(Arc::new(Counted { task, _token }));
                let mut cx = Context::from_waker(&waker);
                let mut pending = Pin::new(&mut sleep).poll(&mut cx).is_pending();
                if polled {
                    pending &= Pin::new(&mut queue).poll_next(&mut cx).is_pending();
                }
                assert!(pending || span < HOUR);
                Poll::Ready(())
            })
            .await;
            (sleep, queue)
        });
        let (sleep, queue) = runtime.block_on(task).unwrap();
        let (runtime, timers) = (Some(runtime), Some(timers));
        Self { driver, runtime, timers, sleep: Some(sleep), queue: Some(queue), key, token }
    }

    fn drop_part(&mut self, part: Part) {
        match part {
            Part::Runtime => drop(self.runtime.take()),
            Part::Timers => drop(self.timers.take()),
            Part::Sleep => drop(self.sleep.take()),
            Part::Queue => drop(self.queue.take()),
        }
    }

    /// Uses the sleep and the queue, if they were not dropped. If there is a driver, both must end
    /// soon. Without a driver, the sleep stays pending and the queue keeps its value.
    fn use_what_is_left(&mut self) {
        let Self { driver, runtime, sleep, queue, key, token, .. } = self;
        if *driver == Driver::Thread || runtime.is_some() {
            let soon = Duration::from_millis(1);
            let work = async {
                if let Some(sleep) = sleep {
                    sleep.reset_after(soon);
                    sleep.await;
                }
                if let Some(queue) = queue {
                    queue.reset(key, soon).unwrap();
                    let value = poll_fn(|cx| queue.poll_expired(cx)).await.expect("a value");
                    assert!(Arc::ptr_eq(value.get_ref(), token));
                    assert!(poll_fn(|cx| queue.poll_expired(cx)).await.is_none());
                }
            };
            match runtime {
                Some(runtime) => runtime.block_on(async {
                    tokio::time::timeout(PATIENCE, work).await.expect("a timer was lost");
                }),
                None => block_on(work),
            }
        } else {
            let mut cx = Context::from_waker(Waker::noop());
            if let Some(sleep) = sleep {
                sleep.reset_after(HOUR / 2);
                assert!(Pin::new(sleep).poll(&mut cx).is_pending());
            }
            if let Some(queue) = queue {
                queue.reset(key, HOUR / 2).unwrap();
                assert!(Pin::new(&mut *queue).poll_next(&mut cx).is_pending());
                assert!(queue.remove(key).is_ok(), "the value is not lost");
            }
        }
    }

    /// Checks, after all parts were dropped, that no waker and no value is left in memory.
    fn end(self) {
        let Self { token, .. } = self;
        // The driver drops a waker a little after it has called the waker.
        wait_until("a waker or a value is left", || Arc::strong_count(&token) == 1);
    }
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = common::Unpark::waker();
    let (mut future, start) = (core::pin::pin!(future), Instant::now());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(start.elapsed() < PATIENCE, "a timer was lost");
        std::thread::park_timeout(PATIENCE);
    }
}

fn wait_until(what_else: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what_else}");
        std::thread::yield_now();
    }
}

/// Drops the parts in every order. The remaining parts are used once before one of the drops, or
/// not at all.
fn every_order(driver: Driver) {
    for order in orders() {
        for (workers, polled) in [(0, false), (0, true), (2, false), (2, true)] {
            for used_after in 0..=PARTS.len() {
                let mut scene = Scene::new(driver, workers, polled, HOUR);
                for (dropped, part) in order.into_iter().enumerate() {
                    if dropped == used_after {
                        scene.use_what_is_left();
                    }
                    scene.drop_part(part);
                }
                scene.end();
            }
        }
    }
}

/// Like `every_order`, but the timers fire during the drops.
fn every_order_while_timers_fire(driver: Driver) {
    for order in orders() {
        for (workers, polled) in [(0, false), (0, true), (2, false), (2, true)] {
            for micros in [0, 20, 100] {
                let mut scene = Scene::new(driver, workers, polled, Duration::from_micros(micros));
                order.into_iter().for_each(|part| scene.drop_part(part));
                scene.end();
            }
        }
    }
}

/// Tasks own a sleep, a queue and handles, and the runtime drops the tasks.
fn a_runtime_drops_its_tasks(driver: Driver) {
    for (workers, handles_first) in [(0, false), (0, true), (2, false), (2, true)] {
        let runtime = runtime(workers);
        let entered = runtime.enter();
        let timers = driver.timers();
        drop(entered);
        let token = Arc::new(());
        let (value, handle) = (Arc::clone(&token), timers.clone());
        runtime.spawn(async move { handle.sleep(HOUR).await });
        let handle = timers.clone();
        runtime.spawn(async move {
            let mut queue = handle.delay_queue();
            queue.insert(value, HOUR);
            poll_fn(|cx| queue.poll_expired(cx)).await
        });
        wait_until("the tasks are not polled", || {
            runtime.block_on(tokio::task::yield_now());
            timers.report().live == 2
        });
        if handles_first {
            drop(timers);
            drop(runtime);
        } else {
            drop(runtime);
            assert_eq!(timers.report().live, 0);
            let mut sleep = timers.sleep(HOUR);
            drop(timers);
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert_eq!(Arc::strong_count(&token), 1, "the value is left");
    }
}

#[test]
fn timers_of_a_thread_are_dropped_in_every_order() {
    every_order(Driver::Thread);
    every_order_while_timers_fire(Driver::Thread);
    a_runtime_drops_its_tasks(Driver::Thread);
    // No other test of this file uses driver threads.
    #[cfg(target_os = "linux")]
    wait_until("a driver thread is left", || common::driver_threads() == 0);
}

#[cfg(feature = "tokio")]
#[test]
fn timers_of_a_runtime_are_dropped_in_every_order() {
    every_order(Driver::Tokio);
    every_order_while_timers_fire(Driver::Tokio);
    a_runtime_drops_its_tasks(Driver::Tokio);
}
