//! A program for `wasm32-unknown-unknown`. The clock of the standard library panics on this target,
//! so the program must never read it. The program has no test harness, because panics do not unwind
//! there. `ci/page.mjs` runs it in Node.js and, with the feature `web`, also in a browser. On other
//! systems it runs as a normal test.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;

use tickwright::scheduler::{Boxed, Scheduler, Settings, Timing, When};
use tickwright::shard::Shards;
use tickwright::time::{Clock, Instant, SystemClock, VirtualHost};
use tickwright::{DefaultQueue, SlabQueue, Wheel};
use tickwright_async::{DelayQueue, TestClock, TimerSettings, Timers, sleep};
use tickwright_collections::{By, Dictionary, SlabDict};

/// A clock that the program implements and sets.
#[derive(Clone, Default)]
struct Mine(Arc<AtomicU64>);

impl Mine {
    fn advance(&self, span: Duration) {
        self.0.fetch_add(span.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock for Mine {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

const MS: Duration = Duration::from_millis(1);

fn is_ready(future: impl Future) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

fn queues() {
    let mut exact = DefaultQueue::new();
    exact.insert(5, "five").unwrap();
    assert!(exact.pop_expired(4).is_none());
    assert_eq!(exact.pop_expired(5).map(|timer| timer.value), Some("five"));
    let mut wheel = SlabQueue::<Wheel, u64>::new();
    let keys = (0..1000).map(|tick| wheel.insert(tick, tick).unwrap()).collect::<Vec<_>>();
    keys.iter().step_by(2).for_each(|key| assert!(wheel.remove(*key).is_ok()));
    let fired = core::iter::from_fn(|| wheel.pop_expired(999)).count();
    assert_eq!(fired, 500);
    let mut sorted = SlabDict::new(By(|n: &u32| *n));
    sorted.insert(7).unwrap();
    assert!(sorted.find(&7).is_some() && sorted.find(&8).is_none());
    let shards = Shards::new(1);
    let shard = shards.shard(0).unwrap();
    let fired = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fired);
    let timer = shard.timer(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    timer.modify(10).unwrap();
    assert_eq!(shard.advance(100), Ok(1));
    assert_eq!(fired.load(Ordering::Relaxed), 1);
}

fn scheduler(clock: &Mine) {
    let mut scheduler = Scheduler::new(Settings::new().clock(clock.clone()));
    let fired = Arc::new(AtomicUsize::new(0));
    let [one, hundred, wrong] = [1, 100, 10_000].map(|by| {
        let fired = Arc::clone(&fired);
        move || {
            fired.fetch_add(by, Ordering::Relaxed);
        }
    });
    scheduler.every(MS, move |_| one()).unwrap();
    scheduler.after(3 * MS, move |_| hundred()).unwrap();
    let cancelled = scheduler.after(2 * MS, move |_| wrong()).unwrap();
    scheduler.cancel(cancelled);
    assert_eq!(scheduler.timeout(), Some(MS));
    for _ in 0..5 {
        clock.advance(MS);
        scheduler.run_queue().unwrap();
    }
    assert_eq!(fired.load(Ordering::Relaxed), 105);
}

fn futures(clock: &Mine) {
    let timers =
        TimerSettings::new().resolution(Duration::from_nanos(8)).clock(Arc::new(clock.clone())).driven(|| {});
    let _entered = timers.enter();
    let start = timers.now();
    let mut nap = pin!(sleep(5 * MS));
    let mut until = pin!(timers.sleep_until(start + 6 * MS));
    let mut interval = timers.interval(2 * MS);
    let mut queue = DelayQueue::new();
    queue.insert("late", 7 * MS);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(interval.poll_tick(&mut cx).is_ready(), "at once");
    assert!(nap.as_mut().poll(&mut cx).is_pending() && until.as_mut().poll(&mut cx).is_pending());
    assert!(interval.poll_tick(&mut cx).is_pending() && queue.poll_expired(&mut cx).is_pending());
    assert_eq!(timers.next_deadline().map(|at| at - start), Some(2 * MS));
    clock.advance(4 * MS);
    timers.run();
    assert!(nap.as_mut().poll(&mut cx).is_pending() && until.as_mut().poll(&mut cx).is_pending());
    assert!(interval.poll_tick(&mut cx).is_ready());
    clock.advance(3 * MS);
    timers.run();
    assert!(nap.as_mut().poll(&mut cx).is_ready() && until.as_mut().poll(&mut cx).is_ready());
    assert!(
        matches!(queue.poll_expired(&mut cx), Poll::Ready(Some(value)) if value.deadline() - start >= 7 * MS)
    );
    assert!(!is_ready(timers.timeout(MS, core::future::pending::<()>())));
    assert_eq!(timers.now() - start, 7 * MS);
    assert!(timers.report().lateness.count() >= 3);
}

/// Checks the behavior of a program that sets no clock.
fn defaults() {
    let mut scheduler = Scheduler::<Boxed>::new(Settings::new());
    scheduler
        .add(Duration::from_secs(3600), Boxed::once(|_| unreachable!("an hour has not passed")))
        .unwrap();
    assert_eq!(scheduler.run_queue(), Ok(0));
    assert!(scheduler.timeout() > Some(Duration::from_secs(3500)));
    let wall = Settings::new().clock(SystemClock::RealTime);
    let wall = Scheduler::<Boxed>::new(wall);
    let far = Timing::at(When::Wall(Duration::MAX));
    wall.timer(far).add(Boxed::once(|_| unreachable!("584 years have not passed"))).unwrap();
    assert_eq!(wall.run_queue(), Ok(0));
    assert!(
        SystemClock::BootTime.now() >= Instant::ZERO + Duration::from_secs(86_400)
            || cfg!(target_os = "linux")
    );
    let timers = Timers::global();
    let ahead = sleep(Duration::from_secs(3600));
    assert!(ahead.deadline() > timers.now() && !is_ready(ahead));
    // There are no threads in a page, so this can return an error.
    let _ = Timers::new().map(|timers| timers.now());
    let _ = Scheduler::<Boxed>::spawn("timers");
    let host = VirtualHost::new();
    host.advance(MS);
    assert_eq!(host.monotonic().now(), Instant::ZERO + MS);
    let clock = TestClock::new();
    let before = clock.timers().now();
    let _entered = clock.timers().enter();
    clock.block_on(sleep(Duration::from_secs(60)));
    assert!(clock.timers().now() - before >= Duration::from_secs(60));
}

fn main() {
    let clock = Mine::default();
    queues();
    scheduler(&clock);
    futures(&clock);
    defaults();
    #[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
    web::main();
}

/// Tests with the host's clock and `setTimeout`.
#[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
mod web {
    use core::cell::Cell;
    use std::rc::Rc;

    use tickwright::scheduler::Next;
    use tickwright::time::{Alarm, WebAlarm};
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::spawn_local;

    use super::*;

    #[wasm_bindgen]
    extern "C" {
        /// Functions of the runner: one ends the test, one counts the time-outs that are set, one
        /// returns the longest requested time-out, and one limits how many milliseconds later the
        /// host calls.
        #[wasm_bindgen(js_namespace = runner)]
        fn done(failure: Option<String>);
        #[wasm_bindgen(js_namespace = runner)]
        fn pending() -> u32;
        #[wasm_bindgen(js_namespace = runner)]
        fn longest() -> f64;
        #[wasm_bindgen(js_namespace = runner)]
        fn hasten(milliseconds: f64);
    }

    pub(super) fn main() {
        std::panic::set_hook(Box::new(|panic| done(Some(panic.to_string()))));
        spawn_local(async {
            sleeps().await;
            callbacks().await;
            alarms().await;
            hasten(7.0);
            sleeps().await;
            callbacks().await;
            alarms().await;
            done(None);
        });
    }

    fn never(why: &str) {
        panic!("a callback ran, but {why}");
    }

    fn now() -> Instant {
        SystemClock::Monotonic.now()
    }

    /// Waits until `is_so` returns true, without a time limit, because a busy page can be late.
    async fn until(what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..5000 {
            if is_so() {
                return;
            }
            sleep(MS).await;
        }
        panic!("5000 sleeps went by, and not yet: {what}");
    }

    /// All sleeps end, no sleep is early, and a dropped sleep sets no time-out.
    async fn sleeps() {
        let (count, left) = (300, Rc::new(Cell::new(300)));
        for n in 0..count {
            let left = Rc::clone(&left);
            spawn_local(async move {
                let span = Duration::from_micros(n * 7919 % 60_000);
                let due = now() + span;
                sleep(span).await;
                assert!(now() >= due, "{:?} early", due - now());
                left.set(left.get() - 1);
            });
        }
        let dropped = tickwright_async::timeout(20 * MS, core::future::pending::<()>());
        assert!(dropped.await.is_err());
        let begun = tickwright_async::now();
        let mut interval = tickwright_async::interval(10 * MS);
        for _ in 0..7 {
            interval.tick().await;
        }
        assert!(tickwright_async::now() - begun >= 60 * MS);
        until("all sleeps end", || left.get() == 0).await;
    }

    async fn callbacks() {
        let before = pending();
        let timers = Scheduler::spawn("timers").unwrap();
        let (ran, start) = (Arc::new(AtomicUsize::new(0)), now());
        let (beat, mut beats) = (Arc::clone(&ran), 0);
        timers
            .every(2 * MS, move |firing| {
                assert!(now() >= firing.due);
                beat.fetch_add(1, Ordering::Relaxed);
                beats += 1;
                if beats < 5 { Next::Again } else { Next::Done }
            })
            .unwrap();
        let once = Arc::clone(&ran);
        timers
            .after(30 * MS, move |_| {
                assert!(now() >= start + 30 * MS);
                once.fetch_add(100, Ordering::Relaxed);
            })
            .unwrap();
        let wrong = timers.after(5 * MS, |_| never("it was cancelled")).unwrap();
        timers.cancel(wrong);
        until("six callbacks run", || ran.load(Ordering::Relaxed) == 105).await;
        timers.after(60 * MS, |_| never("the scheduler was dropped")).unwrap();
        drop(timers);
        assert_eq!(pending(), before, "a time-out is left of a scheduler that was dropped");
    }

    /// An alarm later than the longest time-out of a host does not go off at once.
    async fn alarms() {
        let before = pending();
        let alarm = WebAlarm::new(|| panic!("30 days have not passed"));
        alarm.set(Some(now() + Duration::from_secs(30 * 86_400)));
        assert_eq!((pending(), longest()), (before + 1, f64::from(i32::MAX)));
        sleep(30 * MS).await;
        alarm.set(None);
        assert_eq!(pending(), before);
        alarm.set(Some(Instant::MAX));
        drop(alarm);
        assert_eq!(pending(), before, "the drop stops the alarm");
        // Each setting replaces the previous one. If the time has passed, the alarm goes off at
        // once.
        let (due, rung) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
        let (at, count) = (Arc::clone(&due), Arc::clone(&rung));
        let alarm = WebAlarm::new(move || {
            assert!(now().as_nanos() >= at.load(Ordering::Relaxed), "early");
            count.fetch_add(1, Ordering::Relaxed);
        });
        alarm.set(Some(Instant::ZERO));
        for times in 1..=3 {
            let next = now() + 20 * MS;
            due.store(next.as_nanos(), Ordering::Relaxed);
            alarm.set(Some(next));
            until("the alarm goes off", || rung.load(Ordering::Relaxed) == times).await;
        }
        alarm.set(Some(now() + 5 * MS));
        alarm.set(Some(Instant::ZERO));
        until("the alarm of the past goes off", || rung.load(Ordering::Relaxed) == 4).await;
        sleep(10 * MS).await;
        assert_eq!((rung.load(Ordering::Relaxed), pending()), (4, before));
    }
}
