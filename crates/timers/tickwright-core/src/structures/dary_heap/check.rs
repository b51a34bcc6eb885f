//! Verifies the invariants of a heap, and returns the first violation found.

use super::buffer::{Buffer, Entry, groups_for};
use super::{InCell, TimerHeap};
use crate::contract::Violation;
use crate::structure::{Handle, Nodes};

impl<P: Handle, B: Buffer<P, D>, const D: usize, R: InCell> TimerHeap<P, B, D, R> {
    /// Verifies the module's invariants over `len` entries.
    ///
    /// # Errors
    /// The first violation found.
    pub(crate) fn check_entries(&self, nodes: &impl Nodes<P, R>, len: usize) -> Result<(), Violation> {
        if self.hole && (len == 0 || !B::LEAVES_HOLE) {
            return Err(Violation::Head);
        }
        let cells = self.cells();
        if self.len != len || self.buffer.groups() != groups_for::<D>(cells) {
            return Err(Violation::Count);
        }
        if !self.buffer.rest_is_empty() {
            return Err(Violation::UnusedCell);
        }
        for cell in 0..self.buffer.groups() * D {
            let entry = self.entry(cell);
            let hole = self.hole && cell == Self::ROOT;
            if cell < Self::ROOT || cell >= Self::ROOT + cells || hole {
                if entry != Entry::EMPTY {
                    return Err(Violation::UnusedCell);
                }
                continue;
            }
            let p = entry.node.ok_or(Violation::Count)?;
            if entry.sequence() >= self.next_sequence {
                return Err(Violation::Sequence);
            }
            if nodes.record(p).cell() != cell {
                return Err(Violation::Position);
            }
            let parent = self.entry(Self::parent(cell));
            if cell > Self::ROOT && parent.node.is_some() {
                if parent.key() == entry.key() {
                    return Err(Violation::Sequence);
                }
                if entry.precedes(&parent) {
                    return Err(Violation::HeapOrder);
                }
            }
        }
        Ok(())
    }
}
