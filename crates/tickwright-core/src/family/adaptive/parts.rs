//! The memory of the structures, and of the records that they keep outside the slab.

use alloc::vec::Vec;

use super::choice::Kind;
use crate::contract::{Reject, Tick};
use crate::family::dary_heap::DaryHeap;
use crate::family::flat::FlatQueue;
use crate::family::ladder::LadderQueue;
use crate::family::wheel::Wheel;
use crate::storage::{Discipline, Family, Handle, Nodes, Record};

type OrderOf<F, P> = <F as Family>::Of<P>;
pub(super) type RecordOf<F, P> = <OrderOf<F, P> as Discipline<P>>::Record;

/// Makes room for `len` elements in total.
pub(super) fn room<T>(vec: &mut Vec<T>, len: usize) -> Result<(), Reject> {
    vec.try_reserve_exact(len.saturating_sub(vec.len())).map_err(|_| Reject::Full)
}

/// Records in a vector; a slot's number is the index of its record.
#[derive(Debug)]
pub(super) struct Beside<R>(pub(super) Vec<R>);

impl<R> Beside<R> {
    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<R>()
    }

    /// Makes records for `n` slots.
    fn cover<P: Handle>(&mut self, slots: usize) -> Result<(), Reject>
    where
        R: Record<P>,
    {
        room(&mut self.0, slots)?;
        self.0.resize_with(self.0.len().max(slots), || R::IDLE);
        Ok(())
    }
}

impl<P: Handle, R: Record<P>> Nodes<P, R> for Beside<R> {
    #[inline]
    fn record(&self, p: P) -> &R {
        &self.0[p.number() as usize]
    }

    #[inline]
    fn record_mut(&mut self, p: P) -> &mut R {
        &mut self.0[p.number() as usize]
    }
}

/// A structure of some KiB, created when it is first needed.
#[derive(Debug)]
pub(super) struct Late<D>(pub(super) Vec<D>);

impl<D> Late<D> {
    /// Creates the structure, unless it exists.
    fn make<P: Handle>(&mut self) -> Result<(), Reject>
    where
        D: Discipline<P>,
    {
        if self.0.is_empty() {
            room(&mut self.0, 1)?;
            self.0.push(D::NEW);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<D>()
    }
}

/// All structures. Structures that serve no timers are empty.
pub(super) struct Parts<P: Handle> {
    pub(super) flat: OrderOf<FlatQueue, P>,
    pub(super) flat_records: Beside<RecordOf<FlatQueue, P>>,
    pub(super) heap: OrderOf<DaryHeap<4>, P>,
    pub(super) heap_records: Beside<RecordOf<DaryHeap<4>, P>>,
    pub(super) wheel: Late<OrderOf<Wheel, P>>,
    pub(super) wheel_records: Beside<RecordOf<Wheel, P>>,
    pub(super) ladder: Late<OrderOf<LadderQueue, P>>,
}

/// Calls the structure of a kind, with its records. `$nodes` are the nodes of the slab.
macro_rules! with_part {
    ($how:ident $parts:expr, $kind:expr, $nodes:ident, |$order:ident, $records:ident| $body:expr) => {
        $crate::family::adaptive::parts::with_small_part!(
            $how $parts, $kind, |$order, $records| { $body } else
            $crate::family::adaptive::parts::with_large_part!($how $parts, $kind, $nodes, |$order, $records| $body)
        )
    };
}

/// Calls the sorted array or the heap. Evaluates `$large` where another structure serves.
macro_rules! with_small_part {
    (mut $parts:expr, $kind:expr, |$order:ident, $records:ident| $body:block else $large:expr) => {
        if $kind == $crate::family::adaptive::choice::Kind::Flat {
            let ($order, $records) = (&mut $parts.flat, &mut $parts.flat_records);
            $body
        } else if $kind == $crate::family::adaptive::choice::Kind::Heap {
            let ($order, $records) = (&mut $parts.heap, &mut $parts.heap_records);
            $body
        } else {
            $large
        }
    };
    (ref $parts:expr, $kind:expr, |$order:ident, $records:ident| $body:block else $large:expr) => {
        if $kind == $crate::family::adaptive::choice::Kind::Flat {
            let ($order, $records) = (&$parts.flat, &$parts.flat_records);
            $body
        } else if $kind == $crate::family::adaptive::choice::Kind::Heap {
            let ($order, $records) = (&$parts.heap, &$parts.heap_records);
            $body
        } else {
            $large
        }
    };
}

/// Calls the wheel or the ladder, one of which serves. `$nodes` are the nodes of the slab.
macro_rules! with_large_part {
    (mut $parts:expr, $kind:expr, $nodes:ident, |$order:ident, $records:ident| $body:expr) => {
        if $kind == $crate::family::adaptive::choice::Kind::Wheel {
            let ($order, $records) = (&mut $parts.wheel.0[0], &mut $parts.wheel_records);
            $body
        } else {
            let ($order, $records) = (&mut $parts.ladder.0[0], &mut *$nodes);
            $body
        }
    };
    (ref $parts:expr, $kind:expr, $nodes:ident, |$order:ident, $records:ident| $body:expr) => {
        if $kind == $crate::family::adaptive::choice::Kind::Wheel {
            let ($order, $records) = (&$parts.wheel.0[0], &$parts.wheel_records);
            $body
        } else {
            let ($order, $records) = (&$parts.ladder.0[0], $nodes);
            $body
        }
    };
}
pub(super) use with_large_part;
pub(super) use with_part;
pub(super) use with_small_part;

impl<P: Handle> Parts<P> {
    pub(super) const NEW: Self = Self {
        flat: Discipline::<P>::NEW,
        flat_records: Beside(Vec::new()),
        heap: Discipline::<P>::NEW,
        heap_records: Beside(Vec::new()),
        wheel: Late(Vec::new()),
        wheel_records: Beside(Vec::new()),
        ladder: Late(Vec::new()),
    };

    /// Makes room for `len` timers in `slots` slots in the structure of that kind.
    ///
    /// # Errors
    /// `Full`: the memory cannot be allocated.
    pub(super) fn reserve(&mut self, kind: Kind, len: usize, slots: usize) -> Result<(), Reject> {
        match kind {
            Kind::Flat => {
                self.flat_records.cover::<P>(slots)?;
                Discipline::<P>::reserve(&mut self.flat, 0, len)
            }
            Kind::Heap => {
                self.heap_records.cover::<P>(slots)?;
                self.heap.reserve(0, len)
            }
            Kind::Wheel => {
                self.wheel.make::<P>()?;
                self.wheel_records.cover::<P>(slots)
            }
            Kind::Ladder => {
                self.ladder.make::<P>()?;
                self.ladder.0[0].reserve(0, len)
            }
        }
    }

    /// The structures whose memory has been allocated.
    pub(super) fn made(&self) -> impl Iterator<Item = Kind> {
        let wheel = (!self.wheel.0.is_empty()).then_some(Kind::Wheel);
        let ladder = (!self.ladder.0.is_empty()).then_some(Kind::Ladder);
        [Kind::Flat, Kind::Heap].into_iter().chain(wheel).chain(ladder)
    }

    pub(super) fn clear(&mut self) {
        Discipline::<P>::clear(&mut self.flat);
        self.heap.clear();
        self.wheel.0.iter_mut().for_each(Discipline::clear);
        self.ladder.0.iter_mut().for_each(Discipline::clear);
    }

    pub(super) fn start_sequence_at(&mut self, next: u32) {
        self.heap.start_sequence_at(next);
        self.ladder.0.iter_mut().for_each(|ladder| ladder.start_sequence_at(next));
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let records = self.flat_records.bytes() + self.heap_records.bytes() + self.wheel_records.bytes();
        let ladder: usize = self.ladder.0.iter().map(Discipline::heap_bytes).sum();
        let small = Discipline::<P>::heap_bytes(&self.flat) + self.heap.heap_bytes();
        records + small + self.wheel.bytes() + self.ladder.bytes() + ladder
    }
}

/// Which timers have moved already, one bit for each slot.
#[derive(Debug)]
pub(super) struct Marks(pub(super) Vec<u64>);

impl Marks {
    /// Makes a mark for each of `slots` slots. Existing marks keep their values.
    pub(super) fn cover(&mut self, slots: usize) -> Result<(), Reject> {
        let words = slots / 64 + 1;
        room(&mut self.0, words)?;
        self.0.resize(self.0.len().max(words), 0);
        Ok(())
    }

    /// No timer is marked.
    pub(super) fn reset(&mut self) {
        self.0.fill(0);
    }

    #[inline]
    pub(super) fn set<P: Handle>(&mut self, p: P, marked: bool) {
        let number = p.number() as usize;
        let word = &mut self.0[number / 64];
        *word = *word & !(1 << (number % 64)) | u64::from(marked) << (number % 64);
    }

    #[inline]
    pub(super) fn has<P: Handle>(&self, p: P) -> bool {
        let number = p.number() as usize;
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

/// A move of all timers from one structure to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) to: Kind,
    /// The number of timers that are in the new structure already.
    pub(super) arrived: usize,
    /// Timers in the new structure are due at or before this tick, all others at it or later.
    pub(super) boundary: Tick,
}
