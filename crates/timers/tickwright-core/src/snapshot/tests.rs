//! Tests that saved timers are restored in order, and that a damaged snapshot changes nothing.

use std::vec;
use std::vec::Vec;

use super::*;
use crate::{HookQueue, KeyError, SlabQueue, SortedList, Timer, TimerRef, Wheel};
use tickwright_nodes::testing::Random;

/// Returns a queue of near and far timers, some with equal deadlines. Its clock is not 0.
fn filled<F: crate::Family>(seed: u64) -> SlabQueue<F, u32> {
    let mut queue = SlabQueue::new();
    let mut random = Random::new(seed);
    assert!(queue.pop_expired(1_000).is_none());
    for value in 0..60 {
        let delay =
            u64::from([random.below(4), random.below(100), random.below(1 << 30)][value as usize % 3]);
        queue.insert_at(1_000 + delay, value, 0).unwrap();
    }
    queue
}

/// Returns all remaining timers, in order, with their expiries counted from `now`.
fn rest<F: crate::Family>(queue: &mut SlabQueue<F, u32>, now: u64) -> Vec<(u64, u32)> {
    let mut rest = Vec::new();
    while let Some(wake) = queue.next_wake() {
        while let Some(fired) = queue.pop_expired(wake) {
            rest.push((fired.deadline - now, fired.value));
        }
    }
    rest
}

/// Returns the names of the timers in a snapshot, in the order of the snapshot.
fn names<N: PlainValue>(bytes: &[u8]) -> Vec<N> {
    Verified::<N>::read(bytes).unwrap().iter().map(|(_, name)| name).collect()
}

/// `snapshot` and `drain_snapshot` write the same bytes, and `snapshot` does not change the queue.
macro_rules! each_leaves_the_queue {
    ([] $($name:literal => $family:ty;)+) => {$(
        let mut queue = filled::<$family>(9);
        let mut pages = [[0; 1_024]; 2];
        let before = (queue.len(), queue.now(), queue.next_wake(), queue.peek(), queue.second());
        assert_eq!(queue.snapshot(&mut [0; 700]), Err(SnapshotError::TooShort), "{}", $name);
        let length = queue.snapshot(&mut pages[0]).unwrap();
        assert_eq!(before, (queue.len(), queue.now(), queue.next_wake(), queue.peek(), queue.second()));
        assert_eq!(queue.check(), Ok(()), "{}", $name);
        assert_eq!(queue.drain_snapshot(&mut pages[1]), Ok(length), "{}", $name);
        assert_eq!(pages[0], pages[1], "{}", $name);
        let left: Vec<u32> = rest(&mut filled::<$family>(9), 1_000).iter().map(|&(_, id)| id).collect();
        assert_eq!(names::<u32>(&pages[0]), left, "{}", $name);
    )+};
}

#[test]
fn a_snapshot_of_any_structure_leaves_it_as_it_is() {
    crate::for_each_family!(each_leaves_the_queue []);
    crate::for_each_slab_only_family!(each_leaves_the_queue []);
}

/// A name whose `write` panics for one timer.
#[derive(Debug)]
struct Fragile(u32);

impl PlainValue for Fragile {
    const BYTES: u16 = 4;

    fn write(&self, bytes: &mut [u8]) {
        if self.0 == 30 {
            std::panic::resume_unwind(std::boxed::Box::new("boom"));
        }
        self.0.write(bytes);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        u32::read(bytes).map(Self)
    }
}

/// `drain_snapshot` advances the structure's clock past all timers. Afterwards the queue is like a
/// new queue with the old `now`, even if the caller's code panicked.
macro_rules! each_is_whole_after_a_panic {
    ([] $($name:literal => $family:ty;)+) => {$(
        let mut queue: SlabQueue<$family, Fragile> = SlabQueue::new();
        assert!(queue.pop_expired(1_000).is_none());
        for id in 0..60 {
            queue.insert_at(1_000 + u64::from(id) * 77 % 500, Fragile(id), 0).unwrap();
        }
        let mut page = [0; 1_024];
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let _ = queue.drain_snapshot(&mut page);
        }));
        assert!(panicked.is_err(), "{}", $name);
        assert_eq!((queue.len(), queue.check(), queue.now()), (0, Ok(()), 1_000), "{}", $name);
        queue.insert_at(1_010, Fragile(1), 0).unwrap();
        queue.insert_at(1_002, Fragile(2), 0).unwrap();
        assert!(queue.pop_expired(1_001).is_none(), "{}", $name);
        assert_eq!(queue.expired(1_100).map(|fired| fired.value.0).collect::<Vec<_>>(), [2, 1], "{}", $name);
        assert_eq!(queue.check(), Ok(()), "{}", $name);
    )+};
}

#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "catches a panic")]
fn a_panic_while_a_queue_is_drained_leaves_an_empty_queue() {
    crate::for_each_family!(each_is_whole_after_a_panic []);
    crate::for_each_slab_only_family!(each_is_whole_after_a_panic []);
}

/// Tests the same over hooks, where the caller's closure names the timers.
macro_rules! each_hook_is_whole_after_a_panic {
    ([] $($name:literal => $family:ty;)+) => {$(
        let timers: Vec<Timer<$family, u32>> = (0..60).map(Timer::new).collect();
        let mut queue: HookQueue<'_, $family, u32> = HookQueue::new();
        assert!(queue.pop_expired(1_000).is_none());
        for timer in &timers {
            queue.insert_at(1_000 + u64::from(timer.payload) * 77 % 500, timer, 0).unwrap();
        }
        let mut page = [0; 1_024];
        let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let _ = queue.drain_snapshot(&mut page, |timer| Fragile(timer.payload));
        }));
        assert!(panicked.is_err(), "{}", $name);
        assert!(timers.iter().all(|timer| !timer.is_linked()), "{}", $name);
        assert_eq!((queue.len(), queue.check(), queue.now()), (0, Ok(()), 1_000), "{}", $name);
        for timer in &timers[..30] {
            queue.insert_at(1_001 + u64::from(timer.payload), timer, 0).unwrap();
        }
        let mut expired = queue.expired(u64::MAX).map(|fired| fired.value.payload);
        assert!((0..30).all(|id| expired.next() == Some(id)) && expired.next().is_none(), "{}", $name);
    )+};
}

#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "catches a panic")]
fn a_panic_while_hooks_are_drained_leaves_an_empty_queue() {
    crate::for_each_family!(each_hook_is_whole_after_a_panic []);
}

/// In every structure, the time of a snapshot does not grow with the square of the number of
/// timers.
macro_rules! each_saves_many {
    ([] $($name:literal => $family:ty;)+) => {$(
        let many = if cfg!(miri) { 300 } else { 30_000 };
        let mut queue: SlabQueue<$family, u32> = SlabQueue::with_capacity(many as usize).unwrap();
        // The deadlines increase, so that lists and arrays append each timer at their end.
        for id in 0..many {
            queue.insert_at(60_000 + u64::from(id / 3), id, 0).unwrap();
        }
        let mut page = vec![0; super::bytes::<u32>(many as usize).unwrap()];
        queue.snapshot(&mut page).unwrap();
        queue.drain_snapshot(&mut page).unwrap();
        if <SlabQueue<$family, u32> as crate::TimerQueue>::ORDER.is_exact() {
            assert!(names::<u32>(&page).into_iter().eq(0..many), "{}", $name);
        }
        assert_eq!(queue.restore(&page, 0, |left| left, |_, _| ()), Ok(many as usize), "{}", $name);
    )+};
}

#[test]
fn many_timers_are_saved_at_once() {
    crate::for_each_family!(each_saves_many []);
    crate::for_each_slab_only_family!(each_saves_many []);
}

macro_rules! each_comes_back {
    ([] $($name:literal => $family:ty;)+) => {$(
        let mut queue = filled::<$family>(7);
        let mut bytes = vec![0; super::bytes::<u32>(60).unwrap()];
        let mut cut = vec![0; bytes.len() - 1];
        assert_eq!(queue.drain_snapshot(&mut cut), Err(SnapshotError::TooShort), "{}", $name);
        assert_eq!((queue.len(), queue.check()), (60, Ok(())), "{}: nothing was removed", $name);
        assert_eq!(queue.drain_snapshot(&mut bytes), Ok(bytes.len()), "{}", $name);
        assert_eq!((queue.len(), queue.check(), queue.now()), (0, Ok(()), 1_000), "{}", $name);
        let mut restored: SlabQueue<$family, u32> = SlabQueue::new();
        assert_eq!(restored.restore(&bytes, 1_000, |left| 1_000 + left, |_, _| ()), Ok(60), "{}", $name);
        // The emptied queue works like a new queue.
        assert_eq!(queue.restore(&bytes, 1_000, |left| 1_000 + left, |_, _| ()), Ok(60), "{}", $name);
        assert_eq!((restored.check(), queue.check()), (Ok(()), Ok(())), "{}", $name);
        let exact = <SlabQueue<$family, u32> as crate::TimerQueue>::ORDER.is_exact();
        let expected = rest(&mut filled::<$family>(7), 1_000);
        let mut found = [rest(&mut restored, 1_000), rest(&mut queue, 1_000)];
        let mut expected = [expected.clone(), expected];
        if !exact {
            // The bucket of a timer depends on the queue's clock at the insert. In a restored
            // granular queue, timers can therefore be in other buckets than before, and leave in
            // another order.
            expected.iter_mut().chain(&mut found).for_each(|timers| timers.sort_unstable());
        }
        assert_eq!(found, expected, "{}", $name);
    )+};
}

#[test]
fn every_structure_comes_back_in_order() {
    crate::for_each_family!(each_comes_back []);
    crate::for_each_slab_only_family!(each_comes_back []);
}

#[test]
fn a_snapshot_leaves_the_queue_and_gives_new_keys() {
    let mut queue = filled::<SortedList>(3);
    let mut bytes = [0; 1_024];
    let length = queue.snapshot(&mut bytes).unwrap();
    assert_eq!((length, queue.len()), (super::bytes::<u32>(60).unwrap(), 60));
    assert_eq!(queue.snapshot(&mut bytes[..length - 1]), Err(SnapshotError::TooShort));
    // Restores the timers into a wheel whose clock begins again at 0.
    let mut restored: SlabQueue<Wheel, u32> = SlabQueue::new();
    let mut keys = Vec::new();
    assert_eq!(restored.restore(&bytes, 0, |left| left, |key, &value| keys.push((key, value))), Ok(60));
    assert!(keys.iter().all(|&(key, value)| restored.get(key) == Some(&value)));
    assert_eq!(rest(&mut restored, 0), rest(&mut queue, 1_000));
}

/// If any byte of a snapshot has changed, or the snapshot was cut off at any length, nothing is
/// restored, and the queue's own timers stay.
#[test]
fn damage_is_refused_whole() {
    let mut queue = filled::<SortedList>(3);
    let mut bytes = vec![0; super::bytes::<u32>(60).unwrap()];
    queue.snapshot(&mut bytes).unwrap();
    let key = queue.insert(2_000, 99).unwrap();
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            bytes[at] ^= flip;
            assert!(queue.restore(&bytes, 0, |left| left, |_, _| ()).is_err(), "byte {at}");
            bytes[at] ^= flip;
        }
        assert!(queue.restore(&bytes[..at], 0, |left| left, |_, _| ()).is_err(), "cut off at {at}");
    }
    assert_eq!((queue.len(), queue.get(key), queue.check()), (61, Some(&99), Ok(())));
    let mut other: SlabQueue<SortedList, u64> = SlabQueue::new();
    assert_eq!(other.restore(&bytes, 0, |left| left, |_, _| ()), Err(SnapshotError::Payload(4)));
    bytes[4] = 2;
    assert_eq!(queue.restore(&bytes, 0, |left| left, |_, _| ()), Err(SnapshotError::Version(2)));
    assert_eq!(queue.restore(&[0xff; 64], 0, |left| left, |_, _| ()), Err(SnapshotError::NoSnapshot));
    let mut small: SlabQueue<SortedList, u32> = SlabQueue::bounded(59).unwrap();
    bytes[4] = 1;
    assert_eq!(small.restore(&bytes, 0, |left| left, |_, _| ()), Err(SnapshotError::Rejected(Reject::Full)));
    assert!(small.is_empty());
}

#[test]
fn hooks_are_found_by_their_names_or_none_is_restored() {
    let timers: Vec<Timer<SortedList, u8>> = (0..5).map(Timer::new).collect();
    let mut queue: HookQueue<'_, SortedList, u8> = HookQueue::new();
    for (timer, deadline) in timers.iter().zip([30, 10, 20, 10, 50]) {
        queue.insert(deadline, timer).unwrap();
    }
    let mut bytes = [0; 128];
    let length = queue.snapshot(&mut bytes, |timer| timer.payload).unwrap();
    let find = |name: u8| timers.get(usize::from(name));
    let pending = queue.restore(&bytes[..length], 0, |left| left, find);
    assert_eq!(pending, Err(SnapshotError::Rejected(Reject::AlreadyLinked)));
    assert_eq!((queue.len(), queue.check()), (5, Ok(())));
    assert_eq!(queue.drain_snapshot(&mut bytes, |timer| timer.payload), Ok(length));
    assert!(queue.is_empty() && timers.iter().all(|timer| !timer.is_linked()));

    let unknown = |name: u8| find(name).filter(|_| name != 4);
    assert_eq!(queue.restore(&bytes, 0, |left| left, unknown), Err(SnapshotError::Unknown));
    let twice = |name: u8| find(if name == 4 { 1 } else { name });
    assert_eq!(
        queue.restore(&bytes, 0, |left| left, twice),
        Err(SnapshotError::Rejected(Reject::AlreadyLinked))
    );
    assert!(queue.is_empty() && timers.iter().all(|timer| !timer.is_linked()), "and none was restored");
    assert_eq!(queue.remove(TimerRef::from(&timers[1])).err(), Some(KeyError::Stale));

    assert_eq!(queue.restore(&bytes, 1_000, |left| 1_000 + left, find), Ok(5));
    assert!(queue.expired(1_020).map(|fired| fired.value.payload).eq([1, 3, 2]));
    assert_eq!(queue.next_expiry(), Some(1_030));
}

#[test]
fn the_checksum_is_that_of_ethernet() {
    assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
}
