//! Snapshots of slab queues and of hook queues.

use super::{PlainValue, SnapshotError, Verified, Writer};
use crate::contract::{Span, Tick};
use crate::queue::hook::{HookQueue, Timer, TimerRef};
#[cfg(feature = "alloc")]
use crate::queue::slab::{Key, SlabQueue};
use crate::structure::Family;

/// A queue that is being drained. Draining advances the structure's clock past all timers. The drop
/// of this value therefore empties the queue and resets the clock, even if the caller's code has
/// panicked.
struct Draining<'q, Q> {
    queue: &'q mut Q,
    empty: fn(&mut Q),
}

impl<Q> Drop for Draining<'_, Q> {
    fn drop(&mut self) {
        (self.empty)(self.queue);
    }
}

#[cfg(feature = "alloc")]
impl<F: Family, T: PlainValue> SlabQueue<F, T> {
    /// Writes all pending timers to `into`, in the order of delivery: by expiry, and with equal
    /// expiry by arrival. The queue does not change. Returns the number of bytes written, which is
    /// [`bytes`](super::bytes) of the number of timers.
    ///
    /// The call takes O(n) for the list, the sorted arrays and the trees. For other structures the
    /// call takes O(n log n), and allocates 24 bytes per timer until it returns.
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`] or [`SnapshotError::NoMemory`].
    pub fn snapshot(&self, into: &mut [u8]) -> Result<usize, SnapshotError> {
        let now = self.now();
        let mut page = Writer::<T>::begin(into, self.len())?;
        self.visit_in_order(|deadline, key| {
            if let Some(value) = self.get(key) {
                page.push(deadline.saturating_sub(now), value);
            }
        })?;
        page.finish()
    }

    /// Writes all pending timers to `into` as [`snapshot`](Self::snapshot) does, and removes them,
    /// for example before the power is switched off. Returns the number of bytes written. The call
    /// allocates nothing, and takes as much time as n calls of [`pop_expired`](Self::pop_expired).
    /// If [`PlainValue::write`] panics, all pending timers are removed. Idle timers stay in the
    /// queue.
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`]. When this error is returned, no timer was removed.
    pub fn drain_snapshot(&mut self, into: &mut [u8]) -> Result<usize, SnapshotError> {
        let now = self.now();
        let mut page = Writer::begin(into, self.len())?;
        let draining = Draining { queue: self, empty: Self::empty };
        while let Some((deadline, value)) = draining.queue.take_first() {
            page.push(deadline.saturating_sub(now), &value);
        }
        page.finish()
    }

    /// Inserts all timers of a snapshot, at the caller's time `now`. `due` receives the number of
    /// ticks that a timer had left, and returns the timer's new deadline. `sink` receives each new
    /// key and its payload. Returns the number of timers. Keys of the saved queue are not valid in
    /// this queue.
    ///
    /// # Errors
    /// [`SnapshotError`]: no timer was inserted then.
    pub fn restore(
        &mut self,
        bytes: &[u8],
        now: Tick,
        mut due: impl FnMut(Span) -> Tick,
        mut sink: impl FnMut(Key, &T),
    ) -> Result<usize, SnapshotError> {
        let snapshot = Verified::<T>::read(bytes)?;
        // Room for all timers is made first, so that no insert fails after others have succeeded.
        self.reserve(snapshot.len())?;
        for (left, value) in snapshot.iter() {
            let key = self.insert_at(due(left), value, now).map_err(|rejected| rejected.reason)?;
            if let Some(value) = self.get(key) {
                sink(key, value);
            }
        }
        Ok(snapshot.len())
    }
}

impl<'a, F: Family, T> HookQueue<'a, F, T> {
    /// Writes all pending timers to `into`, in the order of delivery: by expiry, and with equal
    /// expiry by arrival. The queue does not change. An entry consists of the number of ticks until
    /// the deadline, and of a plain value that `name` returns, by which the caller finds the timer
    /// again. Returns the number of bytes written.
    ///
    /// The call takes O(n) for the list, the sorted arrays and the trees. For other structures the
    /// call needs the feature `alloc`, takes O(n log n), and allocates 24 bytes per timer until it
    /// returns. Without that feature, use [`drain_snapshot`](Self::drain_snapshot) for these
    /// structures.
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`] or [`SnapshotError::NoMemory`].
    pub fn snapshot<N: PlainValue>(
        &self,
        into: &mut [u8],
        mut name: impl FnMut(&Timer<F, T>) -> N,
    ) -> Result<usize, SnapshotError> {
        let now = self.now();
        let mut page = Writer::begin(into, self.len())?;
        self.visit_in_order(|deadline, key| {
            page.push(deadline.saturating_sub(now), &name(key.get()));
        })?;
        page.finish()
    }

    /// Writes all pending timers to `into` as [`snapshot`](Self::snapshot) does, and removes them,
    /// for example before the power is switched off. Returns the number of bytes written. The call
    /// allocates nothing, and takes as much time as n calls of [`pop_expired`](Self::pop_expired).
    /// If `name` panics, all timers are removed.
    ///
    /// # Errors
    /// [`SnapshotError::TooShort`]. When this error is returned, no timer was removed.
    pub fn drain_snapshot<N: PlainValue>(
        &mut self,
        into: &mut [u8],
        mut name: impl FnMut(&Timer<F, T>) -> N,
    ) -> Result<usize, SnapshotError> {
        let now = self.now();
        let mut page = Writer::begin(into, self.len())?;
        let draining = Draining { queue: self, empty: Self::empty };
        while let Some((deadline, timer)) = draining.queue.take_first() {
            page.push(deadline.saturating_sub(now), &name(timer));
        }
        page.finish()
    }

    /// Inserts all timers of a snapshot, at the caller's time `now`. `find` returns the timer that
    /// a value names. `due` receives the number of ticks that a timer had left, and returns the
    /// timer's new deadline. Returns the number of timers.
    ///
    /// # Errors
    /// [`SnapshotError`]: [`Unknown`](SnapshotError::Unknown) if `find` returns `None`.
    /// [`Rejected`](SnapshotError::Rejected) if `find` returns a timer that is already pending, or
    /// the same timer twice. After an error, none of the snapshot's timers is pending in this
    /// queue.
    pub fn restore<N: PlainValue>(
        &mut self,
        bytes: &[u8],
        now: Tick,
        mut due: impl FnMut(Span) -> Tick,
        mut find: impl FnMut(N) -> Option<&'a Timer<F, T>>,
    ) -> Result<usize, SnapshotError> {
        let snapshot = Verified::<N>::read(bytes)?;
        self.reserve(snapshot.len())?;
        for (inserted, (left, name)) in snapshot.iter().enumerate() {
            let refused = match find(name) {
                Some(timer) => {
                    self.insert_at(due(left), timer, now).map_err(|rejected| rejected.reason.into()).err()
                }
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
