//! What the lanes operate on: shards, or one queue behind a lock.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tickwright::shard::{Linux, Shards, SharedTimer, Was};
use tickwright::{DaryHeap, Family, Key, SlabQueue, TimerQueue, Wheel};

use super::divide::Op;

/// A structure that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Shards,
    LockedWheel,
    LockedHeap,
}

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    /// The timer was not pending, and is now.
    Armed,
    /// The pending timer has another deadline.
    Moved,
    /// The pending timer is cancelled.
    Cancelled,
    /// It was cancelled, and was not pending.
    Nothing,
    /// The structure refused the operation, so its timer may be lost.
    Refused,
}

/// A run of a structure. The lanes count what became of the operations; the run counts firings.
pub(super) trait Run: Sync {
    /// Delivers what is due for a lane. Returns whether the structure took the call.
    fn advance(&self, lane: usize, now: u64) -> bool;
    /// Arms, re-arms or cancels. In a window one lane alone names a timer.
    fn operate(&self, lane: usize, op: &Op) -> Did;
    /// The most ticks by which a timer with a deadline up to `deadline` may be late.
    fn lateness(&self, deadline: u64) -> u64;
    /// Timers that fired so far.
    fn fired(&self) -> u64;
    /// Timers that are pending, as the structure counts them.
    fn pending(&self) -> u64;
    /// Re-arms without a lock.
    fn unlocked(&self) -> Option<u64> {
        None
    }
}

impl Subject {
    pub(super) const ALL: [Self; 3] = [Self::Shards, Self::LockedWheel, Self::LockedHeap];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shards => "shards",
            Self::LockedWheel => "wheel/slab behind a lock",
            Self::LockedHeap => "heap4/slab behind a lock",
        }
    }

    pub(super) fn make(self, lanes: usize, timers: usize) -> Box<dyn Run> {
        match self {
            Self::Shards => Box::new(Sharded {
                shards: Shards::new(lanes),
                timers: core::iter::repeat_with(OnceLock::new).take(timers).collect(),
                fired: Arc::default(),
            }),
            Self::LockedWheel => Locked::<Wheel>::boxed(timers),
            Self::LockedHeap => Locked::<DaryHeap<4>>::boxed(timers),
        }
    }
}

/// A number that lanes count in 16 parts. Each part has a cache line of its own, and is shared by
/// few lanes.
#[derive(Debug, Default)]
struct Counter([Line; 16]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Counter {
    fn add(&self, lane: usize) {
        self.0[lane % self.0.len()].0.fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self) -> u64 {
        self.0.iter().map(|line| line.0.load(Ordering::Relaxed)).sum()
    }
}

/// A shard for each lane.
struct Sharded {
    shards: Shards,
    timers: Vec<OnceLock<SharedTimer>>,
    fired: Arc<Counter>,
}

impl Run for Sharded {
    fn advance(&self, lane: usize, now: u64) -> bool {
        // One lane advances its shard, so it is never busy.
        self.shards.shard(lane).is_ok_and(|shard| shard.advance(now).is_ok())
    }

    fn operate(&self, lane: usize, op: &Op) -> Did {
        let Ok(shard) = self.shards.shard(lane) else { return Did::Refused };
        let timer = self.timers[op.timer as usize].get_or_init(|| {
            let fired = Arc::clone(&self.fired);
            shard.timer(move |firing| fired.add(firing.shard()))
        });
        match op.deadline {
            Some(deadline) => match timer.modify_at(deadline, op.at) {
                Ok(Was::Idle) => Did::Armed,
                Ok(Was::Pending) => Did::Moved,
                Err(_) => Did::Refused,
            },
            None if timer.cancel() == Was::Pending => Did::Cancelled,
            None => Did::Nothing,
        }
    }

    fn lateness(&self, deadline: u64) -> u64 {
        Linux::lateness(deadline)
    }

    fn fired(&self) -> u64 {
        self.fired.sum()
    }

    fn pending(&self) -> u64 {
        let all = (0..self.shards.len()).filter_map(|number| self.shards.shard(number).ok());
        all.map(|shard| shard.pending() as u64).sum()
    }

    fn unlocked(&self) -> Option<u64> {
        Some(self.shards.statistics().matched)
    }
}

/// One queue of all lanes.
struct Locked<F: Family> {
    state: Mutex<State<F>>,
}

struct State<F: Family> {
    queue: SlabQueue<F, u32>,
    keys: Vec<Option<Key>>,
    fired: u64,
}

impl<F: Family> Locked<F>
where
    SlabQueue<F, u32>: TimerQueue<Key = Key, Value = u32> + Send + 'static,
{
    fn boxed(timers: usize) -> Box<dyn Run>
    where
        State<F>: Send,
    {
        let state = State { queue: SlabQueue::default(), keys: vec![None; timers], fired: 0 };
        Box::new(Self { state: Mutex::new(state) })
    }
}

impl<F: Family> Run for Locked<F>
where
    SlabQueue<F, u32>: TimerQueue<Key = Key, Value = u32>,
    State<F>: Send,
{
    fn advance(&self, _: usize, now: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { queue, fired, .. } = &mut *state;
        // A lane may be behind the others. Then its advance does not move the queue's clock.
        TimerQueue::advance(queue, now, |_| *fired += 1);
        true
    }

    fn operate(&self, _: usize, op: &Op) -> Did {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { queue, keys, .. } = &mut *state;
        let key = &mut keys[op.timer as usize];
        match op.deadline {
            Some(deadline) => {
                if key.is_some_and(|key| TimerQueue::reschedule(queue, key, deadline).is_ok()) {
                    return Did::Moved;
                }
                let Ok(inserted) = TimerQueue::insert(queue, deadline, op.timer) else { return Did::Refused };
                *key = Some(inserted.key);
                Did::Armed
            }
            None if key.take().is_some_and(|key| TimerQueue::remove(queue, key).is_ok()) => Did::Cancelled,
            None => Did::Nothing,
        }
    }

    fn lateness(&self, _: u64) -> u64 {
        // Both queues are exact.
        0
    }

    fn fired(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).fired
    }

    fn pending(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        TimerQueue::len(&state.queue) as u64
    }
}
