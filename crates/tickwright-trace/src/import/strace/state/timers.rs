//! Timers of processes: timerfd, POSIX timers, interval timers.

use std::io::Write;

use super::super::call::{ITIMER, POSIX};
use super::super::clock::{Clock, Due};
use super::super::line::{digits, find};
use super::super::queue::{Did, Seen};
use super::{Key, State, Timer};
use crate::event::Ns;

impl<W: Write> State<W> {
    /// Creates a timer of a process.
    pub(super) fn create(&mut self, key: Key, clock: &[u8], ends_at_exec: bool, time: Ns) {
        self.remove(key, time);
        let timer = self.timer(key);
        timer.clock = Clock::of(clock);
        timer.is_computing = find(clock, b"CPUTIME").is_some();
        timer.ends_at_exec = ends_at_exec;
    }

    pub(super) fn timer(&mut self, key: Key) -> &mut Timer {
        self.timers.entry(key).or_insert_with(|| {
            self.numbers += 1;
            Timer {
                number: self.numbers,
                clock: None,
                // The clocks of ITIMER_VIRTUAL and ITIMER_PROF.
                is_computing: key.1 == ITIMER && key.2 > 0,
                is_pending: false,
                due: Due::At(0),
                at: None,
                period: 0,
                has_expired: false,
                ends_at_exec: key.1 == POSIX,
                thread: 0,
                last: Ns::MIN,
            }
        })
    }

    /// Arms a timer, or disarms it if the time is 0.
    pub(super) fn set(
        &mut self,
        key: Key,
        at: usize,
        number: u32,
        time: Ns,
        times: (Ns, Ns),
        is_absolute: bool,
    ) {
        let (interval, value) = times;
        let thread = self.tasks.task(number).name;
        self.infer(key, time);
        self.timer(key);
        let Some(timer) = self.timers.get_mut(&key) else { return };
        let was_pending = core::mem::take(&mut timer.is_pending);
        let time = time.max(timer.last);
        (timer.last, timer.thread) = (time, thread);
        let (base, site) = (key.1, at as u8 + 1);
        let event = Seen { time, timer: timer.number, base, site, thread, did: Did::Cancel };
        let before = timer.at.take();
        if value == 0 {
            if was_pending {
                self.events.push(event);
            }
        } else {
            // A deadline this large on an unknown clock is on the calendar's clock.
            let is_calendar = time > 0 && value > time / 2;
            let likely = if is_calendar { Clock::Realtime } else { Clock::Monotonic };
            let due = match is_absolute && !timer.is_computing {
                true => Due::On(timer.clock.unwrap_or(likely), value),
                false => Due::At(time.saturating_add(value)),
            };
            let period = interval.unsigned_abs();
            (timer.due, timer.period) = (due, period);
            (timer.is_pending, timer.has_expired) = (true, false);
            if interval == 0 && !timer.is_computing {
                timer.at = self.clocks.stamp(due);
                self.deadlines.extend(timer.at.map(|at| (at, key)));
            }
            self.clocks.armed(due, time);
            let did = Did::Arm { due, period, was_pending };
            self.events.push(Seen { did, ..event });
        }
        // If the new stamp equals the old one, the set holds it once and must keep it.
        let now = self.timers.get(&key).and_then(|timer| timer.at);
        if let Some(before) = before.filter(|&before| Some(before) != now) {
            self.deadlines.remove(&(before, key));
        }
    }

    /// Fires a timer, because a line shows that it expired.
    pub(super) fn fire(&mut self, key: Key, time: Ns, missed: u64) {
        let Some(timer) = self.timers.get_mut(&key).filter(|timer| timer.is_pending) else { return };
        if !timer.has_expired && missed == 0 {
            self.clocks.over(timer.due, time);
        }
        self.found.missed = self.found.missed.saturating_add(missed);
        timer.has_expired = true;
        timer.is_pending = timer.period > 0;
        let (base, site, time) = (key.1, 0, time.max(timer.last));
        timer.last = time;
        let (timer, thread, at) = (timer.number, timer.thread, timer.at.take());
        self.events.push(Seen { time, timer, base, site, thread, did: Did::Fire });
        if let Some(at) = at {
            self.deadlines.remove(&(at, key));
        }
    }

    /// Fires a timer that was due before `time`, although no line shows its expiry.
    pub(super) fn infer(&mut self, key: Key, time: Ns) {
        let Some(timer) = self.timers.get_mut(&key).filter(|timer| timer.is_pending) else { return };
        if timer.period > 0 || timer.is_computing {
            return;
        }
        let Some(due) = self.clocks.stamp(timer.due).filter(|&due| due <= time) else { return };
        timer.is_pending = false;
        // A deadline may have passed before the timer was armed.
        let due = due.max(timer.last);
        timer.last = due;
        let (number, thread, at) = (timer.number, timer.thread, timer.at.take());
        self.found.inferred += 1;
        self.events.push(Seen { time: due, timer: number, base: key.1, site: 0, thread, did: Did::Fire });
        if let Some(at) = at {
            self.deadlines.remove(&(at, key));
        }
    }

    /// Fires the one-shot timers that were due at `until`.
    pub(super) fn expire(&mut self, until: Ns) {
        while let Some(&(at, key)) = self.deadlines.first().filter(|(at, _)| *at <= until) {
            self.infer(key, until);
            // `infer` removes a timer that was due. This loop must end even if it did not.
            self.deadlines.remove(&(at, key));
        }
    }

    /// A timer ends.
    pub(super) fn remove(&mut self, key: Key, time: Ns) {
        if !self.timers.contains_key(&key) {
            return;
        }
        self.infer(key, time);
        let Some(timer) = self.timers.remove(&key) else { return };
        if let Some(at) = timer.at {
            self.deadlines.remove(&(at, key));
        }
        if timer.is_pending {
            let (base, site, thread) = (key.1, 0, timer.thread);
            let time = time.max(timer.last);
            self.events.push(Seen { time, timer: timer.number, base, site, thread, did: Did::Cancel });
        }
    }

    pub(super) fn remove_range(&mut self, first: Key, last: Key, time: Ns, at_exec: bool) {
        if first > last {
            return;
        }
        let ends = |timer: &Timer| timer.ends_at_exec || !at_exec;
        let keys: Vec<_> =
            self.timers.range(first..=last).filter(|(_, timer)| ends(timer)).map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.remove(key, time));
    }

    /// Takes in a signal, which may be a timer's.
    pub(super) fn signal(&mut self, process: u32, text: &[u8], time: Ns) {
        let after = |key: &[u8]| find(text, key).map(|at| &text[at + key.len()..]);
        let number = |key: &[u8]| after(key).and_then(digits).map(|(number, _)| number);
        if find(text, b"SI_TIMER").is_some() {
            let id = number(b"si_timerid=").and_then(|id| i64::try_from(id).ok());
            let key = match id {
                Some(id) => Some((process, POSIX, id)),
                // An old version does not name the timer; with only one timer it is clear.
                None => {
                    let all = self.timers.range((process, POSIX, 0)..=(process, POSIX, i64::MAX));
                    let mut pending = all.filter(|(_, timer)| timer.is_pending).map(|(key, _)| *key);
                    pending.next().filter(|_| pending.next().is_none())
                }
            };
            if let Some(key) = key {
                self.fire(key, time, number(b"si_overrun=").unwrap_or(0));
            }
            return;
        }
        let name = after(b"si_signo=").unwrap_or(text);
        let id = [&b"SIGALRM"[..], b"SIGVTALRM", b"SIGPROF"].iter().position(|known| name.starts_with(known));
        let is_sent = after(b"si_code=").is_some_and(|code| !code.starts_with(b"SI_KERNEL"));
        if let Some(id) = id.filter(|_| !is_sent) {
            self.fire((process, ITIMER, id as i64), time, 0);
        }
    }
}
