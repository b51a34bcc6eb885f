//! Timer queues behind one contract: lists, heaps, trees and wheels, in slabs or in your own
//! structs.
//!
//! [`contract`] states what every queue promises. [`SlabQueue`] owns its payloads; [`HookQueue`]
//! links nodes in your own structs. The page of [`DefaultFamily`] says which structure to choose.
//! The unit of a tick is yours. The crate `tickwright` converts clocks to ticks (`time::Ticks`)
//! and a wake-up to the time-out of a poll loop (`time::timeout`).
//!
//! # Features
//! - `alloc` (default): slab storage, where the queue owns the payloads, and heaps that grow.
//!   Without this feature the crate has [`HookQueue`] over [`SortedList`], [`RbTreeCached`],
//!   [`BoundedHeap`] and the wheels. The crate is `no_std` with the feature and without.
//! - `critical-section`: for targets without compare-exchange (Cortex-M0, RISC-V without the A
//!   extension). Timers, and queues over hooks, can then be statics there. A queue draws its
//!   identity in the critical section that the program provides. On other targets the feature
//!   changes nothing.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod contract;
pub mod explain;
pub mod layout;
pub mod queue;
pub mod snapshot;
pub mod structure;
pub mod structures;

#[doc(inline)]
pub use contract::{
    Advance, Exact, Expired, HeadChange, KeyError, Order, Pending, Reject, Rejected, Span, Tick, TimerQueue,
    Violation,
};
#[doc(inline)]
pub use explain::Explanation;
#[doc(inline)]
pub use queue::hook::{HookQueue, Timer, TimerRef};
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use queue::slab::{Key, SlabQueue};
#[doc(inline)]
pub use queue::{Driven, Queue};
#[doc(inline)]
pub use structure::Family;
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use structures::{
    DefaultFamily, DefaultQueue, dary_heap::DaryHeap, fixed_delay::FixedDelay, flat::FlatQueue,
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
