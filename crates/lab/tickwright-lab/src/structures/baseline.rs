//! Baselines: structures of other projects, each with a small adapter. Each adapter states what its
//! structure does not promise. Most of these adapters are only in a build with the feature
//! `rivals`.

pub(crate) mod btree_map;
#[cfg(feature = "rivals")]
pub(crate) mod by_deadline;
#[cfg(feature = "rivals")]
pub(crate) mod delay_queue;
#[cfg(feature = "rivals")]
pub(crate) mod equal_contract;
#[cfg(feature = "rivals")]
pub(crate) mod hash_wheel;
#[cfg(feature = "rivals")]
pub(crate) mod intrusive;
pub(crate) mod lazy_heap;
#[cfg(feature = "rivals")]
pub(crate) mod nexus;
pub(crate) mod orx;
#[cfg(all(feature = "rivals", target_feature = "avx2"))]
pub(crate) mod quick_heap;
#[cfg(feature = "rivals")]
pub(crate) mod radix_heap;
#[cfg(feature = "rivals")]
pub(crate) mod timer_queue;

#[cfg(test)]
mod tests;
