//! The events of a workload: from a trace, or made from a profile.

use core::cmp::Reverse;
use core::hash::Hash;
use core::ops::ControlFlow;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use tickwright_trace::event::Ns;
use tickwright_trace::{Base, Describer, Event, Header, Names, Profile, Reader, TraceError, What};

use crate::error::LabError;
use crate::experiment::Parameters;
use crate::interrupt;
use crate::output::text::name;
use crate::result::{Better, Series, Unit, labels, workload};
use crate::traces::profile::Workload;
use crate::traces::samples;

/// Where the events of a workload come from.
#[derive(Debug)]
pub(crate) enum Input {
    /// A `.twt` file.
    File {
        /// The file.
        path: PathBuf,
        /// The queues whose events count. If the list is empty, the events of all queues count.
        bases: Vec<String>,
        /// At most this many events are described and replayed.
        most: u64,
    },
    /// Events that were made from a profile, in order.
    Made(Vec<Event>),
}

impl Input {
    /// Returns the CRC-32 of the file, or of the events that were made.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn checksum(&self) -> Result<u32, LabError> {
        match self {
            Self::File { path, .. } => checksum_of(path),
            Self::Made(events) => {
                let mut sum = crc32fast::Hasher::new();
                events.hash(&mut sum);
                Ok(sum.finalize())
            }
        }
    }

    /// Returns the words that define the work on this trace. These words depend on the trace's
    /// content, not on its name. A pipe can be read only once, so its content is not known
    /// afterwards and the words are empty.
    pub(crate) fn workload(&self, seed: Option<u64>, parameters: &Parameters) -> String {
        let words = |sum| workload::words(seed, parameters) + &format!("crc={sum:08x}\n");
        self.checksum().map_or(String::new(), words)
    }

    /// Returns the names that `--base` gave.
    pub(crate) fn bases(&self) -> &[String] {
        match self {
            Self::File { bases, .. } => bases,
            Self::Made(_) => &[],
        }
    }
}

/// Returns the CRC-32 of a file, or of a recording of this program.
fn checksum_of(path: &Path) -> Result<u32, LabError> {
    let mut sum = crc32fast::Hasher::new();
    if let Some(Ok(sample)) = samples::find(path) {
        sum.update(sample.bytes);
        return Ok(sum.finalize());
    }
    let failed = |error| LabError::io(format!("reading {}", path.display()), error);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    loop {
        let read = match file.fill_buf() {
            Ok([]) => return Ok(sum.finalize()),
            Ok(bytes) => {
                sum.update(bytes);
                bytes.len()
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(error) => return Err(failed(error)),
        };
        file.consume(read);
    }
}

/// What a reader of a trace found in addition to the events.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The header.
    pub(crate) header: Header,
    /// Names of threads.
    pub(crate) threads: Names,
    /// Names of sites.
    pub(crate) sites: Names,
    /// What is wrong with the file, in words. The events before the fault were read.
    pub(crate) notes: Vec<String>,
    /// The numbers of missing events.
    pub(crate) gaps: Gaps,
    /// Whether a recorder saw only waits and sleeps, and no timer of a library or of the kernel.
    pub(crate) waits_alone: bool,
    /// All events, if they were [described](Input::describe).
    pub(crate) whole: Extent,
    /// A queue of an event loop, and the wait whose time-out repeats the earliest deadline of that
    /// queue.
    pub(crate) repeats: Option<[String; 2]>,
    /// With `--base`, the queues of all events that were read, including the queues that `--base`
    /// leaves out. Each queue has the number of its events.
    queues: Vec<(String, u64)>,
    /// How often timers were armed or, if that is more, how often timers fired, as with periodic
    /// timers. Time-outs of waits do not count. The field is set if the events were
    /// [described](Input::describe).
    pub(crate) starts: u64,
    /// How many events remain with `--base`, in words.
    pub(crate) filter: Option<String>,
}

/// The number of events and the time span of a trace, for the queues that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) events: u64,
    /// The time from the first event to the last, in ns.
    pub(crate) span_ns: u64,
}

/// Events that happened but are not in the trace. The notes state the same in words; these numbers
/// are for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// How many times the source lost events.
    pub(crate) losses: u64,
    /// The number of events that the source lost. Losses of an unknown number count as 0.
    pub(crate) lost: u64,
    /// The number of events that the import could not read.
    pub(crate) unreadable: u64,
}

impl Gaps {
    /// Returns a figure for each number that is not 0.
    pub(crate) fn series(self) -> impl Iterator<Item = Series> {
        let all =
            [("losses", self.losses), ("lost events", self.lost), ("unreadable events", self.unreadable)];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| {
            Series::new(name, Unit::Count, labels([])).better(Better::Lower).of([count as f64])
        })
    }
}

impl Found {
    /// Returns what a reader must know about the queues whose events were read.
    pub(crate) fn doubts(&self) -> Option<String> {
        if self.waits_alone {
            let words = "only waits and sleeps were seen: `tickwright recommend` says nothing about them, and says \
                         how to see the timers of the program";
            return Some(words.into());
        }
        let [of_loop, wait] = self.repeats.as_ref()?;
        Some(format!(
            "the waits of {wait} repeat the earliest timer of {of_loop}: --base '!{wait}' leaves them out"
        ))
    }
}

/// Objects of the kernel: a program that arms one of them can keep its own timers in any structure.
const OBJECTS: [&str; 3] = ["timerfd", "posix-timer", "itimer"];

/// The names that a recorder gives to the time-outs of waits. These are not timers that a program
/// manages.
const WAITS: [&str; 6] = ["poll", "epoll", "select", "sleep", "cond", "sem"];

/// The number of events, from the beginning of a trace, that show which queues a program has.
const KEEPERS_AMONG: u64 = 1 << 20;

/// The figures of a trace, and what the trace says about itself.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) profile: Profile,
    pub(crate) found: Found,
}

impl Input {
    /// Opens a trace, or a profile (`.toml`) from which events are made, so that the events can be
    /// read several times.
    ///
    /// # Errors
    /// A usage error if the path names standard input, if the file cannot be read, or if it is
    /// neither a trace nor a profile.
    pub(crate) fn of(path: &Path, bases: &[String], seed: u64) -> Result<Self, LabError> {
        Self::up_to(path, bases, seed, u64::MAX)
    }

    /// Like [`of`](Self::of), but at most the first `most` events are replayed or made. The timers
    /// with which a profile begins do not count.
    ///
    /// # Errors
    /// The errors of [`of`](Self::of).
    pub(crate) fn up_to(path: &Path, bases: &[String], seed: u64, most: u64) -> Result<Self, LabError> {
        if path.extension().is_some_and(|end| end == "toml") {
            if !bases.is_empty() {
                return Err(LabError::usage("a profile has no queues: leave --base out"));
            }
            return Ok(Self::Made(Workload::read(path)?.events(seed, most)));
        }
        let is_stream = path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
        if path == Path::new("-") || is_stream {
            let why = "the trace is read several times: write it to a file and name the file";
            return Err(LabError::usage(why));
        }
        open(path)?;
        Ok(Self::File { path: path.to_owned(), bases: bases.to_vec(), most })
    }

    /// Returns the name that reports show.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File { path, .. } => name(&path.display().to_string()),
            Self::Made(_) => "a profile".into(),
        }
    }

    /// Calls `each` with every event, in the order of the trace, until `each` returns `Break`.
    ///
    /// # Errors
    /// If the file cannot be read or is not a trace. Damage after the header is not an error but a
    /// note.
    pub(crate) fn each(&self, each: &mut dyn FnMut(&Event) -> ControlFlow<()>) -> Result<Found, LabError> {
        self.walk(&mut |event, is_beyond| if is_beyond { ControlFlow::Break(()) } else { each(event) })
    }

    /// Like [`each`](Self::each), but for all events. The flag is set for events after the events
    /// that are replayed.
    fn walk(&self, each: &mut dyn FnMut(&Event, bool) -> ControlFlow<()>) -> Result<Found, LabError> {
        let (path, bases, most) = match self {
            Self::File { path, bases, most } => (path, bases, *most),
            Self::Made(events) => {
                let _ = events.iter().try_for_each(|event| each(event, false));
                return Ok(Found::default());
            }
        };
        let mut reader = open(path)?;
        let mut left = most;
        let mut is_cut = false;
        let mut queues = [0_u64; 256];
        // The value is `None` if `each` has ended the walk.
        let ended = loop {
            if interrupt::requested() {
                return Err(LabError::Interrupted);
            }
            match reader.next_block().map(|block| block.is_some()) {
                Ok(true) => {
                    let known = &reader.header().bases;
                    let counts = |event: &&Event| {
                        let base = known.get(usize::from(event.base));
                        bases.is_empty() || counts(bases, base.map_or("", |base| &base.name))
                    };
                    if !bases.is_empty() {
                        reader
                            .events_of_block()
                            .iter()
                            .for_each(|event| queues[usize::from(event.base)] += 1);
                    }
                    let wanted = reader.events_of_block().iter().filter(counts);
                    let flow = wanted.copied().try_for_each(|event| {
                        is_cut |= left == 0;
                        left = left.saturating_sub(1);
                        each(&event, is_cut)
                    });
                    if flow.is_break() {
                        break None;
                    }
                }
                Ok(false) => break Some(Ok(())),
                Err(TraceError::Io(error)) => {
                    return Err(LabError::io(format!("reading {}", self.name()), error));
                }
                Err(damage) => break Some(Err(damage)),
            }
        };
        let cut = is_cut.then(|| format!("the events after the first {most} were not replayed"));
        let wrong = match &ended {
            Some(Err(damage)) => Some(damage.to_string()),
            Some(Ok(())) if !reader.is_complete() => {
                Some("it has no end: its writer was stopped, or still writes".into())
            }
            _ => None,
        };
        let notes = cut.into_iter().chain(wrong).map(|note| format!("{}: {note}", self.name())).collect();
        let mut found = found(&reader, notes);
        let named = |(at, count): (usize, u64)| {
            let base = found.header.bases.get(at).map_or("of no name", |base| &base.name);
            (base.to_owned(), count)
        };
        found.queues = queues.into_iter().enumerate().filter(|(_, count)| *count > 0).map(named).collect();
        let unknown = |base: &&String| {
            let base = base.strip_prefix('!').unwrap_or(base);
            !reader.header().bases.iter().any(|known| known.name == base)
        };
        if let (Some(Ok(())), Some(base)) = (ended, bases.iter().find(unknown)) {
            let known: Vec<&str> = found.header.bases.iter().map(|base| base.name.as_str()).collect();
            let known = if known.is_empty() {
                "it names none".into()
            } else {
                format!("it has {}", known.join(", "))
            };
            return Err(LabError::usage(format!("{} has no queue '{base}': {known}", self.name())));
        }
        Ok(found)
    }

    /// Calls `each` with the events of `scale` copies, in time order, and with the number of each
    /// event's copy. Copy `j` is shifted by `spread * j / scale` ns. Memory is bounded by the
    /// number of events within `spread` ns.
    ///
    /// # Errors
    /// The errors of [`each`](Self::each).
    pub(crate) fn superposed(
        &self,
        scale: u32,
        spread: Ns,
        each: &mut dyn FnMut(u32, &Event) -> ControlFlow<()>,
    ) -> Result<Found, LabError> {
        if scale <= 1 {
            return self.each(&mut |event| each(0, event));
        }
        let shift =
            |copy: u32| i64::try_from(i128::from(spread) * i128::from(copy) / i128::from(scale)).unwrap_or(0);
        let mut merge = Merge {
            window: VecDeque::new(),
            first: 0,
            next: BinaryHeap::new(),
            starved: (0..scale).collect(),
            trim_at: 4096,
        };
        let mut flow = ControlFlow::Continue(());
        let found = self.each(&mut |event| {
            merge.take(event, shift);
            flow = merge.emit(Some(event.time), shift, each);
            flow
        })?;
        if flow.is_continue() {
            let _ = merge.emit(None, shift, each);
        }
        Ok(found)
    }

    /// Returns whether the workload begins with pending timers. A profile arms all of these timers
    /// at its first time.
    pub(crate) fn begins_full(&self) -> bool {
        match self {
            Self::Made(events) => events.get(1).is_some_and(|second| second.time == events[0].time),
            Self::File { .. } => false,
        }
    }

    /// Returns the first `most` events.
    ///
    /// # Errors
    /// The errors of [`each`](Self::each).
    pub(crate) fn first(&self, most: u64) -> Result<Vec<Event>, LabError> {
        let mut events = Vec::new();
        self.each(&mut |event| {
            events.push(*event);
            if events.len() as u64 >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(events)
    }

    /// Returns the tick of the selected queues, if the trace names it and it is at least a
    /// microsecond.
    pub(crate) fn tick_ns(&self) -> Option<u64> {
        let Self::File { path, bases, .. } = self else { return None };
        let reader = if path.as_os_str() == "-" { None } else { open(path).ok() }?;
        let selected = |base: &&Base| bases.is_empty() || counts(bases, &base.name);
        let mut ticks = reader.header().bases.iter().filter(selected).map(|base| base.tick_ns);
        let first = ticks.next().filter(|tick| *tick >= 1000)?;
        ticks.all(|other| other == first).then_some(first)
    }

    /// Returns the names of the queues that keep timers of the program, as far as the first events
    /// show. Waits and objects of the kernel are excluded.
    ///
    /// # Errors
    /// The errors of [`each`](Self::each).
    pub(crate) fn keepers(&self) -> Result<Vec<String>, LabError> {
        let Self::File { .. } = self else { return Ok(Vec::new()) };
        let mut used = [false; 256];
        let mut left = KEEPERS_AMONG;
        let found = self.each(&mut |event| {
            used[usize::from(event.base)] = true;
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let names = found.header.bases.into_iter().map(|base| base.name).zip(used);
        let is_known = |name: &String| WAITS.contains(&name.as_str()) || OBJECTS.contains(&name.as_str());
        Ok(names.filter(|(name, used)| *used && !is_known(name)).map(|(name, _)| name).collect())
    }

    /// Returns the figures of the workload, with expiries counted by ticks of `tick_ns`. The whole
    /// trace is read, because its rate and its losses also depend on the events after the replayed
    /// events.
    ///
    /// # Errors
    /// The errors of [`each`](Self::each), or an error if the trace is empty.
    pub(crate) fn describe(&self, tick_ns: u64) -> Result<(Profile, Found), LabError> {
        let mut describer = Describer::new(tick_ns);
        let mut used = [false; 256];
        // For each queue, how often a timer was armed and how often a timer fired.
        let mut starts = [[0_u64; 2]; 256];
        let (mut events, mut begun, mut last) = (0, None, Ns::MIN);
        let mut found = self.walk(&mut |event, is_beyond| {
            events += 1;
            begun.get_or_insert(event.time);
            last = last.max(event.time);
            used[usize::from(event.base)] = true;
            let [armed, fired] = &mut starts[usize::from(event.base)];
            *armed += u64::from(event.what.armed().is_some());
            *fired += u64::from(event.what == What::Fire);
            if !is_beyond {
                describer.push(event);
            }
            ControlFlow::Continue(())
        })?;
        found.whole = Extent { events, span_ns: begun.map_or(0, |begun| last.abs_diff(begun)) };
        let is_wait =
            |at: usize| found.header.bases.get(at).is_some_and(|base| WAITS.contains(&base.name.as_str()));
        let of_timers = starts.iter().enumerate().filter(|(at, _)| !is_wait(*at)).map(|(_, both)| both);
        let [armed, fired] = of_timers.fold([0_u64; 2], |sum, both| [sum[0] + both[0], sum[1] + both[1]]);
        found.starts = armed.max(fired);
        if !self.bases().is_empty() {
            let all: u64 = found.queues.iter().map(|(_, count)| count).sum();
            let names = name(&self.bases().join(","));
            found.filter = Some(format!("--base '{names}' leaves {events} of {all} events"));
        }
        let bases = found.header.bases.iter().zip(&used).filter(|(_, used)| **used);
        let bases: Vec<&str> = bases.map(|(base, _)| base.name.as_str()).collect();
        found.waits_alone = !bases.is_empty() && bases.iter().all(|base| WAITS.contains(base));
        let has = |names: &[&str]| bases.iter().find(|base| names.contains(base)).map(|base| (*base).into());
        let (of_loop, wait) = (has(&["libevent", "libuv", "libev"]), has(&["epoll", "poll", "select"]));
        found.repeats = of_loop.zip(wait).map(|(of_loop, wait)| [of_loop, wait]);
        let profile = describer.finish(&found.threads, &found.sites);
        if profile.events == 0 {
            return Err(LabError::usage(self.without_events(&found)));
        }
        Ok((profile, found))
    }

    /// Returns why no event is left: nothing was recorded, or `--base` leaves every queue out.
    fn without_events(&self, found: &Found) -> String {
        let file = self.name();
        if self.bases().is_empty() || found.queues.is_empty() {
            return format!("{file} has no events: nothing was recorded");
        }
        let queues = found.queues.iter().map(|(queue, count)| format!("{queue} ({count} events)"));
        let (names, queues) = (name(&self.bases().join(",")), queues.collect::<Vec<_>>().join(", "));
        format!("--base '{names}' leaves no event of {file}, which has {queues}")
    }
}

/// Copies of a stream of events that are merged by time.
struct Merge {
    /// Events that at least one copy still needs.
    window: VecDeque<Event>,
    /// The number of the first event of the window.
    first: u64,
    /// For each copy, its next event: the event's time, the copy and the event's number.
    next: BinaryHeap<Reverse<(Ns, u32, u64)>>,
    /// Copies whose next event has not been read yet.
    starved: Vec<u32>,
    /// The length at which the window is trimmed.
    trim_at: usize,
}

impl Merge {
    fn take(&mut self, event: &Event, shift: impl Fn(u32) -> Ns) {
        let number = self.first + self.window.len() as u64;
        self.window.push_back(*event);
        let due = |copy| Reverse((event.time.saturating_add(shift(copy)), copy, number));
        self.next.extend(self.starved.drain(..).map(due));
    }

    /// Passes on the events up to `until`, or all events if it is `None`.
    fn emit(
        &mut self,
        until: Option<Ns>,
        shift: impl Fn(u32) -> Ns,
        each: &mut dyn FnMut(u32, &Event) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while let Some(&Reverse((time, copy, number))) = self.next.peek() {
            if until.is_some_and(|until| time > until) {
                break;
            }
            self.next.pop();
            let at = usize::try_from(number - self.first).unwrap_or(usize::MAX);
            let Some(event) = self.window.get(at) else { continue };
            each(copy, &shifted(event, shift(copy)))?;
            match self.window.get(at + 1) {
                Some(event) => {
                    self.next.push(Reverse((event.time.saturating_add(shift(copy)), copy, number + 1)));
                }
                None => self.starved.push(copy),
            }
        }
        // The window is trimmed only when it has doubled, so the search for the first event that is
        // still needed is rare.
        if self.window.len() >= self.trim_at {
            let needed = self.next.iter().map(|Reverse((_, _, number))| *number).min();
            let gone =
                needed.map_or(self.window.len(), |needed| usize::try_from(needed - self.first).unwrap_or(0));
            self.window.drain(..gone);
            self.first += gone as u64;
            self.trim_at = 2 * self.window.len() + 4096;
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether the events of a queue count. A name that begins with `!` excludes a queue. If
/// all names begin with `!`, the remaining queues count.
fn counts(bases: &[String], name: &str) -> bool {
    let excluded = |base: &String| base.strip_prefix('!') == Some(name);
    let wanted = bases.iter().all(|base| base.starts_with('!')) || bases.iter().any(|base| base == name);
    wanted && !bases.iter().any(excluded)
}

fn shifted(event: &Event, by: Ns) -> Event {
    let later = |deadline: Ns| deadline.saturating_add(by);
    let what = match event.what {
        What::Arm { deadline, period } => What::Arm { deadline: later(deadline), period },
        What::Rearm { deadline, period } => What::Rearm { deadline: later(deadline), period },
        other => other,
    };
    Event { time: event.time.saturating_add(by), what, ..*event }
}

fn found(reader: &Reader<Box<dyn Read>>, mut notes: Vec<String>) -> Found {
    let lost = reader.lost().iter().fold(0, |sum: u64, lost| sum.saturating_add(lost.count));
    let lost = reader.lost_total().unwrap_or(0).max(lost);
    if lost > 0 || !reader.lost().is_empty() {
        let count = if lost > 0 { lost.to_string() } else { "an unknown number of".into() };
        notes.push(format!("the source lost {count} events: figures are too low"));
    }
    notes.extend(reader.remarks().iter().map(|remark| name(&remark.to_string())));
    let unreadable =
        reader.remarks().iter().filter(|remark| remark.is_unreadable()).map(|remark| remark.count);
    let gaps = Gaps {
        losses: reader.lost().len() as u64,
        lost,
        unreadable: unreadable.fold(0, u64::saturating_add),
    };
    Found {
        header: shown(reader.header()),
        threads: reader.threads().clone(),
        sites: reader.sites().clone(),
        notes,
        gaps,
        ..Found::default()
    }
}

/// Returns a header whose words are safe to print. A trace can come from an untrusted source, and a
/// name in it could contain an escape sequence.
fn shown(header: &Header) -> Header {
    let mut header = header.clone();
    let bases = header.bases.iter_mut().map(|base| &mut base.name);
    let words = [&mut header.of, &mut header.source, &mut header.clock, &mut header.started];
    for word in words.into_iter().chain(bases).chain(&mut header.unseen) {
        *word = name(word);
    }
    header
}

/// Opens a trace; `-` is standard input, and `sample:NAME` is a recording that is built into this
/// program.
///
/// # Errors
/// A usage error that names the file.
pub(crate) fn open(path: &Path) -> Result<Reader<Box<dyn Read>>, LabError> {
    let file = name(&path.display().to_string());
    let cannot =
        |error: &dyn core::fmt::Display| LabError::usage(format!("'{file}' cannot be read: {error}"));
    let from: Box<dyn Read> = if let Some(sample) = samples::find(path) {
        Box::new(sample.map_err(|why| cannot(&why))?.bytes)
    } else if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).map_err(|error| cannot(&error))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(cannot(&"it is a folder"));
        }
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    Reader::new(from).map_err(|error| cannot(&error))
}
