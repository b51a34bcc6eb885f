//! The tape of a queue whose changes are recorded.

use tickwright_core::{Key, Tick};
use tickwright_trace::What;

use super::queue::Tape;
use crate::record::QueueRecorder;
use crate::time::Ticks;

/// Writes to a trace. A timer's number in the trace is its key, which is different for each added
/// timer.
pub(super) struct Recording {
    recorder: QueueRecorder,
    ticks: Ticks,
}

impl Recording {
    pub(super) fn new(recorder: &QueueRecorder, ticks: Ticks) -> Self {
        Self { recorder: recorder.of_new_queue(), ticks }
    }
}

impl Tape for Recording {
    const RECORDS: bool = true;

    fn arm(&self, key: Key, deadline: Tick, was_pending: bool) {
        self.recorder.at(key.to_bits(), self.ticks.start(deadline), |deadline| match was_pending {
            true => What::Rearm { deadline, period: 0 },
            false => What::Arm { deadline, period: 0 },
        });
    }

    fn cancel(&self, key: Key) {
        self.recorder.cancel(key.to_bits());
    }

    fn fire(&self, key: Key) {
        self.recorder.fire(key.to_bits());
    }
}
