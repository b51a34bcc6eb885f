//! The threads of one worker that can go on, first come first served, linked through their records.

use core::cell::Cell;

use super::inbox::Links;
use crate::primitive::Ordering;
use crate::record::NONE;

/// For the worker alone.
#[derive(Debug)]
pub(super) struct Ready {
    head: Cell<u32>,
    tail: Cell<u32>,
}

impl Ready {
    pub(super) fn new() -> Self {
        Self { head: Cell::new(NONE), tail: Cell::new(NONE) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.get() == NONE
    }

    #[inline]
    pub(super) fn push(&self, links: &impl Links, number: u32) {
        let Some(link) = links.link(number) else { return };
        link.store(NONE, Ordering::Relaxed);
        match links.link(self.tail.replace(number)) {
            Some(last) if self.head.get() != NONE => last.store(number, Ordering::Relaxed),
            _ => self.head.set(number),
        }
    }

    #[inline]
    pub(super) fn pop(&self, links: &impl Links) -> Option<u32> {
        let first = self.head.get();
        // `NONE` has no link.
        self.head.set(links.link(first)?.load(Ordering::Relaxed));
        Some(first)
    }
}
