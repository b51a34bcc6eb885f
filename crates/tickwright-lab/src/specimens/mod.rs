//! Specimens: ways to re-arm that are slow or wrong on purpose, kept to be measured and to show how
//! they fail. `reproduce linux` compares them with the library's own shard.
//!
//! [`shard`] is a small shard over the library's coarse wheel. It can do what the comparison asks
//! for: arm, advance, count. Memory is safe in all four ways; two of them break promises.
//!
//! `crates/tickwright/tests/loom_specimens.rs` compiles the same file with loom's atomics and
//! locks, and finds both failures within a few schedules.

mod shard;

pub(crate) use shard::{AlwaysRequeue, AsPosted, Rearm, Shard, Statistics, Timer, UnderLock};

/// The atomics and locks that [`shard`] uses.
mod sync {
    pub(super) use core::sync::atomic::{AtomicU32, AtomicU64};
    pub(super) use std::sync::{Mutex, MutexGuard};
}

#[cfg(test)]
mod tests;
