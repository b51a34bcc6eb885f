//! Other crates' maps and trees as implementations of
//! [`Dictionary`](tickwright_collections::Dictionary), which are the baselines for our
//! dictionaries. Each adapter states which operations it does not offer, and the suite for
//! dictionaries tests the other operations.
//!
//! | | order | duplicates | neighbors | `rekeyed` | entry of another one |
//! |---|---|---|---|---|---|
//! | [`BTreeDict`] | yes | in order of arrival | O(log n) | not offered | can name one of its own |
//! | `IntrusiveDict` | yes | in order of arrival | O(1) amortised | yes | refused |
//! | [`HashDict`] | **no** | refused | not offered | not offered | can name one of its own |
//!
//! A [`HashDict`] has no order: its first and its last entry are `None`, and it does not have the
//! other calls that need an order.

mod btree_map;
mod hash_map;
#[cfg(feature = "foreign")]
mod intrusive;

pub use btree_map::{Arrived, BTreeDict};
pub use hash_map::HashDict;
#[cfg(feature = "foreign")]
pub use intrusive::{IntrusiveDict, Node, NodeRef};
