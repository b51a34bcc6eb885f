//! A queue of any type behind a pointer, for work that is not timed. Such work is compiled once,
//! and not once for each structure.

use crate::structures::candidate::BenchQueue;

/// The operations of a [`BenchQueue`] without type parameters.
trait Operations {
    fn insert(&mut self, id: u32, deadline: u64);
    fn remove(&mut self, id: u32);
    fn reschedule(&mut self, id: u32, deadline: u64);
    fn head(&mut self) -> Option<u64>;
    fn second(&mut self) -> Option<u64>;
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)>;
    fn look_at_head(&mut self) -> Option<u64>;
    fn take_head(&mut self, now: u64) -> Option<(u32, u64)>;
    fn pop(&mut self) -> Option<(u32, u64)>;
    fn pop_and_reinsert(&mut self, delay: u64) -> Option<(u32, u64)>;
    fn wake(&mut self) -> Option<u64>;
    fn advance(&mut self, now: u64, budget: usize, sink: &mut dyn FnMut(u32, u64)) -> bool;
    fn tell(&mut self, now: u64);
    fn dead_entries(&self) -> Option<usize>;
    fn callers_bytes(&self) -> usize;
}

/// Defines the operations of each trait by those of the other. `advance` differs.
macro_rules! forward {
    ($self:ident => $queue:expr, $to:ident) => {
        fn insert(&mut $self, id: u32, deadline: u64) {
            $to::insert($queue, id, deadline);
        }

        fn remove(&mut $self, id: u32) {
            $to::remove($queue, id);
        }

        fn reschedule(&mut $self, id: u32, deadline: u64) {
            $to::reschedule($queue, id, deadline);
        }

        fn head(&mut $self) -> Option<u64> {
            $to::head($queue)
        }

        fn second(&mut $self) -> Option<u64> {
            $to::second($queue)
        }

        fn pop_expired(&mut $self, now: u64) -> Option<(u32, u64)> {
            $to::pop_expired($queue, now)
        }

        fn look_at_head(&mut $self) -> Option<u64> {
            $to::look_at_head($queue)
        }

        fn take_head(&mut $self, now: u64) -> Option<(u32, u64)> {
            $to::take_head($queue, now)
        }

        fn pop(&mut $self) -> Option<(u32, u64)> {
            $to::pop($queue)
        }

        fn pop_and_reinsert(&mut $self, delay: u64) -> Option<(u32, u64)> {
            $to::pop_and_reinsert($queue, delay)
        }

        fn wake(&mut $self) -> Option<u64> {
            $to::wake($queue)
        }

        fn tell(&mut $self, now: u64) {
            $to::tell($queue, now);
        }

        fn dead_entries(&$self) -> Option<usize> {
            $to::dead_entries($queue)
        }

        fn callers_bytes(&$self) -> usize {
            $to::callers_bytes($queue)
        }
    };
}

impl<Q: BenchQueue> Operations for Q {
    forward!(self => self, BenchQueue);

    fn advance(&mut self, now: u64, budget: usize, mut sink: &mut dyn FnMut(u32, u64)) -> bool {
        BenchQueue::advance(self, now, budget, &mut sink)
    }
}

/// A queue behind a pointer.
pub(crate) struct Erased<'q>(&'q mut (dyn Operations + 'q));

impl<'q> Erased<'q> {
    /// The queue, without its type.
    pub(crate) fn new(queue: &'q mut (impl BenchQueue + 'q)) -> Self {
        Self(queue)
    }
}

impl BenchQueue for Erased<'_> {
    forward!(self => self.0, Operations);

    fn advance(&mut self, now: u64, budget: usize, sink: &mut impl FnMut(u32, u64)) -> bool {
        self.0.advance(now, budget, sink)
    }
}
