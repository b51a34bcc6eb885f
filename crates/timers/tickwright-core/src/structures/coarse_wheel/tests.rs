use core::cell::Cell;
use core::cmp::Reverse;
use std::vec::Vec;

use super::super::testing::VecNodes;
use super::{Coarse, CoarseRecord, FAR, Geometry, NONE};
use crate::contract::{HeadChange, Tick};
use crate::structure::{Discipline, Due, Nodes, Record};

mod model;
mod mutants;

type Standard = Geometry<64, 3, 9>;
type Small = Geometry<8, 2, 4>;

/// A wheel over a vector, and the last `now` that was passed to it.
pub(super) struct Bench<const B: usize, const S: u32, const D: usize> {
    pub(super) wheel: Coarse<usize, B, S, D>,
    pub(super) nodes: VecNodes<CoarseRecord<usize>>,
    pub(super) len: usize,
    now: Tick,
}

impl<const B: usize, const S: u32, const D: usize> Bench<B, S, D> {
    pub(super) fn new() -> Self {
        Self { wheel: Coarse::NEW, nodes: VecNodes(Vec::new()), len: 0, now: 0 }
    }

    /// Creates a wheel whose clock has advanced to `now`.
    pub(super) fn at(now: Tick) -> Self {
        let mut bench = Self::new();
        bench.pop(now);
        bench
    }

    /// Inserts a new node, and returns the node's number.
    pub(super) fn insert(&mut self, deadline: Tick) -> usize {
        self.nodes.0.push(CoarseRecord::IDLE);
        let p = self.nodes.0.len() - 1;
        let _ = self.wheel.insert(&mut self.nodes, p, deadline, self.now);
        self.len += 1;
        self.check();
        p
    }

    fn check(&self) {
        assert_eq!(self.wheel.check(&self.nodes, self.len), Ok(()));
    }

    /// Returns the deadline, expiry and number of the timer that leaves.
    fn pop_within(&mut self, now: Tick, budget: &mut usize) -> Option<(Tick, Tick, usize)> {
        self.now = self.now.max(now);
        let head = self.wheel.head(&self.nodes);
        let popped = self.wheel.pop(&mut self.nodes, self.now, budget);
        self.len -= usize::from(popped.is_some());
        self.check();
        popped.map(|Due { handle, deadline, expiry }| {
            assert_eq!(Some(handle), head);
            (deadline, expiry, handle)
        })
    }

    fn pop(&mut self, now: Tick) -> Option<(Tick, Tick, usize)> {
        self.pop_within(now, &mut usize::MAX.clone())
    }

    fn level(&self, p: usize) -> Option<u8> {
        self.wheel.level(&self.nodes, p)
    }
}

/// Requires that a timer with this deadline leaves at `expiry` and not a tick earlier, in however
/// many steps the clock advances.
fn leaves_at<const B: usize, const S: u32, const D: usize>(now: Tick, deadline: Tick, expiry: Tick) {
    for stops in 0..3 {
        let mut bench = Bench::<B, S, D>::at(now);
        let p = bench.insert(deadline);
        for stop in 1..=stops {
            let early = now + (expiry - now) / 3 * stop;
            assert!(early >= expiry || bench.pop(early).is_none());
        }
        assert!(expiry == now || bench.pop(expiry - 1).is_none(), "{deadline} from {now} is early");
        assert_eq!(bench.wheel.next_expiry(&bench.nodes), Some(expiry));
        assert_eq!(bench.pop(expiry), Some((deadline, expiry, p)), "{deadline} from {now}");
    }
}

fn level_boundaries<const B: usize, const S: u32, const D: usize>() {
    // Some values of `now` are on a boundary of every level, and others are not.
    for now in [0, 1, 7, 1 << 40, (1 << 40) + 12345, (1 << 40) - 1] {
        for level in 1..=D {
            let start = Geometry::<B, S, D>::start(level);
            for (delay, level) in [(start - 1, level - 1), (start, level), (start + 1, level)] {
                let expiry = Geometry::<B, S, D>::bucket_end(now + delay, level.min(D - 1));
                leaves_at::<B, S, D>(now, now + delay, expiry);
            }
        }
        leaves_at::<B, S, D>(now, now, now);
        leaves_at::<B, S, D>(now, now + 1, now + 2);
    }
}

#[test]
fn each_level_begins_at_its_start() {
    level_boundaries::<64, 3, 9>();
}

#[test]
fn each_level_begins_at_its_start_in_other_geometries() {
    level_boundaries::<8, 2, 4>();
    level_boundaries::<16, 4, 3>();
    level_boundaries::<64, 3, 8>();
    level_boundaries::<4, 1, 3>();
    level_boundaries::<64, 9, 7>();
}

#[test]
fn the_level_is_told() {
    let mut bench = Bench::<64, 3, 9>::at(1000);
    let expected = [(0, None), (1, Some(0)), (62, Some(0)), (63, Some(1)), (504, Some(2)), (4032, Some(3))];
    for (delay, level) in expected {
        let p = bench.insert(1000 + delay);
        assert_eq!(bench.level(p), level, "{delay}");
    }
    let cutoff = Standard::start(9);
    let reached = bench.insert(1000 + cutoff);
    assert_eq!(bench.level(reached), Some(8), "beyond the cutoff, but in the last bucket of the top level");
    let far = bench.insert(1000 + cutoff + Standard::granule(8));
    assert_eq!(bench.level(far), None);
}

#[test]
fn past_deadlines_are_due_at_once_in_the_order_of_arrival() {
    let mut bench = Bench::<64, 3, 9>::at(100);
    let ends_now = bench.insert(104);
    assert!(bench.pop(105).is_some_and(|(_, _, p)| p == ends_now));
    let timers: Vec<usize> = [105, 3, 0, 104].into_iter().map(|deadline| bench.insert(deadline)).collect();
    for p in timers {
        assert_eq!(bench.pop(0), Some((105, 105, p)), "the deadline is what it was clamped to");
    }
}

#[test]
fn behind_the_pass_there_is_one_tick() {
    for now in [0, 62, 63, 1000, Tick::MAX - 1] {
        let mut bench = Bench::<64, 3, 9>::at(now);
        bench.nodes.0.push(CoarseRecord::IDLE);
        let change = bench.wheel.insert_behind(&mut bench.nodes, 0, now / 2, now);
        bench.len = 1;
        assert_eq!((change, bench.level(0)), (HeadChange::Changed, Some(0)));
        assert_eq!(bench.pop(now), None);
        assert_eq!(bench.wheel.next_wake(&bench.nodes), Some(now + 1));
        assert_eq!(bench.pop(now + 1), Some((now, now + 1, 0)));
    }
    let mut bench = Bench::<64, 3, 9>::at(Tick::MAX);
    bench.nodes.0.push(CoarseRecord::IDLE);
    let _ = bench.wheel.insert_behind(&mut bench.nodes, 0, 5, Tick::MAX);
    bench.len = 1;
    assert_eq!(bench.pop(0), Some((Tick::MAX, Tick::MAX, 0)), "no tick follows");
}

/// When several buckets end together, the timers of the coarsest level leave first, then far
/// timers, then the timers of finer levels. Within a bucket, timers leave in the order of arrival.
#[test]
fn buckets_that_end_together_leave_from_the_coarsest_on() {
    let end = 4 * Small::granule(3) * 8;
    let mut bench = Bench::<8, 2, 4>::new();
    let mut expected = Vec::new();
    let far = bench.insert(end - 1);
    assert_eq!(bench.nodes.0[far].level, FAR);
    for level in (0..4).rev() {
        let now = end - 1 - Small::start(level).max(1);
        assert_eq!(bench.pop(now), None);
        for _ in 0..2 {
            let p = bench.insert(end - 1);
            assert_eq!(bench.level(p).map(usize::from), Some(level));
            expected.push(p);
        }
        if level == 3 {
            // The far timer entered this bucket when its far bucket ended, which was before the
            // others arrived.
            assert_eq!(bench.level(far), Some(3));
            expected.insert(0, far);
        }
    }
    for p in expected {
        assert_eq!(bench.wheel.second(&bench.nodes).is_some(), bench.len > 1);
        assert_eq!(bench.pop(end), Some((end - 1, end, p)));
    }
}

/// A far timer leaves after the timers that are already in its top bucket, and before timers that
/// arrive after it was inserted again.
#[test]
fn a_far_timer_keeps_its_place() {
    let (granule, cutoff) = (Small::granule(3), Small::start(4));
    let mut bench = Bench::<8, 2, 4>::new();
    let deadline = 20 * granule;
    let far = bench.insert(deadline);
    let far_too = bench.insert(deadline + 1);
    // The timer waits for at most 16 granules, but the top level can hold it from granule 13 on.
    assert_eq!(bench.pop(deadline - cutoff + 1), None);
    assert_eq!(bench.level(far), None);
    let before = bench.insert(deadline + 2);
    assert_eq!(bench.level(before), Some(3));
    assert_eq!(bench.wheel.head(&bench.nodes), Some(before));
    assert_eq!(bench.wheel.second(&bench.nodes), Some(far));
    assert_eq!(bench.pop(16 * granule), None);
    assert_eq!(bench.level(far), Some(3));
    // A delay of 256 is four granules long, and is in the top level too.
    let after = bench.insert(deadline + 3);
    for p in [before, far, far_too, after] {
        assert_eq!(bench.pop(21 * granule).map(|(_, expiry, p)| (expiry, p)), Some((21 * granule, p)));
    }
}

/// If a far timer and a timer that arrived later at a finer level expire at the same tick, the far
/// timer leaves first, because it arrived first.
#[test]
fn a_far_timer_stands_before_finer_levels() {
    let granule = Small::granule(3);
    let mut bench = Bench::<8, 2, 4>::new();
    let far = bench.insert(16 * granule);
    assert_eq!(bench.pop(1000), None);
    let finer = bench.insert(17 * granule - 1);
    assert_eq!((bench.level(far), bench.level(finer)), (None, Some(2)));
    assert_eq!(bench.wheel.head(&bench.nodes), Some(far));
    assert_eq!(bench.wheel.second(&bench.nodes), Some(finer));
    for p in [far, finer] {
        assert_eq!(bench.pop(17 * granule).map(|(_, expiry, p)| (expiry, p)), Some((17 * granule, p)));
    }
}

/// A far timer is rescheduled after its far bucket has ended. At that time the timer counts as a
/// timer of the top level, and stays in its top-level bucket.
#[test]
fn a_far_timer_is_rescheduled_as_if_it_had_been_re_filed() {
    let granule = Small::granule(3);
    let mut bench = Bench::<8, 2, 4>::new();
    let (first, other) = (bench.insert(20 * granule), bench.insert(20 * granule));
    bench.now = 16 * granule + 6;
    let change = bench.wheel.reschedule(&mut bench.nodes, first, 20 * granule + 1, bench.now);
    assert_eq!((change, bench.level(first)), (HeadChange::Changed, Some(3)));
    for p in [first, other] {
        assert_eq!(bench.pop(21 * granule).map(|(_, expiry, p)| (expiry, p)), Some((21 * granule, p)));
    }
}

/// Due timers leave first: a pop inserts a far timer again only when no due timer is left.
#[test]
fn what_is_due_leaves_before_anything_is_re_filed() {
    let granule = Small::granule(3);
    let mut bench = Bench::<8, 2, 4>::new();
    for _ in 0..3 {
        bench.insert(40 * granule);
    }
    let near = bench.insert(5);
    let mut budget = 1;
    let popped = bench.pop_within(41 * granule, &mut budget).map(|(_, expiry, p)| (expiry, p));
    assert_eq!((popped, budget), (Some((6, near)), 1));
    assert_eq!(bench.pop_within(41 * granule, &mut budget), None);
    assert_eq!(budget, 0, "one is re-filed");
}

#[test]
fn a_budget_may_end_between_two_that_are_re_filed() {
    let granule = Small::granule(3);
    for budget in 1..12 {
        let mut bench = Bench::<8, 2, 4>::new();
        let far: Vec<usize> = (0..10).map(|at| bench.insert(40 * granule + at % 3)).collect();
        let mut left = budget;
        assert_eq!(bench.pop_within(32 * granule, &mut left), None);
        assert_eq!(left, budget.saturating_sub(10));
        let wake = bench.wheel.next_wake(&bench.nodes);
        assert_eq!(wake.is_some_and(|wake| wake <= 32 * granule), budget < 10, "{budget}: {wake:?}");
        if budget % 2 == 0 {
            // An insert empties the far bucket that an advance has begun to empty.
            let other = bench.insert(41 * granule - 1);
            assert_eq!(bench.wheel.far_occupied & bench.wheel.clock, 0);
            let _ = bench.wheel.remove(&mut bench.nodes, other);
            bench.len -= 1;
        }
        for p in far {
            assert_eq!(bench.pop(41 * granule).map(|(_, expiry, p)| (expiry, p)), Some((41 * granule, p)));
        }
    }
}

/// Starts clocks at several distances from every power of two, with and without a timer for the
/// last tick.
#[test]
fn clocks_may_start_anywhere() {
    let step = if cfg!(miri) { 9 } else { 1 };
    for bit in (0..=63).step_by(step) {
        for before in [0, 1, 2, 62, 63, 64, 65] {
            let now = (1u64 << bit).saturating_sub(before);
            for resident in [false, true] {
                let mut bench = Bench::<64, 3, 9>::at(now);
                if resident {
                    bench.insert(Tick::MAX);
                }
                let delays = [1, 2, 62, 63, 64, 503, 504, 1 << 20, (1 << 30) - 1, 1 << 30, 1 << 45];
                let mut expected = Vec::new();
                for delay in delays {
                    let Some(deadline) = now.checked_add(delay) else { continue };
                    let level = Standard::level(delay).unwrap_or(8);
                    bench.insert(deadline);
                    let expiry = Standard::bucket_end(deadline, level);
                    expected.push((expiry, Reverse(level), deadline));
                }
                expected.sort_unstable();
                for (expiry, _, deadline) in expected {
                    assert!(expiry == bench.now || bench.pop(expiry - 1).is_none());
                    let popped = bench.pop(expiry).map(|(deadline, expiry, _)| (deadline, expiry));
                    assert_eq!(popped, Some((deadline, expiry)));
                }
                if resident {
                    assert_eq!(bench.pop(Tick::MAX - 1), None);
                    assert_eq!(bench.pop(Tick::MAX), Some((Tick::MAX, Tick::MAX, 0)));
                }
                assert_eq!(bench.pop(Tick::MAX), None);
            }
        }
    }
}

#[test]
fn the_last_ticks_are_ordinary() {
    for now in [0, 1 << 33, Tick::MAX - (1 << 25), Tick::MAX - 1000, Tick::MAX - 64, Tick::MAX - 2] {
        let mut bench = Bench::<64, 3, 9>::at(now);
        for before in [0, 1, 7, 8, 63, 64, 512] {
            bench.insert(Tick::MAX - before);
        }
        let mut last = 0;
        assert!(bench.len == 7);
        while let Some((deadline, expiry, _)) = bench.pop(Tick::MAX - 1) {
            assert!(expiry >= deadline && expiry >= last && expiry < Tick::MAX);
            last = expiry;
        }
        while let Some((deadline, expiry, _)) = bench.pop(Tick::MAX) {
            assert!(expiry >= deadline && expiry >= last);
            last = expiry;
        }
        assert_eq!(bench.len, 0);
        let p = bench.insert(3);
        assert_eq!(bench.pop(0), Some((Tick::MAX, Tick::MAX, p)));
    }
}

/// Counts the records that are read.
struct Counted<'a> {
    nodes: &'a mut VecNodes<CoarseRecord<usize>>,
    steps: Cell<u32>,
}

impl Nodes<usize, CoarseRecord<usize>> for Counted<'_> {
    fn record(&self, p: usize) -> &CoarseRecord<usize> {
        self.steps.set(self.steps.get() + 1);
        self.nodes.record(p)
    }

    fn record_mut(&mut self, p: usize) -> &mut CoarseRecord<usize> {
        self.steps.set(self.steps.get() + 1);
        self.nodes.record_mut(p)
    }
}

/// However long the queue is idle, a far timer is inserted again at most 64 times, and other timers
/// are never inserted again.
#[test]
fn idle_time_costs_nothing() {
    for gap in [1 << 20, 1 << 35, 1 << 50, 1 << 62, Tick::MAX - 1] {
        let mut bench = Bench::<64, 3, 9>::new();
        bench.insert(Tick::MAX);
        let mut counted = Counted { nodes: &mut bench.nodes, steps: Cell::new(0) };
        let mut budget = 1000;
        assert!(bench.wheel.pop(&mut counted, gap, &mut budget).is_none());
        assert!(1000 - budget <= 40, "re-filed {} times", 1000 - budget);
        assert!(counted.steps.get() <= 8 * 40, "{} steps", counted.steps.get());
    }
    let mut bench = Bench::<64, 3, 9>::new();
    let p = bench.insert(1 << 29);
    let mut counted = Counted { nodes: &mut bench.nodes, steps: Cell::new(0) };
    for now in 1..1000 {
        assert!(bench.wheel.pop(&mut counted, now << 19, &mut usize::MAX.clone()).is_none());
    }
    assert_eq!(counted.steps.get(), 0);
    assert_eq!(bench.pop(Tick::MAX).map(|(_, _, popped)| popped), Some(p));
}

/// Returns all links of the wheel, as the records state them.
fn links(bench: &Bench<64, 3, 9>) -> Vec<(Option<usize>, Option<usize>, u8, u8)> {
    let link =
        |record: &CoarseRecord<usize>| (record.links.next, record.links.prev, record.level, record.index);
    bench.nodes.0.iter().map(link).collect()
}

#[test]
fn a_reschedule_within_the_bucket_writes_the_deadline_alone() {
    let mut bench = Bench::<64, 3, 9>::new();
    let timers: Vec<usize> = [4096, 4100, 4159].into_iter().map(|deadline| bench.insert(deadline)).collect();
    let before = links(&bench);
    for (deadline, &p) in [(4159, &timers[0]), (4096, &timers[0]), (4097, &timers[1]), (4608 - 1, &timers[2])]
    {
        // All these deadlines are in the granule of level 3 that ends at 4608.
        let change = bench.wheel.reschedule(&mut bench.nodes, p, deadline, 50);
        assert_eq!((change, bench.nodes.0[p].deadline), (HeadChange::Same, deadline));
        assert_eq!(links(&bench), before);
        bench.check();
    }
    for &p in &timers {
        assert_eq!(bench.pop(4608).map(|(_, expiry, popped)| (expiry, popped)), Some((4608, p)));
    }
}

#[test]
fn a_reschedule_leaves_the_bucket_when_it_must() {
    // The new deadline is in another granule, needs a finer level for its lateness bound, is in the
    // past, or is `now`.
    for (now, deadline, level, expiry) in [
        (0, 4608, Some(3), 5120),
        (4000, 4100, Some(1), 4104),
        (4095, 4096, Some(0), 4097),
        (4100, 4100, None, 4100),
    ] {
        let mut bench = Bench::<64, 3, 9>::new();
        let (p, other) = (bench.insert(4096), bench.insert(4097));
        bench.now = now;
        let _ = bench.wheel.reschedule(&mut bench.nodes, p, deadline, now);
        bench.check();
        assert_eq!((bench.level(p), bench.level(other)), (level, Some(3)));
        assert_eq!(bench.wheel.expiry(&bench.nodes, p), expiry);
    }
    // The timer is in the due list, although its new deadline is in the granule of its old bucket.
    let mut bench = Bench::<64, 3, 9>::new();
    let (first, p) = (bench.insert(4096), bench.insert(4096));
    assert_eq!(bench.pop(4608), Some((4096, 4608, first)));
    let _ = bench.wheel.reschedule(&mut bench.nodes, p, 4600, 4608);
    assert_eq!((bench.nodes.0[p].level, bench.pop(0)), (NONE, Some((4608, 4608, p))));
}

/// A timer in the due list is re-armed one turn of its level ahead. The new bucket has the same
/// index as the timer's old bucket, but covers another granule.
#[test]
fn a_due_timer_is_re_armed_a_turn_ahead() {
    let mut bench = Bench::<64, 3, 9>::new();
    let (first, p) = (bench.insert(62), bench.insert(62));
    assert_eq!(bench.pop(63), Some((62, 63, first)));
    let _ = bench.wheel.reschedule(&mut bench.nodes, p, 62 + 64, 63);
    bench.check();
    assert_eq!(bench.wheel.next_expiry(&bench.nodes), Some(128));
    assert_eq!(bench.pop(127), None);
    assert_eq!(bench.pop(128), Some((126, 128, p)));
}

#[test]
fn clear_keeps_the_clock() {
    let mut bench = Bench::<64, 3, 9>::at(5000);
    for delay in [0, 1, 100, 1 << 40] {
        bench.insert(5000 + delay);
    }
    bench.wheel.clear();
    bench.len = 0;
    bench.check();
    let p = bench.insert(5001);
    assert_eq!(bench.level(p), Some(0));
    assert_eq!(bench.pop(Tick::MAX), Some((5001, 5002, p)));
}

#[test]
fn what_it_looks_like() {
    let mut bench = Bench::<8, 2, 4>::at(3);
    bench.insert(5);
    let shown = std::format!("{:?}", bench.wheel);
    assert!(shown.starts_with("Coarse { clock: 3, "), "{shown}");
    assert!(shown.contains("occupied: [64, 0, 0, 0]"), "{shown}");
}
