//! Baselines: structures of other projects behind small adapters. Each adapter states what its
//! structure does not promise.

pub(crate) mod btree_map;
pub(crate) mod hash_wheel;
pub(crate) mod intrusive;
pub(crate) mod lazy_heap;
pub(crate) mod nexus;
pub(crate) mod orx;
#[cfg(target_feature = "avx2")]
pub(crate) mod quick_heap;
pub(crate) mod testkit;
pub(crate) mod timer_queue;
