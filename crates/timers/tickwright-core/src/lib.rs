//! Timer queues that all keep the same contract: lists, heaps, trees and wheels, in slabs or in
//! your own structs.
//!
//! ```
//! use tickwright_core::DefaultQueue;
//!
//! let mut queue = DefaultQueue::new();
//! let tea = queue.insert(300, "tea")?; // in ticks: the unit is yours
//! queue.insert(240, "egg")?;
//! queue.reschedule(tea, 200)?;
//! assert_eq!(queue.next_wake(), Some(200));
//! while let Some(fired) = queue.pop_expired(250) {
//!     println!("{} at {}", fired.value, fired.expiry);
//! }
//! assert!(queue.remove(tea).is_err(), "delivered: its key is stale for ever");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! ```text
//!        insert            pop_expired, or remove
//!   ───────────> pending ────────────────────────> gone: its key is stale
//!                 ^   │
//!             arm │   │ disarm, pop_and_keep
//!                 │   v
//!   ───────────>  idle    (in a slab; a timer of your own is idle while it is in no queue)
//!    insert_idle
//! ```
//!
//! | a queue | holds |
//! |---|---|
//! | [`DefaultQueue<T>`](DefaultQueue) | values of any type, from two timers to a million |
//! | [`SlabQueue<F, T>`](SlabQueue) | values of any type in the structure `F`, such as [`Wheel`] |
//! | [`InlineQueue<F, T, N>`](InlineQueue) | `N` values in the queue itself, without an allocator |
//! | [`HookQueue<F, T>`](HookQueue) | timers in your structs and statics, without an allocator |
//!
//! The documentation of [`SchedulerFamily`] helps to choose a structure, and [`TimerQueue`] states
//! what every queue promises. The crate `tickwright` has clocks, a scheduler, and queues that take
//! `Instant`s and `Duration`s.
//!
//! # Features
//! - `alloc` (default): slab storage, where the queue owns the payloads, and heaps that grow.
//!   Without this feature the crate has [`HookQueue`] and [`InlineQueue`] over [`SortedList`],
//!   [`RbTreeCached`], [`BoundedHeap`] and the wheels. The crate is `no_std` both with and without
//!   this feature.
//! - `critical-section`: for targets without compare-exchange (Cortex-M0, RISC-V without the A
//!   extension). With the feature, timers and queues over hooks can be statics on such targets,
//!   because a queue draws its identity in the critical section that the program provides. On other
//!   targets the feature changes nothing.
//! - `testing`: functions with which the tests of this project change a queue's internal state.
//!   Other programs should not use the feature.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(test)]
extern crate std;

mod contract;
mod explain;
mod layout;
mod queue;
pub mod snapshot;
pub mod structure;
pub mod structures;

/// The memory that holds a queue's timers, and the names of these timers. The module is for crates
/// that implement structures or storages.
pub mod storage {
    pub use crate::layout::{Apart, Layout, Together};
    pub use crate::queue::hook::{HookPtr, Hooks, InQueue};
    pub use crate::queue::slab::{Idx, InlineSlots, Slab};
    pub use crate::queue::store::{Named, OrderOf, RecordOf, Store};
}

pub use contract::{
    Advance, Exact, Expired, HeadChange, KeyError, Order, Pending, Reject, Rejected, Span, Tick, TimerQueue,
    Violation,
};
pub use explain::{Explanation, Whereabouts};
pub use queue::hook::{HookQueue, Timer, TimerRef};
#[cfg(feature = "alloc")]
pub use queue::slab::SlabQueue;
pub use queue::slab::{InlineQueue, Key};
pub use queue::{Driven, Queue};
#[doc(inline)]
pub use structure::Family;
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use structures::{
    DefaultQueue, SchedulerFamily, dary_heap::DaryHeap, fixed_delay::FixedDelay, flat::FlatQueue,
    ladder::LadderQueue,
};
#[doc(inline)]
pub use structures::{
    coarse_wheel::CoarseWheel,
    dary_heap::{BoundedHeap, LentHeap},
    flat::BoundedFlat,
    red_black::{RbTree, RbTreeCached},
    sorted_list::SortedList,
    wheel::{SmallWheel, TinyWheel, Wheel},
};
