//! Compares heaps over both storages with a sorted vector, and calls `check` after every operation.

use core::ops::Range;
use std::vec::Vec;

use super::{BoundedHeap, Buffer, DaryHeap, Degree, Group, Growing, LentHeap, groups_for};
use crate::contract::{Reject, Tick};
use crate::queue::hook::{HookQueue, Timer};
use crate::queue::slab::{Idx, SlabQueue};
use crate::structure::{Family, Handle};
use crate::structures::testing::{Exact, HookTwin, Model, Random, Twin, prepared_twins};

/// The number of timers of a script: ids `0..IDS`.
const IDS: u32 = 48;

const SEEDS: Range<u64> = if cfg!(miri) { 1..9 } else { 0..10 };

/// Compares queues that hold at most `limit` timers with the model.
fn both_shells<F: Family>(limit: usize) {
    prepared_twins::<F, Exact>(IDS, SEEDS, |slab| slab.limit = limit, |hook| hook.limit = limit);
}

/// Compares queues whose sequence numbers begin at `first` with the model.
fn worn_shells<const D: usize>(first: u32)
where
    Degree<D>: super::Arity,
{
    prepared_twins::<DaryHeap<D>, Exact>(
        IDS,
        SEEDS,
        |slab| slab.queue.start_sequence_at(first),
        |hook| hook.queue.start_sequence_at(first),
    );
}

#[test]
fn agrees_with_a_sorted_vec() {
    both_shells::<DaryHeap<2>>(usize::MAX);
    both_shells::<DaryHeap<4>>(usize::MAX);
}

#[test]
fn bounded_heaps_refuse_and_go_on() {
    both_shells::<BoundedHeap<2, 1>>(1);
    both_shells::<BoundedHeap<2, 12>>(12);
    both_shells::<BoundedHeap<4, 1>>(1);
    both_shells::<BoundedHeap<4, 8>>(8);
    both_shells::<BoundedHeap<4, 9>>(9);
    both_shells::<BoundedHeap<4, 10>>(10);
    both_shells::<BoundedHeap<4, 11>>(11);
    both_shells::<BoundedHeap<4, 64>>(64);
}

fn lent<const D: usize>(capacity: usize)
where
    Degree<D>: super::Arity,
{
    for seed in SEEDS {
        let timers: Vec<Timer<LentHeap<D>, u32>> = (0..IDS).map(Timer::new).collect();
        let groups = std::vec![Group::EMPTY; groups_for::<D>(capacity)].leak();
        let mut twin: HookTwin<'_, _> = Twin::over_hooks(&timers);
        (twin.queue, twin.limit) = (HookQueue::lent(capacity, groups).unwrap(), capacity);
        twin.run(seed);
    }
}

#[test]
fn lent_heaps_refuse_and_go_on() {
    [0, 1, 2, 7, 40].into_iter().for_each(lent::<2>);
    [0, 1, 2, 5, 6, 40].into_iter().for_each(lent::<4>);
    let timer = Timer::new(());
    let mut without: HookQueue<'_, LentHeap<4>, ()> = HookQueue::new();
    assert_eq!(without.insert(1, &timer).map_err(|refused| refused.reason).err(), Some(Reject::Full));
}

#[test]
fn too_few_groups_are_refused() {
    let groups = || std::vec![Group::EMPTY; groups_for::<4>(9)].leak();
    for refused in [10, usize::MAX] {
        let queue: Result<HookQueue<'_, LentHeap<4>, ()>, _> = HookQueue::lent(refused, groups());
        assert_eq!(queue.map(|_| ()), Err(Reject::Full));
    }
    let queue: Result<HookQueue<'_, LentHeap<4>, ()>, _> = HookQueue::lent(9, groups());
    assert!(queue.is_ok());
}

#[test]
fn a_bound_of_zero_refuses_everything() {
    let mut queue: SlabQueue<BoundedHeap<4, 0>, u8> = SlabQueue::new();
    let refused = queue.insert(1, 7).unwrap_err();
    assert_eq!((refused.reason, refused.value), (Reject::Full, 7));
    assert_eq!((queue.len(), queue.peek(), queue.second(), queue.check()), (0, None, None, Ok(())));
}

#[test]
fn a_used_up_sequence_is_renumbered_in_order() {
    // The counter is used up once in each script: near its start, early or late.
    worn_shells::<2>(u32::MAX - 1);
    worn_shells::<2>(u32::MAX - 40);
    worn_shells::<4>(u32::MAX);
    worn_shells::<4>(u32::MAX - 100);
}

#[test]
fn equals_stay_in_order_across_a_renumbering() {
    for inserts in 1..80 {
        let mut queue: SlabQueue<DaryHeap<4>, u32> = SlabQueue::new();
        queue.start_sequence_at(u32::MAX - 40);
        let keys: Vec<_> = (0..inserts).map(|id| queue.insert(9, id).unwrap()).collect();
        assert_eq!(queue.check(), Ok(()));
        queue.reschedule(keys[0], 9).unwrap();
        let order: Vec<_> = core::iter::from_fn(|| queue.pop_expired(9)).map(|fired| fired.value).collect();
        assert!(order.into_iter().eq((1..inserts).chain([0])));
    }
}

#[test]
fn a_sequence_is_set_while_the_heap_is_empty_alone() {
    let mut queue: SlabQueue<DaryHeap<2>, u32> = SlabQueue::new();
    for id in 0..3 {
        queue.insert(9, id).unwrap();
    }
    queue.start_sequence_at(0);
    queue.insert(9, 3).unwrap();
    assert_eq!(queue.check(), Ok(()));
    let order: Vec<_> = core::iter::from_fn(|| queue.pop_expired(9)).map(|fired| fired.value).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn a_hole_is_filled_before_a_renumbering() {
    for size in 2..=40u32 {
        for moved in [false, true] {
            let mut queue: SlabQueue<DaryHeap<4>, u32> = SlabQueue::new();
            queue.start_sequence_at(u32::MAX - 40);
            let keys: Vec<_> = (0..size).map(|id| queue.insert(9, id).unwrap()).collect();
            for _ in size..40 {
                queue.reschedule(keys[size as usize - 1], 9).unwrap();
            }
            // The counter is used up, and the root becomes a hole.
            assert_eq!(queue.pop_expired(9).map(|timer| timer.value), Some(0));
            if moved {
                queue.reschedule(keys[1], 9).unwrap();
            } else {
                queue.insert(9, 99).unwrap();
            }
            assert_eq!(queue.check(), Ok(()));
            let left: Vec<_> =
                core::iter::from_fn(|| queue.pop_expired(9)).map(|timer| timer.value).collect();
            let (first, last) = if moved { (2, 1) } else { (1, 99) };
            assert!(left.into_iter().eq((first..size).chain([last])));
        }
    }
}

/// Tests for a bug that two published heaps had: the entry that replaces a removed entry might have
/// to rise.
fn remove_everywhere<F: Family>() {
    for size in 1..=40u32 {
        for victim in 0..size {
            for seed in 1..=3 {
                let mut random = Random::new(seed);
                let mut queue: SlabQueue<F, u32> = SlabQueue::new();
                let mut model = Exact::default();
                let mut keys = Vec::new();
                for id in 0..size {
                    let deadline = Tick::from(random.below(30));
                    model.insert(id, deadline, 0);
                    keys.push(queue.insert_at(deadline, id, 0).unwrap());
                }
                assert_eq!(queue.remove(keys[victim as usize]).unwrap(), victim);
                assert_eq!(queue.check(), Ok(()));
                model.remove(victim);
                let left = core::iter::from_fn(|| queue.pop_expired(99)).map(|fired| fired.value);
                assert!(left.eq((0..).map_while(|at| model.get(at)).map(|entry| entry.id)));
            }
        }
    }
}

#[test]
fn removal_at_every_position_of_every_size() {
    remove_everywhere::<DaryHeap<2>>();
    remove_everywhere::<DaryHeap<4>>();
    remove_everywhere::<BoundedHeap<4, 40>>();
}

/// Prefetching begins at a size that the random scripts do not reach.
#[test]
fn big_heaps_give_everything_back_in_order() {
    let mut random = Random::new(3);
    let mut queue: SlabQueue<DaryHeap<4>, u32> = SlabQueue::with_capacity(70_000).unwrap();
    let memory = queue.heap_bytes();
    let mut model: Vec<_> = (0..70_000).map(|id| (Tick::from(random.below(50_000)), id)).collect();
    for &(deadline, id) in &model {
        queue.insert(deadline, id).unwrap();
    }
    assert_eq!(queue.check(), Ok(()));
    assert_eq!(queue.heap_bytes(), memory);
    model.sort_unstable();
    for expected in model {
        let fired = queue.pop_expired(u64::MAX).unwrap();
        assert_eq!((fired.expiry, fired.value), expected);
    }
    assert_eq!(queue.check(), Ok(()));
}

#[test]
fn a_timer_takes_28_bytes() {
    let count = 100_000;
    let queue: SlabQueue<DaryHeap<4>, u32> = SlabQueue::with_capacity(count).unwrap();
    // Unused bytes: three cells before the root, one cell after the last entry, and index 0 of the
    // slab.
    assert_eq!(queue.heap_bytes(), 28 * count + 4 * 16 + 12);
}

#[test]
fn more_than_can_be_had_is_full() {
    let mut heap: Growing<Idx, 4> = Buffer::<Idx, 4>::NEW;
    assert_eq!(heap.reserve(0, usize::MAX), Err(Reject::Full));
    assert_eq!(heap.reserve(1, usize::MAX), Err(Reject::Full));
    assert_eq!(heap.reserve(0, super::MOST + 1), Err(Reject::Full));
    assert_eq!(heap.reserve(super::MOST, 1), Err(Reject::Full));
    assert_eq!(heap.heap_bytes(), 0);
    assert!(SlabQueue::<BoundedHeap<2, 9>, u8>::with_capacity(9).is_ok());
    assert_eq!(SlabQueue::<BoundedHeap<2, 9>, u8>::with_capacity(10).err(), Some(Reject::Full));
}

/// Checks that the memory exists after a `reserve` that succeeded: for each number of entries,
/// before and after other entries, directly and through both storages. A call of `reserve`
/// allocates nothing for entries that already fit.
#[test]
fn a_reservation_has_a_cell_for_each_entry() {
    fn of<const D: usize>()
    where
        Degree<D>: super::Arity,
    {
        for len in 0..30 {
            for additional in 0..30 {
                let needed = groups_for::<D>(len + additional);
                let mut buffer: Growing<Idx, D> = Buffer::<Idx, D>::NEW;
                Buffer::<Idx, D>::reserve(&mut buffer, 0, len).unwrap();
                let before = buffer.groups.capacity();
                assert!(before >= groups_for::<D>(len));
                Buffer::<Idx, D>::reserve(&mut buffer, len, additional).unwrap();
                assert!(buffer.groups.capacity() >= needed, "{D}: {len} and {additional}");
                assert!(needed > before || buffer.groups.capacity() == before);

                let mut slab: SlabQueue<DaryHeap<D>, ()> = SlabQueue::new();
                let timers: Vec<Timer<DaryHeap<D>, ()>> = (0..len).map(|_| Timer::new(())).collect();
                let mut hook: HookQueue<'_, DaryHeap<D>, ()> = HookQueue::new();
                for timer in &timers {
                    slab.insert(0, ()).unwrap();
                    hook.insert(0, timer).unwrap();
                }
                slab.reserve(additional).unwrap();
                hook.reserve(additional).unwrap();
                assert!(slab.store.order.buffer.groups.capacity() >= needed, "{D}: {len} and {additional}");
                assert!(hook.store.order.buffer.groups.capacity() >= needed, "{D}: {len} and {additional}");
                assert_eq!(hook.reserve(super::MOST - len + 1), Err(Reject::Full));
            }
        }
    }
    of::<2>();
    of::<4>();
}

/// Groups are aligned to cache lines, except on 32-bit targets.
#[test]
fn groups_lie_on_lines() {
    fn bytes<P: Handle, const D: usize>() -> (usize, usize)
    where
        Degree<D>: super::Arity,
    {
        (size_of::<super::buffer::Group<P, D>>(), align_of::<super::buffer::Group<P, D>>())
    }
    let aligned = |line| if cfg!(target_pointer_width = "64") { line } else { align_of::<Tick>() };
    assert_eq!(bytes::<Idx, 4>(), (64, aligned(64)));
    assert_eq!(bytes::<Idx, 2>(), (32, aligned(32)));
}

#[test]
fn single_insertions_double_and_a_reservation_is_exact() {
    let mut heap: Growing<Idx, 4> = Buffer::<Idx, 4>::NEW;
    let (mut growths, mut room) = (0, 0);
    for len in 0..10_000 {
        Buffer::<Idx, 4>::reserve(&mut heap, len, 1).unwrap();
        Buffer::<Idx, 4>::set_groups(&mut heap, groups_for::<4>(len + 1));
        if heap.groups.capacity() != room {
            (growths, room) = (growths + 1, heap.groups.capacity());
        }
    }
    assert!(growths < 20, "{growths} growths for 10_000 single insertions");

    let mut heap: Growing<Idx, 4> = Buffer::<Idx, 4>::NEW;
    Buffer::<Idx, 4>::reserve(&mut heap, 0, 1_000).unwrap();
    Buffer::<Idx, 4>::set_groups(&mut heap, groups_for::<4>(1_000));
    Buffer::<Idx, 4>::reserve(&mut heap, 1_000, 8).unwrap();
    let room = heap.groups.capacity();
    assert!(room < 2 * groups_for::<4>(1_000), "{room} groups for 1_008 timers");
}
