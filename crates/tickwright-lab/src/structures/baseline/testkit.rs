//! Queues of other projects that already have an adapter in the conformance suite. The lab measures
//! them through that adapter.

use core::marker::PhantomData;
use std::fmt;

use tickwright_testkit::subject::{Make, Subject};

use crate::structures::candidate::{BenchQueue, Candidate};

/// A queue that `M` creates.
#[derive(Debug)]
pub(crate) struct Foreign<M>(PhantomData<M>);

/// The queue, with the key of each id.
pub(crate) struct Queue<S: Subject> {
    subject: S,
    keys: Vec<Option<S::Key>>,
}

impl<S: Subject> fmt::Debug for Queue<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.subject.len()).finish_non_exhaustive()
    }
}

impl<M: Make + 'static> Candidate for Foreign<M> {
    type Arena = M::Arena;
    type Queue<'a> = Queue<M::Subject<'a>>;

    const INLINE: usize = size_of::<M::Subject<'static>>();
    /// tokio's `DelayQueue` panics at longer delays. `DelayQueue` is the only queue that is
    /// measured through this adapter.
    const HORIZON: u64 = (1 << 36) - 1;

    fn arena(capacity: usize) -> M::Arena {
        M::arena(capacity)
    }

    fn queue(arena: &M::Arena, capacity: usize) -> Queue<M::Subject<'_>> {
        Queue { subject: M::make(arena, capacity), keys: vec![None; capacity] }
    }
}

impl<S: Subject> BenchQueue for Queue<S> {
    #[inline]
    fn insert(&mut self, id: u32, deadline: u64) {
        // A refusal loses the timer, which the comparison of answers reports.
        self.keys[id as usize] = self.subject.insert(deadline, id).ok().map(|(key, _)| key);
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        if let Some(key) = self.keys[id as usize].take() {
            let _ = self.subject.remove(key);
        }
    }

    #[inline]
    fn reschedule(&mut self, id: u32, deadline: u64) {
        if let Some(key) = self.keys[id as usize] {
            let _ = self.subject.reschedule(key, deadline);
        }
    }

    #[inline]
    fn head(&mut self) -> Option<u64> {
        self.subject.next_wake()
    }

    /// None of the queues measured here can name its second timer.
    fn second(&mut self) -> Option<u64> {
        None
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        let fired = self.subject.pop_expired(now)?;
        self.keys[fired.value as usize] = None;
        Some((fired.value, fired.expiry))
    }

    fn callers_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Option<S::Key>>()
    }
}
