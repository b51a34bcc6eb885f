//! Events on their way to the file, in the order of their times.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

use super::call::{BASES, CALLS};
use super::clock::{Clocks, Due};
use crate::error::TraceError;
use crate::event::{Event, Ns, What};
use crate::header::{Base, Header, calendar};
use crate::import::Imported;
use crate::import::source::Strings;
use crate::writer::Writer;

/// What happened to a timer. The deadline is on the clock that the line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Arm { due: Due, period: u64, was_pending: bool },
    Cancel,
    Fire,
}

/// An event on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) time: Ns,
    pub(super) timer: u64,
    pub(super) base: u8,
    /// The index of the call in [`CALLS`], plus 1. 0: no call.
    pub(super) site: u8,
    /// The name of the thread, as a number of [`Strings`].
    pub(super) thread: u32,
    pub(super) did: Did,
}

/// The most events that wait for earlier ones.
const MOST: usize = 1 << 16;

#[derive(Debug)]
struct Waiting {
    /// Orders by time, then by arrival.
    key: Reverse<(Ns, u64)>,
    event: Seen,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// The waiting events, and the file.
#[derive(Debug)]
pub(super) struct Events<W: Write> {
    waiting: BinaryHeap<Waiting>,
    arrived: u64,
    pub(super) names: Strings,
    sites: [u32; CALLS.len()],
    of: String,
    /// `None` once the writer has it.
    to: Option<W>,
    writer: Option<Writer<W>>,
    /// The first stamp.
    pub(super) start: Option<Ns>,
    pub(super) is_relative: bool,
    pub(super) counts: Counts,
}

/// How many events were written, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) arms: u64,
    pub(super) rearms: u64,
    pub(super) cancels: u64,
    pub(super) fires: u64,
    pub(super) guessed: u64,
}

impl<W: Write> Events<W> {
    pub(super) fn new(of: &str, to: W) -> Self {
        Self {
            waiting: BinaryHeap::new(),
            arrived: 0,
            names: Strings::default(),
            sites: [0; CALLS.len()],
            of: of.to_owned(),
            to: Some(to),
            writer: None,
            start: None,
            is_relative: false,
            counts: Counts::default(),
        }
    }

    pub(super) fn push(&mut self, event: Seen) {
        self.arrived += 1;
        self.waiting.push(Waiting { key: Reverse((event.time, self.arrived)), event });
    }

    /// Writes the events before `until`, since no earlier event can come. At most [`MOST`] events
    /// wait; if there are more, the earliest are written anyway.
    pub(super) fn write(&mut self, until: Ns, clocks: &Clocks) -> Result<(), TraceError> {
        while let Some(first) = self.waiting.peek() {
            let event = first.event;
            let due = match event.did {
                Did::Arm { due, .. } => clocks.stamp(due),
                Did::Cancel | Did::Fire => Some(0),
            };
            if (event.time >= until || due.is_none()) && self.waiting.len() <= MOST {
                break;
            }
            self.waiting.pop();
            self.write_one(event, due, clocks)?;
        }
        Ok(())
    }

    fn write_one(&mut self, event: Seen, due: Option<Ns>, clocks: &Clocks) -> Result<(), TraceError> {
        let start = self.start.unwrap_or(0);
        let counts = &mut self.counts;
        let what = match event.did {
            Did::Cancel => {
                counts.cancels += 1;
                What::Cancel
            }
            Did::Fire => {
                counts.fires += 1;
                What::Fire
            }
            Did::Arm { due: as_written, period, was_pending } => {
                counts.guessed += u64::from(due.is_none());
                let at = due.unwrap_or_else(|| clocks.guess(as_written, event.time));
                let deadline = at.saturating_sub(start);
                if was_pending {
                    counts.rearms += 1;
                    What::Rearm { deadline, period }
                } else {
                    counts.arms += 1;
                    What::Arm { deadline, period }
                }
            }
        };
        if let Some(to) = self.to.take() {
            self.writer = Some(Writer::new(to, &header(&self.of, start, self.is_relative))?);
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut out = Event::new(event.time.saturating_sub(start), event.timer, what);
        out.base = event.base;
        out.thread = self.names.written(event.thread, |name| writer.thread(name))?;
        if let Some(at) = usize::from(event.site).checked_sub(1) {
            if self.sites[at] == 0 {
                self.sites[at] = writer.site(CALLS[at].0)?;
            }
            out.site = self.sites[at];
        }
        writer.push(&out)
    }

    /// Writes all events and ends the file. `None`: there was no event.
    /// `count` holds what could not be read.
    pub(super) fn finish(&mut self, clocks: &Clocks, count: &Imported) -> Result<Option<W>, TraceError> {
        self.write(Ns::MAX, clocks)?;
        while let Some(Waiting { event, .. }) = self.waiting.pop() {
            let due = match event.did {
                Did::Arm { due, .. } => clocks.stamp(due),
                Did::Cancel | Did::Fire => None,
            };
            self.write_one(event, due, clocks)?;
        }
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        count.remark(&mut writer)?;
        if self.counts.guessed > 0 {
            writer.remark(self.counts.guessed, "deadlines rest on a guess of the offset of their clock")?;
        }
        writer.finish().map(Some)
    }
}

fn header(of: &str, start: Ns, is_relative: bool) -> Header {
    let bases = BASES.iter().map(|&(name, tick_ns)| Base { name: name.into(), tick_ns }).collect();
    let unseen = "Only what the kernel sees: an event loop's time-out is the earliest of many deadlines, \
                  a lower bound of the timers.";
    let (clock, started) = match is_relative {
        true => ("since the first line", String::new()),
        false => ("CLOCK_REALTIME", calendar(start.div_euclid(1_000_000_000))),
    };
    Header {
        of: of.into(),
        clock: clock.into(),
        started,
        bases,
        unseen: vec![unseen.into()],
        ..Header::of("strace")
    }
}
