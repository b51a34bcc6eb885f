//! Deliberately breaks each field that `check()` verifies.

use std::vec::Vec;

use super::super::{Chain, FAR, NONE};
use super::{Bench, Standard};
use crate::contract::{Tick, Violation};
use crate::structure::Discipline;

type Wheel = Bench<64, 3, 9>;

const NOW: Tick = 1_000_000;

/// Returns a wheel with three due timers, three timers in each of several levels, and three in each
/// of two far buckets. Nodes are numbered in this order.
fn full() -> Wheel {
    let mut bench = Wheel::at(NOW);
    let delays = [0, 1, 30, 63, 1000, 1 << 20, 1 << 34, 1 << 50];
    for delay in delays {
        for _ in 0..3 {
            bench.insert(NOW + delay);
        }
    }
    bench
}

fn verdict(bench: &Wheel) -> Result<(), Violation> {
    bench.wheel.check(&bench.nodes, bench.len)
}

/// A change: its description, and the function that makes it.
type Change = (&'static str, fn(&mut Wheel));

/// Requires that `check` returns `expected` after each of `changes` to a valid wheel.
fn named(expected: Violation, changes: &[Change]) {
    for (what, change) in changes {
        let mut bench = full();
        assert_eq!(verdict(&bench), Ok(()));
        change(&mut bench);
        assert_eq!(verdict(&bench), Err(expected), "{what}");
    }
}

#[test]
fn a_wrong_next_is_named() {
    let whole = full();
    for p in 0..whole.len {
        let right = whole.nodes.0[p].links.next;
        for wrong in (0..whole.len).map(Some).chain([None]).filter(|&wrong| wrong != right) {
            let mut bench = full();
            bench.nodes.0[p].links.next = wrong;
            let found = verdict(&bench);
            let expected = match wrong {
                None => Violation::Head,
                // The walk has already visited all nodes.
                Some(_) if p + 1 == whole.len => Violation::Count,
                Some(_) => Violation::BackLink,
            };
            assert_eq!(found, Err(expected), "{p} -> {wrong:?}");
        }
    }
}

#[test]
fn a_wrong_prev_is_named() {
    let whole = full();
    for p in 0..whole.len {
        let right = whole.nodes.0[p].links.prev;
        for wrong in (0..whole.len).map(Some).chain([None]).filter(|&wrong| wrong != right) {
            let mut bench = full();
            bench.nodes.0[p].links.prev = wrong;
            assert_eq!(verdict(&bench), Err(Violation::BackLink), "{wrong:?} <- {p}");
        }
    }
}

#[test]
fn a_wrong_head_or_tail_is_named() {
    named(
        Violation::BackLink,
        &[
            ("the due list begins at its second", |bench| bench.wheel.due.head = Some(1)),
            ("a bucket begins at its second", |bench| {
                let index = usize::from(bench.nodes.0[3].index);
                bench.wheel.levels[0][index].head = Some(4);
            }),
            ("a far bucket begins at its second", |bench| {
                bench.wheel.far[usize::from(bench.nodes.0[18].index)].head = Some(19);
            }),
        ],
    );
    named(
        Violation::Head,
        &[
            ("the due list ends too early", |bench| bench.wheel.due.tail = Some(1)),
            ("a bucket ends too early", |bench| {
                let index = usize::from(bench.nodes.0[12].index);
                bench.wheel.levels[2][index].tail = Some(13);
            }),
            ("an empty bucket has an end", |bench| bench.wheel.levels[8][0].tail = Some(13)),
            ("a far bucket has no end", |bench| {
                bench.wheel.far[usize::from(bench.nodes.0[18].index)].tail = None;
            }),
        ],
    );
}

#[test]
fn a_wrong_count_is_named() {
    for wrong in [0, 1, 23, 25, usize::MAX] {
        let mut bench = full();
        bench.len = wrong;
        assert_eq!(verdict(&bench), Err(Violation::Count), "{wrong} instead of 24");
    }
    named(
        Violation::Count,
        &[
            ("the due list is lost", |bench| bench.wheel.due = Chain::EMPTY),
            ("a bucket is lost with its mark", |bench| {
                let index = usize::from(bench.nodes.0[3].index);
                bench.wheel.levels[0][index] = Chain::EMPTY;
                bench.wheel.occupied[0] &= !(1 << index);
            }),
        ],
    );
}

#[test]
fn a_cycle_ends_the_walk() {
    let mut bench = full();
    // The last node is its own neighbor on both sides.
    bench.nodes.0[23].links.prev = Some(23);
    bench.nodes.0[23].links.next = Some(23);
    bench.nodes.0[22].links.next = Some(23);
    assert_eq!(verdict(&bench), Err(Violation::BackLink));
    bench.nodes.0[21].links.prev = Some(23);
    bench.nodes.0[23].links.next = Some(21);
    bench.nodes.0[23].links.prev = Some(22);
    assert_eq!(verdict(&bench), Err(Violation::BackLink));
}

#[test]
fn a_wrong_mark_is_named() {
    for level in 0..9 {
        for index in 0..64 {
            let mut bench = full();
            bench.wheel.occupied[level] ^= 1 << index;
            assert_eq!(verdict(&bench), Err(Violation::Occupied), "{index} of level {level}");
        }
    }
    for power in 0..64 {
        let mut bench = full();
        bench.wheel.far_occupied ^= 1 << power;
        assert_eq!(verdict(&bench), Err(Violation::Occupied), "far bucket {power}");
    }
    let mut bench = Bench::<8, 2, 4>::new();
    bench.wheel.occupied[2] |= 1 << 8;
    assert_eq!(bench.wheel.check(&bench.nodes, 0), Err(Violation::Occupied), "a mark without a bucket");
}

#[test]
fn a_wrong_position_is_named() {
    named(
        Violation::Position,
        &[
            ("the level", |bench| bench.nodes.0[3].level = 1),
            ("due, in a bucket", |bench| bench.nodes.0[3].level = NONE),
            ("far, in a bucket", |bench| bench.nodes.0[4].level = FAR),
            ("the index", |bench| bench.nodes.0[13].index ^= 1),
            ("the far bucket", |bench| bench.nodes.0[18].index += 1),
            ("near, in a far bucket", |bench| bench.nodes.0[19].level = 8),
            ("due, in a far bucket", |bench| bench.nodes.0[20].level = NONE),
        ],
    );
}

#[test]
fn a_wrong_bucket_is_named() {
    named(
        Violation::Bucket,
        &[
            ("another bucket", |bench| bench.nodes.0[3].deadline += 1),
            ("a turn too late", |bench| bench.nodes.0[3].deadline += 64),
            ("a turn too early", |bench| bench.nodes.0[13].deadline -= 64 * 64),
            ("a granule of a coarse level", |bench| {
                bench.nodes.0[15].deadline += Standard::granule(usize::from(bench.nodes.0[15].level));
            }),
            ("due before it is", |bench| bench.nodes.0[1].deadline = NOW + 1),
            ("far among the due", |bench| bench.nodes.0[1].level = FAR),
            ("of a level, among the due, before it is", |bench| bench.nodes.0[2].level = 3),
            ("another power of two", |bench| bench.nodes.0[18].deadline <<= 1),
            ("a far one that is near", |bench| bench.nodes.0[21].deadline = NOW + 5),
            ("the clock beyond the end of a bucket", |bench| bench.wheel.clock += 100),
            ("the clock behind", |bench| bench.wheel.clock -= 100),
        ],
    );
}

#[test]
fn a_quiet_that_lasts_too_long_is_named() {
    named(Violation::Minimum, &[("beyond the first end", |bench| bench.wheel.quiet_until = Tick::MAX)]);
    let mut bench = full();
    bench.wheel.quiet_until = 0;
    assert_eq!(verdict(&bench), Ok(()), "too early is only slow");
}

/// While a far bucket is being emptied, the clock must be at the bucket's end.
#[test]
fn a_wrong_clock_while_re_filing_is_named() {
    let mut bench = Wheel::new();
    let far: Vec<usize> = (0..4).map(|_| bench.insert(3 << 40)).collect();
    let power = usize::from(bench.nodes.0[far[0]].index);
    let mut budget = 2;
    assert!(bench.wheel.pop(&mut bench.nodes, 1 << 42, &mut budget).is_none());
    assert_eq!(verdict(&bench), Ok(()));
    assert_eq!(bench.wheel.clock, 1 << power);
    bench.wheel.clock += 1;
    assert_eq!(verdict(&bench), Err(Violation::Bucket));
}

#[test]
fn disorder_among_the_due_is_named() {
    let mut bench = full();
    bench.nodes.0[0].deadline -= 1;
    assert_eq!(verdict(&bench), Ok(()), "earlier ones may stand first");
    bench.nodes.0[1].deadline -= 2;
    assert_eq!(verdict(&bench), Err(Violation::Order));
}
