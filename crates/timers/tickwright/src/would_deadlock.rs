//! The error of a callback that would wait for itself.

use tickwright_nodes::error_texts;

/// The caller would wait for itself: a callback waited for its own end, or for that of its
/// scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WouldDeadlock;

error_texts! { WouldDeadlock:
    Self => "a callback cannot wait for its own end: use cancel without a wait, or return that it is done",
}
