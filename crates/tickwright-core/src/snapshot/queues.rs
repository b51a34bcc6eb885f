//! Snapshots of both kinds of queue.

use super::{Plain, SnapshotError, Verified, write};
use crate::contract::{Span, Tick};
use crate::storage::hook::{HookPtr, HookQueue, Timer, TimerRef};
#[cfg(feature = "alloc")]
use crate::storage::slab::{Idx, Key, SlabQueue};
use crate::storage::{Family, Ordered};

#[cfg(feature = "alloc")]
impl<F: Family, T: Plain> SlabQueue<F, T> {
    /// Writes all pending timers to `into`, in the order of delivery. Returns their length,
    /// [`bytes`](super::bytes) of the number of timers. O(n).
    ///
    /// It needs a structure that can be walked in order: the list, the sorted arrays, the trees.
    /// For other structures use [`drain_snapshot`](Self::drain_snapshot).
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`].
    pub fn snapshot(&self, into: &mut [u8]) -> Result<usize, SnapshotError>
    where
        F::Of<Idx>: Ordered<Idx>,
        T: Copy,
    {
        let now = self.now();
        let mut timers = self.iter().map(|(pending, &value)| (pending.expiry.saturating_sub(now), value));
        write(into, self.len(), || timers.next())
    }

    /// Writes all pending timers to `into` and removes them, as before a power cut. Returns the
    /// number of bytes written. The cost of n calls of `peek` and n removals.
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`]; no timer is removed then.
    pub fn drain_snapshot(&mut self, into: &mut [u8]) -> Result<usize, SnapshotError> {
        let now = self.now();
        write(into, self.len(), || {
            self.take_first().map(|(deadline, value)| (deadline.saturating_sub(now), value))
        })
    }

    /// Inserts all timers of a snapshot. `due` returns the deadline of a timer that had n ticks
    /// left. `sink` receives each new key and its payload. Returns the number of timers. Keys of
    /// the saved queue are not valid in this queue.
    ///
    /// # Errors
    /// [`SnapshotError`]: no timer was inserted then.
    pub fn restore(
        &mut self,
        bytes: &[u8],
        mut due: impl FnMut(Span) -> Tick,
        mut sink: impl FnMut(Key, &T),
    ) -> Result<usize, SnapshotError> {
        let snapshot = Verified::<T>::read(bytes)?;
        // Makes room for all timers first, so that no insert fails half-way.
        self.reserve(snapshot.len())?;
        for (left, value) in snapshot.iter() {
            let key = self.insert(due(left), value).map_err(|rejected| rejected.reason)?.key;
            if let Some(value) = self.get(key) {
                sink(key, value);
            }
        }
        Ok(snapshot.len())
    }
}

impl<'a, F: Family, T> HookQueue<'a, F, T> {
    /// Writes all pending timers to `into`, in the order of delivery. An entry has
    /// two parts: the number of ticks until the timer is due, and a plain value. By this value the
    /// caller finds the timer again. Returns the number of bytes written. O(n).
    ///
    /// It needs a structure that can be walked in order: the list, the sorted arrays, the trees.
    /// For other structures use [`drain_snapshot`](Self::drain_snapshot).
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`].
    pub fn snapshot<N: Plain>(
        &self,
        into: &mut [u8],
        mut name: impl FnMut(&Timer<F, T>) -> N,
    ) -> Result<usize, SnapshotError>
    where
        F::Of<HookPtr<F>>: Ordered<HookPtr<F>>,
    {
        let now = self.now();
        let mut timers =
            self.iter().map(|pending| (pending.expiry.saturating_sub(now), name(pending.key.get())));
        write(into, self.len(), || timers.next())
    }

    /// Writes all pending timers to `into` and removes them, as before a power cut. Returns the
    /// number of bytes written. The cost of n calls of `peek` and n removals.
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`]; no timer is removed then.
    pub fn drain_snapshot<N: Plain>(
        &mut self,
        into: &mut [u8],
        mut name: impl FnMut(&Timer<F, T>) -> N,
    ) -> Result<usize, SnapshotError> {
        let now = self.now();
        write(into, self.len(), || {
            self.take_first().map(|(deadline, timer)| (deadline.saturating_sub(now), name(timer)))
        })
    }

    /// Inserts all timers of a snapshot. `find` returns the timer that a value names; `due` returns
    /// the deadline of a timer that had n ticks left. Returns the number of timers.
    ///
    /// # Errors
    /// [`SnapshotError`]: [`Unknown`](SnapshotError::Unknown) if `find` returns none.
    /// [`Rejected`](SnapshotError::Rejected) if a timer is already pending or found twice. Then
    /// none of the snapshot's timers is pending in this queue.
    pub fn restore<N: Plain>(
        &mut self,
        bytes: &[u8],
        mut due: impl FnMut(Span) -> Tick,
        mut find: impl FnMut(N) -> Option<&'a Timer<F, T>>,
    ) -> Result<usize, SnapshotError> {
        let snapshot = Verified::<N>::read(bytes)?;
        self.reserve(snapshot.len())?;
        for (inserted, (left, name)) in snapshot.iter().enumerate() {
            let refused = match find(name) {
                Some(timer) => self.insert(due(left), timer).map_err(|rejected| rejected.reason.into()).err(),
                None => Some(SnapshotError::Unknown),
            };
            if let Some(reason) = refused {
                for (_, name) in snapshot.iter().take(inserted) {
                    if let Some(timer) = find(name) {
                        // The timer is pending, since it was inserted above.
                        let _ = self.remove(TimerRef::from(timer));
                    }
                }
                return Err(reason);
            }
        }
        Ok(snapshot.len())
    }
}
