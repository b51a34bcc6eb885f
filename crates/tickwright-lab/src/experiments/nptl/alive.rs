//! Many threads alive together: how long they take to start, what each costs, and which limit stops
//! them.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tickwright_threads::{Attributes, Handle, LEAST_STACK, ThreadId, this_thread};

use super::limits::{self, Limit};
use super::model::{self, Knobs, Model};
use crate::clock::{Meter, OsClock};
use crate::interrupt;
use crate::output::table;

/// What a child is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) model: Model,
    pub(crate) threads: u64,
    /// Bytes of each stack.
    pub(crate) stack: usize,
    pub(crate) guard: bool,
    /// Kernel threads under M:N ones; none is one for each core.
    pub(crate) workers: Option<usize>,
}

impl Order {
    pub(super) fn words(&self) -> String {
        let workers = self.workers.unwrap_or(0);
        format!("{}:{}:{}:{}:{workers}", self.model.id(), self.threads, self.stack, self.guard)
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no order for threads");
        let [model, threads, stack, guard, workers] = *text.split(':').collect::<Vec<_>>().as_slice() else {
            return Err(wrong());
        };
        Ok(Self {
            model: Model::ALL.into_iter().find(|each| each.id() == model).ok_or_else(wrong)?,
            threads: threads.parse().map_err(|_| wrong())?,
            stack: stack.parse().map_err(|_| wrong())?,
            guard: guard.parse().map_err(|_| wrong())?,
            workers: workers.parse().map(|workers| (workers > 0).then_some(workers)).map_err(|_| wrong())?,
        })
    }
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// Threads that were alive together.
    pub(crate) alive: u64,
    /// From the first creation until the last had begun, ns.
    pub(crate) start_ns: u64,
    /// From the first creation until all were joined, ns, less the look at memory and limits in
    /// between.
    pub(crate) end_ns: u64,
    /// More bytes resident than before.
    pub(crate) resident: u64,
    /// More bytes mapped than before.
    pub(crate) mapped: u64,
    /// Why there are not more.
    pub(crate) stopped: Option<String>,
    /// As they were then; empty when all started, and when the child could not tell.
    pub(crate) limits: Vec<Limit>,
}

/// A row of the report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) model: Model,
    pub(crate) wanted: u64,
    pub(crate) stack: usize,
    pub(crate) guard: bool,
    pub(crate) outcome: Outcome,
}

/// Creations after which the child says how far it is: the kernel may end it without a word.
const TELL: u64 = 10_000;

/// In this process. Limits that stop it are part of the outcome; `tell` is given a line now and
/// then.
pub(super) fn here(order: &Order, tell: fn(&Outcome)) -> Outcome {
    let &Order { model, threads, stack, guard, workers } = order;
    let knobs = Knobs { guard: Some(guard), stack: Some(stack), workers, ..Knobs::default() };
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
    // Before the look at memory: it is no part of what a thread costs.
    let mut ids: Vec<ThreadId> = Vec::with_capacity(usize::try_from(threads).unwrap_or(0));
    let attributes = Attributes::new();
    let (mapped, resident) = memory();
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
    // An error of a begin is one of the creation in each model, so all that were created will
    // begin.
    while begun.load(Ordering::Relaxed) < ids.len() as u64 {
        this_thread::yield_now();
    }
    outcome.start_ns = clock.now();
    outcome.alive = ids.len() as u64;
    let (mapped_now, resident_now) = memory();
    outcome.mapped = mapped_now.saturating_sub(mapped);
    outcome.resident = resident_now.saturating_sub(resident);
    if outcome.stopped.is_some() {
        outcome.limits = limits::read(Path::new("/"));
    }
    let looked = clock.now();
    over.store(true, Ordering::Release);
    for &id in &ids {
        // It exists until it is joined.
        let _ = handle.unpark(id);
    }
    let joined = ids.into_iter().filter(|&id| handle.join(id).is_ok()).count() as u64;
    if joined != outcome.alive {
        outcome.stopped = Some(format!("{joined} of {} were joined", outcome.alive));
    }
    outcome.end_ns = outcome.start_ns + clock.now().saturating_sub(looked);
    outcome
}

/// Bytes mapped and resident.
fn memory() -> (u64, u64) {
    let kib = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        limits::field(&text, name).unwrap_or(0).saturating_mul(1024)
    };
    (kib("/proc/self/status", "VmSize:"), kib("/proc/self/smaps_rollup", "Rss:"))
}

/// Whether the goal for 100,000 threads was reached; none where it says nothing.
pub(super) fn goal(row: &Row) -> Option<bool> {
    let meant =
        row.model == Model::ManyToMany && row.wanted == 100_000 && row.stack == LEAST_STACK && !row.guard;
    let Outcome { alive, start_ns, resident, .. } = row.outcome;
    meant.then_some(alive == row.wanted && start_ns < 500_000_000 && resident < 1 << 30)
}

pub(super) fn text(rows: &[Row]) -> String {
    let mut shown = table::new([
        "alive together",
        "stack",
        "guard",
        "wanted",
        "alive",
        "start, s",
        "end, s",
        "resident, MiB",
        "KiB each",
        "mapped, MiB",
    ]);
    for row in rows {
        let Outcome { alive, start_ns, end_ns, resident, mapped, .. } = row.outcome;
        let count = |n: u64| table::count(usize::try_from(n).unwrap_or(usize::MAX));
        shown.add_row([
            row.model.name().to_owned(),
            format!("{}k", row.stack >> 10),
            if row.guard { "on" } else { "off" }.to_owned(),
            count(row.wanted),
            count(alive),
            format!("{:.3}", start_ns as f64 / 1e9),
            format!("{:.3}", end_ns as f64 / 1e9),
            format!("{:.1}", resident as f64 / 1048576.0),
            format!("{:.2}", resident as f64 / 1024.0 / alive.max(1) as f64),
            format!("{:.0}", mapped as f64 / 1048576.0),
        ]);
    }
    let mut out = table::show(&shown) + "\n";
    for row in rows {
        out += goal(row).map_or("", |held| {
            if held {
                "goal: 100,000 m:n threads started in half a second, in 1 GiB: held\n"
            } else {
                "goal: 100,000 m:n threads started in half a second, in 1 GiB: MISSED\n"
            }
        });
        if let Some(why) = row.outcome.stopped.as_ref().filter(|_| row.outcome.limits.is_empty()) {
            let (name, alive, wanted) = (row.model.name(), row.outcome.alive, row.wanted);
            out += &format!("{name}: stopped after {alive} of {wanted} or more: {why}\n");
        } else if let Some(why) = &row.outcome.stopped {
            out += &format!(
                "{}: stopped at {} of {}: {why}\n  {}\n",
                row.model.name(),
                row.outcome.alive,
                row.wanted,
                limits::met(&row.outcome.limits)
            );
        }
    }
    out
}
