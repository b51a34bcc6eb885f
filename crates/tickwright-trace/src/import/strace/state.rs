//! The state of the import between two lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

mod timers;

use super::args::{Args, Outcome, count, interval};
use super::call::{BASES, CALLS, Call, Ended, ITIMER, POSIX, TIMERFD, TimeOut, Wait, call};
use super::clock::{Clock, Clocks, Due};
use super::found::Strace;
use super::line::{Body, Line, Stamp, digits, find};
use super::queue::{Did, Events, Seen};
use super::tasks::{End, Open, Tasks, Waiting};
use crate::error::TraceError;
use crate::event::Ns;
use crate::import::source::LONGEST;

/// How long after a deadline the import waits for a line that shows the expiry.
const GRACE: Ns = 100_000_000;

/// The key of a timer: its process, its queue, and a descriptor, id or clock.
type Key = (u32, u8, i64);

/// A timer of a process.
#[derive(Debug)]
struct Timer {
    number: u64,
    /// The clock of the timer's deadlines. `None`: unknown.
    clock: Option<Clock>,
    /// Whether the timer counts processor time.
    is_computing: bool,
    is_pending: bool,
    due: Due,
    /// The stamp under which it is in the set of deadlines.
    at: Option<Ns>,
    period: u64,
    /// Whether the timer has expired since it was armed.
    has_expired: bool,
    /// Whether the timer ends when the process executes another program.
    ends_at_exec: bool,
    /// The thread that armed the timer.
    thread: u32,
    /// Its last event.
    last: Ns,
}

/// The state after the lines so far.
#[derive(Debug)]
pub(super) struct State<W: Write> {
    pub(super) found: Strace,
    events: Events<W>,
    clocks: Clocks,
    tasks: Tasks,
    timers: BTreeMap<Key, Timer>,
    /// The one-shot timers whose stamp is known, by deadline.
    deadlines: BTreeSet<(Ns, Key)>,
    /// The calls whose time-out becomes known only when they end, in the order of their starts.
    holding: BTreeSet<(Ns, u32)>,
    numbers: u64,
    now: Ns,
    last: Ns,
    /// The thread whose line was cut in two by a message of strace.
    torn: Option<u32>,
}

impl<W: Write> State<W> {
    pub(super) fn new(of: &str, to: W) -> Self {
        Self {
            found: Strace::default(),
            events: Events::new(of, to),
            clocks: Clocks::default(),
            tasks: Tasks::default(),
            timers: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            holding: BTreeSet::new(),
            numbers: 0,
            now: 0,
            last: 0,
            torn: None,
        }
    }

    /// Takes in a line that has a stamp.
    pub(super) fn line(&mut self, line: &Line<'_>) -> Result<(), TraceError> {
        let time = match line.stamp {
            Stamp::Unix(ns) => ns,
            Stamp::Since(ns) => {
                self.clocks.is_relative = true;
                self.now.saturating_add(ns)
            }
            Stamp::OfDay | Stamp::Missing => return Ok(()),
        };
        self.torn = None;
        self.now = time;
        self.last = self.last.max(time);
        if self.events.start.is_none() {
            self.events.start = Some(time);
            self.events.is_relative = self.clocks.is_relative;
        }
        self.expire(time.saturating_sub(GRACE));
        let first = self.holding.first().map_or(Ns::MAX, |&(start, _)| start);
        self.events.write(first.min(time.saturating_sub(GRACE)), &self.clocks)?;
        let number = self.tasks.number(line.task);
        if self.tasks.task(number).name == 0 {
            let name = match (line.name, line.task) {
                (b"", None) => String::new(),
                (b"", Some(task)) => task.to_string(),
                (name, task) => format!("{}-{}", String::from_utf8_lossy(name), task.unwrap_or(0)),
            };
            self.tasks.task(number).name = self.events.names.number(&name);
        }
        match line.body {
            Body::Call { name, rest } => {
                let at = call(name);
                self.settle(number, time, at);
                if let Some(at) = at {
                    self.whole(number, at, time, rest, None, false);
                }
            }
            Body::Begin { name, rest, child } => {
                let at = call(name);
                self.settle(number, time, at);
                if let Some(at) = at {
                    self.begin(number, at, time, rest);
                    if child.is_some() {
                        self.torn = Some(number);
                    }
                }
                if let Some(child) = child {
                    // This adds the child's thread, so its number counts as explained.
                    self.tasks.task(child);
                }
            }
            Body::Resume { name, rest } => self.resume(number, call(name), rest, Some(time)),
            Body::Signal(text) => {
                let process = self.tasks.task(number).process;
                self.signal(process, text, time);
            }
            Body::Exit => self.exit(number, time),
            Body::Other => {}
        }
        Ok(())
    }

    /// Takes in a line without a stamp. On a terminal it may be the rest of the previous line,
    /// which a message cut in two. Returns whether it was such a rest.
    pub(super) fn go_on(&mut self, text: &[u8]) -> Result<bool, TraceError> {
        let Some(number) = self.torn.take() else { return Ok(false) };
        let text = text.trim_ascii_end();
        match text.strip_suffix(b"<unfinished ...>") {
            Some(more) => {
                if let Some(open) = &mut self.tasks.task(number).open {
                    let room = LONGEST.saturating_sub(open.text.len());
                    open.text.extend_from_slice(&more[..more.len().min(room)]);
                }
            }
            None => {
                let at = self.tasks.task(number).open.as_ref().map(|open| open.call);
                self.resume(number, at, text, None);
            }
        }
        Ok(true)
    }

    /// Takes in the first half of a call, which another line continues.
    fn begin(&mut self, number: u32, at: usize, start: Ns, text: &[u8]) {
        if CALLS[at].1 == Call::Clone {
            self.tasks.begin_clone(number, find(text, b"CLONE_THREAD").is_some());
        }
        let mut holds = false;
        if let Call::Wait(wait) = CALLS[at].1 {
            match wait.time_out(start, &Args::of(text)) {
                TimeOut::At(due) => self.arm_wait(number, at, wait, start, due),
                TimeOut::Missing => holds = true,
                TimeOut::None | TimeOut::Bad => {}
            }
        }
        if holds {
            self.holding.insert((start, number));
        }
        let text = text[..text.len().min(LONGEST)].to_vec();
        self.tasks.task(number).open = Some(Open { start, call: at, text, holds });
    }

    /// Takes in the second half of a call. `time` is the stamp of the line.
    fn resume(&mut self, number: u32, at: Option<usize>, rest: &[u8], time: Option<Ns>) {
        let Some(mut open) = self.take_open(number) else { return };
        if at != Some(open.call) {
            self.found.count.unreadable += 1;
            self.cancel_wait(number, time.unwrap_or(open.start));
            return;
        }
        let is_armed = self.tasks.task(number).waiting.is_some();
        open.text.extend_from_slice(rest);
        self.whole(number, open.call, open.start, &open.text, time, is_armed);
    }

    fn take_open(&mut self, number: u32) -> Option<Open> {
        let open = self.tasks.task(number).open.take()?;
        if open.holds {
            self.holding.remove(&(open.start, number));
        }
        Some(open)
    }

    /// Ends a pending wait of a thread, because the thread does something else now.
    fn settle(&mut self, number: u32, time: Ns, at: Option<usize>) {
        if let Some(open) = self.take_open(number) {
            // The second half of the call is missing.
            if let Call::Wait(_) = CALLS[open.call].1 {
                self.found.count.unreadable += 1;
            }
        }
        let Some(waiting) = self.tasks.task(number).waiting else { return };
        match waiting.end {
            End::Stopped(_) if at.is_some_and(|at| CALLS[at].1 == Call::Restart) => {}
            End::Stopped(end) => self.cancel_wait(number, end),
            End::Unknown | End::Early => self.cancel_wait(number, time),
            End::Over => self.end_wait(number, time, Did::Fire),
        }
    }

    /// A whole call. `resumed` is the stamp of the call's second half.
    fn whole(&mut self, number: u32, at: usize, start: Ns, text: &[u8], resumed: Option<Ns>, armed: bool) {
        let args = Args::of(text);
        let kind = CALLS[at].1;
        let process = self.tasks.task(number).process;
        let Some(outcome) = args.after.and_then(Outcome::of) else {
            let of_timer = match kind {
                Call::Read | Call::Close => {
                    args.id(0).is_some_and(|fd| self.timers.contains_key(&(process, TIMERFD, fd)))
                }
                Call::Opens | Call::CloseRange | Call::Clone | Call::Exec | Call::Gettime => false,
                _ => true,
            };
            self.found.count.unreadable += u64::from(of_timer);
            if armed {
                self.cancel_wait(number, resumed.unwrap_or(start));
            }
            return;
        };
        let end = outcome.took.map(|took| start.saturating_add(took)).or(resumed);
        self.last = self.last.max(end.unwrap_or(start));
        let good = outcome.good();
        match kind {
            Call::Wait(wait) => {
                self.wait(number, at, wait, start, &args, &outcome, end, armed);
                // The thread may have waited for the signal of a timer.
                if BASES[usize::from(wait.base)].0 == "signal" && good.is_some() {
                    self.signal(process, args.get(1), end.unwrap_or(start));
                }
            }
            Call::Restart => self.restart(number, &outcome, end),
            Call::TimerfdCreate => {
                if let Some(fd) = good {
                    let ends_at_exec = find(args.get(1), b"CLOEXEC").is_some();
                    self.create((process, TIMERFD, fd), args.get(0), ends_at_exec, start);
                }
            }
            Call::TimerCreate => {
                let id = args.get(2).strip_prefix(b"[").and_then(digits);
                match (good, id.and_then(|(id, _)| i64::try_from(id).ok())) {
                    (Some(_), Some(id)) => self.create((process, POSIX, id), args.get(0), true, start),
                    (Some(_), None) => self.found.count.unreadable += 1,
                    (None, _) => {}
                }
            }
            Call::TimerfdSettime | Call::TimerSettime if good.is_some() => {
                let base = if kind == Call::TimerSettime { POSIX } else { TIMERFD };
                match (args.id(0), interval(args.get(2), 1)) {
                    (Some(id), Some(times)) => {
                        let is_absolute = find(args.get(1), b"TIMER_ABSTIME").is_some()
                            || find(args.get(1), b"TFD_TIMER_ABSTIME").is_some();
                        self.set((process, base, id), at, number, start, times, is_absolute);
                    }
                    _ => self.found.count.unreadable += 1,
                }
            }
            Call::Setitimer if good.is_some() => match (itimer(args.get(0)), interval(args.get(1), 1_000)) {
                (Some(id), Some(times)) => self.set((process, ITIMER, id), at, number, start, times, false),
                _ => self.found.count.unreadable += 1,
            },
            Call::Alarm if good.is_some() => match args.id(0) {
                Some(seconds) => {
                    let times = (0, seconds.saturating_mul(1_000_000_000));
                    self.set((process, ITIMER, 0), at, number, start, times, false);
                }
                None => self.found.count.unreadable += 1,
            },
            Call::TimerDelete if good.is_some() => match args.id(0) {
                Some(id) => self.remove((process, POSIX, id), start),
                None => self.found.count.unreadable += 1,
            },
            Call::Read if good == Some(8) => {
                let key = args.id(0).map(|fd| (process, TIMERFD, fd));
                if let Some(key) = key.filter(|key| self.timers.contains_key(key)) {
                    let expiries = count(args.get(1)).unwrap_or(1);
                    self.fire(key, end.unwrap_or(start), expiries.saturating_sub(1));
                }
            }
            Call::Close if good.is_some() => {
                if let Some(fd) = args.id(0) {
                    self.remove((process, TIMERFD, fd), start);
                }
            }
            Call::CloseRange if good.is_some() => {
                if let (Some(first), Some(last)) = (args.id(0), args.id(1)) {
                    self.remove_range((process, TIMERFD, first), (process, TIMERFD, last), start, false);
                }
            }
            Call::Opens => {
                if let Some(fd) = good {
                    self.remove((process, TIMERFD, fd), start);
                }
            }
            Call::Gettime if good.is_some() => {
                if let Some(end) = end {
                    self.clocks.read(args.get(0), args.get(1), end);
                }
            }
            Call::Clone => {
                if let Some(child) = good.filter(|&child| child > 0) {
                    let is_thread = find(text, b"CLONE_THREAD").is_some();
                    self.tasks.clone(number, child as u32, is_thread);
                }
            }
            Call::Exec if good.is_some() => {
                self.remove_range((process, TIMERFD, 0), (process, POSIX, i64::MAX), start, true);
            }
            _ => {}
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are what a line says")]
    fn wait(
        &mut self,
        number: u32,
        at: usize,
        wait: Wait,
        start: Ns,
        args: &Args<'_>,
        outcome: &Outcome<'_>,
        end: Option<Ns>,
        armed: bool,
    ) {
        let ended = wait.ended(outcome);
        let due = match wait.time_out(start, args) {
            TimeOut::At(due) => due,
            TimeOut::None => {
                self.found.untimed += 1;
                return;
            }
            TimeOut::Missing | TimeOut::Bad => {
                self.found.count.unreadable += u64::from(ended != Ended::Refused);
                if armed {
                    self.cancel_wait(number, end.unwrap_or(start));
                }
                return;
            }
        };
        if !armed {
            if ended == Ended::Refused {
                return;
            }
            self.arm_wait(number, at, wait, start, due);
        }
        match (ended, end) {
            (Ended::Over, Some(end)) => {
                self.clocks.over(due, end);
                self.end_wait(number, end, Did::Fire);
            }
            (Ended::Over, None) => match self.clocks.stamp(due) {
                Some(at) => self.end_wait(number, at, Did::Fire),
                None => self.end_at_next(number, End::Over),
            },
            (Ended::Stopped, end) => self.end_at_next(number, end.map_or(End::Early, End::Stopped)),
            (Ended::Early | Ended::Refused, Some(end)) => self.cancel_wait(number, end),
            (Ended::Early | Ended::Refused, None) => self.end_at_next(number, End::Early),
        }
    }

    /// Continues a wait that a signal stopped.
    fn restart(&mut self, number: u32, outcome: &Outcome<'_>, end: Option<Ns>) {
        let end = end.unwrap_or(self.now);
        let Some(waiting) = self.tasks.task(number).waiting else { return };
        let Call::Wait(wait) = CALLS[waiting.call].1 else { return };
        match wait.ended(outcome) {
            Ended::Over => self.end_wait(number, end, Did::Fire),
            Ended::Stopped => self.end_at_next(number, End::Stopped(end)),
            Ended::Early | Ended::Refused => self.cancel_wait(number, end),
        }
    }

    fn arm_wait(&mut self, number: u32, at: usize, wait: Wait, start: Ns, due: Due) {
        self.clocks.armed(due, start);
        let next = self.numbers + 1;
        let task = self.tasks.task(number);
        let timer = &mut task.timers[usize::from(wait.base)];
        if *timer == 0 {
            (*timer, self.numbers) = (next, next);
        }
        task.waiting = Some(Waiting { call: at, base: wait.base, end: End::Unknown });
        let (timer, thread) = (*timer, task.name);
        let did = Did::Arm { due, period: 0, was_pending: false };
        let (time, site) = (start.max(task.ended), at as u8 + 1);
        task.ended = time;
        self.events.push(Seen { time, timer, base: wait.base, site, thread, did });
    }

    fn cancel_wait(&mut self, number: u32, end: Ns) {
        self.end_wait(number, end, Did::Cancel);
    }

    fn end_wait(&mut self, number: u32, end: Ns, did: Did) {
        let task = self.tasks.task(number);
        let Some(Waiting { call, base, .. }) = task.waiting.take() else { return };
        self.found.early += u64::from(did == Did::Cancel);
        // The durations of `-T` and the stamps come from two clocks.
        let time = end.max(task.ended);
        task.ended = time;
        let (timer, thread) = (task.timers[usize::from(base)], task.name);
        self.events.push(Seen { time, timer, base, site: call as u8 + 1, thread, did });
    }

    fn end_at_next(&mut self, number: u32, end: End) {
        if let Some(waiting) = &mut self.tasks.task(number).waiting {
            waiting.end = end;
        }
    }

    /// A thread ended.
    fn exit(&mut self, number: u32, time: Ns) {
        self.end_open(number);
        self.settle_at_exit(number, time);
        if let Some((task, true)) = self.tasks.exit(number) {
            self.remove_range((task.process, 0, 0), (task.process, u8::MAX, i64::MAX), time, false);
        }
    }

    /// Settles a call that has begun and will not end.
    fn end_open(&mut self, number: u32) {
        let Some(open) = self.take_open(number) else { return };
        let Call::Wait(wait) = CALLS[open.call].1 else { return };
        if self.tasks.task(number).waiting.is_none() {
            match wait.time_out(open.start, &Args::of(&open.text)) {
                TimeOut::At(due) => self.arm_wait(number, open.call, wait, open.start, due),
                TimeOut::None => self.found.untimed += 1,
                TimeOut::Missing | TimeOut::Bad => {}
            }
        }
    }

    fn settle_at_exit(&mut self, number: u32, time: Ns) {
        match self.tasks.task(number).waiting.map(|waiting| waiting.end) {
            Some(End::Over) => self.end_wait(number, time, Did::Fire),
            Some(End::Stopped(end)) => self.cancel_wait(number, end),
            Some(End::Unknown | End::Early) => self.cancel_wait(number, time),
            None => {}
        }
    }

    /// Ends the file. `None`: there is no event.
    pub(super) fn finish(mut self) -> Result<(Option<W>, Strace), TraceError> {
        self.expire(self.last);
        for number in self.tasks.numbers() {
            self.end_open(number);
            match self.tasks.task(number).waiting.map(|waiting| waiting.end) {
                Some(End::Over | End::Early | End::Stopped(_)) => self.settle_at_exit(number, self.last),
                // The thread was still waiting.
                Some(End::Unknown) | None => {}
            }
        }
        let to = self.events.finish(&self.clocks, &self.found.count)?;
        let counts = self.events.counts;
        let found = &mut self.found;
        (found.arms, found.rearms) = (counts.arms, counts.rearms);
        (found.cancels, found.fires, found.guessed) = (counts.cancels, counts.fires, counts.guessed);
        found.count.events = counts.arms + counts.rearms + counts.cancels + counts.fires;
        Ok((to, self.found))
    }
}

/// The number of the interval timer, of three.
fn itimer(name: &[u8]) -> Option<i64> {
    let all = [&b"ITIMER_REAL"[..], b"ITIMER_VIRTUAL", b"ITIMER_PROF"];
    all.iter().position(|known| *known == name).map(|at| at as i64)
}
