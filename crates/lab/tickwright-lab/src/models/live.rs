//! Keeps many queues alive at once. Each queue borrows its own arena and has its own type.
//! Therefore the queues live on the stack: each call adds one queue, and the innermost call sees
//! all of them.

use core::cell::RefCell;
use std::fmt;

use crate::allocator;
use crate::models::erased::Shared;
use crate::models::sampler::Sampler;
use crate::structures::candidate::{BenchQueue, Candidate, Timed};
use crate::structures::registry::{self, Structure, Visitor};

/// A queue on the stack, as a link of a chain.
struct Link<'a> {
    live: Live<'a>,
    outer: Option<&'a Link<'a>>,
}

/// A queue and its structure.
#[derive(Clone, Copy)]
pub(crate) struct Live<'a> {
    /// The structure of the queue.
    pub(crate) structure: &'static Structure,
    /// The sampler that drives the queue.
    pub(crate) sampler: &'a Sampler<'a>,
    /// Bytes of the queue value itself: see [`Candidate::INLINE`].
    pub(crate) inline: usize,
    /// Bytes on the heap of the nodes that the caller owns. These bytes count as the queue's bytes.
    pub(crate) nodes: usize,
}

impl fmt::Debug for Live<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.structure.id).finish()
    }
}

impl Live<'_> {
    /// Returns the bytes of the queue on the heap, without the caller's own objects and nodes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sampler.bytes().saturating_sub(self.nodes)
    }
}

/// Creates an empty queue of each structure, with room for `capacity` timers, and calls `body` with
/// all queues in the same order.
pub(crate) fn with_all(
    structures: &[&'static Structure],
    capacity: usize,
    body: &mut dyn FnMut(&[Live<'_>]),
) {
    go(Nest { rest: structures, capacity, guarded: false, outer: None, body });
}

/// Creates an empty queue of one structure, and calls `body` with it. If `guarded` is true, a queue
/// that delivers late is wrapped in a guard: see [`Guarded`].
pub(crate) fn with_one<T>(
    structure: &'static Structure,
    capacity: usize,
    guarded: bool,
    body: impl FnOnce(Live<'_>) -> T,
) -> T {
    let (mut once, mut done) = (Some(body), None);
    let body = &mut |all: &[Live<'_>]| done = once.take().zip(all.first()).map(|(body, one)| body(*one));
    go(Nest { rest: &[structure], capacity, guarded, outer: None, body });
    // `go` calls its body once, with a queue for each structure.
    done.unwrap_or_else(|| unreachable!("{} has no queue", structure.id))
}

struct Nest<'n> {
    rest: &'n [&'static Structure],
    capacity: usize,
    guarded: bool,
    outer: Option<&'n Link<'n>>,
    body: &'n mut dyn FnMut(&[Live<'_>]),
}

fn go(nest: Nest<'_>) {
    let Some((first, rest)) = nest.rest.split_first() else {
        let mut all = Vec::new();
        let mut at = nest.outer;
        while let Some(link) = at {
            all.push(link.live);
            at = link.outer;
        }
        all.reverse();
        return (nest.body)(&all);
    };
    registry::visit(first, Nest { rest, ..nest });
}

impl Nest<'_> {
    /// Adds a queue, then the remaining queues.
    fn add(
        self,
        structure: &'static Structure,
        queue: &dyn Shared,
        [before, nodes]: [isize; 2],
        inline: usize,
    ) {
        let sampler = &Sampler::new(before, queue);
        let nodes = usize::try_from(nodes - before).unwrap_or(0);
        let link = Link { live: Live { structure, sampler, inline, nodes }, outer: self.outer };
        let Self { rest, capacity, guarded, body, .. } = self;
        go(Nest { rest, capacity, guarded, outer: Some(&link), body });
    }
}

impl Visitor for Nest<'_> {
    type Out = ();

    fn visit<C: Candidate>(self, structure: &'static Structure) {
        let before = allocator::live_bytes();
        let arena = C::arena(self.capacity);
        let bytes = [before, allocator::live_bytes()];
        let queue = C::queue(&arena, self.capacity);
        // A guard is compiled only for the structures that need a guard.
        if <C::Queue<'_> as Timed>::EXACT {
            self.add(structure, &RefCell::new(queue), bytes, C::INLINE);
        } else if self.guarded {
            let queue = Guarded::new(queue, self.capacity);
            self.add(structure, &RefCell::new(queue), bytes, C::INLINE);
        } else {
            self.add(structure, &RefCell::new(queue), bytes, C::INLINE);
        }
    }
}

/// Wraps a queue so that its late deliveries do not collide with operations that assume that these
/// deliveries have already happened. A granular structure delivers a timer after its deadline, and
/// by then the workload can have armed the timer's id again.
#[derive(Debug)]
struct Guarded<Q> {
    queue: Q,
    pending: Vec<bool>,
}

impl<Q> Guarded<Q> {
    /// Guards an empty queue of timers `0..capacity`.
    fn new(queue: Q, capacity: usize) -> Self {
        Self { queue, pending: vec![false; capacity] }
    }

    fn set(&mut self, id: u32, pending: bool) -> bool {
        self.pending.get_mut(id as usize).is_some_and(|place| core::mem::replace(place, pending))
    }
}

impl<Q: Timed> Timed for Guarded<Q> {
    const EXACT: bool = Q::EXACT;
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
