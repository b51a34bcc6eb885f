//! The error of a call in which a callback would wait for its own end.

use tickwright_nodes::error_texts;

/// The error of a call that would never return, because a callback would wait for its own end, or
/// for the end of its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WouldDeadlock;

error_texts! { WouldDeadlock:
    Self => "a callback cannot wait for its own end: use cancel without a wait, or return that it is done",
}
