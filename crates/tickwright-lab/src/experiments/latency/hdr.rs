//! A log of HdrHistogram: an interval and a tag for each slice, for the tools that people plot and
//! merge such logs with.

use core::time::Duration;
use std::time::SystemTime;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

/// The text of a log, in ns. Grows by some hundred bytes a slice.
#[derive(Debug, Default)]
pub(super) struct Log {
    text: Vec<u8>,
    /// Slices whose figures could not be written.
    pub(super) lost: u64,
}

impl Log {
    /// A log that begins now.
    pub(super) fn start() -> Self {
        let mut text = Vec::new();
        let now = SystemTime::now();
        // Writing to memory does not fail, and begins nothing that must be ended.
        let _ = IntervalLogWriterBuilder::new()
            .add_comment("[Wake-up lateness in ns; written by tickwright latency]")
            .with_start_time(now)
            .with_base_time(now)
            .begin_log_with(&mut text, &mut V2DeflateSerializer::new());
        Self { text, lost: 0 }
    }

    /// One slice of structure `id`, from `since` to `until`, by the time from the start.
    pub(super) fn add(&mut self, id: &str, since: Duration, until: Duration, lateness: &[u64]) {
        let Ok(mut histogram) = Histogram::<u64>::new(3) else {
            self.lost += 1;
            return;
        };
        for ns in lateness {
            // It grows as it must, up to what u64 holds.
            let _ = histogram.record(*ns);
        }
        let mut serializer = V2DeflateSerializer::new();
        let written = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.text, &mut serializer)
            .map(|mut log| log.write_histogram(&histogram, since, until.saturating_sub(since), Tag::new(id)));
        self.lost += u64::from(!matches!(written, Ok(Ok(()))));
    }

    /// The log.
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }
}

#[cfg(test)]
mod tests;
