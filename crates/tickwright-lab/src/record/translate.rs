//! From what processes recorded to what happened to timers.
//!
//! ```text
//!   ARM  not pending -> arm      FIRE  pending -> fire
//!   ARM  pending     -> rearm    STOP  pending -> cancel      otherwise -> nothing
//! ```
//!
//! Timers of the kernel, and repeating timers of libev, expire without a call: they fire at their
//! deadline here. A timer of libevent, libuv or libev that expires once is seen to expire. Where a
//! version of the library does not show it, the timer fires here, once it is late by [`LATE_NS`].

use std::collections::{BTreeSet, HashMap};

use tickwright_preload::ring::{Record, op, source};
use tickwright_trace::What;

/// An event loop runs a timer at most this late. A later expiry counts as unseen.
const LATE_NS: u64 = 1_000_000_000;

/// The most expiries of one timer that are added in one turn. A timer with a period of some
/// nanoseconds would have millions.
const MOST_AT_ONCE: u64 = 1000;

/// Something that happened to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) time_ns: u64,
    pub(super) timer: u64,
    pub(super) source: u8,
    pub(super) what: What,
    pub(super) process: u32,
    /// 0: unknown.
    pub(super) thread: u32,
    /// The number of the processor plus 1; 0: unknown.
    pub(super) cpu: u16,
    /// 0: unknown.
    pub(super) site: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    process: u32,
    source: u8,
    /// For a wait its thread.
    id: u64,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    number: u64,
    pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    deadline_ns: u64,
    period_ns: u64,
}

/// The timers of all processes. Deadlines of events count from `start_ns`.
#[derive(Debug)]
pub(super) struct Translator {
    start_ns: u64,
    timers: HashMap<Key, Timer>,
    /// Pending timers that expire without a call, by deadline.
    silent: BTreeSet<(u64, Key)>,
    /// Processes and sources that have shown an expiry.
    showing: BTreeSet<(u32, u8)>,
}

fn is_wait(of: u8) -> bool {
    of >= source::POLL
}

fn is_silent(of: u8, period_ns: u64) -> bool {
    matches!(of, source::TIMERFD | source::POSIX | source::ITIMER) || (of == source::LIBEV && period_ns > 0)
}

impl Translator {
    pub(super) fn new(start_ns: u64) -> Self {
        Self { start_ns, timers: HashMap::new(), silent: BTreeSet::new(), showing: BTreeSet::new() }
    }

    /// How many timers there were.
    pub(super) fn timers(&self) -> usize {
        self.timers.len()
    }

    /// Takes what a process recorded, after the expiries that precede it.
    pub(super) fn record(&mut self, process: u32, record: &Record, out: &mut Vec<Seen>) {
        self.until(record.time_ns, out);
        let id = if is_wait(record.source) { u64::from(record.thread) } else { record.id };
        let key = Key { process, source: record.source, id };
        let next = self.timers.len() as u64 + 1;
        let known = self.timers.get(&key).copied();
        if known.is_none() && record.op != op::ARM {
            return;
        }
        let mut timer = known.unwrap_or(Timer { number: next, pending: None });
        let seen = |what| Seen {
            time_ns: record.time_ns,
            timer: timer.number,
            source: record.source,
            what,
            process,
            thread: record.thread,
            cpu: record.cpu.saturating_add(1),
            site: record.site,
        };
        if record.op == op::FIRE && !is_wait(record.source) {
            self.showing.insert((process, record.source));
        }
        let was = timer.pending.take();
        if let Some(was) = was {
            self.silent.remove(&(was.deadline_ns, key));
        }
        match record.op {
            op::ARM => {
                let (deadline, period) = (self.since_start(record.deadline_ns), record.period_ns);
                // A thread left its wait without a return: it was cancelled, or jumped.
                let is_left = was.is_some() && is_wait(record.source);
                if is_left {
                    out.push(seen(What::Cancel));
                }
                out.push(seen(match was {
                    Some(_) if !is_left => What::Rearm { deadline, period },
                    _ => What::Arm { deadline, period },
                }));
                let armed = Pending { deadline_ns: record.deadline_ns, period_ns: period };
                timer.pending = Some(armed);
                if is_silent(record.source, period) {
                    self.silent.insert((armed.deadline_ns, key));
                }
            }
            op::FIRE if was.is_some() => out.push(seen(What::Fire)),
            op::STOP if was.is_some() => out.push(seen(What::Cancel)),
            _ => {}
        }
        self.timers.insert(key, timer);
    }

    /// Adds the expiries up to `now_ns` of timers that expire without a call.
    pub(super) fn until(&mut self, now_ns: u64, out: &mut Vec<Seen>) {
        while let Some(&(deadline_ns, key)) = self.silent.first() {
            if deadline_ns > now_ns {
                break;
            }
            self.silent.pop_first();
            let Some(timer) = self.timers.get_mut(&key) else { continue };
            let Some(Pending { period_ns, .. }) = timer.pending.take() else { continue };
            let seen = |time_ns| Seen::quiet(time_ns, timer.number, key, What::Fire);
            if period_ns == 0 {
                out.push(seen(deadline_ns));
                continue;
            }
            let over = (now_ns - deadline_ns) / period_ns + 1;
            out.extend((0..over.min(MOST_AT_ONCE)).map(|turn| seen(deadline_ns + turn * period_ns)));
            let deadline_ns = deadline_ns.saturating_add(over.saturating_mul(period_ns));
            timer.pending = Some(Pending { deadline_ns, period_ns });
            self.silent.insert((deadline_ns, key));
        }
    }

    /// Adds expiries of event loops that do not show them. Costs O(timers): call it once a second.
    pub(super) fn overdue(&mut self, now_ns: u64, out: &mut Vec<Seen>) {
        for (key, timer) in &mut self.timers {
            let is_shown = key.source > source::LIBEV || self.showing.contains(&(key.process, key.source));
            let Some(pending) = timer.pending.filter(|_| !is_shown) else { continue };
            if pending.deadline_ns.saturating_add(LATE_NS) < now_ns {
                out.push(Seen::quiet(pending.deadline_ns, timer.number, *key, What::Fire));
                let next = pending.deadline_ns.saturating_add(pending.period_ns);
                timer.pending =
                    (pending.period_ns > 0).then_some(Pending { deadline_ns: next.max(now_ns), ..pending });
            }
        }
    }

    /// Ends the timers of a process that has ended while others go on.
    pub(super) fn ended(&mut self, process: u32, now_ns: u64, out: &mut Vec<Seen>) {
        for (key, timer) in self.timers.iter_mut().filter(|(key, _)| key.process == process) {
            if let Some(pending) = timer.pending.take() {
                self.silent.remove(&(pending.deadline_ns, *key));
                out.push(Seen::quiet(now_ns, timer.number, *key, What::Cancel));
            }
        }
    }

    fn since_start(&self, time_ns: u64) -> i64 {
        // The difference of two times of one clock; it fits unless a record is damaged.
        i64::try_from(i128::from(time_ns) - i128::from(self.start_ns)).unwrap_or(i64::MAX)
    }
}

impl Seen {
    /// An event that no call has shown.
    fn quiet(time_ns: u64, timer: u64, key: Key, what: What) -> Self {
        let thread = if is_wait(key.source) { key.id as u32 } else { 0 };
        Self { time_ns, timer, source: key.source, what, process: key.process, thread, cpu: 0, site: 0 }
    }
}

#[cfg(test)]
mod tests;
