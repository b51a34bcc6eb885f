//! What is measured: our structures in both storages, and those of others, behind one contract.
//!
//! Adding a structure is one adapter and one row of the table in [`registry`].

pub(crate) mod baseline;
pub(crate) mod candidate;
pub(crate) mod ours;
pub(crate) mod registry;
