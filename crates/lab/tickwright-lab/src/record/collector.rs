//! Reads the rings of all processes alternately, and writes their events.

use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use tickwright_preload::mapped::Mapped;
use tickwright_preload::ring::{CAPACITY, Record};

use super::process::Process;
use super::sink::{Named, Sink};
use super::translate::{Seen, Translator};

/// The time between two checks of whether a process has ended, in ns.
const LOOK_NS: u64 = 50_000_000;
/// The time between two flushes of the trace; each flush also searches for overdue timers.
const FLUSH_NS: u64 = 1_000_000_000;
/// The longest time that a writer is assumed to take from its read of the clock to the end of its
/// record. An expiry at a deadline is written only after this time, because until then a record can
/// still arrive that stops the timer.
const SETTLE_NS: u64 = 20_000_000;

/// The state of the recorder: processes, timers and the trace.
#[derive(Debug)]
pub(super) struct Collector<W: Write> {
    folder: PathBuf,
    start_ns: u64,
    /// Which sources are written to the trace.
    only: [bool; 12],
    /// The ring files that were examined and still exist.
    known: HashSet<OsString>,
    processes: BTreeMap<u32, Process>,
    translator: Translator,
    pub(super) sink: Sink<W>,
    looked_ns: u64,
    flushed_ns: u64,
    pub(super) totals: Totals,
    batch: Vec<(u32, Record)>,
    seen: Vec<Seen>,
}

/// Sums over all processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) processes: u32,
    pub(super) records: u64,
    pub(super) timers: u64,
    /// Expiries that were left out, because there were too many.
    pub(super) left_out: u64,
    /// The time that the processes spent on recording, as they measured it themselves.
    pub(super) cost: Duration,
    /// The processor time of processes with records.
    pub(super) cpu: Duration,
}

impl<W: Write> Collector<W> {
    pub(super) fn new(folder: PathBuf, start_ns: u64, only: [bool; 12], sink: Sink<W>) -> Self {
        Self {
            folder,
            start_ns,
            only,
            known: HashSet::new(),
            processes: BTreeMap::new(),
            translator: Translator::new(start_ns),
            sink,
            looked_ns: 0,
            flushed_ns: start_ns,
            totals: Totals::default(),
            batch: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Returns how many processes are being recorded.
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Runs one turn at time `now_ns`. Returns how long the caller can wait before the next turn.
    pub(super) fn turn(&mut self, now_ns: u64) -> Duration {
        self.discover();
        let mut most = 0;
        for (number, process) in &mut self.processes {
            let batch = &mut self.batch;
            let portion = process.ring.drain(|record| batch.push((*number, record)));
            process.is_read = portion.is_whole;
            most = most.max(portion.records);
        }
        self.losses();
        self.deliver(now_ns);
        if now_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
            self.looked_ns = now_ns;
            self.bury(now_ns);
        }
        if now_ns.saturating_sub(self.flushed_ns) >= FLUSH_NS {
            self.flushed_ns = now_ns;
            self.translator.overdue(now_ns, &mut self.seen);
            self.write();
            let all: Vec<u32> = self.processes.keys().copied().collect();
            all.into_iter().for_each(|number| self.leave_out(number));
            self.sink.flush();
        }
        // A ring that fills up during this wait loses records, so there is no wait if a ring
        // received many records.
        Duration::from_millis(if most > CAPACITY / 16 { 0 } else { 4 })
    }

    /// Reads the remaining records and ends the trace. Called when no process writes any more, or
    /// when a signal ends the recording.
    pub(super) fn finish(&mut self, now_ns: u64) {
        self.turn(now_ns);
        self.bury(now_ns);
        self.settle(now_ns);
        self.write();
        let left: Vec<u32> = self.processes.keys().copied().collect();
        left.into_iter().for_each(|number| self.forget(number));
        self.totals.timers = self.translator.timers();
        self.sink.finish();
    }

    /// Maps new rings.
    fn discover(&mut self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if self.known.contains(&entry.file_name()) {
                continue;
            }
            match Mapped::open(&entry.path()) {
                // The process has not finished the header of its ring, or was killed before it
                // finished the header.
                Ok(None) => continue,
                Ok(Some(ring)) => {
                    let number = self.totals.processes;
                    self.totals.processes += 1;
                    self.processes.insert(number, Process::new(ring, entry.path(), number));
                }
                Err(error) => {
                    let note = format!("a ring could not be read: {error}");
                    self.sink.lost(self.start_ns, self.start_ns, 0, &note);
                }
            }
            self.known.insert(entry.file_name());
        }
    }

    /// Notes the records that were lost because a ring was full.
    fn losses(&mut self) {
        for process in self.processes.values_mut() {
            let lost = process.ring.header().lost.load(Relaxed);
            if lost > process.lost {
                let at = process.ring.header().lost_at_ns.load(Relaxed);
                let note = format!("the ring of process {} was full", process.pid);
                self.sink.lost(at, self.start_ns, lost - process.lost, &note);
                process.lost = lost;
            }
        }
    }

    /// Translates the records that were read, in time order, and writes the events.
    fn deliver(&mut self, now_ns: u64) {
        self.batch.sort_by_key(|(_, record)| record.time_ns);
        for (process, record) in self.batch.drain(..) {
            if self.only.get(usize::from(record.source)).is_some_and(|is_wanted| *is_wanted) {
                self.translator.record(process, &record, &mut self.seen);
            }
            if let Some(of) = self.processes.get(&process) {
                self.totals.records += 1;
                let ps = of.ring.header().cost_ps.load(Relaxed).min(1_000_000_000);
                self.totals.cost += Duration::from_nanos(ps / 1000);
            }
        }
        self.settle(now_ns.saturating_sub(SETTLE_NS));
        self.write();
    }

    /// Adds the expiries up to `until_ns` of processes whose rings were read to the head. In any
    /// other ring, there can be an uncommitted record that stops a timer before its deadline.
    fn settle(&mut self, until_ns: u64) {
        for (number, _) in self.processes.iter().filter(|(_, process)| process.is_read) {
            self.translator.until(*number, until_ns, &mut self.seen);
        }
    }

    /// Notes expiries of a process that were left out, because there were too many.
    fn leave_out(&mut self, number: u32) {
        let Some(left_out) = self.translator.left_out(number) else { return };
        self.totals.left_out = self.totals.left_out.saturating_add(left_out.count);
        let pid = self.processes.get(&number).map_or(0, |process| process.pid);
        let note = format!("timers of process {pid} expired too often to be written");
        self.sink.lost(left_out.time_ns, self.start_ns, left_out.count, &note);
    }

    fn write(&mut self) {
        // An expiry that no call showed can come after records with later times. The sort is
        // stable, so the events of one timer stay in order.
        self.seen.sort_by_key(|seen| seen.time_ns);
        let processes = &mut self.processes;
        let mut names = |process, of| match (processes.get_mut(&process), of) {
            (Some(process), Named::Thread(thread)) => process.thread(thread),
            (Some(process), Named::Site(address)) => process.site(address),
            (None, Named::Thread(thread)) => format!("thread/{thread}"),
            (None, Named::Site(address)) => format!("{address:#x}"),
        };
        for seen in self.seen.drain(..) {
            self.sink.push(&seen, self.start_ns, &mut names);
        }
    }

    /// Reads the rings of dead processes to their end, and forgets them.
    fn bury(&mut self, now_ns: u64) {
        // After an `exec`, a process has a second ring, and the directory does not list rings by
        // age.
        let mut newest: BTreeMap<u64, u64> = BTreeMap::new();
        for process in self.processes.values() {
            let began = newest.entry(process.pid).or_default();
            *began = process.started_ns().max(*began);
        }
        let is_over = |process: &mut Process| {
            newest.get(&process.pid).is_some_and(|began| process.started_ns() < *began) || !process.is_alive()
        };
        let over: Vec<u32> =
            self.processes.values_mut().filter_map(|of| is_over(of).then_some(of.number)).collect();
        let some_go_on = self.processes.len() > over.len();
        for number in over {
            let Some(process) = self.processes.get_mut(&number) else { continue };
            let batch = &mut self.batch;
            let torn = process.ring.drain_dead(|record| batch.push((number, record)));
            let pid = process.pid;
            self.losses();
            self.deliver(now_ns);
            // No more records follow.
            self.translator.until(number, now_ns, &mut self.seen);
            self.write();
            if torn > 0 {
                let note = format!("process {pid} was killed while it wrote");
                self.sink.lost(now_ns, self.start_ns, torn, &note);
            }
            if some_go_on {
                self.translator.ended(number, now_ns, &mut self.seen);
                self.write();
            }
            self.forget(number);
        }
    }

    fn forget(&mut self, number: u32) {
        self.leave_out(number);
        self.translator.forget(number);
        self.sink.forget(number);
        if let Some(process) = self.processes.remove(&number) {
            self.totals.cpu += process.cpu();
            // If the file cannot be removed, its name stays in `known`, because otherwise the next
            // turn would find the file again.
            if let (Ok(()), Some(name)) = (fs::remove_file(&process.path), process.path.file_name()) {
                self.known.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
