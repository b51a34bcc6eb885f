use std::vec::Vec;

use super::super::testing::{Exact, Model, Random, SlabTwin, VecNodes, twins};
use super::Wheel;
use super::hierarchy::{Cascade, Hierarchy, WheelRecord};
use crate::contract::{Tick, Violation};
use crate::structure::{Discipline, Due, Handle, Nodes, Record};
use crate::structures::digits::BucketNumber;
use tickwright_nodes::chain::{Chained, Links};

type Twin = SlabTwin<Wheel>;

/// In all cases except one, `LEVELS` differs from `BITS`. In some cases, the last digit of a tick
/// has fewer bits than the other digits.
#[test]
fn agrees_with_a_sorted_vec_in_every_geometry() {
    let (sizes, seeds) = if cfg!(miri) { (&[5, 40][..], 1..3) } else { (&[5, 40, 300][..], 0..5) };
    for &ids in sizes {
        twins::<Wheel<64, 11>, Exact>(ids, seeds.clone());
        twins::<Wheel<32, 13>, Exact>(ids, seeds.clone());
        twins::<Wheel<16, 16>, Exact>(ids, seeds.clone());
        twins::<Wheel<8, 22>, Exact>(ids, seeds.clone());
        twins::<Wheel<4, 32>, Exact>(ids, seeds.clone());
        twins::<Wheel<2, 64>, Exact>(ids, seeds.clone());
    }
}

/// The clock starts at 2^k - d, for several k and d. Timers are due around the clock and around the
/// next power of two. Half of the cases have one more timer, which is due at the last tick. The
/// clock then advances tick by tick.
#[test]
fn every_power_of_two_is_passed_in_order() {
    for k in 0..64 {
        for d in [0, 1, 2, 65] {
            for far in [false, true] {
                let edge: Tick = 1 << k;
                let mut twin = Twin::over_slab(32);
                twin.advance(edge.saturating_sub(d), 1);
                if far {
                    twin.insert(0, Tick::MAX);
                }
                let next = edge.saturating_mul(2);
                let deadlines =
                    [edge - 1, edge, edge + 1, next - 1, next, next.saturating_add(1), edge + 63, edge + 64];
                for (id, &deadline) in (1..).zip(&deadlines) {
                    twin.insert(id, deadline);
                }
                for budget in [1, 1, 2, usize::MAX] {
                    twin.advance(twin.now.saturating_add(1), budget);
                }
                while let Some(wake) = twin.queue.next_wake() {
                    twin.advance(wake.saturating_sub(1), usize::MAX);
                    twin.advance(wake, usize::MAX);
                }
                assert_eq!(twin.model.len(), 0);
            }
        }
    }
}

/// One bucket has so many timers that a cascade walks it from both ends. Equal and unequal expiries
/// are mixed, and some timers move two levels down.
#[test]
fn long_buckets_keep_their_order() {
    for n in [7, 8, 9, 10, 11, 12, 100, 101, 1000] {
        let mut random = Random::new(n.into());
        for deep in [false, true] {
            let mut twin = Twin::over_slab(n);
            for id in 0..n {
                let spread = if deep { 100 } else { 4096 };
                twin.insert(id, 4096 + Tick::from(random.below(spread)));
            }
            let first = twin.queue.next_wake().unwrap();
            let (delivered, moved) = twin.advance(first, usize::MAX);
            assert_eq!(moved >= n as usize, n > 1, "{delivered} delivered, {moved} moved");
            let mut now = first;
            while twin.model.len() > 0 {
                now += 1;
                twin.advance(now, usize::MAX);
            }
        }
    }
}

/// When a timer leaves directly from its high bucket, the clock advances, so that the next timer is
/// not inserted at too high a level.
#[test]
fn a_lone_timer_that_leaves_its_high_bucket_takes_the_wheel_along() {
    let mut twin = Twin::over_slab(2);
    twin.insert(0, 1_000);
    twin.insert(1, 100_000);
    assert_eq!(twin.advance(2_000, 1), (1, 0));
    assert_eq!(twin.queue.store.order.clock, 1_000);
}

/// A budget is used up in the middle of a bucket. Timers that are inserted or removed before the
/// cascade continues are handled correctly.
#[test]
fn a_cascade_is_stopped_and_taken_up_again() {
    const N: u32 = 50;
    for stop in 1..N {
        let mut twin = Twin::over_slab(N + 2);
        for id in 0..N {
            twin.insert(id, 64 + Tick::from(id % 7));
        }
        assert_eq!(twin.advance(70, stop as usize), (0, stop as usize));
        assert!(twin.queue.store.order.cascade.is_some(), "stopped after {stop}");
        twin.insert(N, 64);
        twin.insert(N + 1, 5000);
        for id in (0..N).filter(|id| id % 3 == stop % 3) {
            twin.remove(id);
        }
        while twin.model.len() > 0 {
            assert!(twin.advance(5000, 3) != (0, 0));
        }
    }
    // All timers that were left in the bucket are removed, so no cascade remains half done.
    let mut twin = Twin::over_slab(4);
    for id in 0..4 {
        twin.insert(id, 64 + Tick::from(id));
    }
    twin.advance(100, 2);
    twin.remove(2);
    twin.remove(3);
    assert_eq!(twin.queue.store.order.cascade, None);
}

/// As many timers arrive in the bucket as the budget moves out of it, and due timers still leave.
#[test]
fn arrivals_do_not_starve_a_cascade() {
    const BUDGET: usize = 4;
    let mut twin = Twin::over_slab(2000);
    for id in 0..100 {
        twin.insert(id, 4096 + Tick::from(id % 4));
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
        if delivered >= 100 {
            break;
        }
        assert!(call < 200, "{delivered} of 100 delivered, {arrived} have arrived");
    }
}

/// The earliest timer is removed again and again, which leaves a `min` that is too early. The wheel
/// then enters the bucket once, instead of at each pop.
#[test]
fn a_bound_that_has_come_is_settled_once() {
    const N: u32 = 1000;
    let mut twin = Twin::over_slab(N);
    for id in 0..N {
        twin.insert(id, 100_000 + Tick::from(id));
    }
    let mut moved = 0;
    while let Some(head) = twin.model.get(0) {
        twin.remove(head.id);
        let bound = twin.queue.next_wake().unwrap_or(0);
        moved += twin.advance(bound, usize::MAX).1;
    }
    assert!(moved < 4 * N as usize, "{moved} moves");
}

/// A queue that empties the wheel node by node need not search for each node.
#[test]
fn any_node_is_found_at_once() {
    let (wheel, nodes) = raw((1..=100).rev().map(|delay| (1 << 30) + delay));
    assert_eq!(wheel.any(&nodes), Some(0), "the first of the bucket, not the earliest");
}

/// The earliest timer of a bucket is removed, and the bucket's `min` does not change. Then the
/// bucket's last timer is removed. The alarm changes, although that timer was due after `min`.
#[test]
fn a_bucket_whose_earliest_is_unknown_reports_that_it_is_emptied() {
    let mut twin = Twin::over_slab(3);
    twin.insert(0, 100);
    twin.insert(1, 110);
    twin.insert(2, 9000);
    twin.remove(0);
    assert_eq!(twin.queue.next_wake(), Some(100), "a bound, not later");
    assert_eq!(twin.queue.next_expiry(), Some(110));
    twin.remove(1);
    assert_eq!(twin.queue.next_wake(), Some(9000));
}

/// Nothing expires for a long time. An advance over any number of ticks reads only a few buckets,
/// and a timer that is the only timer in its bucket does not move.
#[test]
fn an_advance_over_ages_moves_nothing() {
    let mut twin = Twin::over_slab(3);
    let year = 365 * 24 * 3600 * 1000;
    for round in 1..50 {
        twin.insert(0, twin.now + 300 * year);
        twin.insert(1, twin.now + 1);
        assert_eq!(twin.advance(twin.now + 1, usize::MAX), (1, 0), "round {round}");
        assert_eq!(twin.advance(twin.now + 200 * year, usize::MAX), (0, 0));
        assert!(
            twin.now - twin.queue.store.order.clock < 100 * year,
            "it goes to the edge of the bucket of the next"
        );
        assert_eq!(twin.advance(twin.now + 100 * year, usize::MAX), (1, 0));
    }
}

/// The wheel's clock follows deliveries and, while nothing is pending, inserts. Timers that are due
/// soon therefore need no move.
#[test]
fn near_timers_are_seen_from_the_present() {
    let mut twin = Twin::over_slab(4);
    twin.advance(1 << 40, usize::MAX);
    twin.insert(0, twin.now + 1);
    twin.insert(1, twin.now + 2);
    assert_eq!(twin.advance(twin.now + 2, usize::MAX), (2, 0), "into an empty wheel");
    twin.insert(0, twin.now + (1 << 30));
    assert_eq!(twin.advance(twin.now + (1 << 30), usize::MAX), (1, 0), "alone in its bucket");
    twin.insert(1, twin.now + 1);
    twin.insert(2, twin.now + 2);
    assert_eq!(twin.advance(twin.now + 2, usize::MAX), (2, 0), "after a delivery");
}

/// A timer that is earlier than all other timers of a bucket makes the bucket's minimum exact, so
/// the wake-up is exact again.
#[test]
fn an_earlier_insert_settles_the_minimum() {
    let mut twin = Twin::over_slab(4);
    for (p, deadline) in [(0, 100), (1, 110), (2, 120)] {
        twin.insert(p, deadline);
    }
    twin.remove(0);
    twin.insert(3, 90);
    assert_eq!(twin.queue.store.order.buckets.dirty, [0; 11]);
}

type Raw = Hierarchy<usize, 64, 11>;
type WheelNodes = VecNodes<WheelRecord<usize, 64>>;

/// Returns a wheel over a vector, with a node for each deadline.
fn raw(deadlines: impl IntoIterator<Item = Tick>) -> (Raw, WheelNodes) {
    let (mut wheel, mut nodes) = (Raw::NEW, VecNodes(Vec::new()));
    for (p, deadline) in deadlines.into_iter().enumerate() {
        nodes.0.push(WheelRecord::IDLE);
        let _ = wheel.insert(&mut nodes, p, deadline, 0);
    }
    assert_eq!(wheel.check(&nodes, nodes.0.len()), Ok(()));
    (wheel, nodes)
}

/// Returns a wheel whose nodes 0 to 4 are due at 5, 5, 100, 101 and 5000, which are at levels 0, 0,
/// 1, 1 and 2.
fn five() -> (Raw, WheelNodes) {
    raw([5, 5, 100, 101, 5000])
}

/// Returns what `check` returns after `damage`.
fn broken(damage: impl FnOnce(&mut Raw, &mut WheelNodes)) -> Result<(), Violation> {
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
            // A dirty mark on a bucket whose minimum is exact is unnecessary, but not wrong.
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

/// A poll at a tick between two timers sets `quiet`; a new timer for an earlier tick lowers
/// `quiet`.
#[test]
fn a_quiet_span_ends_at_the_next_timer() {
    let (mut wheel, mut nodes) = raw([40, 500]);
    assert_eq!((wheel.pop(&mut nodes, 10, &mut 9), wheel.quiet), (None, 40));
    nodes.0.push(WheelRecord::IDLE);
    let _ = wheel.insert(&mut nodes, 2, 20, 10);
    assert_eq!((wheel.quiet, wheel.check(&nodes, 3)), (20, Ok(())));
    let due = |due: Option<Due<usize>>| due.map(|due| (due.handle, due.expiry));
    assert_eq!(due(wheel.pop(&mut nodes, 30, &mut 9)), Some((2, 20)));
    assert_eq!(due(wheel.pop(&mut nodes, 40, &mut 9)), Some((0, 40)));
    // The clock follows the polls, because `quiet` is at most `BUCKETS` ticks after the clock.
    assert_eq!((wheel.pop(&mut nodes, 140, &mut 9), wheel.clock, wheel.quiet), (None, 140, 204));
    assert_eq!(wheel.check(&nodes, 1), Ok(()));
    wheel.quiet = 501;
    assert_eq!(wheel.check(&nodes, 1), Err(Violation::Minimum));
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
    let (mut half, mut nodes) = raw(67..77);
    assert_eq!(half.pop(&mut nodes, 67, &mut 3), None);
    assert_eq!(half.check(&nodes, 10), Ok(()));
    for clock in [0, 63, 68, 69, 127, 128] {
        half.cascade.as_mut().unwrap().clock = clock;
        assert!(half.check(&nodes, 10).is_err(), "clock {clock}");
    }
    assert_eq!(broken(|wheel, _| wheel.cascade = cascade(lowest)), Err(Violation::Bucket));
    // A cascade moves the second bucket of level 1 down although the first bucket is occupied. The
    // only violated invariant is that the timer in the first bucket is due before the cascade's
    // clock.
    let (mut second, nodes) = raw([70, 140]);
    second.cascade = Some(Cascade { from: BucketNumber::new(1, 2), clock: 130 });
    assert_eq!(second.check(&nodes, 2), Err(Violation::Bucket));
}

#[test]
fn wrong_counts_are_named() {
    let (wheel, nodes) = five();
    assert_eq!(wheel.check(&nodes, 4), Err(Violation::Count));
    assert_eq!(wheel.check(&nodes, 6), Err(Violation::Count));
}

/// Checks the size of a slab node. On 32-bit x86, ticks are aligned to four bytes.
#[test]
fn a_record_takes_24_bytes() {
    let bytes = if align_of::<Tick>() == 8 { 24 } else { 20 };
    assert_eq!(size_of::<WheelRecord<core::num::NonZeroU32, 64>>(), bytes);
    assert!(usize::from_number(1).is_none());
}
