//! Translates the records of processes into events of timers.
//!
//! ```text
//!   ARM  not pending -> arm      FIRE  pending -> fire
//!   ARM  pending     -> rearm    STOP  pending -> cancel      otherwise -> nothing
//! ```
//!
//! The kernel's timers and repeating timers of libev expire without a call, so this module lets
//! them fire at their deadline, or at the arm if the arm is later. A one-shot timer of libevent,
//! libuv or libev shows its expiry by a call. If a version of the library shows no expiries, this
//! module lets the timer fire when it is late by [`LATE_NS`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tickwright_preload::ring::{Record, op, source};
use tickwright_trace::What;

/// An event loop is assumed to run a timer at most this many ns late. If no expiry was seen by
/// then, the timer counts as expired.
const LATE_NS: u64 = 1_000_000_000;

/// The most expiries of one timer that one call adds; further expiries are counted as left out. A
/// timer with a period of some nanoseconds would otherwise add millions.
const MOST_AT_ONCE: u64 = 1000;

/// An event of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) time_ns: u64,
    pub(super) timer: u64,
    pub(super) source: u8,
    pub(super) what: What,
    pub(super) process: u32,
    /// The thread; 0: unknown.
    pub(super) thread: u32,
    /// The number of the processor plus 1; 0: unknown.
    pub(super) cpu: u16,
    /// The call site; 0: unknown.
    pub(super) site: u64,
}

/// A timer of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    source: u8,
    /// The timer's id. For a wait, the id of its thread.
    id: u64,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    number: u64,
    pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    /// The timer cannot have expired before this time.
    armed_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Expiries of one process that happened but were not added to the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// The time of the first such expiry.
    pub(super) time_ns: u64,
    pub(super) count: u64,
}

/// The timers of all processes that have not ended. Deadlines in events are relative to `start_ns`.
#[derive(Debug)]
pub(super) struct Translator {
    start_ns: u64,
    processes: BTreeMap<u32, Timers>,
    /// How many timers there have been, including ended ones. Timers are numbered from 1.
    count: u64,
}

/// The timers of one process.
#[derive(Debug, Default)]
struct Timers {
    all: HashMap<Key, Timer>,
    /// Pending timers that expire without a call, by deadline.
    silent: BTreeSet<(u64, Key)>,
    /// The kinds of event loops that have shown an expiry.
    showing: BTreeSet<u8>,
    left_out: Option<LeftOut>,
}

fn is_wait(of: u8) -> bool {
    of >= source::POLL
}

fn is_silent(of: u8, period_ns: u64) -> bool {
    matches!(of, source::TIMERFD | source::POSIX | source::ITIMER) || (of == source::LIBEV && period_ns > 0)
}

impl Translator {
    pub(super) fn new(start_ns: u64) -> Self {
        Self { start_ns, processes: BTreeMap::new(), count: 0 }
    }

    /// Returns how many timers there have been, including ended ones.
    pub(super) fn timers(&self) -> u64 {
        self.count
    }

    /// Returns the number of processes whose timers the translator holds.
    #[cfg(test)]
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Adds the earlier expiries of a process, and then translates a record of that process.
    pub(super) fn record(&mut self, process: u32, record: &Record, out: &mut Vec<Seen>) {
        self.until(process, record.time_ns, out);
        let id = if is_wait(record.source) { u64::from(record.thread) } else { record.id };
        let key = Key { source: record.source, id };
        let of = self.processes.entry(process).or_default();
        if record.op == op::FIRE && !is_wait(record.source) {
            of.showing.insert(record.source);
        }
        let timer = match of.all.get_mut(&key) {
            Some(timer) => timer,
            None if record.op != op::ARM => return,
            None => {
                self.count += 1;
                of.all.entry(key).or_insert(Timer { number: self.count, pending: None })
            }
        };
        let number = timer.number;
        let seen = |what| Seen {
            time_ns: record.time_ns,
            timer: number,
            source: record.source,
            what,
            process,
            thread: record.thread,
            cpu: record.cpu.saturating_add(1),
            site: record.site,
        };
        let was = timer.pending.take();
        if let Some(was) = was {
            of.silent.remove(&(was.deadline_ns, key));
        }
        match record.op {
            op::ARM => {
                let (deadline, period) = (since(self.start_ns, record.deadline_ns), record.period_ns);
                // The thread left its wait by a cancellation or `longjmp`, without returning from
                // the call.
                let is_left = was.is_some() && is_wait(record.source);
                if is_left {
                    out.push(seen(What::Cancel));
                }
                out.push(seen(match was {
                    Some(_) if !is_left => What::Rearm { deadline, period },
                    _ => What::Arm { deadline, period },
                }));
                let (armed_ns, deadline_ns) = (record.time_ns, record.deadline_ns);
                timer.pending = Some(Pending { armed_ns, deadline_ns, period_ns: period });
                if is_silent(record.source, period) {
                    of.silent.insert((deadline_ns, key));
                }
            }
            op::FIRE if was.is_some() => out.push(seen(What::Fire)),
            op::STOP if was.is_some() => out.push(seen(What::Cancel)),
            _ => {}
        }
    }

    /// For timers of a process that expire without a call, adds the expiries up to `now_ns`.
    pub(super) fn until(&mut self, process: u32, now_ns: u64, out: &mut Vec<Seen>) {
        let Some(of) = self.processes.get_mut(&process) else { return };
        while let Some(&(deadline_ns, key)) = of.silent.first() {
            if deadline_ns > now_ns {
                break;
            }
            of.silent.pop_first();
            let Some(timer) = of.all.get_mut(&key) else { continue };
            let Some(Pending { armed_ns, period_ns, .. }) = timer.pending.take() else { continue };
            let number = timer.number;
            let mut fire = |time_ns| out.push(Seen::quiet(time_ns, number, process, key, What::Fire));
            if deadline_ns < armed_ns || period_ns == 0 {
                // The kernel accepts a deadline in the past, and such a timer expires at once.
                fire(deadline_ns.max(armed_ns));
            }
            if period_ns == 0 {
                continue;
            }
            // Later expiries stay on the grid of the first deadline.
            let expiries = |from_ns: u64, to_ns: u64| {
                to_ns.checked_sub(from_ns).map_or(0, |over_ns| (over_ns / period_ns).saturating_add(1))
            };
            let passed = if deadline_ns < armed_ns { expiries(deadline_ns, armed_ns) } else { 0 };
            let first_ns = deadline_ns.saturating_add(passed.saturating_mul(period_ns));
            let count = expiries(first_ns, now_ns);
            let added = count.min(MOST_AT_ONCE);
            (0..added).for_each(|turn| fire(first_ns + turn * period_ns));
            if count > added {
                let time_ns = first_ns + added * period_ns;
                let sum = of.left_out.get_or_insert(LeftOut { time_ns, count: 0 });
                sum.count = sum.count.saturating_add(count - added);
            }
            let next_ns = count.checked_mul(period_ns).and_then(|over_ns| first_ns.checked_add(over_ns));
            let deadline_ns = next_ns.unwrap_or(u64::MAX);
            timer.pending = Some(Pending { armed_ns, deadline_ns, period_ns });
            // A timer whose next deadline exceeds the range of `u64` does not expire again.
            if next_ns.is_some() {
                of.silent.insert((deadline_ns, key));
            }
        }
    }

    /// Returns and resets the expiries of a process that [`Translator::until`] has left out since
    /// the last call.
    pub(super) fn left_out(&mut self, process: u32) -> Option<LeftOut> {
        self.processes.get_mut(&process)?.left_out.take()
    }

    /// Adds the overdue expiries of event loops that do not show their expiries. The cost is
    /// O(timers), so call it about once per second.
    pub(super) fn overdue(&mut self, now_ns: u64, out: &mut Vec<Seen>) {
        for (process, of) in &mut self.processes {
            for (key, timer) in &mut of.all {
                let is_shown = key.source > source::LIBEV || of.showing.contains(&key.source);
                let is_meant = |of: &Pending| !is_shown && !is_silent(key.source, of.period_ns);
                let Some(pending) = timer.pending.filter(is_meant) else { continue };
                let deadline_ns = pending.deadline_ns.max(pending.armed_ns);
                if deadline_ns.saturating_add(LATE_NS) < now_ns {
                    out.push(Seen::quiet(deadline_ns, timer.number, *process, *key, What::Fire));
                    let next = deadline_ns.saturating_add(pending.period_ns);
                    timer.pending = (pending.period_ns > 0)
                        .then_some(Pending { deadline_ns: next.max(now_ns), ..pending });
                }
            }
        }
    }

    /// Ends the timers of a process that has ended while other processes run.
    pub(super) fn ended(&mut self, process: u32, now_ns: u64, out: &mut Vec<Seen>) {
        let Some(of) = self.processes.get_mut(&process) else { return };
        of.silent.clear();
        for (key, timer) in &mut of.all {
            if let Some(pending) = timer.pending.take() {
                let time_ns = now_ns.max(pending.armed_ns);
                out.push(Seen::quiet(time_ns, timer.number, process, *key, What::Cancel));
            }
        }
    }

    /// Forgets the timers of a process that sends no more records.
    pub(super) fn forget(&mut self, process: u32) {
        self.processes.remove(&process);
    }
}

/// Returns the difference of two times of one clock. The difference fits into an `i64` unless a
/// record is damaged.
pub(super) fn since(start_ns: u64, time_ns: u64) -> i64 {
    i64::try_from(i128::from(time_ns) - i128::from(start_ns)).unwrap_or(i64::MAX)
}

impl Seen {
    /// Makes an event that no call has shown.
    fn quiet(time_ns: u64, timer: u64, process: u32, key: Key, what: What) -> Self {
        let thread = if is_wait(key.source) { key.id as u32 } else { 0 };
        Self { time_ns, timer, source: key.source, what, process, thread, cpu: 0, site: 0 }
    }
}

#[cfg(test)]
mod tests;
