//! Where a slab stores the record of a timer: next to the timer's payload, or in another array.

use core::fmt::Debug;

#[cfg(feature = "alloc")]
use tickwright_nodes::Record;
#[cfg(feature = "alloc")]
use tickwright_nodes::arena::{self, Columns, Idx};

/// How a slab lays out records and payloads: [`Apart`] or [`Together`].
///
/// ```text
///   Apart      records [ r r r r r ]  payloads [ p p p p p ]   an operation reads a few records
///   Together   cells   [ r p | r p | r p ]                     it reads the timer of the call
/// ```
/// [`Together`] suits a structure whose operations mostly access the timer that the call names,
/// because the timer's record and payload are in one cache line. [`Apart`] suits a structure whose
/// operations write the records of many timers, as a heap writes positions, because a cache line
/// then holds more records.
pub trait Layout: Debug + sealed::Sealed + 'static {
    /// The memory for records `R` and payloads `T`.
    #[cfg(feature = "alloc")]
    type Columns<R: Record<Idx>, T>: Columns<Record = R, Value = T>;
}

/// Records are in one array, and payloads in another array.
#[derive(Debug)]
pub enum Apart {}

/// Each record is next to its payload.
#[derive(Debug)]
pub enum Together {}

impl Layout for Apart {
    #[cfg(feature = "alloc")]
    type Columns<R: Record<Idx>, T> = arena::ApartColumns<R, T>;
}

impl Layout for Together {
    #[cfg(feature = "alloc")]
    type Columns<R: Record<Idx>, T> = arena::TogetherColumns<R, T>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Apart {}
    impl Sealed for super::Together {}
}
