//! Collections that own their objects, or link the caller's: ordered dictionaries, ids, a registry,
//! a priority queue.
//!
//! | you have | use |
//! |---|---|
//! | objects of your own, to find by key, in order, by range; nothing may allocate | [`HookDict`] |
//! | the same, owned by the dictionary | [`SlabDict`] |
//! | many small entries that are looked up far more often than changed | [`BPlusDict`] |
//! | numbers to give out and take back | [`Ids`] |
//! | objects to find by id and by address | [`Registry`] |
//! | objects of which the first by your comparator is next | [`Heap`] |
//!
//! Dictionaries implement the trait [`Dictionary`]; [`dict`] states their invariants, layout and
//! costs. For timers use the queues of `tickwright-core`: they keep deadlines in their records.
//!
//! # Features
//! - `alloc` (default): collections that own their objects. Without this feature the crate has
//!   [`HookDict`], [`Ids`] and [`Registry`]. The crate is `no_std` with the feature and without.
//! - `critical-section`: targets without compare-exchange claim links and draw identities in the
//!   critical section that the program provides. Links, and dictionaries over them, can then be
//!   statics there. On other targets the feature changes nothing.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod dict;
#[cfg(feature = "alloc")]
pub mod heap;
pub mod ids;
pub mod not_inserted;
pub mod registry;

#[doc(inline)]
pub use dict::{
    Avl, Balance, By, DictError, Dictionary, HookDict, InDict, KeyOf, KeyOrder, Link, Membership,
    NotInserted, ObjectRef, PlainKey, Position, RedBlack, Reserve, Seek,
};
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use dict::{BPlusDict, EntryKey, SlabDict};
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use heap::{Heap, HeapError, HeapOrder};
#[doc(inline)]
pub use ids::{ByFirst, FreeRange, IdError, Ids};
#[doc(inline)]
pub use registry::{Registry, RegistryError};
#[doc(inline)]
pub use tickwright_nodes::Violation;

/// Compiles the examples of the book's page as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/dictionaries.md")]
pub struct BookPage;
