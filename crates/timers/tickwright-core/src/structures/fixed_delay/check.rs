//! Verifies the lists and the heap, and returns the first violation found.

use super::Delays;
use super::lists::Lists;
use super::record::Place;
use crate::contract::Violation;
use crate::structure::{Handle, View};

impl<P: Handle> Delays<P> {
    /// Verifies the invariants of the module over `len` nodes.
    ///
    /// # Errors
    /// The first violation found.
    pub(super) fn check_all(&self, nodes: &impl View<P, Self>, len: usize) -> Result<(), Violation> {
        self.heap.check_entries(nodes, self.heap.len)?;
        let (mut reached, mut ends) = (0, 0);
        for entry in self.heap.entries() {
            let head = entry.node.ok_or(Violation::Count)?;
            let record = nodes.record(head);
            if record.expiry != entry.expiry() {
                return Err(Violation::Position);
            }
            if record.expiry < self.quiet {
                return Err(Violation::Minimum);
            }
            let Place::InHeap { list, .. } = record.place() else { return Err(Violation::BackLink) };
            let (mut last, mut expiry, mut arrival) = (head, record.expiry, entry.sequence());
            let mut next = record.next;
            reached += 1;
            // Invariant: all nodes up to `last` are in order, and none is later than (expiry,
            // arrival).
            while let Some(p) = next {
                reached += 1;
                if reached > len {
                    return Err(Violation::Count);
                }
                let record = nodes.record(p);
                match record.place() {
                    Place::Inside { prev, .. } if prev != last => return Err(Violation::BackLink),
                    Place::InHeap { .. } => return Err(Violation::BackLink),
                    Place::Inside { list: named, .. } if Some(named) != list => {
                        return Err(Violation::Bucket);
                    }
                    Place::Inside { .. } => {}
                }
                if record.expiry < expiry {
                    return Err(Violation::Order);
                }
                let again = record.expiry == expiry && record.mark <= arrival;
                if again || record.mark >= self.heap.next_sequence {
                    return Err(Violation::Sequence);
                }
                (last, expiry, arrival, next) = (p, record.expiry, record.mark, record.next);
            }
            let listed = list.is_some_and(|list| self.lists.ends_at(list, last));
            if last != head {
                if !listed {
                    return Err(Violation::Head);
                }
                if list.and_then(|list| self.lists.0.get(list)).is_none_or(|list| !list.shared) {
                    return Err(Violation::Occupied);
                }
            }
            ends += usize::from(listed);
        }
        if reached != len {
            return Err(Violation::Count);
        }
        if self.lists.0.iter().filter(|list| list.tail.is_some()).count() != ends {
            return Err(Violation::Head);
        }
        for (number, list) in self.lists.0.iter().enumerate() {
            if list.shared && list.tail.is_none() {
                return Err(Violation::Occupied);
            }
            if list.tail.is_some() && Lists::<P>::number_of(list.delay) != number {
                return Err(Violation::Bucket);
            }
        }
        Ok(())
    }
}
