//! Collections that own their objects or link the caller's objects: ordered dictionaries, ids, a
//! registry, a priority queue.
//!
//! | you have | use |
//! |---|---|
//! | your own objects, to be found by key or in order, without an allocator | [`HookDict`] |
//! | objects that the dictionary owns, to be found by key or in order | [`SlabDict`] |
//! | many small entries, looked up far more often than they are changed | [`BPlusDict`] |
//! | ids to be granted and given back | [`Ids`] |
//! | objects to be found by id and by address | [`Registry`] |
//! | elements of which you always need the greatest | [`Heap`] |
//!
//! Dictionaries implement the trait [`Dictionary`], whose documentation states their invariants,
//! layout and costs. For timers use the queues of `tickwright-core`, which store expiries in the
//! timers' records.
//!
//! # Neighbors
//!
//! A function that you supply returns the key of an object, and another function compares two keys.
//! A search can return the nearest entry before or after a key, and a step to the neighbor of an
//! entry takes O(1).
//!
//! ```
//! use tickwright_collections::{By, DictError, Dictionary, SlabDict};
//!
//! struct Mapping {
//!     start: u64,
//!     len: u64,
//!     name: &'static str,
//! }
//!
//! fn main() -> Result<(), DictError> {
//!     let mut space: SlabDict<_, Mapping> = SlabDict::new(By(|mapping: &Mapping| mapping.start));
//!     for (start, len, name) in [(0x7000, 0x2000, "stack"), (0x1000, 0x1000, "text")] {
//!         space.insert(Mapping { start, len, name })?;
//!     }
//!     // The last mapping that begins at or before an address is the one that may hold it.
//!     let at = |address: u64| {
//!         let mapping = space.get(space.find_leq(&address)?).ok()?;
//!         (address - mapping.start < mapping.len).then_some(mapping.name)
//!     };
//!     assert_eq!(at(0x1fff), Some("text"));
//!     assert_eq!(at(0x2000), None, "a gap");
//!     assert_eq!(at(0x7abc), Some("stack"));
//!     Ok(())
//! }
//! ```
//!
//! # Several dictionaries, one object
//!
//! An object with two links can be in two dictionaries, and nothing allocates:
//!
//! ```
//! use core::cmp::Ordering;
//!
//! use tickwright_collections::{DictError, Dictionary, HookDict, KeyOrder, Link, Membership};
//!
//! struct Task {
//!     id: u64,
//!     name: &'static str,
//!     by_id: Link,
//!     by_name: Link,
//! }
//!
//! impl Task {
//!     fn new(id: u64, name: &'static str) -> Self {
//!         Self { id, name, by_id: Link::new(), by_name: Link::new() }
//!     }
//! }
//!
//! struct ById;
//! impl KeyOrder<Task> for ById {
//!     type Key<'k> = u64;
//!     fn key<'k>(&'k self, task: &'k Task) -> u64 {
//!         task.id
//!     }
//!     fn compare(&self, a: &u64, b: &u64) -> Ordering {
//!         a.cmp(b)
//!     }
//! }
//! impl Membership<Task> for ById {
//!     fn link<'t>(&self, task: &'t Task) -> &'t Link {
//!         &task.by_id
//!     }
//! }
//!
//! struct ByName;
//! impl KeyOrder<Task> for ByName {
//!     type Key<'k> = &'k str;
//!     fn key<'k>(&'k self, task: &'k Task) -> &'k str {
//!         task.name
//!     }
//!     fn compare(&self, a: &&str, b: &&str) -> Ordering {
//!         a.cmp(b)
//!     }
//! }
//! impl Membership<Task> for ByName {
//!     fn link<'t>(&self, task: &'t Task) -> &'t Link {
//!         &task.by_name
//!     }
//! }
//!
//! fn main() -> Result<(), DictError> {
//!     let tasks = [Task::new(9, "init"), Task::new(3, "vfs"), Task::new(7, "console")];
//!     let (mut by_id, mut by_name) = (HookDict::new(ById), HookDict::new(ByName));
//!     for task in &tasks {
//!         by_id.insert(task)?;
//!         by_name.insert(task)?;
//!     }
//!     assert_eq!(by_id.find(&7).map(|task| task.name), Some("console"));
//!     assert_eq!(by_id.find_leq(&8).map(|task| task.id), Some(7));
//!     assert_eq!(by_name.first().map(|task| task.name), Some("console"));
//!     assert!(by_id.insert(&tasks[0]).is_err(), "already linked");
//!     Ok(())
//! }
//! ```
//!
//! # Ids
//!
//! ```
//! use tickwright_collections::{ByFirst, IdError, Ids, SlabDict};
//!
//! fn main() -> Result<(), IdError> {
//!     let mut ids = Ids::new(SlabDict::new(ByFirst), 1..=1000)?;
//!     assert_eq!((ids.take()?, ids.take()?, ids.take()?), (1, 2, 3));
//!     ids.give(2)?;
//!     assert_eq!(ids.take_range(10)?, 4..=13);
//!     assert_eq!(ids.take()?, 2, "the smallest free id");
//!     Ok(())
//! }
//! ```
//!
//! # Costs
//!
//! A search or an insert makes one comparison per level. With a hint it makes O(log d) comparisons
//! if d entries are between the hint and the place. A step to a neighbor and an append take O(1),
//! and a removal changes O(1) links. The kind of balance is a type parameter: [`RedBlack`] by
//! default, or [`Avl`].
//!
//! # Features
//! - `alloc` (default): collections that own their objects. Without this feature the crate has
//!   [`HookDict`], [`Ids`] and [`Registry`]. The crate is `no_std` both with and without this
//!   feature.
//! - `critical-section`: targets without compare-exchange claim links and draw identities in the
//!   critical section that the program provides. On such targets, links and dictionaries over them
//!   can then be statics. On other targets the feature changes nothing.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(test)]
extern crate std;

mod dict;
#[cfg(feature = "alloc")]
mod heap;
mod ids;
mod registry;

#[cfg(feature = "alloc")]
pub use dict::{BPlusDict, EntryKey, SlabDict};
pub use dict::{
    By, DictError, Dictionary, HookDict, InDict, KeyOf, KeyOrder, Link, Membership, NotInserted, ObjectRef,
    PlainKey, Position, Range, Reserve, Seek,
};
#[cfg(feature = "alloc")]
pub use heap::{Heap, HeapError, HeapOrder};
pub use ids::{ByFirst, FreeRange, IdError, Ids};
pub use registry::{Registry, RegistryError};
pub use tickwright_nodes::Violation;
pub use tickwright_nodes::tree::{Avl, Balance, RedBlack};
