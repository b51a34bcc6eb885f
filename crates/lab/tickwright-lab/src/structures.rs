//! The structures under measurement: ours in both storages, and the baselines, all of which
//! implement one trait.
//!
//! A new structure needs one adapter and one row of the table in [`registry`].

pub(crate) mod baseline;
pub(crate) mod candidate;
pub(crate) mod ours;
pub(crate) mod registry;
