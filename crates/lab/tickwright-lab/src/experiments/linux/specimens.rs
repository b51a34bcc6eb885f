//! Ways to re-arm that are slow or wrong on purpose, to be compared with the library's own way. The
//! code of these ways is in the tests of `tickwright`, which show how they fail.

pub(crate) use self::shard::{AlwaysRequeue, AsPosted, Rearm, Shard, Statistics, Timer, UnderLock};

#[path = "../../../../../timers/tickwright/tests/specimens/shard.rs"]
#[allow(dead_code, reason = "no experiment measures all of it")]
mod shard;

/// The atomics and locks that [`shard`] uses.
mod sync {
    pub(super) use core::sync::atomic::{AtomicU32, AtomicU64};
    pub(super) use std::sync::{Mutex, MutexGuard};
}
