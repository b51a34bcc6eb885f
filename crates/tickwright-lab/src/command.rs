//! From parsed arguments to runs.

use std::path::Path;

use crate::adversary;
use crate::adversary::pattern::Pattern;
use crate::bench::{report, run};
use crate::check;
use crate::cli::{self, AdversaryArgs, Bench, Cli, Command, MemoryArgs, SchedulerArgs, TimedArgs};
use crate::clock::OsClock;
use crate::error::LabError;
use crate::host::Host;
use crate::list;
use crate::memory;
use crate::output::{self, OutputArgs, Run};
use crate::registry;
use crate::scenario::{Model, Operations, Population, Scenario};
use crate::scheduler;
use crate::tour;

/// Runs what was asked for.
///
/// # Errors
/// Those of the command.
pub(crate) fn run(cli: Cli) -> Result<(), LabError> {
    match cli.command {
        None => tour::run_all(),
        Some(Command::Bench(Bench::Hold(args))) => timed(Model::Hold, &args.timed, args.operations),
        Some(Command::Bench(Bench::Network(args))) => timed(Model::Network, &args.timed, args.operations),
        Some(Command::Bench(Bench::Expire(args))) => timed(Model::Expire, &args, None),
        Some(Command::Bench(Bench::Reads(args))) => timed(Model::Reads, &args.timed, args.operations),
        Some(Command::Bench(Bench::Adversary(args))) => adversary(&args),
        Some(Command::Bench(Bench::Memory(args))) => memory(&args),
        Some(Command::Bench(Bench::CPeers(args))) => args.execute(),
        Some(Command::Bench(Bench::Scheduler(args))) => scheduler(&args),
        Some(Command::Bench(Bench::Registry(args))) => args.execute(),
        Some(Command::Bench(Bench::Threads(args))) => args.execute(),
        Some(Command::Reproduce(experiment)) => experiment.execute(),
        #[cfg(target_os = "linux")]
        Some(Command::Latency(args)) => args.execute(),
        #[cfg(target_os = "linux")]
        Some(Command::LatencyLoad(args)) => args.execute(),
        Some(Command::Heap(command)) => command.execute(),
        Some(Command::Sched(sched)) => sched.execute(),
        Some(Command::Check) => check::run(),
        Some(Command::List { json }) => list(json),
        Some(Command::Man { directory }) => man(directory.as_deref()),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut cli::command(), "tickwright", &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Of `--quick`.
const QUICK_POPULATIONS: u64 = 10_000;
const QUICK_OPERATIONS: u64 = 10_000;
const QUICK_ROUNDS: u64 = 9;

fn timed(model: Model, args: &TimedArgs, operations: Option<Operations>) -> Result<(), LabError> {
    let scenarios = Scenario::choose(model, &args.scenario)?;
    let quick = |value: u64| args.quick.then_some(value);
    let mut options = run::Options {
        structures: args.structures.clone(),
        populations: args.n.as_deref().map(sizes),
        rounds: args.rounds.map(|n| n.get()).or(quick(QUICK_ROUNDS)),
        operations: operations.map(|n| n.get()).or(quick(QUICK_OPERATIONS)),
        seed: args.seed.map(|n| n.get()),
        baseline: args.baseline.clone(),
        within: None,
    };
    if args.quick && options.populations.is_none() {
        let mut few: Vec<Population> = scenarios.iter().flat_map(|s| s.populations.clone()).collect();
        few.retain(|n| n.get() <= QUICK_POPULATIONS);
        let mut few = sizes(&few);
        if few.is_empty() {
            few.extend(usize::try_from(QUICK_POPULATIONS));
        }
        few.sort_unstable();
        few.dedup();
        options.populations = Some(few);
    }
    // A name that is wrong must not leave an empty file.
    for scenario in &scenarios {
        registry::select(&args.structures.clone().unwrap_or_else(|| scenario.structures()))?;
    }
    args.baseline.as_deref().map(registry::find).transpose()?;
    let files = args.output.open()?;
    let report = run::run(&scenarios, &options, &OsClock::start())?;
    report::finish(&report, &files)
}

fn adversary(args: &AdversaryArgs) -> Result<(), LabError> {
    registry::select(&args.structures)?;
    let files = args.output.open()?;
    let options = adversary::Options {
        structures: args.structures.clone(),
        patterns: if args.pattern.is_empty() { Pattern::ALL.to_vec() } else { args.pattern.clone() },
        populations: sizes(&args.n),
        budget: usize::try_from(args.budget.get()).unwrap_or(usize::MAX),
        rounds: args.rounds.get(),
        seed: args.seed.get(),
    };
    let report = adversary::run(&options, &OsClock::start())?;
    let run = Run { interrupted: report.interrupted, host: &report.host };
    files.finish(run, || adversary::report::show(&report), &report, &report.rows)
}

fn memory(args: &MemoryArgs) -> Result<(), LabError> {
    registry::select(&args.structures)?;
    let files = args.output.open()?;
    let report = memory::run(&args.structures, &sizes(&args.n))?;
    let run = Run { interrupted: report.interrupted, host: &report.host };
    files.finish(run, || memory::show(&report), &report, &report.rows)
}

fn scheduler(args: &SchedulerArgs) -> Result<(), LabError> {
    let files = args.output.open()?;
    let options = scheduler::Options {
        structures: args.structures.clone(),
        sizes: sizes(&args.n),
        rounds: args.rounds.get(),
        operations: usize::try_from(args.operations.get()).unwrap_or(usize::MAX),
        seed: args.seed.get(),
    };
    let report = scheduler::run(&options, &OsClock::start())?;
    let run = Run { interrupted: report.interrupted, host: &report.host };
    files.finish(run, || scheduler::report::text(&report), &report, scheduler::report::lines(&report))
}

fn sizes(populations: &[Population]) -> Vec<usize> {
    populations.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect()
}

fn list(json: bool) -> Result<(), LabError> {
    let listing = list::listing()?;
    if json {
        let (args, host) = (OutputArgs { json: Some("-".into()), csv: None }, Host::read());
        let none: [(); 0] = [];
        args.open()?.finish(Run { interrupted: false, host: &host }, String::new, &listing, none)
    } else {
        output::print(&list::show(&listing))
    }
}

/// One page to standard output, or all of them into a directory.
fn man(directory: Option<&Path>) -> Result<(), LabError> {
    if let Some(directory) = directory {
        return clap_mangen::generate_to(cli::command(), directory).map_err(|error| {
            LabError::usage(format!("the pages cannot be written to '{}': {error}", directory.display()))
        });
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(cli::command())
        .render(&mut page)
        .map_err(|source| LabError::io("making the manual page", source))?;
    output::print(&String::from_utf8_lossy(&page))
}
