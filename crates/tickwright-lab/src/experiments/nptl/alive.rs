//! Many threads alive at once: how long they take to start, what each costs, and which limit stops
//! them.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tickwright_threads::{Attributes, Handle, LEAST_STACK, ThreadId, this_thread};

use super::model::{self, Knobs, Model};
use super::published::Goal;
use crate::clock::{Meter, OsClock};
use crate::interrupt;
use crate::limits::{self, Limit, Raised};
use crate::render::Format;
use crate::result::{Better, Finding, Section, Series, Table, Unit, labels};
use crate::stats::Verdict;

/// The task of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) model: Model,
    pub(crate) threads: u64,
    /// Bytes of each stack.
    pub(crate) stack: usize,
    pub(crate) guard: bool,
    /// Kernel threads under the M:N threads; `None` is one per core.
    pub(crate) workers: Option<usize>,
}

/// The result of an order.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// The number of threads that were alive at once.
    pub(crate) alive: u64,
    /// From the first creation until the last thread had begun, in ns.
    pub(crate) start_ns: u64,
    /// From the first creation until all threads were joined, in ns. The time for reading memory
    /// and limits is subtracted.
    pub(crate) end_ns: u64,
    /// Increase of resident memory, in bytes.
    pub(crate) resident: u64,
    /// Increase of mapped memory, in bytes.
    pub(crate) mapped: u64,
    /// The reason why no more threads were created; `None` if all were created.
    pub(crate) stopped: Option<String>,
    /// The limits at that time; empty if all threads started or the child could not report them.
    pub(crate) limits: Vec<Limit>,
}

/// An order and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) order: Order,
    pub(crate) outcome: Outcome,
}

/// Number of creations between two progress reports. The kernel may kill the child without a
/// message, and the last report then remains.
const TELL: u64 = 10_000;

/// Creates the threads in this process. A limit that stops the creation is part of the outcome.
/// Calls `tell` with the progress from time to time.
pub(super) fn here(order: &Order, tell: fn(&Outcome)) -> Outcome {
    let &Order { model, threads, stack, guard, workers } = order;
    let knobs = Knobs { guard: Some(guard), stack: Some(stack), workers, ..Knobs::default() };
    let _raised = Raised::threads();
    let stopped =
        |why| Outcome { stopped: Some(why), limits: limits::read(Path::new("/")), ..Outcome::default() };
    let runtime = match model::start(model, &knobs) {
        Ok(runtime) => runtime,
        Err(why) => return stopped(why),
    };
    let handle = runtime.handle();
    let ran = runtime.run(move || start_all(&handle, threads, tell));
    ran.unwrap_or_else(|error| stopped(error.to_string()))
}

fn start_all(handle: &Handle, threads: u64, tell: fn(&Outcome)) -> Outcome {
    let (begun, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut outcome = Outcome::default();
    // This memory is allocated before the memory is measured, because it is not a cost of the
    // threads.
    let mut ids: Vec<ThreadId> = Vec::with_capacity(usize::try_from(threads).unwrap_or(0));
    let attributes = Attributes::new();
    let (mapped, resident) = limits::memory();
    let clock = OsClock::start();
    for made in 0..threads {
        if interrupt::requested() {
            outcome.stopped = Some("interrupted".into());
            break;
        }
        if made > 0 && made.is_multiple_of(TELL) {
            tell(&Outcome { alive: made, ..Outcome::default() });
        }
        let (begun, over) = (Arc::clone(&begun), Arc::clone(&over));
        let made = handle.create(&attributes, move || {
            begun.fetch_add(1, Ordering::Relaxed);
            while !over.load(Ordering::Acquire) {
                this_thread::park();
            }
            0
        });
        match made {
            Ok(id) => ids.push(id),
            Err(error) => {
                outcome.stopped = Some(error.to_string());
                break;
            }
        }
    }
    // In every model, the creation reports errors in starting a thread. So all created threads will
    // begin.
    while begun.load(Ordering::Relaxed) < ids.len() as u64 {
        this_thread::yield_now();
    }
    outcome.start_ns = clock.now();
    outcome.alive = ids.len() as u64;
    let (mapped_now, resident_now) = limits::memory();
    outcome.mapped = mapped_now.saturating_sub(mapped);
    outcome.resident = resident_now.saturating_sub(resident);
    if outcome.stopped.is_some() {
        outcome.limits = limits::read(Path::new("/"));
    }
    let looked = clock.now();
    over.store(true, Ordering::Release);
    for &id in &ids {
        // A thread exists until it is joined, so this call does not fail.
        let _ = handle.unpark(id);
    }
    let joined = ids.into_iter().filter(|&id| handle.join(id).is_ok()).count() as u64;
    if joined != outcome.alive {
        outcome.stopped = Some(format!("{joined} of {} were joined", outcome.alive));
    }
    outcome.end_ns = outcome.start_ns + clock.now().saturating_sub(looked);
    outcome
}

pub(super) fn series(rows: &[Row]) -> Vec<Series> {
    let of_row = |row: &Row| {
        let Order { model, threads, stack, guard, .. } = row.order;
        let of = labels([
            ("model", model.name().into()),
            ("n", threads.into()),
            ("stack", stack.into()),
            ("guard", guard.into()),
        ]);
        let Outcome { alive, start_ns, end_ns, resident, mapped, .. } = row.outcome;
        let series = |name, unit, value: u64| Series::new(name, unit, of.clone()).of([value as f64]);
        [
            series("alive together", Unit::Count, alive).better(Better::Higher),
            series("start of all", Unit::Ns, start_ns),
            series("start and end of all", Unit::Ns, end_ns),
            series("resident", Unit::Bytes, resident),
            series("mapped", Unit::Bytes, mapped),
        ]
    };
    rows.iter().flat_map(of_row).collect()
}

impl Row {
    /// Whether `goal` applies to this order.
    fn has(&self, goal: &Goal) -> bool {
        let Order { model, threads, stack, guard, .. } = self.order;
        model == Model::ManyToMany && threads == goal.threads && stack == LEAST_STACK && !guard
    }

    /// One run decides, because the goal is a promise and not a mean.
    fn judged(&self, goal: &Goal) -> Finding {
        let Outcome { alive, start_ns, resident, .. } = self.outcome;
        let (start_s, mib) = (start_ns as f64 / 1e9, resident as f64 / 1048576.0);
        let held = alive == goal.threads && start_s < goal.start_s && mib < goal.resident_mib;
        let Goal { threads, start_s: most, resident_mib } = goal;
        let threads = Format::Thousands.write(*threads as f64);
        let about =
            format!("{threads} m:n threads alive together, started in {most} s, in {resident_mib} MiB");
        let alive = Format::Thousands.write(alive as f64);
        Finding::stated(about, format!("{alive} in {start_s:.3} s, in {mib:.0} MiB")).judged(if held {
            Verdict::Held
        } else {
            Verdict::Missed
        })
    }

    /// Why no more threads were created, as text.
    fn stopped(&self) -> Option<String> {
        let Outcome { alive, stopped, limits, .. } = &self.outcome;
        let (name, wanted, why) = (self.order.model.name(), self.order.threads, stopped.as_ref()?);
        Some(if limits.is_empty() {
            format!("{name}: stopped after {alive} of {wanted} or more: {why}")
        } else {
            format!("{name}: stopped at {alive} of {wanted}: {why}\n  {}", limits::met(limits))
        })
    }
}

/// Findings for the rows to which the goal applies.
pub(super) fn findings(rows: &[Row], goal: &Goal) -> Vec<Finding> {
    rows.iter().filter(|row| row.has(goal)).map(|row| row.judged(goal)).collect()
}

pub(super) fn section(rows: &[Row], goal: &Goal) -> Section {
    let mut table = Table::new().column("alive together", Format::Text).column("stack", Format::Text);
    table =
        table.column("guard", Format::Text).column("wanted", Format::Count).column("alive", Format::Count);
    table = table.column("start", Format::Span).column("start, end", Format::Span);
    table = table.column("resident, MiB", Format::Fixed(1)).column("KiB each", Format::Fixed(2));
    let mut table = table.column("mapped, MiB", Format::Thousands);
    for Row { order, outcome } in rows {
        let Outcome { alive, start_ns, end_ns, resident, mapped, .. } = *outcome;
        table.row([
            order.model.name().into(),
            format!("{}k", order.stack >> 10).into(),
            if order.guard { "on" } else { "off" }.into(),
            order.threads.into(),
            alive.into(),
            start_ns.into(),
            end_ns.into(),
            (resident as f64 / 1048576.0).into(),
            (resident as f64 / 1024.0 / alive.max(1) as f64).into(),
            (mapped as f64 / 1048576.0).into(),
        ]);
    }
    let goals = findings(rows, goal).into_iter();
    let goals = goals.map(|goal| format!("Goal: {}: {}", goal.about, goal.verdict.words()));
    let said: Vec<String> = goals.chain(rows.iter().filter_map(Row::stopped)).collect();
    Section::new("Threads alive together").table(table).text(said.join("\n"))
}
