use std::collections::BTreeSet;
use std::vec::Vec;

use super::super::testing::{Exact, Random, SlabTwin};
use super::choice::Kind;
use super::record::Holder;
use super::{AdaptiveQueue, Limits};
use crate::SlabQueue;
use crate::contract::{Tick, Violation};

/// Limits so low that a small test crosses them often.
#[derive(Clone, Copy, Debug)]
struct Tiny;

impl Limits for Tiny {
    const FLAT: usize = 4;
    const HEAP: usize = 12;
    const WHEEL: usize = 60;
    const EXPIRIES: i32 = 20;
}

type Twin = SlabTwin<AdaptiveQueue<Tiny>>;
type Queue = SlabQueue<AdaptiveQueue<Tiny>, u32>;

/// The structure where the timers are, and the structure that they move to.
fn state(queue: &Queue) -> (Kind, Option<Kind>) {
    (queue.order.kind, queue.order.going.map(|going| going.to))
}

#[test]
fn agrees_with_a_sorted_vec() {
    let (sizes, seeds) = if cfg!(miri) { (&[9, 40][..], 1..3) } else { (&[3, 9, 25, 70, 300][..], 0..8) };
    for &ids in sizes {
        for seed in seeds.clone() {
            SlabTwin::<AdaptiveQueue<Tiny>, Exact>::over_slab(ids).run(seed);
        }
    }
}

/// The population rises and falls past all limits, on few ticks and on many. Every possible move
/// occurs, and operations of each kind meet it half done.
#[test]
fn every_move_keeps_the_order() {
    use Kind::{Flat, Heap, Ladder, Wheel};
    let mut seen = BTreeSet::new();
    for seed in 0..if cfg!(miri) { 2 } else { 24 } {
        let (most, spread) = ([8, 20, 50, 90][seed as usize % 4], [1, 3, 40, 1 << 20][seed as usize / 4 % 4]);
        let mut random = Random::new(seed);
        let mut twin = Twin::over_slab(most);
        for step in 0..40 * most {
            let growing = (step / (3 * most)).is_multiple_of(2);
            let (id, before) = (random.below(most), state(&twin.queue).0);
            let deadline = twin.now + Tick::from(random.below(spread));
            match (twin.keys[id as usize].is_some(), growing, random.below(4)) {
                (false, true, _) => twin.insert(id, deadline),
                (true, _, 0) if seed % 3 > 0 => twin.reschedule(id, deadline),
                (true, false, 1) => twin.remove(id),
                (_, false, 2) => {
                    let _ = twin.advance(twin.now + Tick::from(random.below(2)), 1 + most as usize / 20);
                }
                (_, true, 3) if random.below(8) == 0 => twin.pop(twin.now),
                _ => {}
            }
            let (kind, to) = state(&twin.queue);
            seen.insert((before, to.unwrap_or(kind)));
        }
        twin.advance(Tick::MAX, usize::MAX);
    }
    if !cfg!(miri) {
        let all = [(Flat, Heap), (Heap, Flat), (Heap, Wheel), (Wheel, Heap), (Wheel, Ladder), (Ladder, Heap)];
        assert!(all.iter().all(|pair| seen.contains(pair)), "{seen:?}");
    }
}

/// A queue of few timers reserves for many: it leaves the small structures before it needs the
/// room.
#[test]
fn a_large_reservation_makes_a_wheel() {
    for first in [0, 1, 4, 9, 20, 60] {
        let mut queue = Queue::new();
        for at in 0..first {
            queue.insert(Tick::from(at / 3), at).unwrap();
        }
        queue.reserve(1000).unwrap();
        let bytes = queue.heap_bytes();
        for at in first..1000 {
            queue.insert(Tick::from(at / 3), at).unwrap();
            assert_eq!(queue.check(), Ok(()));
        }
        assert_eq!((state(&queue), queue.heap_bytes()), ((Kind::Wheel, None), bytes));
        let mut order = Vec::new();
        queue.advance(Tick::MAX, |expired| order.push(expired.value));
        assert!(order.into_iter().eq(0..1000));
        assert!(state(&queue).0 < Kind::Wheel, "all have expired");
    }
}

/// Time-outs that are moved again and again stay in the wheel. Once most timers expire, a ladder
/// takes over.
#[test]
fn a_wheel_stays_until_most_expire() {
    let mut queue = Queue::new();
    let mut keys = Vec::new();
    for at in 0..500 {
        keys.push(queue.insert(1000, at).unwrap().key);
        for turn in 0..4 {
            let key = keys[(at as usize * 7 + turn) % keys.len()];
            let _ = queue.reschedule(key, 1000 + Tick::from(at)).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
    }
    assert_eq!(state(&queue), (Kind::Wheel, None));
    let (mut moves, mut expiries) = (0, 0);
    for at in 500..10_000 {
        expiries += u32::from(state(&queue) == (Kind::Wheel, None));
        assert!(queue.pop_expired(3000 + Tick::from(at)).is_some());
        queue.insert(Tick::from(at), at).unwrap();
        moves += u32::from(state(&queue) == (Kind::Wheel, Some(Kind::Ladder)));
        assert!(moves == 0 || queue.check() == Ok(()));
    }
    assert_eq!(state(&queue), (Kind::Ladder, None));
    assert!((500 / 8..=500).contains(&moves), "{moves}");
    // From 20 moves, the limit that the first 61 timers set, down to an eighth of the timers.
    assert_eq!(expiries, 20 + 500 / 8);
    queue.clear();
    assert_eq!(state(&queue), (Kind::Flat, None));
}

/// An advance within a budget counts the timers that change their structure. While all are due, a
/// budget of 8 delivers and moves at most 8, and the move still ends.
#[test]
fn a_budget_bounds_a_move() {
    let mut queue = Queue::new();
    for at in 0..500 {
        queue.insert(at / 7, 0).unwrap();
    }
    let mut shifted = 0;
    while !queue.is_empty() {
        let before = queue.order.going.map_or(0, |going| going.arrived);
        let done = queue.advance_within(1000, 8, |_| ());
        let after = queue.order.going.map_or(0, |going| going.arrived);
        assert!((1..=8).contains(&(done.delivered + done.moved)), "{done:?}");
        // A delivered timer may have left from those that arrived.
        assert!(after <= before + done.moved, "{before} {after} {done:?}");
        assert_eq!(queue.check(), Ok(()));
        shifted += after.saturating_sub(before);
    }
    assert!(shifted > 0 && state(&queue).1.is_none());
}

/// Timers that came and went before do not count: a wheel that became small and large again gives
/// way to a ladder after 20 expiries, as a new one.
#[test]
fn a_small_population_forgets_what_a_large_one_did() {
    let mut queue = Queue::new();
    queue.reserve(61).unwrap();
    let mut keys = Vec::new();
    for round in 0..3 {
        while keys.len() < 61 {
            keys.push(queue.insert(100, 0).unwrap().key);
        }
        assert_eq!(state(&queue), (Kind::Wheel, None), "round {round}");
        while keys.len() > 3 {
            queue.remove(keys.pop().unwrap()).unwrap();
        }
        assert_eq!(state(&queue).0, Kind::Heap, "round {round}");
    }
    for _ in 3..61 {
        queue.insert(100, 0).unwrap();
    }
    let mut expiries = 0;
    while state(&queue) == (Kind::Wheel, None) {
        assert!(queue.pop_expired(100).is_some());
        queue.insert(100, 0).unwrap();
        expiries += 1;
    }
    assert_eq!((state(&queue).1, expiries), (Some(Kind::Ladder), 20));
}

/// Once most timers expired, a large population goes to a ladder at once. So a queue that fills and
/// drains again and again moves few timers. `clear` forgets that.
#[test]
fn a_queue_whose_timers_expired_grows_into_a_ladder() {
    let mut queue = Queue::new();
    let mut wheels = Vec::new();
    for round in 0..4 {
        if round == 3 {
            queue.clear();
        }
        for at in 0..500 {
            queue.insert(queue.now() + at % 50, 0).unwrap();
        }
        wheels.push(state(&queue).0 == Kind::Wheel);
        while let Some(head) = queue.next_expiry() {
            assert!(queue.pop_expired(head).is_some());
            assert_eq!(queue.check(), Ok(()));
        }
        assert_eq!(state(&queue).0, Kind::Flat);
    }
    assert_eq!(wheels, [true, false, false, true]);
}

/// Periodic timers expire as well: each of their expiries counts.
#[test]
fn a_wheel_of_periodic_timers_gives_way() {
    let mut queue = Queue::new();
    for at in 0..61 {
        queue.insert(at, 0).unwrap();
    }
    let mut expiries = 0;
    while state(&queue) == (Kind::Wheel, None) {
        let head = queue.next_expiry().unwrap();
        assert!(queue.pop_and_reinsert(head, |expiry, _| expiry + 61).is_some());
        assert_eq!(queue.check(), Ok(()));
        expiries += 1;
    }
    assert_eq!((state(&queue).1, expiries), (Some(Kind::Ladder), 20));
    let due = core::iter::from_fn(|| queue.pop_expired(81)).map(|timer| timer.expiry);
    assert!(due.eq(20..=80));
}

/// A ladder that may not be left keeps the entries of its timers, which were all removed. A later
/// timer takes over such an entry. A poll at the entry's tick drops it, so that a driver does not
/// wake for it for ever.
#[test]
fn a_poll_passes_the_entry_of_a_removed_timer() {
    // The second poll is later than the entry, while no timer is pending.
    [20, 6000].into_iter().for_each(poll_before_the_entry_is_taken_over);
}

fn poll_before_the_entry_is_taken_over(poll: Tick) {
    let mut queue = Queue::new();
    queue.reserve(2000).unwrap();
    queue.order.left = Holder::LEAVES;
    for at in 0..61 {
        queue.insert(at, 0).unwrap();
    }
    for at in 0..200 {
        assert!(queue.pop_expired(at).is_some());
        queue.insert(at + 61, 0).unwrap();
    }
    for at in 200..261 {
        assert!(queue.pop_expired(at).is_some());
    }
    let start = queue.now();
    assert_eq!(queue.order.kind, Kind::Ladder);
    let near: Vec<_> = (0..128).map(|_| queue.insert(start + 10, 0).unwrap().key).collect();
    let far = [5000, 5000].map(|delay| queue.insert(start + delay, 0).unwrap().key);
    for key in near.into_iter().chain(far) {
        queue.remove(key).unwrap();
    }
    assert!(queue.pop_expired(start + poll).is_none());
    queue.insert(start + 9000, 1).unwrap();
    assert_eq!(queue.next_wake(), Some(start + 5000), "the entry was taken over");
    assert_eq!(queue.check(), Ok(()));
    assert!(queue.pop_expired(start + 6000).is_none());
    assert_eq!((queue.next_wake(), queue.check()), (Some(start + 9000), Ok(())));
    assert_eq!(queue.pop_expired(start + 9000).map(|timer| timer.value), Some(1));
}

/// A ladder with many dead entries is not left: a move reads them all, and gives arrivals the time
/// to outgrow the heap. It is left when pops have dropped them.
#[test]
fn a_ladder_with_many_dead_entries_is_not_left() {
    let mut queue = Queue::new();
    queue.reserve(3000).unwrap();
    queue.order.habit.settle_on_expiry();
    let insert = |queue: &mut Queue, deadline, timers: u32| -> Vec<_> {
        (0..timers).map(|value| queue.insert(deadline, value).unwrap().key).collect()
    };
    insert(&mut queue, 1000, 2000);
    let dead = insert(&mut queue, 5000, 400);
    insert(&mut queue, 9000, 5);
    assert_eq!(state(&queue), (Kind::Ladder, None));
    dead.into_iter().for_each(|key| assert!(queue.remove(key).is_ok()));
    assert_eq!(queue.advance(1000, |_| {}), 2000);
    assert_eq!((state(&queue), queue.len(), queue.check()), ((Kind::Ladder, None), 5, Ok(())));
    let early = insert(&mut queue, 2000, 30).len();
    assert_eq!(queue.advance(8000, |_| {}), early);
    assert_eq!(queue.pop_expired(9000).map(|timer| timer.value), Some(0));
    assert_ne!(state(&queue), (Kind::Ladder, None));
    assert!(queue.expired(9000).map(|timer| timer.value).eq(1..5));
    assert_eq!(queue.check(), Ok(()));
}

/// Slots retire with and without a move.
#[test]
fn slots_may_retire() {
    for timers in [1, 5, 13, 70] {
        let mut queue = Queue::with_last_generation(u32::MAX - 1);
        let mut keys = std::collections::VecDeque::new();
        for at in 0..2000 {
            keys.push_back(queue.insert(Tick::from(at % 3), at).unwrap().key);
            if keys.len() > timers {
                let key = keys.pop_front().unwrap();
                queue.remove(key).unwrap();
            }
            assert_eq!(queue.check(), Ok(()));
        }
    }
}

/// With limits of 0, every queue becomes a ladder.
#[test]
fn limits_may_be_anything() {
    #[derive(Clone, Copy, Debug)]
    struct Extreme<const N: usize>;
    impl<const N: usize> Limits for Extreme<N> {
        const FLAT: usize = N;
        const HEAP: usize = N;
        const WHEEL: usize = N;
        const EXPIRIES: i32 = 0;
    }
    fn fill<const N: usize>() {
        let mut queue = SlabQueue::<AdaptiveQueue<Extreme<N>>, u32>::new();
        queue.clear();
        assert_eq!((queue.next_wake(), queue.check()), (None, Ok(())));
        for at in 0..100 {
            queue.insert(Tick::from(at / 7), at).unwrap();
        }
        let mut order = Vec::new();
        queue.advance(Tick::MAX, |expired| order.push(expired.value));
        assert!(order.into_iter().eq(0..100));
        queue.clear();
        assert!(queue.reserve(usize::MAX / 2).is_err());
        assert_eq!(queue.check(), Ok(()));
    }
    fill::<0>();
    fill::<1>();
    fill::<{ usize::MAX }>();
}

/// The queue moves its timers from a wheel to a ladder. The wheel has entered a bucket that is in
/// its future. A poll does not walk that bucket.
#[test]
fn a_poll_in_a_move_moves_nothing() {
    let mut twin = Twin::over_slab(601);
    for id in 0..600 {
        twin.insert(id, (1 << 40) + Tick::from(id) * 100);
    }
    while state(&twin.queue) != (Kind::Wheel, Some(Kind::Ladder)) {
        twin.insert(600, twin.now);
        assert_eq!(twin.advance(twin.now, 1), (1, 0));
    }
    let mut polled = 0;
    while state(&twin.queue).1.is_some() {
        assert_eq!(twin.advance(twin.now, usize::MAX), (0, 0));
        // Only an operation that changes something moves timers.
        twin.insert(600, 1 << 41);
        twin.remove(600);
        polled += 1;
    }
    assert!(polled > 20, "{polled}");
    twin.advance(Tick::MAX, usize::MAX);
}

/// While timers move, the slab grows to many times its size.
#[test]
fn the_slab_may_grow_during_a_move() {
    let mut queue = Queue::new();
    let mut at = 0;
    let mut insert = |queue: &mut Queue| {
        queue.insert(100 + Tick::from(at % 5), at).unwrap();
        at += 1;
    };
    while queue.len() < 400 {
        insert(&mut queue);
    }
    while state(&queue) != (Kind::Wheel, Some(Kind::Ladder)) {
        assert!(queue.pop_expired(200).is_some());
        insert(&mut queue);
    }
    queue.reserve(4000).unwrap();
    assert_eq!((state(&queue).1, queue.check()), (Some(Kind::Ladder), Ok(())));
    for _ in 0..2000 {
        insert(&mut queue);
        assert_eq!(queue.check(), Ok(()));
    }
    let mut last = (0, 0);
    queue.advance(Tick::MAX, |expired| {
        let this = (expired.deadline, expired.value);
        assert!(this > last);
        last = this;
    });
    assert!(state(&queue).0 < Kind::Wheel);
}

#[test]
fn clear_ends_a_move() {
    let mut queue = Queue::new();
    let mut at = 0;
    while state(&queue) != (Kind::Heap, Some(Kind::Wheel)) {
        queue.insert(at, 0).unwrap();
        at += 1;
    }
    queue.clear();
    assert_eq!((state(&queue), queue.check()), ((Kind::Flat, None), Ok(())));
    queue.insert(1, 1).unwrap();
    assert_eq!(queue.pop_expired(1).map(|expired| expired.value), Some(1));
}

#[test]
fn check_names_what_a_move_broke() {
    let moving = || {
        let mut queue = Queue::new();
        while state(&queue) != (Kind::Heap, Some(Kind::Wheel)) {
            let at = queue.len() as u32;
            queue.insert(Tick::from(at) + 1, at).unwrap();
        }
        assert_eq!(queue.check(), Ok(()));
        queue
    };
    let mut queue = moving();
    queue.order.len += 1;
    assert_eq!(queue.check(), Err(Violation::Count));
    let mut queue = moving();
    queue.order.quiet = 2;
    assert_eq!(queue.check(), Err(Violation::Minimum));
    let mut queue = moving();
    queue.order.kind = Kind::Flat;
    assert_eq!(queue.check(), Err(Violation::Head));
    let mut queue = moving();
    queue.order.going.as_mut().unwrap().boundary = 1;
    assert_eq!(queue.check(), Err(Violation::Order));
    let mut queue = moving();
    queue.order.going.as_mut().unwrap().boundary = Tick::MAX;
    assert_eq!(queue.check(), Err(Violation::Order));
    let mut queue = moving();
    queue.order.going.as_mut().unwrap().arrived += 1;
    assert_eq!(queue.check(), Err(Violation::Count));
    // Records of another ladder.
    let mut queue = Queue::new();
    for at in 0..61 {
        queue.insert(at, 0).unwrap();
    }
    while state(&queue) != (Kind::Wheel, Some(Kind::Ladder)) {
        assert!(queue.pop_expired(Tick::MAX).is_some());
        queue.insert(Tick::MAX, 0).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    queue.order.left += 1;
    assert_eq!(queue.check(), Err(Violation::Position));
}

/// A queue that grows timer by timer reserves no room in small structures that it has left.
#[test]
fn small_structures_stay_small() {
    let mut queue = SlabQueue::<AdaptiveQueue, ()>::new();
    for at in 0..10_000 {
        queue.insert(at, ()).unwrap();
    }
    assert!(queue.order.parts.heap_bytes() < 32 << 10, "{}", queue.order.parts.heap_bytes());
}
