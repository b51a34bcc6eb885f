//! What is run, and in which order.

use tickwright_threads::LEAST_STACK;

use super::alive::Order;
use super::child;
use super::cli::{NptlArgs, Threads};
use super::column::{Cell, Column};
use super::echo::{self, Load, Wire};
use super::model::Knobs;
use super::published::{CHILDREN, STARTS, TOPLEVEL};
use super::report::Report;
use super::table::{self, Plan};
use super::turns::Turns;
use super::work::{self, Work};
use super::{knobs, ladder, syscalls, targets, verify};
use crate::clock::{OsClock, calibrate};
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::Within;
use crate::output::{RowsFile, Run};

/// The original's bound on threads at once.
const MOST_AT_ONCE: usize = 100_000;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Table,
    Ladder,
    Syscalls,
    Work,
    Io,
    AllAtOnce,
    Knobs,
}

fn number<const LOW: u64, const HIGH: u64>(asked: Option<Within<LOW, HIGH>>, usual: u64) -> u64 {
    asked.map_or(usual, Within::get)
}

fn narrow<T: TryFrom<u64>>(number: u64) -> Option<T> {
    T::try_from(number).ok()
}

impl NptlArgs {
    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        match &self.child {
            Some(errand) => errand.run(),
            None => self.report(),
        }
    }

    /// What was asked for.
    fn parts(&self) -> Vec<Part> {
        let knobs = !(self.guard.is_empty()
            && self.stack.is_empty()
            && self.stack_cache.is_empty()
            && self.registry.is_empty());
        let all = [
            (Part::Table, self.table),
            (Part::Ladder, self.ladder),
            (Part::Syscalls, self.syscalls),
            (Part::Work, self.work),
            (Part::Io, self.io),
            (Part::AllAtOnce, self.all_at_once.is_some()),
            (Part::Knobs, knobs && self.all_at_once.is_none()),
        ];
        let asked: Vec<Part> = all.iter().filter(|(_, asked)| *asked).map(|(part, _)| *part).collect();
        if asked.is_empty() { vec![Part::Table, Part::Ladder, Part::Syscalls] } else { asked }
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let (toplevel, children) =
            (keys(self.toplevel.as_ref(), TOPLEVEL), keys(self.children.as_ref(), CHILDREN));
        let most = |threads: &[usize]| threads.last().copied().unwrap_or(1);
        let at_once = most(&toplevel) * most(&children);
        if at_once > MOST_AT_ONCE {
            return Err(LabError::usage(format!(
                "{at_once} threads at once are more than the original's {MOST_AT_ONCE}: take a smaller --toplevel or --children"
            )));
        }
        let mut columns = self.models.clone();
        if columns.is_empty() {
            columns = Column::all();
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(Plan {
            columns,
            toplevel,
            children,
            starts: number(self.starts, STARTS),
            rounds: self.rounds(1),
            knobs: Knobs {
                workers: self.workers.and_then(|workers| narrow(workers.get())),
                ..Knobs::default()
            },
            seed: number(self.seed, 1),
        })
    }

    fn rounds(&self, usual: u64) -> usize {
        narrow(number(self.rounds, usual)).unwrap_or(usize::MAX)
    }

    fn turns(&self, what: &'static str, usual: u64) -> Turns {
        Turns { what, rounds: self.rounds(usual), seed: number(self.seed, 1) }
    }

    /// Where the parts other than the table run: the first P and the last C, 1 and 10 unless others
    /// were asked for.
    fn cell(&self, plan: &Plan, usual: u64) -> Cell {
        let (toplevel, children) = (plan.toplevel.first(), plan.children.last());
        Cell {
            toplevel: toplevel.copied().unwrap_or(1),
            children: children.copied().unwrap_or(1),
            starts: number(self.starts, usual),
        }
    }

    /// Each wire with each number of connections and of messages under way.
    fn loads(&self) -> Vec<Load> {
        let numbers =
            |asked: Vec<u64>, usual: [u64; 2]| if asked.is_empty() { usual.to_vec() } else { asked };
        let connections = numbers(self.connections.iter().map(|n| n.get()).collect(), [1, 32]);
        let in_flight = numbers(self.in_flight.iter().map(|n| n.get()).collect(), [1, 16]);
        let wires = if self.wire.is_empty() { vec![Wire::Pipe, Wire::Socket] } else { self.wire.clone() };
        let messages = number(self.messages, 10_000);
        let mut loads = Vec::new();
        for wire in wires {
            for &connections in &connections {
                for &in_flight in &in_flight {
                    let narrow = |number| narrow(number).unwrap_or(1);
                    let messages = messages.div_ceil(connections);
                    loads.push(Load {
                        wire,
                        connections: narrow(connections),
                        in_flight: narrow(in_flight),
                        messages,
                    });
                }
            }
        }
        loads
    }

    /// What would end without a figure.
    fn refuse(&self, parts: &[Part], columns: &[Column]) -> Result<(), LabError> {
        for part in parts {
            let fits: fn(Column) -> bool = match part {
                Part::Table | Part::Ladder | Part::Syscalls => continue,
                Part::Work => Work::fits,
                Part::Io => echo::fits,
                Part::AllAtOnce | Part::Knobs => |column| column.model().is_some(),
            };
            if !columns.iter().any(|&column| fits(column)) {
                let fit: Vec<&str> =
                    Column::all().into_iter().filter(|&column| fits(column)).map(Column::name).collect();
                let asked = match part {
                    Part::Work => "--work",
                    Part::Io => "--io",
                    Part::AllAtOnce => "--all-at-once",
                    _ => "a list of knobs",
                };
                return Err(LabError::usage(format!("{asked} needs one of --models {}", fit.join(","))));
            }
        }
        let wanted = [(self.svg.is_some(), "--svg"), (self.output.csv.is_some(), "--csv")];
        match wanted.iter().find(|(asked, _)| *asked && !parts.contains(&Part::Table)) {
            Some((_, option)) => Err(LabError::usage(format!(
                "{option} holds the table alone: add --table (--json holds all that was run)"
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn report(&self) -> Result<(), LabError> {
        let plan = self.plan()?;
        let parts = self.parts();
        self.refuse(&parts, &plan.columns)?;
        let files = self.output.open()?;
        let svg = self.svg.as_deref().map(|path| RowsFile::open("--svg", path, &self.output)).transpose()?;
        let clock = OsClock::start();
        let mut report = Report::new(Host::read(), calibrate(&clock), plan.seed);
        report.brief = self.brief;
        for part in parts {
            if !interrupt::requested() {
                self.run(part, &plan, clock, &mut report)?;
            }
        }
        report.interrupted = interrupt::requested();
        let run = Run { interrupted: report.interrupted, host: &report.host };
        let finished =
            files.finish(run, || format!("{}\n{}", report.host, report.text()), &report, report.lines());
        if let Some(svg) = svg {
            svg.text(&report.svg())?;
        }
        finished
    }

    fn run(&self, part: Part, plan: &Plan, clock: OsClock, report: &mut Report) -> Result<(), LabError> {
        let models = plan.columns.iter().filter_map(|column| column.model());
        match part {
            Part::Table => {
                report.verified = verify::corners(plan, clock).map_err(LabError::failed)?;
                let table = table::run(plan, clock)?;
                report.targets = targets::of_table(&table);
                report.table = Some(table);
            }
            Part::Ladder => {
                let (cell, turns) = (self.cell(plan, KNOBS), self.turns("ladder", 9));
                report.ladder = Some(ladder::run(plan.knobs, cell, &turns, clock)?);
            }
            Part::Syscalls => report.syscalls = Some(syscalls::run(&plan.columns, plan.knobs.workers)?),
            Part::Work => {
                let usual = Work::default();
                let work = Work {
                    workload: self.workload.and_then(|all| narrow(all.get())).unwrap_or(usual.workload),
                    workcost: self.workcost.and_then(|all| narrow(all.get())).unwrap_or(usual.workcost),
                    draws: self.draws.and_then(|all| narrow(all.get())).unwrap_or(usual.draws),
                };
                let (cell, turns) = (self.cell(plan, WORK), self.turns("work", 3));
                report.work = Some(work::run(work, &plan.columns, &plan.knobs, cell, &turns, clock)?);
            }
            Part::Io => {
                let turns = self.turns("echo", 3);
                report.io = echo::run(&plan.columns, &plan.knobs, &self.loads(), &turns, clock)?;
            }
            Part::AllAtOnce => {
                let guards = if self.guard.is_empty() { vec![false] } else { self.guard.clone() };
                let stacks = if self.stack.is_empty() { vec![LEAST_STACK] } else { self.stack.clone() };
                let threads = number(self.all_at_once, 1);
                let workers = plan.knobs.workers;
                for model in models {
                    for &stack in &stacks {
                        for &guard in &guards {
                            if interrupt::requested() {
                                return Ok(());
                            }
                            let order = Order { model, threads, stack, guard, workers };
                            report.alive.push(child::run_alive(order)?);
                        }
                    }
                }
            }
            Part::Knobs => {
                let asked = knobs::Plan {
                    models: models.collect(),
                    guard: self.guard.clone(),
                    stack: self.stack.clone(),
                    cache: self.stack_cache.clone(),
                    registry: self.registry.clone(),
                    base: plan.knobs,
                };
                let (cell, turns) = (self.cell(plan, KNOBS), self.turns("knobs", 9));
                report.knobs = knobs::run(&asked, cell, &turns, clock)?;
            }
        }
        Ok(())
    }
}

/// What was asked for, or 1 to `most`.
fn keys(asked: Option<&Threads>, most: usize) -> Vec<usize> {
    asked.map_or_else(|| (1..=most).collect(), |threads| threads.0.clone())
}

/// Creations in a sample of knobs and of the ladder, and with work.
const KNOBS: u64 = 10_000;
const WORK: u64 = 200;
