//! Specimens: ways to re-arm that are slow or wrong on purpose. The project keeps the specimens to
//! measure them and to show how they fail. `reproduce linux` compares them with the library's own
//! shard.
//!
//! [`shard`] is a small shard over the library's coarse wheel. The small shard supports what the
//! comparison needs: arm, advance, count. All four ways are memory-safe; two of them give wrong
//! answers.
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
