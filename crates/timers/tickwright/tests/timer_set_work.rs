//! Tests of how much work an operation of a scheduler takes, measured by how often it reads a
//! timer's record. The tests count the work of each turn of a poll loop, and the work under the
//! lock.

use core::cell::Cell;
use core::time::Duration;
use std::sync::Arc;

use tickwright::scheduler::{Cancelled, Next, Plain, Scheduler, Settings, Structure, Timing, When};
use tickwright::structure::{Discipline, Due, Family, Handle, Nodes, Shape};
use tickwright::time::{Alarm, Instant, VirtualHost};
use tickwright::{CoarseWheel, HeadChange, Order, Reject, Tick, Violation, Wheel};

thread_local! {
    static LOOKS: Cell<usize> = const { Cell::new(0) };
    /// The greatest number of record reads in one pop.
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Returns how many records `act` reads, and its result.
fn looks<R>(act: impl FnOnce() -> R) -> (usize, R) {
    let before = LOOKS.get();
    let result = act();
    (LOOKS.get() - before, result)
}

/// A family that counts how often it reads a timer's record.
struct Counted<F>(F);

impl<F: Family> Family for Counted<F> {
    type Of<P: Handle> = Counting<F::Of<P>>;
    type Layout = F::Layout;
    const ID: &'static str = F::ID;
    const SHAPE: Shape = F::SHAPE;
    const DEFAULT_TICK_NS: u64 = F::DEFAULT_TICK_NS;
}

struct Counting<D>(D);

struct CountedNodes<'n, N>(&'n N);
struct CountedNodesMut<'n, N>(&'n mut N);

fn count() {
    LOOKS.set(LOOKS.get() + 1);
}

impl<P: Handle, R, N: Nodes<P, R>> Nodes<P, R> for CountedNodes<'_, N> {
    fn record(&self, p: P) -> &R {
        count();
        self.0.record(p)
    }

    fn record_mut(&mut self, _: P) -> &mut R {
        unreachable!("borrowed to read")
    }
}

impl<P: Handle, R, N: Nodes<P, R>> Nodes<P, R> for CountedNodesMut<'_, N> {
    fn record(&self, p: P) -> &R {
        count();
        self.0.record(p)
    }

    fn record_mut(&mut self, p: P) -> &mut R {
        count();
        self.0.record_mut(p)
    }
}

// SAFETY: 1. to 4. each call goes to a discipline that keeps the promises, with the same handles
// and the same nodes.
unsafe impl<P: Handle, D: Discipline<P>> Discipline<P> for Counting<D> {
    type Record = D::Record;
    const NEW: Self = Self(D::NEW);
    const ORDER: Order = D::ORDER;
    const MOVES: bool = D::MOVES;

    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        self.0.reserve(len, additional)
    }

    fn insert(
        &mut self,
        nodes: &mut impl Nodes<P, D::Record>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.0.insert(&mut CountedNodesMut(nodes), p, deadline, now)
    }

    fn remove(&mut self, nodes: &mut impl Nodes<P, D::Record>, p: P) -> HeadChange {
        self.0.remove(&mut CountedNodesMut(nodes), p)
    }

    fn reschedule(
        &mut self,
        nodes: &mut impl Nodes<P, D::Record>,
        p: P,
        deadline: Tick,
        now: Tick,
    ) -> HeadChange {
        self.0.reschedule(&mut CountedNodesMut(nodes), p, deadline, now)
    }

    fn head(&self, nodes: &impl Nodes<P, D::Record>) -> Option<P> {
        self.0.head(&CountedNodes(nodes))
    }

    fn second(&self, nodes: &impl Nodes<P, D::Record>) -> Option<P> {
        self.0.second(&CountedNodes(nodes))
    }

    fn expiry(&self, nodes: &impl Nodes<P, D::Record>, p: P) -> Tick {
        self.0.expiry(&CountedNodes(nodes), p)
    }

    fn deadline(&self, nodes: &impl Nodes<P, D::Record>, p: P) -> Tick {
        self.0.deadline(&CountedNodes(nodes), p)
    }

    fn next_expiry(&self, nodes: &impl Nodes<P, D::Record>) -> Option<Tick> {
        self.0.next_expiry(&CountedNodes(nodes))
    }

    fn next_wake(&self, nodes: &impl Nodes<P, D::Record>) -> Option<Tick> {
        self.0.next_wake(&CountedNodes(nodes))
    }

    fn due(&mut self, nodes: &mut impl Nodes<P, D::Record>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        self.0.due(&mut CountedNodesMut(nodes), now, budget)
    }

    fn rearm_due(&mut self, nodes: &mut impl Nodes<P, D::Record>, p: P, deadline: Tick, now: Tick) {
        self.0.rearm_due(&mut CountedNodesMut(nodes), p, deadline, now);
    }

    fn pop(&mut self, nodes: &mut impl Nodes<P, D::Record>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        let (looks, popped) = looks(|| self.0.pop(&mut CountedNodesMut(nodes), now, budget));
        MOST.set(MOST.get().max(looks));
        popped
    }

    fn for_each(&self, nodes: &impl Nodes<P, D::Record>, visit: impl FnMut(P)) {
        self.0.for_each(nodes, visit);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn check(&self, nodes: &impl Nodes<P, D::Record>, len: usize) -> Result<(), Violation> {
        self.0.check(nodes, len)
    }
}

struct Deaf;

impl Alarm for Deaf {
    fn set(&self, _: Option<Instant>) {}
}

type Nothing = Scheduler<Plain<()>>;

fn nothing() -> Plain<()> {
    Plain::new((), |(), _| Next::Done)
}

/// Time-outs of a minute are re-armed one after the other, so the earliest timer is always the next
/// one to move.
#[test]
fn what_a_poll_loop_asks_does_not_grow_with_the_timers() {
    const N: u64 = 100_000;
    let minute = Duration::from_secs(60);
    for structure in [Structure::of::<Counted<Wheel>>(), Structure::of::<Counted<CoarseWheel>>()] {
        for alarm in [false, true] {
            let host = VirtualHost::new();
            let mut scheduler: Nothing =
                Scheduler::new(Settings::new().clock(host.monotonic()).structure(structure));
            if alarm {
                scheduler.set_alarm(Some(Arc::new(Deaf)));
            }
            let add = |_| {
                host.advance(Duration::from_nanos(10_000_000_000 / N));
                scheduler.add(minute, nothing()).unwrap()
            };
            let ids: Vec<_> = (0..N).map(add).collect();
            let (mut most, mut sum) = (0, 0);
            for &id in ids.iter().cycle().take(2 * ids.len()) {
                scheduler.start(id, Timing::after(minute)).unwrap();
                let (one, _) = looks(|| {
                    if alarm { i32::from(scheduler.run_queue() == Ok(0)) } else { scheduler.timeout_ms() }
                });
                most = most.max(one);
                sum += one;
                host.advance(Duration::from_nanos(10_000_000_000 / N));
            }
            let mean = sum as f64 / (2 * N) as f64;
            // A pass that enters a bucket moves the timers of the bucket. This happens only once
            // for each bucket.
            assert!(mean < 50.0, "{structure}, alarm {alarm}: {mean} looks, at most {most}");
            assert!(alarm || most < 50, "{structure}: {most} looks");
        }
    }
}

/// If a time-out is too short, the next pass finds no due timer, and the following time-out is
/// right.
#[test]
fn a_loop_that_waits_and_runs_does_not_spin() {
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let mut scheduler: Nothing =
            Scheduler::new(Settings::new().clock(host.monotonic()).structure(structure));
        let ids: Vec<_> =
            (1..=100).map(|s| scheduler.add(Duration::from_secs(s), nothing()).unwrap()).collect();
        for &id in ids.iter().take(99) {
            assert!(matches!(scheduler.cancel(id), Cancelled::Removed(_)));
        }
        let (mut turns, mut ran) = (0, 0);
        while let Some(wait) = scheduler.timeout() {
            host.advance(wait);
            ran += scheduler.run_queue().unwrap();
            turns += 1;
            assert!(turns < 50, "{structure}");
        }
        assert_eq!(ran, 1, "{structure}");
        assert!(scheduler.now() >= Instant::ZERO + Duration::from_secs(100), "{structure}: not before");
    }
}

/// A pass must search a full bucket to find one due timer. A single pop is allowed to read only a
/// bounded number of timers.
#[test]
fn the_lock_is_not_held_for_a_whole_bucket() {
    const N: u64 = 20_000;
    // The bucket is at level 3: [2 * 64^3, 3 * 64^3) ticks.
    let (first, width) = (2 * 64_u64.pow(3), 64_u64.pow(3));
    let host = VirtualHost::new();
    let settings = Settings::new().clock(host.monotonic()).structure(Structure::of::<Counted<Wheel>>());
    let scheduler: Nothing = Scheduler::new(settings);
    for at in 0..N {
        let at = (first + 1 + at * 7919 % (width - 1)) * 1_000_000;
        scheduler.timer(Timing::at(When::At(Instant::from_nanos(at)))).named("x").add(nothing()).unwrap();
    }
    host.advance(Duration::from_nanos((first + 40_000) * 1_000_000));
    MOST.set(0);
    assert_eq!(scheduler.run_queue_within(1), Ok(1));
    assert!(MOST.get() < 256 * 20, "{} looks in one hold of the lock", MOST.get());
    assert_eq!(scheduler.check(), Ok(()));
    // Every due timer runs, in order, whichever slice moved it.
    let due = scheduler.dump().timers.iter().filter(|timer| timer.info.due <= scheduler.now()).count();
    assert_eq!(scheduler.run_queue(), Ok(due));
    assert!(MOST.get() < 256 * 20, "{} looks in one hold of the lock", MOST.get());
}
