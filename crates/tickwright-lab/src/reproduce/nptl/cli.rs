//! `tickwright reproduce nptl`.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;
use tickwright_threads::{LEAST_STACK, MOST_STACK};

use super::alive::{self, Order};
use super::child::Errand;
use super::column::{Cell, Column};
use super::echo::{self, Load, Wire};
use super::model::{Knobs, Model};
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
use crate::output::{self, OutputArgs, RowsFile};
use crate::scenario::{Rounds, Seed, Within};

/// Threads created in a cell.
type Starts = Within<1, 100_000_000>;
/// Kernel threads under M:N ones.
type Workers = Within<1, 255>;
/// Threads alive together.
type AtOnce = Within<1, 16_777_216>;
/// Of `--work`.
type Percent = Within<0, 100>;
type Cost = Within<1, 1_000_000>;
type Draws = Within<1, 1000>;
/// Of `--io`; what is in flight must fit into a pipe.
type Connections = Within<1, 10_000>;
type InFlight = Within<1, 1000>;
type Messages = Within<1, 100_000_000>;
/// The original's bound on threads at once.
const MOST_AT_ONCE: usize = 100_000;

/// Numbers of threads: `5`, `1..20` (both ends included), `1,2,4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Threads(pub(super) Vec<usize>);

impl Threads {
    /// A value parser for the command line.
    ///
    /// # Errors
    /// What is wrong, with the range.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not like 5, 1..20 or 1,2,4, with numbers from 1 to 1000");
        let number = |part: &str| {
            part.parse::<usize>().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(wrong)
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => all.push(number(part)?),
                Some((low, high)) => {
                    let (low, high) = (number(low)?, number(high)?);
                    if low > high {
                        return Err(wrong());
                    }
                    all.extend(low..=high);
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

/// Bytes of a stack: `16k` to `1G`, or without a unit.
///
/// # Errors
/// What is wrong, with the range.
pub(super) fn stack(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << unit));
    bytes
        .filter(|bytes| (LEAST_STACK..=MOST_STACK).contains(bytes))
        .ok_or_else(|| format!("'{text}' is no stack of 16k to 1G bytes"))
}

/// A knob.
///
/// # Errors
/// The two words that there are.
pub(super) fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("'{text}' is neither on nor off")),
    }
}

/// The experiment that settled Linux's threads in 2002: one kernel thread for each, M:N, or a manager?
///
/// Without one of --table, --ladder, --syscalls, --work, --io, --all-at-once, --guard, --stack and --stack-cache it runs the first three.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NptlArgs {
    /// The 20 x 10 table of each model and peer, and its two summaries
    #[arg(long)]
    table: bool,

    /// M:N from NGPT's way to ours, one knob after another, beside one-to-one
    #[arg(long)]
    ladder: bool,

    /// System calls for one creation and its join, counted by strace
    #[arg(long)]
    syscalls: bool,

    /// Threads that compute or sleep 10 ms, by a draw, as the original's work option
    #[arg(long)]
    work: bool,

    /// Pairs of threads that echo over pipes and sockets
    #[arg(long)]
    io: bool,

    /// So many threads alive together, of each model, in a child process
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = AtOnce::parse)]
    all_at_once: Option<AtOnce>,

    /// What a guard page costs in each model: on,off; with --all-at-once, whether stacks have one [default there: off]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = on_or_off)]
    guard: Vec<bool>,

    /// What the size of stacks costs in each model: 16k,1M; with --all-at-once, that of each [default there: 16k]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = stack)]
    stack: Vec<usize>,

    /// What using the stacks of ended threads again brings in each model: on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = on_or_off)]
    stack_cache: Vec<bool>,

    /// Models and peers [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Column::parse)]
    models: Vec<Column>,

    /// Threads that create: 1..20, 4 or 1,2,4; outside of the table the first counts [default: 1..20]
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_parser = Threads::parse)]
    toplevel: Option<Threads>,

    /// Threads that each of them keeps at once: 1..10, 4 or 1,2,4; outside of the table the last counts [default: 1..10]
    #[arg(long, value_name = "C", allow_hyphen_values = true, value_parser = Threads::parse)]
    children: Option<Threads>,

    /// Threads created in a run [default: 100k in a cell of the table, as the original: most of an hour in all; 10k for knobs, 200 with work]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Starts::parse)]
    starts: Option<Starts>,

    /// Times that each is run; below 6 no difference can be shown [default: 1 for the table, 9 for knobs, 3 with work]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    rounds: Option<Rounds>,

    /// Kernel threads under those of m:n, may and tokio [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Workers::parse)]
    workers: Option<Workers>,

    /// With --work: how many of a hundred draws compute [default: 75]
    #[arg(long, requires = "work", value_name = "PERCENT", allow_hyphen_values = true, value_parser = Percent::parse)]
    workload: Option<Percent>,

    /// With --work: how much one computes [default: 20]
    #[arg(long, requires = "work", value_name = "N", allow_hyphen_values = true, value_parser = Cost::parse)]
    workcost: Option<Cost>,

    /// With --work: draws of a thread [default: 10]
    #[arg(long, requires = "work", value_name = "N", allow_hyphen_values = true, value_parser = Draws::parse)]
    draws: Option<Draws>,

    /// With --io: what pairs talk over [default: both]
    #[arg(long, requires = "io", value_enum, value_delimiter = ',')]
    wire: Vec<Wire>,

    /// With --io: pairs at once [default: 1,32]
    #[arg(long, requires = "io", value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Connections::parse)]
    connections: Vec<Connections>,

    /// With --io: messages that each pair has under way [default: 1,16]
    #[arg(long, requires = "io", value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = InFlight::parse)]
    in_flight: Vec<InFlight>,

    /// With --io: messages in all [default: 10k]
    #[arg(long, requires = "io", value_name = "N", allow_hyphen_values = true, value_parser = Messages::parse)]
    messages: Option<Messages>,

    /// What the order of runs follows from [default: 1]
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    seed: Option<Seed>,

    /// Draw the two summaries into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// What this process does for one that counts it or may lose it
    #[arg(long, hide = true, value_parser = Errand::parse)]
    child: Option<Errand>,

    /// Shown without the large tables.
    #[arg(skip)]
    brief: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl core::fmt::Display for Threads {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.as_slice() {
            [low, .., high] if high - low + 1 == self.0.len() => write!(f, "{low}..{high}"),
            all => f.write_str(&all.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// Threads of the verifying pass, in each cell of it.
const VERIFIED: u64 = 100;

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
        let knobs = !(self.guard.is_empty() && self.stack.is_empty() && self.stack_cache.is_empty());
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

    /// Where the parts other than the table run: the first P and the last C, 1 and 10 unless others were asked for.
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

    fn report(&self) -> Result<(), LabError> {
        let plan = self.plan()?;
        let files = self.output.open()?;
        let svg = self.svg.as_deref().map(|path| RowsFile::open("--svg", path, &self.output)).transpose()?;
        let clock = OsClock::start();
        let mut report = Report::new(output::command_line(), Host::read(), calibrate(&clock), plan.seed);
        report.brief = self.brief;
        for part in self.parts() {
            if !interrupt::requested() {
                self.run(part, &plan, clock, &mut report)?;
            }
        }
        report.interrupted = interrupt::requested();
        if files.terminal() {
            output::print(&format!("{}\n{}", report.host, report.text()))?;
        }
        files.json(&report)?;
        files.csv(report.lines())?;
        if let Some(svg) = svg {
            svg.text(&report.svg())?;
        }
        if report.interrupted { Err(LabError::Interrupted) } else { Ok(()) }
    }

    fn run(&self, part: Part, plan: &Plan, clock: OsClock, report: &mut Report) -> Result<(), LabError> {
        let models = plan.columns.iter().filter_map(|column| column.model());
        match part {
            Part::Table => {
                report.verified = verified(plan, clock).map_err(LabError::failed)?;
                let table = table::run(plan, clock)?;
                report.targets = targets::of_table(&table);
                report.table = Some(table);
            }
            Part::Ladder => {
                let (cell, turns) = (self.cell(plan, KNOBS), self.turns("ladder", 9));
                report.ladder = Some(ladder::run(plan.knobs, cell, &turns, clock)?);
            }
            Part::Syscalls => report.syscalls = Some(syscalls::run(&plan.columns)?),
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
                for model in models {
                    if interrupt::requested() {
                        break;
                    }
                    report.alive.push(alive::run(Order {
                        model,
                        threads: number(self.all_at_once, 1),
                        stack: self.stack.first().copied().unwrap_or(LEAST_STACK),
                        guard: self.guard.first().copied().unwrap_or(false),
                    })?);
                }
            }
            Part::Knobs => {
                let asked = knobs::Plan {
                    models: models.collect(),
                    guard: self.guard.clone(),
                    stack: self.stack.clone(),
                    cache: self.stack_cache.clone(),
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

/// The corners of the table, for each model in it.
fn verified(plan: &Plan, clock: OsClock) -> Result<u64, String> {
    let ends = |keys: &[usize]| {
        let mut ends: Vec<usize> = keys.first().into_iter().chain(keys.last()).copied().collect();
        ends.dedup();
        ends
    };
    let mut threads = 0;
    for column in &plan.columns {
        let Column::Ours(model) = column else { continue };
        for toplevel in ends(&plan.toplevel) {
            for children in ends(&plan.children) {
                let cell = Cell { toplevel, children, starts: VERIFIED.min(plan.starts) };
                threads += verify::run(*model, &plan.knobs, cell, clock)?;
            }
        }
    }
    Ok(threads)
}

/// The experiment as a part of the tour.
///
/// # Errors
/// As [`NptlArgs::execute`].
pub(crate) fn tour(_within: Duration) -> Result<(), LabError> {
    let args = NptlArgs {
        table: true,
        ladder: true,
        toplevel: Some(Threads(vec![1, 4, 20])),
        children: Some(Threads(vec![1, 10])),
        starts: Some(Starts::try_from(TOUR).map_err(LabError::usage)?),
        rounds: Some(Rounds::try_from(6).map_err(LabError::usage)?),
        brief: true,
        ..NptlArgs::default()
    };
    args.report()
}

/// Creations in a cell of the tour: all of it within two seconds.
const TOUR: i64 = 150;

/// Every model and peer under the original's rules with few threads; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let clock = OsClock::start();
    let plan = Plan {
        columns: Column::all(),
        toplevel: vec![1, 3],
        children: vec![1, 4],
        starts: 50,
        rounds: 1,
        knobs: Knobs::default(),
        seed: 1,
    };
    let words = |error: LabError| error.to_string();
    let looked = verified(&plan, clock)?;
    let table = table::run(&plan, clock).map_err(words)?;
    let turns = Turns { what: "check", rounds: 1, seed: 1 };
    let cell = Cell { toplevel: 2, children: 3, starts: 50 };
    let both = || vec![true, false];
    let asked = knobs::Plan {
        models: Model::ALL.to_vec(),
        guard: both(),
        stack: vec![LEAST_STACK, 1 << 20],
        cache: both(),
        base: plan.knobs,
    };
    let settings = knobs::run(&asked, cell, &turns, clock).map_err(words)?.len();
    let steps = ladder::run(plan.knobs, cell, &turns, clock).map_err(words)?.steps.len();
    let computing = Work { workload: 100, draws: 3, ..Work::default() };
    work::run(computing, &plan.columns, &plan.knobs, cell, &turns, clock).map_err(words)?;
    let load = |wire| Load { wire, connections: 3, in_flight: 2, messages: 5 };
    let loads = [load(Wire::Pipe), load(Wire::Socket)];
    echo::run(&plan.columns, &plan.knobs, &loads, &turns, clock).map_err(words)?;
    for model in Model::ALL {
        let outcome = alive::here(&Order { model, threads: 20, stack: LEAST_STACK, guard: true });
        if let Some(why) = outcome.stopped {
            return Err(format!("{}, 20 threads at once: {why}", model.name()));
        }
    }
    if interrupt::requested() {
        return Err("interrupted".into());
    }
    let runs = table.samples.len() + settings + steps;
    Ok(format!("{looked} threads looked at themselves, {runs} runs joined all that they created"))
}
