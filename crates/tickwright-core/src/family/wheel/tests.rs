use std::collections::BTreeMap;
use std::vec::Vec;

use super::super::testing::{Random, STEPS, VecNodes};
use super::digits::BucketNumber;
use super::hierarchy::{Cascade, Hierarchy, WheelRecord};
use crate::contract::{Tick, Violation};
use crate::storage::{Discipline, Handle, Nodes, Record};
use tickwright_nodes::chain::{Chained, Links};

/// A wheel beside a map in order of (expiry, arrival), which is compared after every step.
struct Twin<const BUCKETS: usize, const LEVELS: usize> {
    wheel: Hierarchy<usize, BUCKETS, LEVELS>,
    nodes: VecNodes<WheelRecord<usize, BUCKETS>>,
    now: Tick,
    arrivals: u64,
    model: BTreeMap<(Tick, u64), usize>,
    places: Vec<Option<(Tick, u64)>>,
}

impl<const BUCKETS: usize, const LEVELS: usize> Twin<BUCKETS, LEVELS> {
    fn new(nodes: usize) -> Self {
        Self {
            wheel: Hierarchy::NEW,
            nodes: VecNodes((0..nodes).map(|_| WheelRecord::IDLE).collect()),
            now: 0,
            arrivals: 0,
            model: BTreeMap::new(),
            places: (0..nodes).map(|_| None).collect(),
        }
    }

    fn enter(&mut self, p: usize, deadline: Tick) {
        let place = (deadline.max(self.now), self.arrivals);
        self.arrivals += 1;
        self.model.insert(place, p);
        self.places[p] = Some(place);
    }

    fn insert(&mut self, p: usize, deadline: Tick) {
        let before = self.wheel.next_wake(&self.nodes);
        let change = self.wheel.insert(&mut self.nodes, p, deadline, self.now);
        self.enter(p, deadline);
        assert!(change.is_changed() || self.wheel.next_wake(&self.nodes) == before);
    }

    fn remove(&mut self, p: usize) {
        let before = self.wheel.next_wake(&self.nodes);
        let change = self.wheel.remove(&mut self.nodes, p);
        let place = self.places[p].take().unwrap();
        self.model.remove(&place);
        assert!(change.is_changed() || self.wheel.next_wake(&self.nodes) == before);
    }

    /// Takes at most `budget`, moves included; answers how many were delivered and moved.
    fn advance(&mut self, now: Tick, budget: usize) -> (usize, usize) {
        self.now = self.now.max(now);
        let (mut left, mut delivered) = (budget, 0);
        while let Some(popped) = self.wheel.pop(&mut self.nodes, self.now, &mut left) {
            left -= 1;
            delivered += 1;
            let ((expiry, _), p) = self.model.pop_first().unwrap();
            assert_eq!((popped.handle, popped.expiry, popped.deadline), (p, expiry, expiry));
            assert!(expiry <= self.now);
            self.places[p] = None;
        }
        if left > 0 {
            assert!(self.model.first_key_value().is_none_or(|(&(expiry, _), _)| expiry > self.now));
        }
        (delivered, budget - left - delivered)
    }

    fn compare(&self) {
        assert_eq!(self.wheel.check(&self.nodes, self.model.len()), Ok(()));
        let mut in_order = self.model.iter();
        let (first, second) = (in_order.next(), in_order.next());
        assert_eq!(self.wheel.head(&self.nodes), first.map(|(_, &p)| p));
        assert_eq!(self.wheel.second(&self.nodes), second.map(|(_, &p)| p));
        let expiry = first.map(|(&(expiry, _), _)| expiry);
        assert_eq!(self.wheel.next_expiry(&self.nodes), expiry);
        let wake = self.wheel.next_wake(&self.nodes);
        assert_eq!(wake.is_some(), expiry.is_some());
        assert!(wake <= expiry);
    }

    fn random(seed: u64, nodes: u32) {
        let mut random = Random::new(seed);
        let mut twin = Self::new(nodes as usize);
        for step in 0..STEPS {
            let p = random.below(nodes) as usize;
            // Many within a few buckets of one level, so that they are long.
            let delay = Tick::from(random.below(u32::MAX)) >> random.below(32);
            let deadline = twin.now.saturating_add(delay << (random.below(8) * 4));
            let growing = (step / (4 * nodes)).is_multiple_of(2);
            match (twin.places[p].is_some(), random.below(8)) {
                (false, 0) => {
                    let _ = twin.advance(twin.now + (delay >> 12), random.below(40) as usize);
                }
                (false, 1) => {
                    let next = twin.wheel.next_wake(&twin.nodes).unwrap_or(twin.now);
                    let budget = if growing { random.below(4) as usize } else { usize::MAX };
                    let _ = twin.advance(next, budget);
                }
                (false, 2) if !growing => {}
                (false, _) => twin.insert(p, deadline),
                (true, 0..=2) => {
                    twin.remove(p);
                    twin.insert(p, deadline);
                }
                (true, 3..=5) if growing => {}
                (true, _) => twin.remove(p),
            }
            twin.compare();
        }
        let _ = twin.advance(Tick::MAX, usize::MAX);
        assert!(twin.model.is_empty());
        twin.compare();
    }
}

/// LEVELS != BITS in all but one, and digits that do not fill the last level in some.
#[test]
fn agrees_with_a_map_in_every_geometry() {
    for seed in 0..4 {
        for nodes in [5, 40, 300] {
            Twin::<64, 11>::random(seed, nodes);
            Twin::<32, 13>::random(seed, nodes);
            Twin::<16, 16>::random(seed, nodes);
            Twin::<8, 22>::random(seed, nodes);
            Twin::<4, 32>::random(seed, nodes);
            Twin::<2, 64>::random(seed, nodes);
        }
    }
}

/// The clock at 2^k - d, timers around it and the next power, with and without one at the end of
/// time, run through tick by tick.
#[test]
fn every_power_of_two_is_passed_in_order() {
    for k in 0..64 {
        for d in [0, 1, 2, 65] {
            for far in [false, true] {
                let edge: Tick = 1 << k;
                let mut twin = Twin::<64, 11>::new(32);
                let _ = twin.advance(edge.saturating_sub(d), 1);
                if far {
                    twin.insert(0, Tick::MAX);
                }
                let next = edge.saturating_mul(2);
                let deadlines =
                    [edge - 1, edge, edge + 1, next - 1, next, next.saturating_add(1), edge + 63, edge + 64];
                for (p, &deadline) in (1..).zip(&deadlines) {
                    twin.insert(p, deadline);
                    twin.compare();
                }
                for budget in [1, 1, 2, usize::MAX] {
                    let _ = twin.advance(twin.now.saturating_add(1), budget);
                    twin.compare();
                }
                while let Some(wake) = twin.wheel.next_wake(&twin.nodes) {
                    let _ = twin.advance(wake.saturating_sub(1), usize::MAX);
                    let _ = twin.advance(wake, usize::MAX);
                    twin.compare();
                }
                assert!(twin.model.is_empty());
            }
        }
    }
}

/// So many in one bucket that it is emptied from both ends; equals and unequals mixed, some of them
/// two levels down.
#[test]
fn long_buckets_keep_their_order() {
    for n in [7, 8, 9, 10, 11, 12, 100, 101, 1000] {
        let mut random = Random::new(n as u64);
        for deep in [false, true] {
            let mut twin = Twin::<64, 11>::new(n);
            for p in 0..n {
                let spread = if deep { 100 } else { 4096 };
                twin.insert(p, 4096 + Tick::from(random.below(spread)));
            }
            twin.compare();
            let first = twin.wheel.next_wake(&twin.nodes).unwrap();
            let (delivered, moved) = twin.advance(first, usize::MAX);
            assert_eq!(moved >= n, n > 1, "{delivered} delivered, {moved} moved");
            twin.compare();
            let mut now = first;
            while !twin.model.is_empty() {
                now += 1;
                let _ = twin.advance(now, usize::MAX);
                twin.compare();
            }
        }
    }
}

/// What arrives next is filed from there, so it is not filed too high.
#[test]
fn a_lone_timer_that_leaves_its_high_bucket_takes_the_wheel_along() {
    let mut twin = Twin::<64, 11>::new(2);
    twin.insert(0, 1_000);
    twin.insert(1, 100_000);
    let popped = twin.wheel.pop(&mut twin.nodes, 2_000, &mut 1).unwrap();
    assert_eq!((popped.handle, popped.expiry, twin.wheel.clock), (0, 1_000, 1_000));
}

/// A budget stops in the middle of a bucket; what comes in the meantime, and what goes, finds its
/// place.
#[test]
fn a_cascade_is_stopped_and_taken_up_again() {
    const N: usize = 50;
    for stop in 1..N {
        let mut twin = Twin::<64, 11>::new(N + 2);
        for p in 0..N {
            twin.insert(p, 64 + p as Tick % 7);
        }
        assert_eq!(twin.advance(70, stop), (0, stop));
        assert!(twin.wheel.cascade.is_some(), "stopped after {stop}");
        twin.compare();
        twin.insert(N, 64);
        twin.insert(N + 1, 5000);
        twin.compare();
        for p in (0..N).filter(|p| p % 3 == stop % 3) {
            twin.remove(p);
            twin.compare();
        }
        while !twin.model.is_empty() {
            assert!(twin.advance(5000, 3) != (0, 0));
            twin.compare();
        }
    }
    // All that was left of the bucket is removed: nothing remains half done.
    let mut twin = Twin::<64, 11>::new(4);
    for p in 0..4 {
        twin.insert(p, 64 + p as Tick);
    }
    let _ = twin.advance(100, 2);
    twin.remove(2);
    twin.remove(3);
    assert_eq!(twin.wheel.cascade, None);
    twin.compare();
}

/// As many arrive in the bucket as the budget moves out of it: what is due leaves all the same.
#[test]
fn arrivals_do_not_starve_a_cascade() {
    const BUDGET: usize = 4;
    let mut twin = Twin::<64, 11>::new(2000);
    for p in 0..100 {
        twin.insert(p, 4096 + p as Tick % 4);
    }
    let (mut delivered, mut arrived) = (0, 100);
    for call in 0.. {
        for _ in 0..BUDGET {
            if arrived < 2000 && delivered < 100 {
                twin.insert(arrived, 4096 + 4000);
                arrived += 1;
            }
        }
        delivered += twin.advance(4100, BUDGET).0;
        twin.compare();
        if delivered >= 100 {
            break;
        }
        assert!(call < 200, "{delivered} of 100 delivered, {arrived} have arrived");
    }
}

/// Removing the earliest again and again leaves a bound that comes early: entering the bucket then
/// is paid for once, not at each pop.
#[test]
fn a_bound_that_has_come_is_settled_once() {
    const N: usize = 1000;
    let mut twin = Twin::<64, 11>::new(N);
    for p in 0..N {
        twin.insert(p, 100_000 + p as Tick);
    }
    let mut moved = 0;
    while let Some(p) = twin.wheel.head(&twin.nodes) {
        twin.remove(p);
        let bound = twin.wheel.next_wake(&twin.nodes).unwrap_or(0);
        moved += twin.advance(bound, usize::MAX).1;
    }
    assert!(moved < 4 * N, "{moved} moves");
    twin.compare();
}

/// A shell that empties the wheel node by node does not look for the head each time.
#[test]
fn any_node_is_found_at_once() {
    let mut twin = Twin::<64, 11>::new(100);
    for p in 0..100 {
        twin.insert(p, (1 << 30) + 100 - p as Tick);
    }
    assert_eq!(twin.wheel.any(&twin.nodes), Some(0), "the first of the bucket, not the earliest");
}

/// The earliest of a bucket leaves it, and then the bucket is emptied: the alarm changes although
/// the timer that went was not the minimum.
#[test]
fn a_bucket_whose_earliest_is_unknown_reports_that_it_is_emptied() {
    let mut twin = Twin::<64, 11>::new(3);
    twin.insert(0, 100);
    twin.insert(1, 110);
    twin.insert(2, 9000);
    twin.remove(0);
    assert_eq!(twin.wheel.next_wake(&twin.nodes), Some(100), "a bound, not later");
    assert_eq!(twin.wheel.next_expiry(&twin.nodes), Some(110));
    twin.remove(1);
    assert_eq!(twin.wheel.next_wake(&twin.nodes), Some(9000));
    twin.compare();
}

/// Nothing is pending for ages: an advance looks at a few buckets however far it goes, and one that
/// stands alone is not moved.
#[test]
fn an_advance_over_ages_moves_nothing() {
    let mut twin = Twin::<64, 11>::new(3);
    let year = 365 * 24 * 3600 * 1000;
    for round in 1..50 {
        twin.insert(0, twin.now + 300 * year);
        twin.insert(1, twin.now + 1);
        assert_eq!(twin.advance(twin.now + 1, usize::MAX), (1, 0), "round {round}");
        assert_eq!(twin.advance(twin.now + 200 * year, usize::MAX), (0, 0));
        assert!(twin.now - twin.wheel.clock < 100 * year, "it goes to the edge of the bucket of the next");
        assert_eq!(twin.advance(twin.now + 100 * year, usize::MAX), (1, 0));
    }
}

/// The clock of the wheel follows what is delivered and, while nothing is pending, what is
/// inserted: near timers then need no move.
#[test]
fn near_timers_are_seen_from_the_present() {
    let mut twin = Twin::<64, 11>::new(4);
    let _ = twin.advance(1 << 40, usize::MAX);
    twin.insert(0, twin.now + 1);
    twin.insert(1, twin.now + 2);
    assert_eq!(twin.advance(twin.now + 2, usize::MAX), (2, 0), "into an empty wheel");
    twin.insert(0, twin.now + (1 << 30));
    assert_eq!(twin.advance(twin.now + (1 << 30), usize::MAX), (1, 0), "alone in its bucket");
    twin.insert(1, twin.now + 1);
    twin.insert(2, twin.now + 2);
    assert_eq!(twin.advance(twin.now + 2, usize::MAX), (2, 0), "after a delivery");
}

/// An insert before all others in a bucket settles its minimum: the wake-up is exact again.
#[test]
fn an_earlier_insert_settles_the_minimum() {
    let mut twin = Twin::<64, 11>::new(4);
    for (p, deadline) in [(0, 100), (1, 110), (2, 120)] {
        twin.insert(p, deadline);
    }
    twin.remove(0);
    twin.insert(3, 90);
    assert_eq!(twin.wheel.buckets.dirty, [0; 11]);
    twin.compare();
}

type Wheel = Hierarchy<usize, 64, 11>;
type WheelNodes = VecNodes<WheelRecord<usize, 64>>;

/// Nodes 0 to 4 at 5, 5, 100, 101 and 5000: levels 0, 0, 1, 1 and 2.
fn five() -> (Wheel, WheelNodes) {
    let (mut wheel, mut nodes) = (Wheel::NEW, VecNodes(Vec::new()));
    for (p, deadline) in [5, 5, 100, 101, 5000].into_iter().enumerate() {
        nodes.0.push(WheelRecord::IDLE);
        let _ = wheel.insert(&mut nodes, p, deadline, 0);
    }
    assert_eq!(wheel.check(&nodes, 5), Ok(()));
    (wheel, nodes)
}

/// What `check` says after `damage`.
fn broken(damage: impl FnOnce(&mut Wheel, &mut WheelNodes)) -> Result<(), Violation> {
    let (mut wheel, mut nodes) = five();
    damage(&mut wheel, &mut nodes);
    wheel.check(&nodes, 5)
}

#[test]
fn wrong_links_are_named() {
    for p in 0..5 {
        let (_, nodes) = five();
        let Links { next, prev } = *links(&nodes, p);
        for wrong in (0..5).map(Some).chain([None]) {
            if wrong != prev {
                let result = broken(|_, nodes| nodes.0[p].links.prev = wrong);
                assert_eq!(result, Err(Violation::BackLink), "{wrong:?} <- {p}");
            }
            if wrong != next {
                let result = broken(|_, nodes| nodes.0[p].links.next = wrong);
                assert!(result.is_err(), "{p} -> {wrong:?}");
            }
        }
    }
}

fn links(nodes: &WheelNodes, p: usize) -> &Links<usize> {
    nodes.record(p).links()
}

#[test]
fn wrong_ends_are_named() {
    assert_eq!(broken(|wheel, _| wheel.buckets.array[0][5].chain.head = Some(1)), Err(Violation::BackLink));
    assert_eq!(broken(|wheel, _| wheel.buckets.array[0][5].chain.tail = Some(0)), Err(Violation::Head));
    assert_eq!(broken(|wheel, _| wheel.buckets.array[1][1].chain.tail = None), Err(Violation::Head));
    assert_eq!(broken(|wheel, _| wheel.buckets.array[0][9].chain.tail = Some(4)), Err(Violation::Head));
    assert_eq!(broken(|wheel, _| wheel.buckets.array[0][5].chain.head = None), Err(Violation::Occupied));
}

#[test]
fn wrong_marks_are_named() {
    for level in 0..11 {
        for digit in 0..64 {
            let result = broken(|wheel, _| wheel.buckets.occupied[level] ^= 1 << digit);
            assert_eq!(result, Err(Violation::Occupied), "bucket {digit} of level {level}");
            let used = [(0, 5), (1, 1), (2, 1)].contains(&(level, digit));
            let result = broken(|wheel, _| wheel.buckets.dirty[level] ^= 1 << digit);
            // A dirty mark on a bucket whose minimum is right is too careful, but not wrong.
            let harmless = used && level > 0;
            assert_eq!(result, if harmless { Ok(()) } else { Err(Violation::Minimum) });
        }
    }
    for level in 0..64 {
        assert_eq!(
            broken(|wheel, _| wheel.buckets.levels ^= 1 << level),
            Err(Violation::Occupied),
            "level {level}"
        );
    }
}

#[test]
fn wrong_minima_are_named() {
    for (level, digit) in [(0, 5), (1, 1), (2, 1)] {
        for by in [-1, 1] {
            let result = broken(|wheel, _| {
                let min = &mut wheel.buckets.array[level][digit].min;
                *min = min.saturating_add_signed(by);
            });
            assert_eq!(result, Err(Violation::Minimum), "{by} at {level}, {digit}");
        }
    }
    let late = broken(|wheel, _| {
        wheel.buckets.dirty[1] |= 1 << 1;
        wheel.buckets.array[1][1].min = 101;
    });
    assert_eq!(late, Err(Violation::Minimum));
}

#[test]
fn wrong_places_are_named() {
    for p in 0..5 {
        assert_eq!(
            broken(|_, nodes| nodes.0[p].bucket = BucketNumber::new(9, 9)),
            Err(Violation::Position),
            "{p}"
        );
        assert_eq!(broken(|_, nodes| nodes.0[p].expiry ^= 1 << 40), Err(Violation::Bucket), "{p}");
    }
    assert_eq!(broken(|wheel, _| wheel.clock = 6), Err(Violation::Order));
    assert_eq!(broken(|wheel, _| wheel.clock = 4), Ok(()), "still before all");
    let cascade = |from| Some(Cascade { from, clock: 5 });
    let empty = BucketNumber::new(3, 1);
    assert_eq!(broken(|wheel, _| wheel.cascade = cascade(empty)), Err(Violation::Bucket));
    let lowest = BucketNumber::new(0, 5);
    let mut half = Twin::<64, 11>::new(10);
    for p in 0..10 {
        half.insert(p, 67 + p as Tick);
    }
    let _ = half.advance(67, 3);
    for clock in [0, 63, 68, 69, 127, 128] {
        half.wheel.cascade.as_mut().unwrap().clock = clock;
        assert!(half.wheel.check(&half.nodes, 10).is_err(), "clock {clock}");
    }
    assert_eq!(broken(|wheel, _| wheel.cascade = cascade(lowest)), Err(Violation::Bucket));
    // The second bucket of level 1 is moved down although the first is occupied. The timer in the
    // first is before the clock of the cascade, and in order where it is.
    let mut second = Twin::<64, 11>::new(2);
    second.insert(0, 70);
    second.insert(1, 140);
    assert_eq!(second.wheel.check(&second.nodes, 2), Ok(()));
    second.wheel.cascade = Some(Cascade { from: BucketNumber::new(1, 2), clock: 130 });
    assert_eq!(second.wheel.check(&second.nodes, 2), Err(Violation::Bucket));
}

#[test]
fn wrong_counts_are_named() {
    let (wheel, nodes) = five();
    assert_eq!(wheel.check(&nodes, 4), Err(Violation::Count));
    assert_eq!(wheel.check(&nodes, 6), Err(Violation::Count));
}

/// What a slab node takes.
#[test]
fn a_record_takes_24_bytes() {
    assert_eq!(size_of::<WheelRecord<core::num::NonZeroU32, 64>>(), 24);
    assert!(usize::from_number(1).is_none());
}
