//! Records the events of timers, with the feature `record`. Without the feature these calls compile
//! to nothing. A fire is recorded under the lock of a shard, so that the owner's next event comes
//! after it.

use crate::node::Node;
use crate::sync::Arc;
#[cfg(feature = "record")]
use crate::{node::State, sync::Ordering};

/// Records that an idle or vacant timer was armed.
#[inline]
pub(crate) fn arm(node: &Arc<Node>, deadline: u64) {
    #[cfg(feature = "record")]
    if let Some(recorder) = &node.core.recorder {
        recorder.arm(number(node), ticks(node, recorder, deadline));
    }
    let _ = (node, deadline);
}

/// Records that the deadline of an armed timer was changed. Records nothing if the timer has just
/// fired, because the next poll will record an arm.
#[inline]
pub(crate) fn rearm(node: &Arc<Node>, deadline: u64) {
    #[cfg(feature = "record")]
    if let Some(recorder) = &node.core.recorder
        && node.state(Ordering::Relaxed) == State::Armed
    {
        recorder.rearm(number(node), ticks(node, recorder, deadline));
    }
    let _ = (node, deadline);
}

/// Records that the owner gave up an armed timer.
#[inline]
pub(crate) fn cancel(node: &Arc<Node>) {
    #[cfg(feature = "record")]
    if let Some(recorder) = &node.core.recorder {
        recorder.cancel(number(node));
    }
    let _ = node;
}

/// Records that an armed timer fired.
#[inline]
pub(crate) fn fire(node: &Arc<Node>) {
    #[cfg(feature = "record")]
    if let Some(recorder) = &node.core.recorder {
        recorder.fire(number(node));
    }
    let _ = node;
}

/// Returns the number of a timer in the trace, which is the address of its node. A later time-out
/// that uses the same node has the same number.
#[cfg(feature = "record")]
fn number(node: &Arc<Node>) -> u64 {
    Arc::as_ptr(node).addr() as u64
}

/// Returns the delay to a deadline, in ticks of the recorder's queue.
#[cfg(feature = "record")]
fn ticks(node: &Node, recorder: &tickwright::record::QueueRecorder, deadline: u64) -> u64 {
    deadline.saturating_sub(node.core.time.now()).div_ceil(recorder.tick_ns())
}
