//! Tests, in every family and both storages, that the cost of operations on all timers (snapshots,
//! iteration, `retain`, `clear` and drop) grows about as fast as the number of timers. Each test
//! counts how often the structure looks up a record.
#![cfg(feature = "alloc")]

mod common;

use core::cell::Cell;
use core::marker::PhantomData;

use tickwright_core::structure::{Discipline, Due, Handle, Nodes, Shape};
use tickwright_core::{
    Explanation, Family, HeadChange, HookQueue, Order, Reject, SlabQueue, Tick, Timer, Violation,
    for_each_family, for_each_slab_only_family, snapshot,
};

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Runs `work`. Returns how often structures looked up a record during the run, and the result of
/// `work`.
fn looks<R>(work: impl FnOnce() -> R) -> (u64, R) {
    LOOKS.set(0);
    let result = work();
    (LOOKS.get(), result)
}

/// A family that counts how often its structures look up a record.
struct Counted<F>(PhantomData<F>);

impl<F: Family> Family for Counted<F> {
    type Of<P: Handle> = Counting<F::Of<P>>;
    type Layout = F::Layout;
    const ID: &'static str = F::ID;
    const SHAPE: Shape = F::SHAPE;
}

struct Counting<D>(D);

struct Read<'n, N>(&'n N);
struct Write<'n, N>(&'n mut N);

fn look() {
    LOOKS.set(LOOKS.get() + 1);
}

impl<P: Handle, R, N: Nodes<P, R>> Nodes<P, R> for Read<'_, N> {
    fn record(&self, p: P) -> &R {
        look();
        self.0.record(p)
    }

    fn record_mut(&mut self, _: P) -> &mut R {
        unreachable!("it only reads")
    }
}

impl<P: Handle, R, N: Nodes<P, R>> Nodes<P, R> for Write<'_, N> {
    fn record(&self, p: P) -> &R {
        look();
        self.0.record(p)
    }

    fn record_mut(&mut self, p: P) -> &mut R {
        look();
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
    const VISITS_IN_ORDER: bool = D::VISITS_IN_ORDER;

    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        self.0.reserve(len, additional)
    }

    fn insert(&mut self, nodes: &mut impl Nodes<P, D::Record>, p: P, at: Tick, now: Tick) -> HeadChange {
        self.0.insert(&mut Write(nodes), p, at, now)
    }

    fn remove(&mut self, nodes: &mut impl Nodes<P, D::Record>, p: P) -> HeadChange {
        self.0.remove(&mut Write(nodes), p)
    }

    fn reschedule(&mut self, nodes: &mut impl Nodes<P, D::Record>, p: P, at: Tick, now: Tick) -> HeadChange {
        self.0.reschedule(&mut Write(nodes), p, at, now)
    }

    fn head(&self, nodes: &impl Nodes<P, D::Record>) -> Option<P> {
        self.0.head(&Read(nodes))
    }

    fn second(&self, nodes: &impl Nodes<P, D::Record>) -> Option<P> {
        self.0.second(&Read(nodes))
    }

    fn any(&self, nodes: &impl Nodes<P, D::Record>) -> Option<P> {
        self.0.any(&Read(nodes))
    }

    fn take_any(&mut self, nodes: &mut impl Nodes<P, D::Record>) -> Option<P> {
        self.0.take_any(&mut Write(nodes))
    }

    fn expiry(&self, nodes: &impl Nodes<P, D::Record>, p: P) -> Tick {
        self.0.expiry(&Read(nodes), p)
    }

    fn deadline(&self, nodes: &impl Nodes<P, D::Record>, p: P) -> Tick {
        self.0.deadline(&Read(nodes), p)
    }

    fn next_expiry(&self, nodes: &impl Nodes<P, D::Record>) -> Option<Tick> {
        self.0.next_expiry(&Read(nodes))
    }

    fn next_wake(&self, nodes: &impl Nodes<P, D::Record>) -> Option<Tick> {
        self.0.next_wake(&Read(nodes))
    }

    fn pop(&mut self, nodes: &mut impl Nodes<P, D::Record>, now: Tick, budget: &mut usize) -> Option<Due<P>> {
        self.0.pop(&mut Write(nodes), now, budget)
    }

    fn explain(&self, nodes: &impl Nodes<P, D::Record>, p: P) -> Explanation {
        self.0.explain(nodes, p)
    }

    fn for_each(&self, nodes: &impl Nodes<P, D::Record>, visit: impl FnMut(P)) {
        self.0.for_each(&Read(nodes), visit);
    }

    fn rank(&self, nodes: &impl Nodes<P, D::Record>, p: P, visited: u64) -> u64 {
        self.0.rank(&Read(nodes), p, visited)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn check(&self, nodes: &impl Nodes<P, D::Record>, len: usize) -> Result<(), Violation> {
        self.0.check(nodes, len)
    }
}

const FEW: usize = 600;
const MANY: usize = 8 * FEW;

/// Returns the deadlines of `n` timers. Depending on `which`, all deadlines are the same tick, or
/// they are spread over few or many ticks.
fn deadlines(n: usize, which: usize) -> impl Iterator<Item = Tick> + Clone {
    (0..n as u64).map(move |at| match which {
        0 => 5_000,
        1 => 100 + at * 7_919 % (n as u64 / 20),
        _ => 100 + at * 7_919 % (40 * n as u64),
    })
}

const KINDS: usize = 3;

fn slab<F: Family>(n: usize, which: usize) -> SlabQueue<Counted<F>, u32> {
    let mut queue = SlabQueue::new();
    let mut keys = Vec::new();
    for (at, deadline) in deadlines(n, which).enumerate() {
        keys.push(queue.insert_at(deadline, at as u32, 0).unwrap());
        // Some timers are moved to a later tick, and then back.
        if at % 5 == 4 {
            queue.reschedule_at(keys[at - 2], deadline + 3_000, 0).unwrap();
            queue.reschedule_at(keys[at - 2], deadline, 0).unwrap();
        }
    }
    queue
}

/// Asserts that the cost of `work` on `MANY` timers is at most about `MANY / FEW` times the cost on
/// `FEW` timers. Twice this cost is allowed, because some costs also grow with the logarithm of the
/// number, and some structures work differently when there are many timers.
fn grows_linearly(what: &str, work: impl Fn(usize) -> u64) {
    let (few, many) = (work(FEW), work(MANY));
    let most = (2 * (MANY / FEW) as u64) * few.max(FEW as u64);
    assert!(many <= most, "{what}: {few} looks at {FEW} timers, {many} at {MANY}");
}

fn in_a_slab<F: Family>() {
    for which in 0..KINDS {
        let name = |what: &str| format!("{} of {}, deadlines {which}", what, F::ID);
        let bytes = |n| vec![0; snapshot::bytes::<u32>(n).unwrap()];
        grows_linearly(&name("drain_snapshot"), |n| {
            let (mut queue, mut page) = (slab::<F>(n, which), bytes(n));
            looks(|| queue.drain_snapshot(&mut page).unwrap()).0
        });
        grows_linearly(&name("snapshot"), |n| {
            let (queue, mut page) = (slab::<F>(n, which), bytes(n));
            looks(|| queue.snapshot(&mut page).unwrap()).0
        });
        grows_linearly(&name("iter_sorted"), |n| {
            let queue = slab::<F>(n, which);
            looks(|| assert_eq!(queue.iter_sorted().unwrap().count(), n)).0
        });
        grows_linearly(&name("iter_unordered"), |n| {
            let queue = slab::<F>(n, which);
            looks(|| assert_eq!(queue.iter_unordered().count(), n)).0
        });
        for keep in [0, 1, 2, 10] {
            grows_linearly(&name("retain"), |n| {
                let mut queue = slab::<F>(n, which);
                looks(|| queue.retain(|_, value| keep > 0 && *value % 10 < keep)).0
            });
        }
        grows_linearly(&name("clear"), |n| {
            let mut queue = slab::<F>(n, which);
            looks(|| queue.clear()).0
        });
        grows_linearly(&name("drop"), |n| {
            let queue = slab::<F>(n, which);
            looks(|| drop(queue)).0
        });
    }
}

/// A function that works on a queue over hooks, and returns how often the structure looked up a
/// record.
type Work<'w, F> = &'w dyn Fn(HookQueue<'_, Counted<F>, u32>) -> u64;

fn over_hooks<F: Family>() {
    for which in 0..KINDS {
        let name = |what: &str| format!("{} of {} over hooks, deadlines {which}", what, F::ID);
        let measure = |n: usize, work: Work<'_, F>| {
            let timers: Vec<Timer<Counted<F>, u32>> = (0..n as u32).map(Timer::new).collect();
            let mut queue = HookQueue::new();
            for (timer, deadline) in timers.iter().zip(deadlines(n, which)) {
                queue.insert_at(deadline, timer, 0).unwrap();
            }
            let looks = work(queue);
            assert!(timers.iter().all(|timer| !timer.is_linked()));
            looks
        };
        let bytes = |n| vec![0; snapshot::bytes::<u32>(n).unwrap()];
        grows_linearly(&name("drain_snapshot"), |n| {
            measure(n, &|mut queue| {
                looks(|| queue.drain_snapshot(&mut bytes(n), |timer| timer.payload).unwrap()).0
            })
        });
        grows_linearly(&name("snapshot"), |n| {
            measure(n, &|queue| looks(|| queue.snapshot(&mut bytes(n), |timer| timer.payload).unwrap()).0)
        });
        grows_linearly(&name("iter_sorted"), |n| {
            measure(n, &|queue| looks(|| assert_eq!(queue.iter_sorted().unwrap().count(), n)).0)
        });
        grows_linearly(&name("clear"), |n| measure(n, &|mut queue| looks(|| queue.clear()).0));
        grows_linearly(&name("drop"), |n| measure(n, &|queue| looks(|| drop(queue)).0));
    }
}

/// `peek` and `second` read few records, however many timers are due at the first tick.
fn the_head_of_many_equals_is_near<F: Family>() {
    for deadline in [70, 5_000, 1 << 29] {
        let mut queue: SlabQueue<Counted<F>, u32> = SlabQueue::new();
        let keys: Vec<_> = (0..MANY as u32).map(|at| queue.insert_at(deadline, at, 0).unwrap()).collect();
        for step in 0..3 {
            let (peeks, head) = looks(|| queue.peek());
            let (seconds, second) = looks(|| queue.second());
            let (reads, expiry) = looks(|| queue.next_expiry());
            assert_eq!(head.map(|head| (head.key, Some(head.expiry))), Some((keys[step], expiry)));
            assert_eq!(second.map(|second| second.key), Some(keys[step + 1]));
            let most = peeks.max(seconds).max(reads);
            assert!(most < 200, "{}: {most} looks, step {step}, deadline {deadline}", F::ID);
            queue.remove(keys[step]).unwrap();
        }
    }
}

macro_rules! each {
    ([$test:ident] $($id:literal => $family:ty;)+) => {$($test::<$family>();)+};
}

#[test]
fn what_concerns_all_timers_of_a_slab_grows_with_their_number() {
    for_each_family! { each [in_a_slab] }
    for_each_slab_only_family! { each [in_a_slab] }
}

#[test]
fn what_concerns_all_timers_in_structs_grows_with_their_number() {
    for_each_family! { each [over_hooks] }
}

#[test]
fn reading_the_head_does_not_grow_with_its_equals() {
    for_each_family! { each [the_head_of_many_equals_is_near] }
    for_each_slab_only_family! { each [the_head_of_many_equals_is_near] }
}
