//! The results of the arming calls: whether the timer was pending, or why it was not armed.

use tickwright_nodes::error_texts;

pub(super) const NO_SUCH_SHARD: &str =
    "there is no shard of that number: they count from 0 to Shards::len() - 1";

/// Whether a timer was pending when a call took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Was {
    /// The timer was pending.
    Pending,
    /// The timer was not pending: it was idle, firing or shut down.
    Idle,
}

impl Was {
    /// Returns whether this is [`Pending`](Self::Pending).
    #[must_use]
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Pending)
    }
}

/// The reason why a timer was not armed. In this case nothing is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArmError {
    /// The timer is already pending.
    AlreadyPending,
    /// The timer was shut down.
    ShutDown,
    /// The [`Shards`](super::Shards) that created the timer were dropped.
    ShardsGone,
    /// There is no shard with the given number.
    NoSuchShard,
}

error_texts! { ArmError:
    Self::AlreadyPending => "the timer is pending already: modify it instead",
    Self::ShutDown => "the timer was shut down and cannot be armed again: make a new one",
    Self::ShardsGone => "the timer's shards were dropped: make a timer on shards that are in use",
    Self::NoSuchShard => NO_SUCH_SHARD,
}
