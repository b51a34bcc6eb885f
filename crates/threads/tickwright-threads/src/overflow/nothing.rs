//! Does nothing on platforms without signals, where the standard library reports overflows of its
//! threads.

use crate::id::ThreadId;

pub(crate) fn notice() {}

pub(crate) struct SignalStack;

impl SignalStack {
    pub(crate) fn of_thread(_: usize) -> Option<Self> {
        None
    }

    pub(crate) fn is_called(&self, _: Option<&str>, _: Option<ThreadId>) {}
}
