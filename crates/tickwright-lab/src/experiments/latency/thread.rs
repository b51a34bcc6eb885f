//! What one measuring thread does: it asks for its rights, then runs each structure in turns.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::clock::{System, thread_cpu};
use super::hdr::Log;
use super::lane::{self, Lane};
use super::lines::Lines;
use super::overhead::Overhead;
use super::plan::Plan;
use super::rights::{Granted, Priority, Wish};
use super::slice::{Drive, Seen};
use crate::error::LabError;
use crate::rounds::Rounds;
use crate::structures::registry;

/// The memory and the clock of a measuring thread. Both are prepared before the thread starts.
#[derive(Debug)]
pub(super) struct Setup<'p> {
    plan: &'p Plan,
    /// The CPU of `--cpus` to which the thread belongs.
    pub(super) cpu: Option<usize>,
    lanes: Vec<Lane>,
    seen: Seen,
    host: System,
}

impl<'p> Setup<'p> {
    pub(super) fn new(plan: &'p Plan, cpu: Option<usize>) -> Result<Self, LabError> {
        let seen = Seen::new(plan.turn().points);
        Ok(Self { plan, cpu, lanes: plan.lanes(), seen, host: plan.wake.system()? })
    }

    /// Asks for rights and measures the overhead, on the thread that will measure. Also returns a
    /// note for each refusal.
    pub(super) fn ready(mut self, wish: Wish) -> (Ready<'p>, Vec<String>) {
        let (rights, refused) = Granted::ask(wish);
        let overhead = Overhead::measure(&mut self.host);
        (Ready { setup: self, rights, overhead }, refused)
    }
}

/// Data that the measuring threads of a run share.
#[derive(Debug)]
pub(super) struct Shared<'s> {
    pub(super) lines: &'s Lines,
    pub(super) log: &'s Mutex<Log>,
}

/// A measuring thread that has its rights.
#[derive(Debug)]
pub(super) struct Ready<'p> {
    setup: Setup<'p>,
    rights: Granted,
    overhead: Overhead,
}

/// The measurements of one thread.
#[derive(Debug)]
pub(super) struct Measured {
    /// The CPU of `--cpus`.
    pub(super) cpu: Option<usize>,
    /// One lane for each structure.
    pub(super) lanes: Vec<Lane>,
    pub(super) granted: Priority,
    pub(super) overhead: Overhead,
    /// Share of one processor that the thread used, in percent.
    pub(super) cpu_percent: f64,
    pub(super) interrupted: bool,
}

impl Ready<'_> {
    /// The priority that the system granted.
    pub(super) fn granted(&self) -> Priority {
        self.rights.priority
    }

    /// Measures all structures in turns. `before_turn` is called before each turn; `stop` ends the
    /// run.
    pub(super) fn measure(
        self,
        shared: &Shared<'_>,
        mut before_turn: impl FnMut(),
        stop: impl Fn() -> bool,
    ) -> Result<Measured, LabError> {
        let Self { setup, rights, overhead } = self;
        let Setup { plan, cpu, mut lanes, mut seen, mut host } = setup;
        let (turn, granted) = (plan.turn(), rights.priority);
        let mut lines = shared.lines.of_thread(cpu);
        let (began, cpu_before) = (Instant::now(), thread_cpu());
        let mut rounds = Rounds::new(plan.turns(), plan.wake.seed.get());
        let taken = rounds.run_until(
            lanes.len(),
            || true,
            &stop,
            |at| {
                before_turn();
                let (structure, since) = (plan.structures[at.lane], began.elapsed());
                let drive = Drive { turn, host: &mut host, seen: &mut seen, stop: &stop };
                registry::visit(structure, drive)?;
                if at.round > 0 {
                    let until = began.elapsed();
                    lanes[at.lane].add(&seen);
                    let tag = name(structure.id, cpu);
                    let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
                    log.add(&tag, since, until, &seen.lateness);
                    drop(log);
                    lines.turn((structure.id, &seen.gaps), &mut lanes, until)?;
                }
                Ok::<_, LabError>(lane::row(&seen))
            },
        )?;
        let (used, wall) = (thread_cpu().saturating_sub(cpu_before), began.elapsed());
        drop(rights);
        let interrupted = taken.interrupted;
        for (lane, turns) in lanes.iter_mut().zip(taken.lanes()) {
            lane.rows = turns;
        }
        let cpu_percent = used.as_secs_f64() / wall.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
        Ok(Measured { cpu, lanes, granted, overhead, cpu_percent, interrupted })
    }
}

/// The name of a structure in files of other tools: `list/hook`, or `list/hook@cpu3` with `--cpus`.
pub(super) fn name(id: &str, cpu: Option<usize>) -> Cow<'_, str> {
    cpu.map_or(id.into(), |cpu| format!("{id}@cpu{cpu}").into())
}
