//! Structures of others, measured beside ours, each behind a small adapter. Each says what its
//! subject promises less.

pub(crate) mod btree_map;
pub(crate) mod intrusive;
pub(crate) mod lazy_heap;
pub(crate) mod nexus;
pub(crate) mod orx;
pub(crate) mod testkit;
pub(crate) mod timer_queue;
