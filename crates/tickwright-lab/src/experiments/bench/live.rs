//! Many queues alive at once. Each borrows its own arena and has its own type. The queues therefore
//! live on the stack: each call adds one queue, and the innermost call sees all of them.

use std::fmt;

use crate::allocator;
use crate::experiments::bench::sampler::{Runner, Sampler};
use crate::structures::candidate::Candidate;
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
    pub(crate) sampler: &'a dyn Sampler,
}

impl fmt::Debug for Live<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.structure.id).finish()
    }
}

/// Creates an empty queue of each structure, with room for `capacity` timers, and calls `body` with
/// all queues in the same order.
pub(crate) fn with_all(
    structures: &[&'static Structure],
    capacity: usize,
    body: &mut dyn FnMut(&[Live<'_>]),
) {
    go(structures, capacity, None, body);
}

fn go(
    structures: &[&'static Structure],
    capacity: usize,
    outer: Option<&Link<'_>>,
    body: &mut dyn FnMut(&[Live<'_>]),
) {
    let Some((first, rest)) = structures.split_first() else {
        let mut all = Vec::new();
        let mut at = outer;
        while let Some(link) = at {
            all.push(link.live);
            at = link.outer;
        }
        all.reverse();
        return body(&all);
    };
    registry::visit(first, Nest { rest, capacity, outer, body });
}

struct Nest<'n> {
    rest: &'n [&'static Structure],
    capacity: usize,
    outer: Option<&'n Link<'n>>,
    body: &'n mut dyn FnMut(&[Live<'_>]),
}

impl Visitor for Nest<'_> {
    type Out = ();

    fn visit<C: Candidate>(self, structure: &'static Structure) {
        let before = allocator::live_bytes();
        let arena = C::arena(self.capacity);
        let runner = Runner::since(before, C::queue(&arena, self.capacity));
        let link = Link { live: Live { structure, sampler: &runner }, outer: self.outer };
        go(self.rest, self.capacity, Some(&link), self.body);
    }
}
