//! A log in HdrHistogram's format, with an interval and a tag for each slice. Common tools plot and
//! merge such logs.

use core::time::Duration;
use std::time::SystemTime;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

/// The text of a log, in ns. Each slice adds some hundred bytes.
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
        // Writing to memory does not fail, and the log needs no end marker.
        let _ = IntervalLogWriterBuilder::new()
            .add_comment("[Wake-up lateness in ns; written by tickwright latency]")
            .with_start_time(now)
            .with_base_time(now)
            .begin_log_with(&mut text, &mut V2DeflateSerializer::new());
        Self { text, lost: 0 }
    }

    /// Adds one slice of structure `id`. `since` and `until` count from the start of the run;
    /// `lateness` is in ns.
    pub(super) fn add(&mut self, id: &str, since: Duration, until: Duration, lateness: &[u64]) {
        let Ok(mut histogram) = Histogram::<u64>::new(3) else {
            self.lost += 1;
            return;
        };
        for ns in lateness {
            // The histogram grows as needed, up to the range of u64.
            let _ = histogram.record(*ns);
        }
        let mut serializer = V2DeflateSerializer::new();
        let written = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.text, &mut serializer)
            .map(|mut log| log.write_histogram(&histogram, since, until.saturating_sub(since), Tag::new(id)));
        self.lost += u64::from(!matches!(written, Ok(Ok(()))));
    }

    /// The text of the log.
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }
}

#[cfg(test)]
mod tests;
