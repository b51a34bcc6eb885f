use std::vec::Vec;

use super::super::testing::{Exact, Model as _, Random, SlabTwin};
use super::LadderQueue;
use crate::SlabQueue;
use crate::contract::{Tick, Violation};

type Twin = SlabTwin<LadderQueue>;
type Queue = SlabQueue<LadderQueue, u32>;

#[test]
fn agrees_with_a_sorted_vec() {
    let (sizes, seeds) = if cfg!(miri) { (&[5, 40][..], 1..3) } else { (&[5, 40, 300, 1000][..], 0..5) };
    for &ids in sizes {
        for seed in seeds.clone() {
            SlabTwin::<LadderQueue, Exact>::over_slab(ids).run(seed);
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

/// Buckets that are sorted at once, that cascade, and that fill several chunks; one tick and many.
#[test]
fn long_buckets_keep_their_order() {
    for n in [7, 31, 32, 63, 64, 65, 66, 200, 1000] {
        for spread in [1, 2, 100, 4096, 1 << 20, 1 << 33] {
            for budget in [3, 50, usize::MAX] {
                let mut random = Random::new(n.into());
                let mut twin = Twin::over_slab(n);
                for id in 0..n {
                    let low = Tick::from(random.below(u32::MAX)) << 2 | Tick::from(random.below(4));
                    twin.insert(id, (1 << 34) + low % spread);
                }
                while twin.model.len() > 0 {
                    let next = twin.queue.next_wake().unwrap().max(twin.now);
                    twin.advance(next, budget);
                }
            }
        }
    }
}

/// Timers of one tick, some of which were moved there from earlier ones in another order than
/// others arrived: they are sorted, under a budget and among new arrivals.
#[test]
fn a_long_tick_that_is_mixed_is_sorted_by_arrival() {
    for (n, budget) in [(50, 1), (300, 7), (300, usize::MAX)] {
        let mut random = Random::new(5);
        let mut queue = Queue::new();
        let tick = 5000;
        let mut keys = Vec::new();
        for id in 0..n {
            let at = tick - Tick::from(random.below(2)) * Tick::from(random.below(3000));
            keys.push((id, queue.insert(at, id).unwrap().key));
        }
        let mut expected = Vec::new();
        while !keys.is_empty() {
            let (id, key) = keys.swap_remove(random.below(keys.len() as u32) as usize);
            let _ = queue.reschedule(key, tick).unwrap();
            expected.push(id);
        }
        assert_eq!(queue.check(), Ok(()));
        let mut got = Vec::new();
        let mut next = n;
        while !queue.is_empty() {
            let advance = queue.advance_within(tick, budget, |expired| got.push(expired.value));
            assert!(advance.delivered + advance.moved <= budget);
            assert_eq!(queue.check(), Ok(()));
            if next < n + 40 && !queue.is_empty() {
                let key = queue.insert(0, next).unwrap().key;
                if next % 2 == 0 {
                    let _ = queue.reschedule(key, tick).unwrap();
                }
                expected.push(next);
                next += 1;
            }
        }
        assert_eq!(got, expected);
    }
}

/// A timer that is moved later all the time gets no second entry, nor does one that takes over the
/// slot of a timer that was cancelled.
#[test]
fn moves_to_later_ticks_and_used_slots_add_no_entries() {
    let mut queue = Queue::new();
    let keys: Vec<_> = (0..1000).map(|id| queue.insert(1000 + Tick::from(id), id).unwrap().key).collect();
    for round in 1..50 {
        for &key in &keys {
            assert!(queue.reschedule(key, 1_000_000 * round).is_ok());
        }
    }
    assert_eq!(queue.order.entries, 1000);
    for &key in &keys[..100] {
        let value = queue.remove(key).unwrap().value;
        let _ = queue.insert(1_000_000_000, value).unwrap();
    }
    assert_eq!(queue.order.entries, 1000);
    assert_eq!(queue.check(), Ok(()));
}

/// Whatever is cancelled or moved to earlier ticks, dead entries stay below a bound.
#[test]
fn dead_entries_stay_below_two_fifths() {
    let mut random = Random::new(1);
    let mut queue = Queue::new();
    let mut keys = Vec::new();
    for step in 0..200_000_u32 {
        let far = Tick::from(random.below(1 << 24)) << random.below(12);
        let dead = match (step / 20_000) % 4 {
            0 => {
                keys.push(queue.insert(far, step).unwrap().key);
                0
            }
            1 => {
                let key = keys[random.below(keys.len() as u32) as usize];
                let earlier = queue.expiry(key).unwrap() / 2;
                let _ = queue.reschedule(key, earlier).unwrap();
                1
            }
            2 => {
                keys.push(queue.insert(1 << 23, step).unwrap().key);
                0
            }
            _ => {
                let at = random.below(keys.len() as u32) as usize;
                let _ = queue.remove(keys.swap_remove(at)).unwrap();
                1
            }
        };
        if dead > 0 {
            let (live, entries) = (queue.len(), queue.order.entries);
            assert!(entries - live <= live * 2 / 5 + 64, "{} dead of {entries} at {step}", entries - live);
        }
    }
    assert_eq!(queue.check(), Ok(()));
}

/// Arrival numbers end: all timers get new ones, and keep their order.
#[test]
fn arrivals_are_numbered_anew() {
    for before in 0..40 {
        let mut queue = Queue::new();
        queue.start_sequence_at(u32::MAX - 2 * before);
        let mut keys = Vec::new();
        for id in 0..30_u32 {
            keys.push(queue.insert(100 + Tick::from(id % 3), id).unwrap().key);
        }
        for id in [4, 9, 20] {
            let _ = queue.reschedule(keys[id], 101).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
        let expected = (0..30)
            .step_by(3)
            .filter(|&id| id != 9)
            .chain((1..30).step_by(3).filter(|&id| id != 4))
            .chain([4, 9, 20])
            .chain((2..30).step_by(3).filter(|&id| id != 20));
        assert!(queue.expired(200).map(|expired| expired.value).eq(expected), "{before}");
    }
}

/// Marks of earlier lives of the slots do not survive: entries are gone after a clear.
#[test]
fn a_clear_leaves_nothing_to_take_over() {
    let mut queue = Queue::new();
    for id in 0..10 {
        let _ = queue.insert(1000, id).unwrap();
    }
    let key = queue.insert(1000, 10).unwrap().key;
    let _ = queue.remove(key).unwrap();
    queue.clear();
    for id in 0..11 {
        let _ = queue.insert(2000, id).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    assert_eq!(queue.expired(2000).count(), 11);
}

/// Each kind of damage that a check can name.
#[test]
fn a_check_finds_what_is_broken() {
    let filled = || {
        let mut queue = Queue::new();
        for id in 0..400 {
            let _ = queue.insert(1000 + 7 * Tick::from(id), id).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
        queue
    };
    let broken = |wound: fn(&mut Queue)| {
        let mut queue = filled();
        wound(&mut queue);
        queue.check()
    };
    assert_eq!(broken(|queue| queue.order.entries += 1), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.live -= 1), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.run.reverse()), Err(Violation::Order));
    assert_eq!(broken(|queue| queue.order.run.truncate(63)), Err(Violation::Count));
    assert_eq!(broken(|queue| queue.order.next_sequence = 300), Err(Violation::Sequence));
    assert_eq!(broken(|queue| queue.order.clock = 1001), Err(Violation::Order));
    let first = |queue: &Queue| queue.order.rungs.first().unwrap();
    assert_eq!(
        broken(|queue| {
            let at = queue.order.rungs.first().unwrap();
            queue.order.rungs.set_min(at, |min| min + 1);
        }),
        Err(Violation::Minimum)
    );
    assert_eq!(
        broken(|queue| {
            let at = queue.order.rungs.first().unwrap();
            queue.order.rungs.set_min(at, |min| min - 1);
        }),
        Err(Violation::Minimum)
    );
    let mut queue = filled();
    let at = first(&queue);
    queue.order.rungs.forget_occupied(at);
    assert!(matches!(queue.check(), Err(Violation::Occupied | Violation::Count)), "{:?}", queue.check());
}

/// A long bucket of one tick whose entries are not in the order of arrival, without the mark.
#[test]
fn a_check_finds_an_order_that_is_not_marked() {
    let mut queue = Queue::new();
    let mut keys = Vec::new();
    for id in 0..400_u32 {
        keys.push(queue.insert(40 + Tick::from(id / 200), id).unwrap().key);
    }
    // The same tick again: its entry stays, and its arrival is the latest.
    let _ = queue.reschedule(keys[300], 41).unwrap();
    assert_eq!(queue.check(), Ok(()));
    queue.order.rungs.forget_mixed();
    assert_eq!(queue.check(), Err(Violation::Sequence));
}
