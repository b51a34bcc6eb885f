//! Adapters for other crates' queues. The suite computes which clauses these queues keep.
//!
//! Each adapter drives its queue as the queue's documentation says. If a queue counts real time,
//! one tick is a millisecond. None of the adapters sleeps.

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
