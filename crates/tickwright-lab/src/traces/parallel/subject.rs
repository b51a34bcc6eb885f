//! What the lanes operate on: shards, or one queue behind a lock.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tickwright::shard::{Shards, SharedTimer, Was};
use tickwright::{DaryHeap, Family, Key, SlabQueue, TimerQueue, Wheel};

use super::divide::Op;

/// A structure that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Shards,
    LockedWheel,
    LockedHeap,
}

/// How timers ended. Each one that was armed has one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) armed: u64,
    pub(super) fired: u64,
    pub(super) cancelled: u64,
    pub(super) pending: u64,
    /// Re-arms without a lock.
    pub(super) unlocked: Option<u64>,
}

/// A run of a structure.
pub(super) trait Run: Sync {
    /// Delivers what is due for a lane.
    fn advance(&self, lane: usize, now: u64);
    /// Arms, re-arms or cancels. In a window one lane alone names a timer.
    fn operate(&self, lane: usize, op: &Op);
    fn ends(&self) -> Ends;
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
                armed: Counter::default(),
                cancelled: Counter::default(),
            }),
            Self::LockedWheel => Locked::<Wheel>::boxed(timers),
            Self::LockedHeap => Locked::<DaryHeap<4>>::boxed(timers),
        }
    }
}

/// A counter for each of some lanes, each alone in its cache line.
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
    armed: Counter,
    cancelled: Counter,
}

impl Run for Sharded {
    fn advance(&self, lane: usize, now: u64) {
        if let Ok(shard) = self.shards.shard(lane) {
            // One lane advances its shard, so it is never busy.
            let _ = shard.advance(now);
        }
    }

    fn operate(&self, lane: usize, op: &Op) {
        let Ok(shard) = self.shards.shard(lane) else { return };
        let timer = self.timers[op.timer as usize].get_or_init(|| {
            let fired = Arc::clone(&self.fired);
            shard.timer(move |firing| fired.add(firing.shard()))
        });
        match op.deadline {
            Some(deadline) => {
                if timer.modify_at(deadline, op.at) == Ok(Was::Idle) {
                    self.armed.add(lane);
                }
            }
            None => {
                if timer.cancel() == Was::Pending {
                    self.cancelled.add(lane);
                }
            }
        }
    }

    fn ends(&self) -> Ends {
        let all = (0..self.shards.len()).filter_map(|number| self.shards.shard(number).ok());
        Ends {
            armed: self.armed.sum(),
            fired: self.fired.sum(),
            cancelled: self.cancelled.sum(),
            pending: all.map(|shard| shard.pending() as u64).sum(),
            unlocked: Some(self.shards.statistics().matched),
        }
    }
}

/// One queue of all lanes.
struct Locked<F: Family> {
    state: Mutex<State<F>>,
}

struct State<F: Family> {
    queue: SlabQueue<F, u32>,
    keys: Vec<Option<Key>>,
    ends: Ends,
}

impl<F: Family> Locked<F>
where
    SlabQueue<F, u32>: TimerQueue<Key = Key, Value = u32> + Send + 'static,
{
    fn boxed(timers: usize) -> Box<dyn Run>
    where
        State<F>: Send,
    {
        let state = State { queue: SlabQueue::default(), keys: vec![None; timers], ends: Ends::default() };
        Box::new(Self { state: Mutex::new(state) })
    }
}

impl<F: Family> Run for Locked<F>
where
    SlabQueue<F, u32>: TimerQueue<Key = Key, Value = u32>,
    State<F>: Send,
{
    fn advance(&self, _: usize, now: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { queue, ends, .. } = &mut *state;
        // A lane may be behind the others. Then its advance does not move the queue's clock.
        TimerQueue::advance(queue, now, |_| ends.fired += 1);
    }

    fn operate(&self, _: usize, op: &Op) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { queue, keys, ends } = &mut *state;
        let key = &mut keys[op.timer as usize];
        match op.deadline {
            Some(deadline) => {
                if key.is_some_and(|key| TimerQueue::reschedule(queue, key, deadline).is_ok()) {
                    return;
                }
                if let Ok(inserted) = TimerQueue::insert(queue, deadline, op.timer) {
                    *key = Some(inserted.key);
                    ends.armed += 1;
                }
            }
            None => {
                if key.take().is_some_and(|key| TimerQueue::remove(queue, key).is_ok()) {
                    ends.cancelled += 1;
                }
            }
        }
    }

    fn ends(&self) -> Ends {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ends { pending: TimerQueue::len(&state.queue) as u64, ..state.ends }
    }
}
