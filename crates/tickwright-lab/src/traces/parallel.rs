//! `tickwright replay --threads`: the operations of a trace by the threads that made them.
//!
//! ```text
//!   trace ─ divide ─▶ window 0          window 1          ...
//!                     lane 0: arm, arm  lane 0: cancel         a lane is a thread here; the
//!                     lane 1: arm       lane 1: re-arm         threads of the trace share lanes
//!                              ────────          ────────      all lanes meet between windows
//! ```
//! Lanes run freely in a window. A timer belongs to one lane there: to the one that touches it
//! first, which also makes the operations of others on it. So an arm precedes its cancel, and lanes
//! contend as threads do. After the last window, outside the timed part, each structure is advanced
//! beyond the last deadline. By then each timer that was armed has expired once or was cancelled.

mod divide;
mod subject;

use core::time::Duration;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use self::divide::{Work, divide};
use self::subject::{Did, Run, Subject};
use super::input::Input;
use super::replay::{Plan as ReplayPlan, ReplayArgs, suitable_tick};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request;
use crate::progress::Progress;
use crate::render::Format;
use crate::result::{Finding, Section, Series, Table, Unit, labels};
use crate::rounds::Rounds;
use crate::stats;

/// The arguments of `replay`, with `--threads`.
pub(crate) struct OnThreads<'a>(pub(crate) &'a ReplayArgs);

/// A checked request.
#[derive(Debug)]
pub(crate) struct Plan {
    input: Input,
    lanes: usize,
    tick_ns: Option<u64>,
    rounds: usize,
    /// No round begins after this time, once there are enough.
    within: Duration,
    seed: u64,
}

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Threads of the trace that arm, re-arm or cancel.
    threads: usize,
    operations: usize,
    rows: Vec<Row>,
}

/// A structure under n lanes.
#[derive(Debug)]
struct Row {
    subject: Subject,
    lanes: usize,
    ns: Vec<f64>,
    /// Re-arms of shards without a lock, in percent of all operations.
    unlocked: Option<f64>,
}

impl Experiment for OnThreads<'_> {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "replay".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let settings = &self.0.settings;
        if settings.scale > 1 || settings.cold {
            return Err(LabError::usage(
                "--threads replays a trace as it is, without --scale and --cold: nothing was run",
            ));
        }
        if self.0.structures != ["*"] {
            return Err(LabError::usage(
                "--threads takes no --structures: it runs shards, and a wheel and a heap behind a lock",
            ));
        }
        let input = Input::of(&self.0.trace.trace, &self.0.trace.base, settings.seed.get())?;
        let lanes = thread::available_parallelism().map_or(1, usize::from);
        let ReplayPlan { tick_ns, rounds, within, seed, .. } =
            settings.plan(Input::Made(Vec::new()), Vec::new());
        Ok(Plan { input, lanes, tick_ns, rounds, within, seed })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        request::parameters([
            ("trace", plan.input.name().into()),
            ("threads", true.into()),
            ("lanes", plan.lanes.into()),
            ("rounds", plan.rounds.into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let (profile, found) = plan.input.describe(plan.tick_ns.unwrap_or(0))?;
        lab.notes.extend(found.notes);
        let tick_ns = plan.tick_ns.unwrap_or_else(|| suitable_tick(&plan.input, &profile));
        let work = divide(&plan.input, tick_ns, plan.lanes)?;
        if work.threads < 2 {
            let name = plan.input.name();
            return Err(LabError::usage(format!("{name} has one thread: replay it without --threads")));
        }
        if work.is_cut {
            lab.notes.push(format!("only the first {} operations are replayed", work.operations));
        }
        let alone = work.merged();
        let rows = rows_of(work.lanes);
        let mut unlocked = vec![None; rows.len()];
        let clock = OsClock::start();
        let progress = Progress::steps(((plan.rounds + 1) * rows.len()) as u64, "replay");
        let begun = clock.now();
        let more = || u128::from(clock.now().saturating_sub(begun)) <= plan.within.as_nanos();
        let taken = Rounds::new(plan.rounds, plan.seed).run_while(rows.len(), more, |turn| {
            let (subject, lanes) = rows[turn.lane];
            progress.doing(format!("{}, {lanes} threads", subject.name()));
            let (ns, _, some) = pass(subject, if lanes == 1 { &alone } else { &work }, clock)?;
            unlocked[turn.lane] = some.map(|some| 100.0 * some as f64 / work.operations as f64);
            progress.step();
            Ok::<_, LabError>(ns as f64 / work.operations as f64)
        })?;
        lab.interrupted |= taken.interrupted;
        let lanes = rows.into_iter().zip(taken.lanes()).zip(unlocked);
        let row = |(((subject, lanes), ns), unlocked)| Row { subject, lanes, ns, unlocked };
        Ok(Data { threads: work.threads, operations: work.operations, rows: lanes.map(row).collect() })
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        let series = |row: &Row| {
            let of = labels([("structure", row.subject.name().into()), ("threads", row.lanes.into())]);
            Series::new("replay", Unit::Ns, of).per("operation").of(row.ns.iter().copied())
        };
        data.rows.iter().map(series).collect()
    }

    fn findings(&self, _: &Plan, data: &Data) -> Vec<Finding> {
        let most = data.rows.iter().map(|row| row.lanes).max().unwrap_or(1);
        let of = |subject: Subject| {
            data.rows.iter().find(|row| row.subject == subject && row.lanes == most).map(|row| &row.ns[..])
        };
        let beside = |other: Subject| {
            let ratio = stats::ratios(of(Subject::Shards)?, of(other)?)?;
            let here = format!(
                "{:.2}x, interval {:.2} to {:.2}",
                ratio.median, ratio.interval.low, ratio.interval.high
            );
            let about = format!("{most} threads: {} beside {}", Subject::Shards.name(), other.name());
            Some(Finding::ratio(about, ratio, here))
        };
        [Subject::LockedWheel, Subject::LockedHeap].into_iter().filter_map(beside).collect()
    }

    fn sections(&self, _: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        let mut table = Table::new()
            .column("structure", Format::Text)
            .column("threads", Format::Thousands)
            .columns(["ns an operation", "from", "to"], Format::Ns)
            .column("without a lock, percent", Format::Fixed(1));
        for row in &data.rows {
            let Some(all) = stats::summarise(row.ns.iter().copied()) else { continue };
            table.row([
                row.subject.name().into(),
                row.lanes.into(),
                all.median.into(),
                all.interval.low.into(),
                all.interval.high.into(),
                row.unlocked.into(),
            ]);
        }
        let words = format!(
            "{} operations of {} threads; the time is that of the slowest thread, with the meetings",
            Format::Thousands.write(data.operations as f64),
            data.threads
        );
        let beside = findings
            .iter()
            .map(|found| format!("{}: {}; {}", found.about, found.here, found.verdict.words()));
        let beside = beside.collect::<Vec<_>>().join("\n");
        vec![Section::new("Replay on threads").text(words).table(table).text(beside)]
    }
}

/// Each structure on one lane, and on all lanes where there are several.
fn rows_of(lanes: usize) -> Vec<(Subject, usize)> {
    let all = [1, lanes];
    let all = if lanes > 1 { &all[..] } else { &all[..1] };
    all.iter().flat_map(|&lanes| Subject::ALL.map(|subject| (subject, lanes))).collect()
}

/// How timers ended, as the lanes counted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ends {
    armed: u64,
    fired: u64,
    cancelled: u64,
    /// Operations that the structure refused.
    refused: u64,
    /// Timers that are pending after the last of their ticks.
    pending: u64,
}

impl Ends {
    fn count(&mut self, did: Did) {
        match did {
            Did::Armed => self.armed += 1,
            Did::Cancelled => self.cancelled += 1,
            Did::Refused => self.refused += 1,
            Did::Moved | Did::Nothing => {}
        }
    }

    /// Each timer that was armed has one end.
    fn judge(self, name: &str) -> Result<Self, LabError> {
        let Self { armed, fired, cancelled, refused, pending } = self;
        if refused == 0 && pending == 0 && armed == fired + cancelled {
            return Ok(self);
        }
        Err(LabError::failed(format!(
            "{name}: {armed} timers were armed, {fired} expired, {cancelled} were cancelled, {pending} are \
             pending beyond the last deadline and {refused} operations were refused: no time of this run counts"
        )))
    }
}

/// Runs all windows on a fresh structure. Returns the time, the ends of timers, and the number of
/// re-arms without a lock.
fn pass(subject: Subject, work: &Work, clock: OsClock) -> Result<(u64, Ends, Option<u64>), LabError> {
    let run = subject.make(work.lanes, work.timers);
    let (ns, ends) = pass_on(&*run, work, clock);
    Ok((ns, ends.judge(subject.name())?, run.unlocked()))
}

/// Runs all windows, then advances beyond the last deadline, outside the timed part.
fn pass_on(run: &dyn Run, work: &Work, clock: OsClock) -> (u64, Ends) {
    let meeting = Barrier::new(work.lanes);
    let lanes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for lane in 0..work.lanes {
            let (meeting, lanes) = (&meeting, &lanes);
            scope.spawn(move || {
                let mut counts = Ends::default();
                meeting.wait();
                let begun = clock.now();
                for window in &work.windows {
                    let mut now = 0;
                    for op in &window.lanes[lane] {
                        if op.at > now {
                            now = op.at;
                            counts.refused += u64::from(!run.advance(lane, now));
                        }
                        counts.count(run.operate(lane, op));
                    }
                    meeting.wait();
                }
                let took = clock.now().saturating_sub(begun);
                lanes.lock().unwrap_or_else(PoisonError::into_inner).push((took, counts));
            });
        }
    });
    let lanes = lanes.into_inner().unwrap_or_else(PoisonError::into_inner);
    let slowest = lanes.iter().map(|(took, _)| *took).max();
    let sum = |of: fn(&Ends) -> u64| lanes.iter().map(|(_, counts)| of(counts)).sum::<u64>();
    let mut ends = Ends {
        armed: sum(|counts| counts.armed),
        cancelled: sum(|counts| counts.cancelled),
        refused: sum(|counts| counts.refused),
        ..Ends::default()
    };
    let last = work.last_deadline();
    let end = last.saturating_add(run.lateness(last));
    ends.refused += (0..work.lanes).filter(|lane| !run.advance(*lane, end)).count() as u64;
    (ends.fired, ends.pending) = (run.fired(), run.pending());
    (slowest.unwrap_or(0), ends)
}

#[cfg(test)]
mod tests;
