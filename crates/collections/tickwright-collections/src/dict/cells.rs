//! The cells in which a dictionary stores the objects that it owns. The cells are an [`Arena`] that
//! stores each record next to its object. Each key contains the identity of its arena.

#![forbid(unsafe_code)]

use core::num::NonZeroU32;

use tickwright_nodes::arena::{Arena, Columns, Idx, SlotId, TogetherColumns};
use tickwright_nodes::hook::{IDENTITIES_ARE_DRAWN, draw};
use tickwright_nodes::{Nodes, Record, Violation};

use super::{DictError, NotInserted};

/// Names one entry of a dictionary that owns its objects. A key takes twelve bytes, and so does an
/// `Option<EntryKey>`. When the entry has been removed, the key is stale forever. Every other
/// dictionary refuses the key with [`DictError::WrongDictionary`]. On targets without
/// compare-exchange, dictionaries have no identity, so the key of another dictionary can name an
/// entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    dictionary: NonZeroU32,
    pub(super) slot: SlotId,
}

const _: () = assert!(size_of::<Option<EntryKey>>() == 12);

/// The cells of one dictionary.
pub(super) struct Cells<R, T> {
    pub(super) arena: Arena<TogetherColumns<R, T>>,
    /// The identity, or `None` until the first insert.
    identity: Option<NonZeroU32>,
}

impl<R: Record<Idx>, T> Nodes<Idx, R> for Cells<R, T> {
    #[inline]
    fn record(&self, p: Idx) -> &R {
        Nodes::record(&self.arena.columns, p)
    }

    #[inline]
    fn record_mut(&mut self, p: Idx) -> &mut R {
        Nodes::record_mut(&mut self.arena.columns, p)
    }

    #[inline]
    fn prefetch(&self, p: Option<Idx>) {
        self.arena.columns.prefetch(p);
    }
}

impl<R: Record<Idx>, T> Cells<R, T> {
    /// Creates an arena without cells. New cells start after generation `last`, which is 0 except
    /// in tests of retirement.
    pub(super) const fn new(last: u32) -> Self {
        Self { arena: Arena::starting_after(last, Columns::EMPTY), identity: None }
    }

    /// Makes room for `capacity` objects, and limits the cells to this number.
    pub(super) fn bound(&mut self, capacity: usize) -> Result<(), DictError> {
        self.arena.reserve(capacity)?;
        self.arena.bound(capacity);
        Ok(())
    }

    /// Returns the object of a linked cell.
    #[inline]
    pub(super) fn object(&self, p: Idx) -> &T {
        match self.arena.live(p) {
            Some((_, object)) => object,
            None => unreachable!("a linked cell is live"),
        }
    }

    /// Returns the index of an entry, if the entry is valid.
    #[inline]
    pub(super) fn validate(&self, entry: EntryKey) -> Result<Idx, DictError> {
        if self.identity != Some(entry.dictionary) {
            return Err(DictError::WrongDictionary);
        }
        self.arena.get(entry.slot).map(|_| entry.slot.index).ok_or(DictError::Stale)
    }

    pub(super) fn get_mut(&mut self, entry: EntryKey) -> Result<&mut T, DictError> {
        self.validate(entry)?;
        self.arena.get_mut(entry.slot).ok_or(DictError::Stale)
    }

    #[inline]
    pub(super) fn entry(&self, p: Option<Idx>) -> Option<EntryKey> {
        let (slot, _) = self.arena.live(p?)?;
        Some(EntryKey { dictionary: self.identity?, slot })
    }

    fn identity(&mut self) -> Result<NonZeroU32, DictError> {
        if self.identity.is_none() {
            self.identity = draw();
            if !IDENTITIES_ARE_DRAWN {
                self.identity = Some(NonZeroU32::MIN);
            }
        }
        self.identity.ok_or(DictError::NoIdentity)
    }

    /// Stores an object in a free cell, or in a new cell.
    pub(super) fn occupy(&mut self, object: T) -> Result<EntryKey, NotInserted<T>> {
        let dictionary = match self.identity() {
            Ok(identity) => identity,
            Err(reason) => return Err(NotInserted { reason, value: object }),
        };
        match self.arena.occupy(object) {
            Ok(slot) => Ok(EntryKey { dictionary, slot }),
            Err(value) => Err(NotInserted { reason: DictError::Full, value }),
        }
    }

    /// Removes and returns the object of an unlinked node.
    pub(super) fn vacate(&mut self, index: Idx) -> Option<T> {
        self.arena.vacate(index).map(|(_, object)| object)
    }

    /// Verifies that a cell is live. If the cell is not live, the error is [`Violation::Storage`].
    pub(super) fn check_live(&self, p: Idx) -> Result<(), Violation> {
        self.arena.live(p).map(|_| ()).ok_or(Violation::Storage)
    }
}
