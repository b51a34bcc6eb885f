//! Tests of private parts: ids, the ring of `int` ids, grids, slack.

use core::time::Duration;

use proptest::prelude::*;

use tickwright_core::{Key, SchedulerFamily};
use tickwright_nodes::arena::{GENERATIONS, SlotState};

use super::super::int_ids::IntIds;
use super::super::queue::{Entries, boxed};
use super::super::table::{Table, slot_of};
use super::super::timer::{Entry, Slack};
use super::super::timing::{Missed, roundest};
use super::super::wall::{shifted, unshifted};
use super::super::*;
use crate::time::Instant;

fn table() -> Table<()> {
    Table::new(Structure::default().build().unwrap())
}

/// Returns a table whose slots have used all generations up to `last`.
fn worn(last: u32) -> Table<()> {
    Table::new(boxed::<SchedulerFamily, _>(Entries::with_last_generation(last), ()).unwrap())
}

fn add(table: &mut Table<()>) -> Key {
    table.add(Entry::idle(0), (), None).unwrap().1
}

fn find(table: &Table<()>, id: TimerId) -> Option<Key> {
    table.find(id).map(|(key, _)| key)
}

#[test]
fn an_id_is_stale_once_its_slot_is_free() {
    let mut table = table();
    let key = add(&mut table);
    let first = table.id(key);
    assert_eq!(find(&table, first), Some(key));
    assert_eq!(table.remove(key), Some(()));
    assert_eq!(find(&table, first), None);
    let next = add(&mut table);
    assert_eq!(slot_of(next), slot_of(key), "the slot serves again");
    assert_eq!(find(&table, first), None);
    assert_ne!(table.id(next), first);
}

#[test]
fn a_slot_whose_generations_are_used_up_is_retired() {
    let mut table = worn(GENERATIONS - 1);
    let key = add(&mut table);
    let last = table.id(key);
    assert_eq!(find(&table, last), Some(key));
    assert_eq!(table.remove(key), Some(()));
    assert_ne!(slot_of(add(&mut table)), slot_of(key));
    assert_eq!((table.live(), find(&table, last), table.check()), (1, None, Ok(())));
}

/// If there are more timers than a cache holds, their slots are fetched in advance, and the timers
/// still run in order.
#[test]
fn many_timers_run_in_order() {
    const MANY: u64 = 20_000;
    for name in ["heap4", "rb", "wheel", "fixed-delay"] {
        let host = crate::time::VirtualHost::new();
        let structure: Structure = name.parse().unwrap();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure));
        // 7,919 is prime, so each tick below `MANY` is used exactly once.
        for at in 0..MANY {
            let ms = 1 + at * 7919 % MANY;
            assert!(set.add(Timing::after(Duration::from_millis(ms)), &Site::here("t"), ms).is_ok());
        }
        host.advance(Duration::from_millis(MANY));
        set.begin_pass();
        let mut ran = Vec::new();
        while let Some(due) = set.take() {
            ran.push(due.payload);
            set.finish(due.id, due.payload, Next::Done);
        }
        set.end_pass();
        assert!(ran.iter().copied().eq(1..=MANY), "{name}");
    }
}

#[test]
fn two_sets_do_not_share_ids() {
    let mut tables = [table(), table()];
    let [one, two] = tables.each_mut().map(|table| {
        let key = add(table);
        table.id(key)
    });
    assert_ne!(one, two);
    assert_eq!(find(&tables[0], two), None);
}

/// The C interface treats a number whose upper half is 0 as an `int` id, so the upper half of every
/// other id must not be 0.
#[test]
fn no_id_looks_like_an_int_id() {
    for last in [0, 1, GENERATIONS / 2, GENERATIONS - 2, GENERATIONS - 1] {
        for mut table in core::iter::repeat_with(|| worn(last)).take(100) {
            let key = add(&mut table);
            let id = table.id(key);
            assert_ne!(id.to_bits() >> 32, 0, "{last}");
            assert_eq!(find(&table, id), Some(key), "{last}");
        }
    }
}

#[test]
fn zero_and_forged_ids_name_nothing() {
    let mut table = table();
    let live = add(&mut table);
    let live = table.id(live).to_bits();
    assert_eq!(TimerId::from_bits(0), None);
    for bits in [1, 1 << 32, u64::MAX, u64::from(u32::MAX), 1 << 63, live + 1, live ^ 1 << 63, live ^ 1 << 40]
    {
        assert_eq!(find(&table, TimerId::from_bits(bits).unwrap()), None, "{bits:#x}");
    }
}

#[test]
fn a_slack_is_kept_to_four_bits() {
    assert_eq!(Slack::at_most(0), Slack::NONE);
    for (asked, kept) in [
        (1023, 0),
        (1024, 1024),
        (15 * 1024 + 1023, 15 * 1024),
        (17 * 1024, 16 * 1024),
        (18 * 1024, 18 * 1024),
        (1 << 40, 1 << 40),
        (u64::MAX, 15 << 40),
    ] {
        assert_eq!(Slack::at_most(asked).ns(), kept, "{asked}");
    }
    // The stored slack is never more than the requested slack. It is less by at most an eighth of
    // the request, apart from rounding to units of 1024 ns.
    for power in 10..44 {
        for asked in [1 << power, (1 << power) + 1, (3 << power) / 2, (2 << power) - 1] {
            let kept = Slack::at_most(asked).ns();
            assert!(kept <= asked && asked - kept <= asked / 8 + 1023, "{asked}: {kept}");
        }
    }
}

fn issue(ids: &mut IntIds, slot: u32) -> i32 {
    let id = ids.next().unwrap();
    ids.put(id, slot);
    id
}

#[test]
fn int_ids_count_up_and_pass_over_live_ones_when_they_come_round() {
    let mut ids = IntIds::after(i32::MAX - 2);
    let old: Vec<i32> = (0..4).map(|slot| issue(&mut ids, slot)).collect();
    assert_eq!(old, [i32::MAX - 1, i32::MAX, 1, 2]);
    for _ in 0..10_000 {
        let id = issue(&mut ids, 9);
        assert!(id > 0 && !old.contains(&id));
        assert_eq!(ids.find(id), Some(9));
        ids.release(id);
        assert_eq!(ids.find(id), None);
    }
    for (slot, id) in (0..).zip(old) {
        assert_eq!(ids.find(id), Some(slot));
    }
    for bad in [0, -1, i32::MIN, 3, 77] {
        assert_eq!(ids.find(bad), None);
    }
}

proptest! {
    /// Compares the ids with a map, while the ring grows and the counter wraps around.
    #[test]
    fn int_ids_are_those_of_a_map(start in prop_oneof![Just(0), Just(i32::MAX - 40)], steps in prop::collection::vec(0u8..4, 1..600)) {
        let mut ids = IntIds::after(start);
        let mut model = std::collections::BTreeMap::new();
        for (slot, step) in (0u32..).zip(steps) {
            if step > 0 {
                let id = issue(&mut ids, slot);
                prop_assert!(id > 0);
                prop_assert_eq!(model.insert(id, slot), None);
            } else if let Some((id, _)) = model.pop_first() {
                ids.release(id);
                prop_assert_eq!(ids.find(id), None);
            }
            for (id, slot) in &model {
                prop_assert_eq!(ids.find(*id), Some(*slot));
            }
        }
    }

    #[test]
    fn the_roundest_tick_is_within_the_slack_and_has_the_most_zeros(earliest in 0u64..5_000, width in 0u64..300) {
        let got = roundest(earliest, earliest + width);
        prop_assert!((earliest..=earliest + width).contains(&got));
        if earliest > 0 {
            let most = (earliest..=earliest + width).map(u64::trailing_zeros).max().unwrap();
            prop_assert_eq!(got.trailing_zeros(), most);
        }
    }

    /// The number of deliveries plus the number of overruns is the number of periods that have
    /// passed, and due times stay on the grid.
    #[test]
    fn skipped_periods_are_counted(due in 0u64..1_000, period in 1u64..50, late in 0u64..500) {
        let now = due + late;
        let (overruns, at, from) = Missed::Skip.deliver(due, period, now);
        prop_assert_eq!(at, from);
        prop_assert_eq!(at, due + overruns * period);
        prop_assert!(at <= now && now - at < period);
        prop_assert_eq!(Missed::Skip.next(at, period, now), at + period);
    }
}

#[test]
fn the_table_of_policies() {
    let told = |missed: Missed| {
        let (overruns, _, from) = missed.deliver(20, 10, 47);
        (overruns, missed.next(from, 10, 47))
    };
    assert_eq!(told(Missed::Burst), (0, 30));
    assert_eq!(told(Missed::Skip), (2, 50));
    assert_eq!(told(Missed::Delay), (2, 57));
    assert_eq!(told(Missed::Collapse), (2, 47));
    assert_eq!(told(Missed::Persist), (2, 57));
    assert_eq!(Missed::Persist.deliver(20, 10, 30), (0, 20, 20), "the next one is just due");
    assert_eq!(Missed::Persist.deliver(20, 10, 31), (1, 20, 31));
    for missed in [Missed::Burst, Missed::Skip, Missed::Delay, Missed::Collapse, Missed::Persist] {
        assert_eq!(missed.deliver(20, 0, u64::MAX).0, 0, "a period of 0 has no overruns");
        assert_eq!(missed.next(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }
}

#[test]
fn times_by_the_wall_saturate() {
    assert_eq!(shifted(5, -10), 0);
    assert_eq!(shifted(u64::MAX, 10), u64::MAX);
    assert_eq!(unshifted(5, i64::MIN), (1 << 63) + 5);
    assert_eq!(unshifted(5, 10), 0);
    assert_eq!(unshifted(u64::MAX, -10), u64::MAX);
}

/// If room was reserved for a timer, adding the timer allocates nothing.
#[test]
fn room_is_made_in_advance() {
    struct Still;
    impl crate::time::Clock for Still {
        fn now(&self) -> Instant {
            Instant::from_nanos(7)
        }
    }
    for structure in Structure::all() {
        let mut set =
            TimerSet::new(Settings::new().structure(structure).clock(Still).capacity(100).int_ids());
        let before = set.heap_bytes();
        let table = set.table.heap_bytes();
        assert!(table >= 100 * (size_of::<SlotState<Entry>>() + size_of::<Option<i32>>()), "{structure}");
        assert!(before > table, "{structure}: the ring takes memory too");
        for turn in 0..3 {
            let ids: Vec<_> = (0..100)
                .map(|delay| {
                    let timing = Timing::after(Duration::from_millis(delay));
                    set.add(timing, &Site::here("a"), turn).unwrap()
                })
                .collect();
            assert_eq!(set.check(), Ok(()), "{structure}");
            for id in ids {
                assert!(matches!(set.cancel(id), Cancelled::Removed(_)), "{structure}");
            }
        }
        assert_eq!(set.heap_bytes(), before, "{structure}");
    }
}

#[test]
fn passes_are_counted_whether_or_not_anything_is_due() {
    let host = crate::time::VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    set.add(Timing::after(Duration::from_secs(2)), &Site::here("a"), 7).unwrap();
    for (passes, fired) in [(1, 0), (2, 1), (3, 1)] {
        host.advance(Duration::from_secs(1));
        set.begin_pass();
        while let Some(due) = set.take() {
            let _ = set.finish(due.id, due.payload, Next::Done);
        }
        set.end_pass();
        let statistics = set.statistics();
        assert_eq!((statistics.passes, statistics.fired), (passes, fired));
    }
}
