//! The operations that a kernel needs of its queue of time-outs.

use crate::structures::candidate::BenchQueue;

/// A queue of time-outs, which are named by numbers from 0 on.
pub(super) trait BackEnd {
    /// Inserts a time-out that fires `ticks` ticks from now.
    fn insert(&mut self, id: u32, ticks: u64);

    /// Removes a pending time-out.
    fn abort(&mut self, id: u32);

    /// Lets `ticks` ticks pass. Passes each time-out that fires, and its tick, to `fire`.
    fn announce(&mut self, ticks: u64, fire: impl FnMut(u32, u64))
    where
        Self: Sized;
}

/// A queue of time-outs whose type is not known.
pub(super) trait Erased: BackEnd {
    /// See [`BackEnd::announce`].
    fn announce_to(&mut self, ticks: u64, fire: &mut dyn FnMut(u32, u64));
}

impl<B: BackEnd> Erased for B {
    fn announce_to(&mut self, ticks: u64, fire: &mut dyn FnMut(u32, u64)) {
        self.announce(ticks, fire);
    }
}

/// Work on queues of one type.
pub(super) trait Visitor {
    type Out;
    fn visit<B: BackEnd>(self, queues: &mut [B]) -> Self::Out;
}

/// Adapts a queue of the lab, whose timers have deadlines, to a kernel's interface, which counts
/// ticks from now.
#[derive(Debug)]
pub(super) struct Ticking<Q> {
    queue: Q,
    now: u64,
}

impl<Q> Ticking<Q> {
    pub(super) fn new(queue: Q) -> Self {
        Self { queue, now: 0 }
    }
}

impl<Q: BenchQueue> BackEnd for Ticking<Q> {
    #[inline]
    fn insert(&mut self, id: u32, ticks: u64) {
        self.queue.insert(id, self.now + ticks);
    }

    #[inline]
    fn abort(&mut self, id: u32) {
        self.queue.remove(id);
    }

    #[inline]
    fn announce(&mut self, ticks: u64, mut fire: impl FnMut(u32, u64)) {
        self.now += ticks;
        while let Some((id, tick)) = self.queue.pop_expired(self.now) {
            fire(id, tick);
        }
    }
}
