//! Adapters for queues of others: what they keep of the contract is computed, and the laboratory
//! measures ours beside them.
//!
//! Each is driven as its documentation says, with one tick to the millisecond where it counts real
//! time. None of them sleeps.

mod binary_heap;
#[cfg(feature = "foreign")]
mod bitwheel;
mod btree_map;
#[cfg(feature = "foreign")]
mod delay_queue;
pub mod dictionaries;

pub use binary_heap::BinaryHeapLazy;
#[cfg(feature = "foreign")]
pub use bitwheel::BitWheel;
pub use btree_map::BTree;
#[cfg(feature = "foreign")]
pub use delay_queue::DelayQueue;
