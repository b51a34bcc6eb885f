//! Timer events of the Linux kernel, as text: `trace` of tracefs, `trace-cmd report`, `perf
//! script`, `babeltrace --clock-seconds`.
//!
//! # What the lines mean
//! - `timer_cancel` is written when a timer is detached. If `timer_expire_entry` with the same
//!   address follows within 10 ms, the timer expired. If `timer_start` follows within 10 ms, the
//!   timer was re-armed. Otherwise the timer was cancelled. [`Lines`] counts every start after a
//!   detachment, however long the detachment lasted.
//! - `hrtimer_cancel` means the same, unless starts have the field `was_armed`. With that field,
//!   re-arms and expiries write no `hrtimer_cancel`.
//! - An address names one timer until the next `timer_init` with that address. After a timer has
//!   ended, a start with the same address but another function belongs to another timer. Timers of
//!   `process_timeout` and `hrtimer_wakeup` lie on the stacks of waiting threads. After such a
//!   timer has ended, the next start at its address belongs to another timer.
//! - Times of `timer_list` are jiffies. The lines themselves give the number of jiffies in a
//!   second.
//! - Times of `hrtimer` are on one of the kernel's clocks, not on the clock of the trace. The line
//!   of an expiry shows the time of the timer's clock, and `hrtimer_init` and `hrtimer_setup` say
//!   which clock a timer uses. The deadline is [`UNKNOWN`] if no line shows the clock or if the
//!   timer must never expire.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Write};

use super::Imported;
use super::calibration::Calibration;
use super::line::{ClockId, Line, Queue, Read, Said, read, remedy};
use super::order::{Pending, detachment};
use super::source::{LineReader, Strings};
use crate::error::TraceError;
use crate::event::{Event, Ns, UNKNOWN, What};
use crate::header::{Base, Header, Remark};
use crate::writer::Writer;

/// How to read a kernel's trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Jiffies per second, for lines that do not give the rate. `None` or 0: take the rate from the
    /// lines.
    pub hz: Option<u64>,
    /// What was recorded, for the trace's header.
    pub of: String,
}

/// What was found in a kernel's trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Lines and events.
    pub count: Imported,
    /// Lines about the wheel.
    pub timer_list: Lines,
    /// Lines about the tree of `hrtimer`.
    pub hrtimer: Lines,
    /// Lines that came more than a million lines after a later line. The events of these lines are
    /// not in time order.
    pub late: u64,
    /// Starts whose deadline is [`UNKNOWN`].
    pub unknown: u64,
}

/// The most lines that are kept in memory to sort them by their times.
const MOST_KEPT: usize = 1 << 20;

/// Reads a kernel's trace and writes it as a `.twt` file. Lines that are no timer events are
/// skipped. Memory grows with the number of addresses, threads and functions.
///
/// A recorder can write the buffer of one processor after the buffer of another. Therefore up to a
/// million lines are kept in memory, and the earliest of them leaves first. [`Kernel::late`] counts
/// the lines that are still out of order.
///
/// # Errors
/// [`TraceError::Line`] if no line is a timer event, or if the length of a jiffy is needed but
/// unknown; [`TraceError::Io`].
pub fn import<R: BufRead, W: Write>(
    from: R,
    options: &Options,
    mut to: W,
) -> Result<(W, Kernel), TraceError> {
    let found = import_lines(LineReader::new(from)?, options, &mut to)?;
    Ok((to, found))
}

/// The part of [`import`] that does not depend on the type of the target, so that it is compiled
/// once.
fn import_lines(
    mut lines: LineReader<'_>,
    options: &Options,
    to: &mut dyn Write,
) -> Result<Kernel, TraceError> {
    let mut import = Import::new(options, to);
    while let Some(bytes) = lines.next()? {
        import.count.lines += 1;
        let text = String::from_utf8_lossy(bytes);
        match read(&text) {
            Read::Event(line) => import.line(&line)?,
            Read::Other => {}
            Read::Unreadable => {
                import.count.unreadable += 1;
                import.remedy = import.remedy.or_else(|| remedy(&text));
            }
        }
    }
    import.count.damage = lines.damage;
    import.finish().map(|(_, found)| found)
}

/// A line that waits to be sorted.
#[derive(Clone, Copy, Debug)]
struct Kept {
    time: Ns,
    cpu: u16,
    thread: u32,
    queue: Queue,
    address: u64,
    function: u32,
    clock: Option<ClockId>,
    /// The timer lies on a stack, so another timer can have its address later.
    is_on_stack: bool,
    said: Said,
}

/// A timer at an address.
#[derive(Debug, Default)]
struct Timer {
    number: u64,
    is_pending: bool,
    /// The function with which the timer is started, as its number in the strings. 0: unknown.
    function: u32,
    clock: Option<ClockId>,
    /// Whether the last line about the address, apart from `timer_init`, was a cancel.
    is_cancelled: bool,
}

impl Timer {
    /// Returns whether a start at the address of this timer, which has ended, belongs to another
    /// timer.
    fn is_another(&self, start: &Kept) -> bool {
        self.function > 0 && (start.is_on_stack || start.function > 0 && start.function != self.function)
    }
}

/// Returns whether timers with this function lie on the stacks of waiting threads.
fn is_on_stack(function: &str) -> bool {
    let name = function.split('/').next().unwrap_or(function);
    matches!(name, "process_timeout" | "hrtimer_wakeup")
}

/// The counts of lines about one of the kernel's queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// `timer_start`.
    pub starts: u64,
    /// The starts whose address had `timer_cancel` as its previous line, apart from a `timer_init`.
    /// `starts` counts them too.
    pub restarts: u64,
    /// `timer_expire_entry`.
    pub expiries: u64,
    /// Lines `timer_cancel` after which the next line about the address is neither a start nor an
    /// expiry.
    pub cancels: u64,
}

/// Turns lines, or events of protobuf, into a trace. The readers of text and of protobuf share this
/// type.
pub(super) struct Import<'o, W: Write> {
    options: &'o Options,
    /// The target, kept here until the clocks are known.
    to: Option<W>,
    /// The lines by their times, and at equal times by their numbers.
    kept: BTreeMap<(Ns, u64), Kept>,
    /// The number of the last kept line.
    kept_number: u64,
    /// The time of the last line that has one. A loss gets this time.
    read_to: Ns,
    writer: Option<Writer<W>>,
    clocks: Calibration,
    /// Whether starts of each queue were seen. The next field says whether starts have `was_armed`.
    has: [bool; 2],
    says_armed: bool,
    threads: Strings,
    functions: Strings,
    timers: HashMap<(Queue, u64), Timer>,
    /// The clocks of the timers at their addresses, as far as the lines have shown them.
    clocks_of: HashMap<u64, ClockId>,
    numbers: u64,
    by_queue: [Lines; 2],
    pending: Pending,
    start: Ns,
    last: Ns,
    late: u64,
    unknown: u64,
    pub(super) count: Imported,
    /// What a user can do about unreadable lines, if one of the lines shows a remedy.
    remedy: Option<&'static str>,
    /// The error for a source that has no timer event and no damage.
    pub(super) nothing: &'static str,
}

impl<'o, W: Write> Import<'o, W> {
    pub(super) fn new(options: &'o Options, to: W) -> Self {
        Self {
            options,
            to: Some(to),
            kept: BTreeMap::new(),
            kept_number: 0,
            read_to: Ns::MIN,
            writer: None,
            clocks: Calibration::with_hz(options.hz),
            has: [false; 2],
            says_armed: false,
            threads: Strings::default(),
            functions: Strings::default(),
            timers: HashMap::new(),
            clocks_of: HashMap::new(),
            numbers: 0,
            by_queue: [Lines::default(); 2],
            pending: Pending::default(),
            start: 0,
            last: 0,
            late: 0,
            unknown: 0,
            count: Imported::default(),
            remedy: None,
            nothing: "no line is a timer event as ftrace, trace-cmd, perf script or babeltrace write it",
        }
    }

    /// Notes that an unknown number of events before `time` were lost.
    pub(super) fn lost(&mut self, time: Ns) -> Result<(), TraceError> {
        self.read_to = time;
        self.line(&Line::lost(0))
    }

    pub(super) fn line(&mut self, line: &Line<'_>) -> Result<(), TraceError> {
        if let Said::Start { now, was_armed, expires } = line.said {
            self.has[line.queue as usize] = true;
            self.says_armed |= was_armed.is_some();
            // A tick far beyond the deadline has wrapped around, so it must not affect the slope.
            let now = now.filter(|&now| now <= expires.saturating_add(1 << 31));
            if let Some(now) = now.filter(|_| line.queue == Queue::Wheel) {
                self.clocks.jiffy(line.time, now);
            }
        }
        if let Some(clock) = line.clock {
            self.clocks_of.insert(line.address, clock);
        }
        if let Said::Expire { now: Some(now) } = line.said {
            match line.queue {
                Queue::Wheel => self.clocks.jiffy(line.time, now),
                Queue::HighResolution => {
                    let id = self.clocks_of.get(&line.address).copied();
                    self.clocks.clock(line.time, now, id);
                }
            }
        }
        let kept = Kept {
            time: line.time,
            cpu: line.cpu.map_or(0, |cpu| cpu.saturating_add(1)),
            thread: self.threads.number(line.thread),
            queue: line.queue,
            address: line.address,
            function: self.functions.number(line.function),
            clock: line.clock,
            is_on_stack: is_on_stack(line.function),
            said: line.said,
        };
        if !matches!(line.said, Said::Lost(_)) {
            self.read_to = line.time;
        }
        self.kept_number += 1;
        self.kept.insert((self.read_to, self.kept_number), kept);
        if self.kept.len() > MOST_KEPT { self.next() } else { Ok(()) }
    }

    /// Processes the earliest of the kept lines.
    fn next(&mut self) -> Result<(), TraceError> {
        if self.writer.is_none() {
            self.begin()?;
        }
        self.kept.pop_first().map_or(Ok(()), |(_, kept)| self.event(&kept))
    }

    /// Begins to write the trace, with the clocks that the lines have shown so far.
    fn begin(&mut self) -> Result<(), TraceError> {
        if self.has[0] && !self.clocks.knows_jiffies() {
            return Err(self.unknown_jiffy());
        }
        let Some(to) = self.to.take() else { return Ok(()) };
        let bases = vec![
            Base { name: "timer_list".into(), tick_ns: self.clocks.jiffy_ns() },
            Base { name: "hrtimer".into(), tick_ns: 1 },
        ];
        let mut unseen =
            vec!["what programs do with timers of their own: each loop has one timer here".into()];
        if self.has[1] && !self.clocks.knows_a_clock() {
            unseen.push("deadlines of hrtimer: no line tells the time of their clock".into());
        }
        let of = self.options.of.clone();
        let header = Header { of, clock: "trace".into(), bases, unseen, ..Header::of("kernel") };
        self.writer = Some(Writer::new(to, &header)?);
        let first = self.kept.values().find(|kept| !matches!(kept.said, Said::Lost(_)));
        self.start = first.map_or(0, |first| first.time);
        Ok(())
    }

    fn unknown_jiffy(&self) -> TraceError {
        let what = "the trace does not tell how long a jiffy is: say it with --hz".to_owned();
        TraceError::Line { line: self.count.lines, what }
    }

    /// Converts a line into an event of the trace.
    fn event(&mut self, kept: &Kept) -> Result<(), TraceError> {
        if let Said::Lost(count) = kept.said {
            self.write(None)?;
            return match &mut self.writer {
                Some(writer) => writer.lost(self.last, count, "the kernel's buffer was full"),
                None => Ok(()),
            };
        }
        let is_start = matches!(kept.said, Said::Start { .. });
        if is_start && kept.queue == Queue::Wheel && !self.clocks.knows_jiffies() {
            return Err(self.unknown_jiffy());
        }
        let time = kept.time.saturating_sub(self.start);
        self.late += u64::from(time < self.last);
        self.last = self.last.max(time);
        // This line can be about a timer that was detached too long ago, so neither a start nor an
        // expiry can change its meaning. Therefore the ages of detachments are checked before the
        // line is applied.
        self.write(Some(time))?;
        let timer = self.timers.entry((kept.queue, kept.address)).or_default();
        if timer.number == 0 || kept.said == Said::Init {
            self.pending.close(timer.number);
            self.numbers += 1;
            (timer.number, timer.is_pending, timer.function) = (self.numbers, false, 0);
            timer.clock = kept.clock;
        }
        if is_start && !timer.is_pending && timer.is_another(kept) {
            self.pending.close(timer.number);
            self.numbers += 1;
            (timer.number, timer.clock) = (self.numbers, None);
        }
        if is_start && kept.function > 0 {
            timer.function = kept.function;
        }
        let lines = &mut self.by_queue[kept.queue as usize];
        match kept.said {
            Said::Start { .. } => {
                lines.starts += 1;
                lines.restarts += u64::from(timer.is_cancelled);
            }
            Said::Expire { .. } => lines.expiries += 1,
            Said::Cancel => lines.cancels += 1,
            Said::Init | Said::Lost(_) => return Ok(()),
        }
        if timer.is_cancelled && kept.said != Said::Cancel {
            lines.cancels -= 1;
        }
        timer.is_cancelled = kept.said == Said::Cancel;
        let event = Event {
            thread: kept.thread,
            cpu: kept.cpu,
            base: kept.queue as u8,
            site: kept.function,
            ..Event::new(time, timer.number, What::Fire)
        };
        match kept.said {
            Said::Start { expires, now, was_armed } => {
                let deadline = match (kept.queue, now) {
                    (Queue::Wheel, Some(now)) => self.clocks.after(time, expires.wrapping_sub(now) as i64),
                    (Queue::Wheel, None) => UNKNOWN,
                    (Queue::HighResolution, _) => match self.clocks.at(kept.time, expires, timer.clock) {
                        UNKNOWN => UNKNOWN,
                        at => at.saturating_sub(self.start),
                    },
                };
                self.unknown += u64::from(deadline == UNKNOWN);
                let detached = self.pending.take_back(timer.number);
                let moves = was_armed.unwrap_or(detached || timer.is_pending);
                timer.is_pending = true;
                let what = match moves {
                    true => What::Rearm { deadline, period: 0 },
                    false => What::Arm { deadline, period: 0 },
                };
                self.pending.push(Event { what, ..event });
            }
            Said::Cancel => {
                timer.is_pending = false;
                match self.says_armed && kept.queue == Queue::HighResolution {
                    true => self.pending.push(detachment(event)),
                    false => self.pending.detach(detachment(event)),
                }
            }
            Said::Expire { .. } => {
                timer.is_pending = false;
                self.pending.take_back(timer.number);
                self.pending.push(event);
            }
            Said::Init | Said::Lost(_) => {}
        }
        Ok(())
    }

    /// Writes the events whose order is known. `now` is the time of the last line; `None` writes
    /// all events.
    fn write(&mut self, now: Option<Ns>) -> Result<(), TraceError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        while let Some(mut event) = self.pending.next(now) {
            event.thread = self.threads.written(event.thread, |name| writer.thread(name))?;
            event.site = self.functions.written(event.site, |name| writer.site(name))?;
            writer.push(&event)?;
            self.count.events += 1;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(W, Kernel), TraceError> {
        if self.writer.is_none() {
            if self.kept.values().all(|kept| matches!(kept.said, Said::Lost(_))) {
                let what = match self.count.unreadable {
                    0 => self.count.damage.unwrap_or_else(|| self.nothing.into()),
                    some => {
                        let remedy = self.remedy.map_or(String::new(), |remedy| format!(": {remedy}"));
                        format!("it has {some} timer events, but none can be read{remedy}")
                    }
                };
                return Err(TraceError::Line { line: self.count.lines, what });
            }
            self.begin()?;
        }
        while !self.kept.is_empty() {
            self.next()?;
        }
        self.write(None)?;
        match self.writer.take() {
            Some(mut writer) => {
                self.count.remark(&mut writer)?;
                for (count, words) in [
                    (self.late, "lines came a million lines too late: their events are out of order"),
                    (self.unknown, Remark::UNKNOWN_DELAYS),
                ] {
                    if count > 0 {
                        writer.remark(count, words)?;
                    }
                }
                let [timer_list, hrtimer] = self.by_queue;
                Ok((
                    writer.finish()?,
                    Kernel { count: self.count, timer_list, hrtimer, late: self.late, unknown: self.unknown },
                ))
            }
            None => Err(TraceError::Unfit("the trace was finished before")),
        }
    }
}
