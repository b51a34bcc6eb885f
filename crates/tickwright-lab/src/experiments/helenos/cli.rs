//! `tickwright reproduce helenos`.

use core::time::Duration;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use super::beside::{Emulated, Perf};
use super::channel::Transport;
use super::cpu::Pin;
use super::link::{Tasks, die_with, serve_as_process};
use super::published::ROWS;
use super::registry::Tree;
use super::report::Report;
use super::run::{self, Plan};
use super::timing::Method;
use crate::clock::{OsClock, calibrate};
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::models::scenario::{Seed, Within};
use crate::output::{OutputArgs, Run};
use crate::virtualisation;

/// Tasks in a registry.
type Tasked = Within<1, 1_000_000>;
/// Samples of each cell.
type Samples = Within<2, 1000>;
/// Looks at a mailbox before sleeping.
type Spins = Within<0, 1_000_000>;

/// HelenOS's ping-pong of 2018: does it matter which tree the registry of tasks is?
#[derive(Debug, Clone, Args)]
pub(crate) struct HelenosArgs {
    /// How messages travel, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "futex,pipe,socket")]
    transport: Vec<Transport>,

    /// What client and server are
    #[arg(long, value_enum, value_delimiter = ',', default_value = "threads")]
    tasks: Vec<Tasks>,

    /// Which processors client and server run on
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,

    /// How to time
    #[arg(long, value_enum, value_delimiter = ',', default_value = "v1,v2")]
    method: Vec<Method>,

    /// What the tasks are registered in
    #[arg(long, value_enum, value_delimiter = ',', default_value = "avl,odict")]
    dictionaries: Vec<Tree>,

    /// How many tasks are registered: 2,100,10k
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "2,100,10k,100k", value_parser = Tasked::parse)]
    n: Vec<Tasked>,

    /// Length of a sample; the original's is 10s
    #[arg(long, allow_hyphen_values = true, default_value = "200ms", value_parser = duration::parse)]
    duration: Duration,

    /// Samples of each dictionary
    #[arg(long, allow_hyphen_values = true, default_value = "10", value_parser = Samples::parse)]
    samples: Samples,

    /// How often to look at the mailbox before sleeping
    #[arg(long, value_name = "LOOKS", allow_hyphen_values = true, default_value = "0", value_parser = Spins::parse)]
    spin: Spins,

    /// Run it again under QEMU's user mode, where that is installed
    #[arg(long)]
    emulated: bool,

    /// What targets and the order of the dictionaries follow from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,

    #[command(flatten)]
    output: OutputArgs,

    /// Be the server of a client that started this process
    #[arg(long, value_enum, hide = true, requires = "parent")]
    serve: Option<Transport>,
    /// Its id
    #[arg(long, hide = true)]
    parent: Option<u32>,
    /// The server's processor
    #[arg(long, hide = true)]
    cpu: Option<usize>,
    /// Become another programme that dies with its parent
    #[arg(long = "become", hide = true, requires = "parent", num_args = 1.., allow_hyphen_values = true)]
    other: Vec<OsString>,
}

impl HelenosArgs {
    fn plan(&self) -> Result<Plan, LabError> {
        let mut populations: Vec<usize> =
            self.n.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect();
        populations.sort_unstable();
        populations.dedup();
        // In the order of the original's words, each once.
        let once = |all: &[Tree]| Tree::ALL.into_iter().filter(|tree| all.contains(tree)).collect();
        Ok(Plan {
            transports: Transport::ALL.into_iter().filter(|t| self.transport.contains(t)).collect(),
            tasks: Tasks::ALL.into_iter().filter(|t| self.tasks.contains(t)).collect(),
            processors: self.pin.processors()?,
            methods: Method::ALL.into_iter().filter(|m| self.method.contains(m)).collect(),
            trees: once(&self.dictionaries),
            populations,
            duration: self.duration,
            samples: self.samples.get(),
            spins: u32::try_from(self.spin.get()).unwrap_or(u32::MAX),
            seed: self.seed.get(),
            counted: 20_000,
        })
    }

    /// Runs it and prints the report.
    ///
    /// # Errors
    /// A request that cannot be served, a wrong answer, a lost server, or Ctrl-C.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let Some(parent) = self.parent else { return self.report(true, false) };
        let served = |source| LabError::io("serving a ping-pong", source);
        if let Some(transport) = self.serve {
            let spins = u32::try_from(self.spin.get()).unwrap_or(u32::MAX);
            return serve_as_process(transport, spins, self.cpu, parent).map_err(served);
        }
        let [program, args @ ..] = self.other.as_slice() else {
            return Err(LabError::usage("--parent is for the servers that this command starts itself"));
        };
        if die_with(parent).map_err(served)? {
            let name = program.to_string_lossy();
            return Err(LabError::io(format!("running {name}"), Command::new(program).args(args).exec()));
        }
        Ok(())
    }

    fn report(&self, beside: bool, brief: bool) -> Result<(), LabError> {
        let plan = self.plan()?;
        let files = self.output.open()?;
        let (host, clock) = (Host::read(), calibrate(&OsClock::start()));
        let notes = host.doubts();
        let results = run::run(&plan)?;
        let mut report = Report {
            experiment: "helenos",
            host,
            virtualisation: virtualisation::name(),
            clock,
            published: ROWS,
            pin: self.pin,
            plan,
            results,
            perf: Vec::new(),
            emulated: None,
            notes,
            brief,
        };
        let going = || beside && !interrupt::requested();
        if going() && report.plan.transports.contains(&Transport::Pipe) {
            let perf = |&tasks: &Tasks| Perf::run(tasks, &report.plan, &report.results);
            report.perf = report.plan.tasks.iter().map(perf).collect();
        }
        if going() && self.emulated {
            report.emulated = Some(Emulated::run(&self.again()));
        }
        report.results.interrupted |= interrupt::requested();
        let run = Run { interrupted: report.results.interrupted, host: &report.host };
        files.finish(run, || format!("{}\n{}", report.host, report.text()), &report, report.lines())
    }

    /// The same for the emulator: threads, and the results on standard output.
    fn again(&self) -> Vec<String> {
        let list = |words: Vec<String>| words.join(",");
        let names = |all: &[Tree]| all.iter().map(|tree| tree.name().to_owned()).collect();
        vec![
            "reproduce".into(),
            "helenos".into(),
            "--json=-".into(),
            "--tasks=threads".into(),
            format!("--transport={}", list(self.transport.iter().map(|t| t.name().to_owned()).collect())),
            format!("--method={}", list(self.method.iter().map(|m| m.name().to_owned()).collect())),
            format!("--dictionaries={}", list(names(&self.dictionaries))),
            format!("--n={}", list(self.n.iter().map(|n| n.get().to_string()).collect())),
            format!("--duration={}", duration::show(self.duration)),
            format!("--samples={}", self.samples.get()),
            format!("--spin={}", self.spin.get()),
            format!("--seed={}", self.seed.get()),
            format!("--pin={}", self.pin.name()),
        ]
    }
}

fn within<const LOW: u64, const HIGH: u64>(number: i64) -> Result<Within<LOW, HIGH>, LabError> {
    Within::try_from(number).map_err(LabError::usage)
}

fn args(transport: &[Transport], tasks: &[Tasks], n: &[i64]) -> Result<HelenosArgs, LabError> {
    Ok(HelenosArgs {
        transport: transport.to_vec(),
        tasks: tasks.to_vec(),
        pin: Pin::None,
        method: Method::ALL.to_vec(),
        dictionaries: vec![Tree::Avl, Tree::Odict],
        n: n.iter().map(|&n| within(n)).collect::<Result<_, _>>()?,
        duration: Duration::from_millis(1),
        samples: within(2)?,
        spin: within(0)?,
        emulated: false,
        seed: within(1)?,
        output: OutputArgs::default(),
        serve: None,
        parent: None,
        cpu: None,
        other: Vec::new(),
    })
}

/// The experiment as a part of the tour: the fastest channel, the smallest and the largest
/// registry.
///
/// # Errors
/// As [`HelenosArgs::execute`].
pub(crate) fn tour(within_all: Duration) -> Result<(), LabError> {
    // Two dictionaries at two populations: 6 samples in v1; in v2 the sizing takes as long as two,
    // and a sample as long as up to two.
    let lengths = 2 * 2 * (6 + 2 + 2 * 6);
    let duration = (within_all / lengths).max(Duration::from_millis(1));
    let args = HelenosArgs {
        pin: Pin::Same,
        samples: within(6)?,
        duration,
        ..args(&[Transport::Futex], &[Tasks::Threads], &[2, 100_000])?
    };
    args.report(false, true)
}

/// Every channel and dictionary with a few calls; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let words = |error: LabError| error.to_string();
    let mut args = args(&Transport::ALL, &Tasks::ALL, &[1, 2, 100]).map_err(words)?;
    args.dictionaries = Tree::ALL.to_vec();
    let mut plan = args.plan().map_err(words)?;
    plan.counted = 200;
    let results = run::run(&plan).map_err(words)?;
    if results.interrupted {
        return Err("interrupted".into());
    }
    if let Some(touch) = results.touches.iter().find(|touch| touch.look_ups != 1.0) {
        return Err(format!("not one look-up in each round trip: {touch:?}"));
    }
    let samples: usize = results.cells.iter().map(|cell| cell.samples.len()).sum();
    Ok(format!(
        "{samples} runs over {} channels, each answer verified",
        plan.transports.len() * plan.tasks.len()
    ))
}
