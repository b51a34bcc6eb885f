//! Writes events to a file, until the file is full.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use tickwright_preload::ring::source;
use tickwright_trace::{Event, Header, TraceError, Writer};

use super::translate::{Seen, since};

/// Writes events to a trace. After the first error or at the limit, events are only counted.
#[derive(Debug)]
pub(super) struct Sink<W: Write> {
    writer: Option<Writer<Counting<W>>>,
    limit: u64,
    /// The numbers that names have in the trace, for each process that has not ended.
    known: HashMap<u32, HashMap<Named, u32>>,
    pub(super) result: Outcome,
}

/// A thing that has a name within a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Named {
    Thread(u32),
    /// The address of a call.
    Site(u64),
}

/// Looks up the name of a thing in a process. Each name is looked up once.
pub(super) type Names<'n> = dyn FnMut(u32, Named) -> String + 'n;

/// The counts of a recording: the events that it wrote and lost.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// How many events of each source were written.
    pub(super) written: BTreeMap<u8, u64>,
    pub(super) threads: usize,
    /// How many events were recorded but not written.
    pub(super) unwritten: u64,
    /// The number of records that found no room in their ring or were not finished, plus the number
    /// of expiries that were left out.
    pub(super) lost: u64,
    /// The error after which the file was not written any further.
    pub(super) error: Option<io::Error>,
    /// Whether the file has reached its limit.
    pub(super) is_full: bool,
    pub(super) bytes: u64,
}

/// Counts the bytes that are written through it.
#[derive(Debug)]
struct Counting<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns the tick length of a source in ns, or 0 if the source's times are as fine as the clock.
fn tick_ns(of: u8) -> u64 {
    match of {
        source::LIBUV | source::POLL | source::EPOLL => 1_000_000,
        source::LIBEVENT | source::SELECT | source::ITIMER => 1_000,
        _ => 1,
    }
}

impl<W: Write> Sink<W> {
    /// Begins a trace of at most about `limit` bytes. The trace can exceed this limit by one block.
    ///
    /// # Errors
    /// If even the header cannot be written.
    pub(super) fn new(to: W, header: &Header, limit: u64) -> Result<Self, TraceError> {
        let writer = Some(Writer::new(Counting { to, bytes: 0 }, header)?);
        Ok(Self { writer, limit, known: HashMap::new(), result: Outcome::default() })
    }

    /// Returns whether events are still written.
    pub(super) fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Writes an event, with its time relative to `start_ns`.
    pub(super) fn push(&mut self, seen: &Seen, start_ns: u64, names: &mut Names<'_>) {
        if self.try_push(seen, start_ns, names).is_none() {
            self.result.unwritten += 1;
        }
    }

    fn try_push(&mut self, seen: &Seen, start_ns: u64, names: &mut Names<'_>) -> Option<()> {
        let name = source::NAMES.get(usize::from(seen.source))?;
        let base = self.with(|writer| writer.base(name, tick_ns(seen.source)))?;
        let thread = self.number(seen.process, Named::Thread(seen.thread), names)?;
        let site = self.number(seen.process, Named::Site(seen.site), names)?;
        let time = since(start_ns, seen.time_ns);
        let event = Event { time, timer: seen.timer, what: seen.what, thread, cpu: seen.cpu, base, site };
        self.with(|writer| writer.push(&event))?;
        *self.result.written.entry(seen.source).or_default() += 1;
        Some(())
    }

    /// Returns the number of a name in the trace, or 0 if the name is unknown.
    fn number(&mut self, process: u32, of: Named, names: &mut Names<'_>) -> Option<u32> {
        if matches!(of, Named::Thread(0) | Named::Site(0)) {
            return Some(0);
        }
        if let Some(number) = self.known.entry(process).or_default().get(&of) {
            return Some(*number);
        }
        let name = names(process, of);
        let number = self.with(|writer| match of {
            Named::Thread(_) => unless_full(writer.thread(&name)),
            Named::Site(_) => unless_full(writer.site(&name)),
        })?;
        self.known.entry(process).or_default().insert(of, number);
        self.result.threads += usize::from(matches!(of, Named::Thread(_)));
        Some(number)
    }

    /// Notes that `count` records were lost.
    pub(super) fn lost(&mut self, time_ns: u64, start_ns: u64, count: u64, note: &str) {
        self.result.lost = self.result.lost.saturating_add(count);
        let time = i64::try_from(time_ns.saturating_sub(start_ns)).unwrap_or(i64::MAX);
        self.with(|writer| writer.lost(time, count, note));
    }

    /// Forgets the names of a process that has ended, because no more of its events follow.
    pub(super) fn forget(&mut self, process: u32) {
        self.known.remove(&process);
    }

    /// Returns the number of processes whose names the sink holds.
    #[cfg(test)]
    pub(super) fn processes(&self) -> usize {
        self.known.len()
    }

    /// Writes the events that the writer has collected.
    pub(super) fn flush(&mut self) {
        self.with(Writer::flush);
    }

    /// Calls a function with the writer, unless the file had an error or has reached its limit.
    fn with<R>(&mut self, work: impl FnOnce(&mut Writer<Counting<W>>) -> Result<R, TraceError>) -> Option<R> {
        let writer = self.writer.as_mut()?;
        match work(writer) {
            Ok(done) => {
                if writer.get_ref().is_some_and(|to| to.bytes >= self.limit) {
                    self.result.is_full = true;
                    self.finish();
                }
                Some(done)
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Ends the trace.
    pub(super) fn finish(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        match writer.finish() {
            Ok(to) => self.result.bytes = to.bytes,
            Err(error) => self.fail(error),
        }
    }

    /// Notes an error of the file, and stops writing.
    pub(super) fn fail(&mut self, error: TraceError) {
        // The writer still holds events that are not in a complete block of the file. These events
        // are never written.
        if let Some(writer) = self.writer.take() {
            self.result.bytes = writer.get_ref().map_or(0, |to| to.bytes);
        }
        self.result.error = Some(match error {
            TraceError::Io(error) => error,
            other => io::Error::other(other.to_string()),
        });
    }
}

/// If the table of names is full, the event loses its name, and the trace goes on.
fn unless_full(number: Result<u32, TraceError>) -> Result<u32, TraceError> {
    match number {
        Err(TraceError::Unfit(_)) => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests;
