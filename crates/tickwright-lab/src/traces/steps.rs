//! The operations of a workload on a queue, in pieces that are decoded before a clock starts.

use crate::models::verify::{Notes, Script, Witness};
use crate::structures::candidate::BenchQueue;

/// One operation. Ids name timers while they are pending; ticks are those of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Arm an idle timer.
    Insert {
        /// The timer.
        id: u32,
        /// Its deadline.
        deadline: u64,
    },
    /// Move a pending timer.
    Reschedule {
        /// The timer.
        id: u32,
        /// Its new deadline.
        deadline: u64,
    },
    /// Disarm a pending timer.
    Remove {
        /// The timer.
        id: u32,
    },
    /// The program woke at this tick for another reason, and tells its queue the time. It is no
    /// operation on a timer, and is not counted.
    Clock {
        /// The tick.
        at: u64,
    },
    /// The driver wakes: deliver what is due, then ask for the next wake-up.
    Advance {
        /// The tick.
        now: u64,
    },
}

/// The kinds of operations, in the order of tables.
pub(crate) const KINDS: [&str; 4] = ["insert", "re-arm", "remove", "advance"];

impl Step {
    /// The index of its kind in [`KINDS`].
    pub(crate) fn kind(self) -> usize {
        match self {
            Self::Insert { .. } => 0,
            Self::Reschedule { .. } => 1,
            Self::Remove { .. } => 2,
            Self::Advance { .. } | Self::Clock { .. } => 3,
        }
    }

    /// The tick that it names: a deadline, or the time. 0 if it names none.
    pub(crate) fn reaches(self) -> u64 {
        match self {
            Self::Insert { deadline, .. } | Self::Reschedule { deadline, .. } => deadline,
            Self::Clock { at } => at,
            Self::Advance { now } => now,
            Self::Remove { .. } => 0,
        }
    }

    /// Whether it counts as an operation.
    pub(crate) fn is_operation(self) -> bool {
        !matches!(self, Self::Clock { .. })
    }

    /// Runs the operation.
    #[inline]
    pub(crate) fn run<Q: BenchQueue, W: Witness>(self, queue: &mut Q, witness: &mut W) {
        match self {
            Self::Insert { id, deadline } => queue.insert(id, deadline),
            Self::Reschedule { id, deadline } => queue.reschedule(id, deadline),
            Self::Remove { id } => queue.remove(id),
            Self::Clock { at } => queue.tell(at),
            Self::Advance { now } => {
                queue.advance(now, usize::MAX, &mut |id, expiry| witness.delivered(id, expiry, now));
                witness.read(queue.wake());
            }
        }
    }
}

/// Operations in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk(pub(crate) Vec<Step>);

impl Chunk {
    /// The number of its operations.
    pub(crate) fn operations(&self) -> u64 {
        self.0.iter().filter(|step| step.is_operation()).count() as u64
    }
}

impl Script for Chunk {
    fn run<Q: BenchQueue, W: Witness>(&self, queue: &mut Q, witness: &mut W) {
        for step in &self.0 {
            step.run(queue, witness);
        }
    }

    fn notes(&self) -> Notes {
        let reads = self.0.iter().filter(|step| matches!(step, Step::Advance { .. })).count();
        Notes { deliveries: reads, reads }
    }

    fn reads_a_bound(&self) -> bool {
        true
    }

    fn delivers_whole_expiries(&self) -> bool {
        true
    }
}

/// A queue whose late deliveries do not collide with operations that suppose them done. A granular
/// structure delivers a timer after its deadline, when the workload may have armed its id again.
#[derive(Debug)]
pub(crate) struct Guarded<Q> {
    queue: Q,
    pending: Vec<bool>,
}

impl<Q> Guarded<Q> {
    /// Guards an empty queue of timers `0..capacity`.
    pub(crate) fn new(queue: Q, capacity: usize) -> Self {
        Self { queue, pending: vec![false; capacity] }
    }

    fn set(&mut self, id: u32, pending: bool) -> bool {
        self.pending.get_mut(id as usize).is_some_and(|place| core::mem::replace(place, pending))
    }
}

impl<Q: BenchQueue> BenchQueue for Guarded<Q> {
    fn insert(&mut self, id: u32, deadline: u64) {
        if self.set(id, true) {
            self.queue.reschedule(id, deadline);
        } else {
            self.queue.insert(id, deadline);
        }
    }

    fn remove(&mut self, id: u32) {
        if self.set(id, false) {
            self.queue.remove(id);
        }
    }

    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.insert(id, deadline);
    }

    fn head(&mut self) -> Option<u64> {
        self.queue.head()
    }

    fn second(&mut self) -> Option<u64> {
        self.queue.second()
    }

    fn wake(&mut self) -> Option<u64> {
        self.queue.wake()
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let (id, expiry) = self.queue.pop_expired(now)?;
        self.set(id, false);
        Some((id, expiry))
    }

    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        let pending = &mut self.pending;
        self.queue.advance(now, budget, &mut |id, expiry| {
            if let Some(place) = pending.get_mut(id as usize) {
                *place = false;
            }
            sink(id, expiry);
        })
    }

    fn tell(&mut self, now: u64) {
        self.queue.tell(now);
    }

    fn callers_bytes(&self) -> usize {
        self.queue.callers_bytes() + self.pending.capacity()
    }
}
