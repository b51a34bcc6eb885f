//! The arguments of `reproduce nptl`, and the plan that they make.

use clap::Args;
use tickwright_threads::{Dictionary, LEAST_STACK, MOST_STACK};

use super::alive::Order;
use super::column::Column;
use super::echo::{self, Load, Wire};
use super::knobs::Settings;
use super::model::Knobs;
use super::plan::{Part, Plan};
use super::published::published;
use super::work::Work;
use crate::error::LabError;
use crate::models::scenario::{Population, Rounds, Seed, Within};
use crate::output::OutputArgs;

/// Threads created in a cell.
type Starts = Within<1, 100_000_000>;
/// Kernel threads under the M:N threads.
type Workers = Within<1, 255>;
/// The number of draws of a thread, for the part `work`.
type Percent = Within<0, 100>;
type Cost = Within<1, 1_000_000>;
type Draws = Within<1, 1000>;
/// The number of messages in flight, for the part `io`. A client sends all messages in flight, 16
/// bytes each, before it reads. These messages must fit into two pipes of one page. The kernel
/// shrinks the pipes of a user with many pipes to that size (pipe(7), pipe-user-pages-soft). With
/// more messages, the two ends could wait for each other for ever.
type Connections = Within<1, 10_000>;
type InFlight = Within<1, 500>;
type Messages = Within<1, 100_000_000>;

/// The original's upper bound on threads at once.
const MOST_AT_ONCE: usize = 100_000;

/// Numbers of threads: `5`, `1..20` (both ends included), `1,2,4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Threads(pub(super) Vec<usize>);

impl Threads {
    /// Parses a value of the command line.
    ///
    /// # Errors
    /// A description of the mistake, with the valid range.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not like 5, 1..20 or 1,2,4, with numbers from 1 to 1000");
        let number = |part: &str| {
            part.parse::<usize>().ok().filter(|number| (1..=1000).contains(number)).ok_or_else(wrong)
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once("..").unwrap_or((part, part));
            let (low, high) = (number(low)?, number(high)?);
            if low > high {
                return Err(wrong());
            }
            all.extend(low..=high);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

/// Parses the size of a stack in bytes: `16k` to `1G`, or a number without a unit.
///
/// # Errors
/// A description of the mistake, with the valid range.
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

/// Parses a knob.
///
/// # Errors
/// The text is neither of the two valid words; the message names them.
pub(super) fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("'{text}' is neither on nor off")),
    }
}

/// The experiment that settled Linux's threads in 2002: one kernel thread for each thread, M:N, or
/// a manager?
#[derive(Debug, Clone, Args)]
pub(crate) struct NptlArgs {
    /// Parts to run, separated by commas
    #[arg(
        long,
        value_enum,
        value_name = "PARTS",
        value_delimiter = ',',
        default_value = "table,ladder,syscalls"
    )]
    only: Vec<Part>,

    /// Models and peers, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Column::parse)]
    models: Vec<Column>,

    /// Number of threads that create: 4, 1..20 or 1,2,4; other parts than the table use the first
    #[arg(long, value_name = "P", allow_hyphen_values = true, default_value = "1..20", value_parser = Threads::parse)]
    toplevel: Threads,

    /// Number of threads that each creator keeps at once: 4, 1..10 or 1,2,4; other parts than the
    /// table use the last
    #[arg(long, value_name = "C", allow_hyphen_values = true, default_value = "1..10", value_parser = Threads::parse)]
    children: Threads,

    /// Threads created in a sample; the original created 100k in each cell of the table, which
    /// takes about an hour [default: 1k for the table, 10k for ladder and knobs, 200 for work]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Starts::parse)]
    starts: Option<Starts>,

    /// Samples per lane; with fewer than 6, no difference can be shown [default: 1 for the table, 9
    /// for ladder and knobs, 3 for work and io]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    rounds: Option<Rounds>,

    /// Kernel threads under the threads of m:n, may and tokio [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Workers::parse)]
    workers: Option<Workers>,

    /// Part alive: numbers of threads alive at once, separated by commas [default: 10k]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Population::parse)]
    n: Vec<Population>,

    /// Parts knobs and alive: whether stacks have guard pages [default: on,off; alive: off]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = on_or_off)]
    guard: Vec<bool>,

    /// Parts knobs and alive: sizes of stacks [default: 16k,1M; alive: 16k]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = stack)]
    stack: Vec<usize>,

    /// Part knobs: whether stacks of ended threads are reused [default: on,off]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = on_or_off)]
    stack_cache: Vec<bool>,

    /// Part knobs: dictionaries in which threads are registered [default: rb,avl,none]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = str::parse::<Dictionary>)]
    registry: Vec<Dictionary>,

    /// Part work: percentage of draws that compute [default: 75]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = Percent::parse)]
    workload: Option<Percent>,

    /// Part work: number of mixes in one computation [default: 20]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Cost::parse)]
    workcost: Option<Cost>,

    /// Part work: number of draws per thread [default: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Draws::parse)]
    draws: Option<Draws>,

    /// Part io: what pairs communicate over [default: pipe,socket]
    #[arg(long, value_enum, value_delimiter = ',')]
    wire: Vec<Wire>,

    /// Part io: numbers of pairs, separated by commas [default: 1,32]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Connections::parse)]
    connections: Vec<Connections>,

    /// Part io: numbers of messages in flight per pair, separated by commas [default: 1,16]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = InFlight::parse)]
    in_flight: Vec<InFlight>,

    /// Part io: total number of messages [default: 10k]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Messages::parse)]
    messages: Option<Messages>,

    /// Seed of all random choices
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The requested values, or the usual ones if none were requested.
fn or<T: Clone>(asked: &[T], usual: &[T]) -> Vec<T> {
    if asked.is_empty() { usual.to_vec() } else { asked.to_vec() }
}

/// Converts a number, which fits because its type bounds it.
fn narrow<const LOW: u64, const HIGH: u64, T: TryFrom<u64>>(number: Within<LOW, HIGH>) -> Option<T> {
    T::try_from(number.get()).ok()
}

impl NptlArgs {
    /// Checks the request.
    ///
    /// # Errors
    /// A request that would end without a figure.
    pub(super) fn to_plan(&self) -> Result<Plan, LabError> {
        let sorted = |mut columns: Vec<Column>| {
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        let mut parts = self.only.clone();
        parts.sort_unstable();
        parts.dedup();
        let columns = sorted(or(&self.models, &Column::all()));
        self.refuse(&parts, &columns)?;
        let knobs = Knobs { workers: self.workers.and_then(narrow), ..Knobs::default() };
        Ok(Plan {
            toplevel: self.toplevel.0.clone(),
            children: self.children.0.clone(),
            starts: self.starts.map(Within::get),
            rounds: self.rounds.and_then(narrow),
            seed: self.seed.get(),
            knobs,
            settings: Settings {
                guard: or(&self.guard, &[true, false]),
                stack: or(&self.stack, &[LEAST_STACK, 1 << 20]),
                cache: or(&self.stack_cache, &[true, false]),
                registry: or(&self.registry, &Dictionary::ALL.map(|(_, dictionary)| dictionary)),
            },
            work: self.work()?,
            loads: self.loads(),
            alive: self.orders(&columns, knobs.workers),
            parts,
            columns,
        })
    }

    fn refuse(&self, parts: &[Part], columns: &[Column]) -> Result<(), LabError> {
        let refused = |why: String| Err(LabError::usage(format!("{why}; nothing was run")));
        let most = |threads: &Threads| threads.0.last().copied().unwrap_or(1);
        let at_once = most(&self.toplevel) * most(&self.children);
        if at_once > MOST_AT_ONCE {
            return refused(format!(
                "{at_once} threads at once are more than the original's {MOST_AT_ONCE}: take a smaller --toplevel or --children"
            ));
        }
        let (knobs, work, io, alive): (&[Part], &[Part], &[Part], &[Part]) =
            (&[Part::Knobs], &[Part::Work], &[Part::Io], &[Part::Alive]);
        let both = &[Part::Knobs, Part::Alive];
        let options: [(&str, bool, &[Part]); 12] = [
            ("--n", !self.n.is_empty(), alive),
            ("--guard", !self.guard.is_empty(), both),
            ("--stack", !self.stack.is_empty(), both),
            ("--stack-cache", !self.stack_cache.is_empty(), knobs),
            ("--registry", !self.registry.is_empty(), knobs),
            ("--workload", self.workload.is_some(), work),
            ("--workcost", self.workcost.is_some(), work),
            ("--draws", self.draws.is_some(), work),
            ("--wire", !self.wire.is_empty(), io),
            ("--connections", !self.connections.is_empty(), io),
            ("--in-flight", !self.in_flight.is_empty(), io),
            ("--messages", self.messages.is_some(), io),
        ];
        let names = |parts: &[Part]| parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(" or ");
        for (option, given, of) in options {
            if given && !of.iter().any(|part| parts.contains(part)) {
                let of = names(of);
                return refused(format!("{option} is an option of {of}: add --only {of}"));
            }
        }
        for part in parts {
            let fits: fn(Column) -> bool = match part {
                Part::Table | Part::Ladder | Part::Syscalls => continue,
                Part::Work => Work::fits,
                Part::Io => echo::fits,
                Part::Alive | Part::Knobs => |column| column.model().is_some(),
            };
            if !columns.iter().any(|&column| fits(column)) {
                let fit = Column::all().into_iter().filter(|&column| fits(column)).map(Column::name);
                let fit = fit.collect::<Vec<_>>().join(",");
                return refused(format!("--only {} needs one of --models {fit}", part.name()));
            }
        }
        Ok(())
    }

    fn work(&self) -> Result<Work, LabError> {
        let usual = published()?.work;
        Ok(Work {
            workload: self.workload.and_then(narrow).unwrap_or(usual.workload),
            workcost: self.workcost.and_then(narrow).unwrap_or(usual.workcost),
            draws: self.draws.and_then(narrow).unwrap_or(usual.draws),
        })
    }

    /// Every combination of wire, number of connections and number of messages in flight.
    fn loads(&self) -> Vec<Load> {
        let number = |asked: Option<usize>| asked.unwrap_or(1);
        let connections: Vec<usize> = self.connections.iter().map(|&n| number(narrow(n))).collect();
        let in_flight: Vec<usize> = self.in_flight.iter().map(|&n| number(narrow(n))).collect();
        let messages = self.messages.map_or(10_000, Within::get);
        let mut loads = Vec::new();
        for wire in or(&self.wire, &[Wire::Pipe, Wire::Socket]) {
            for connections in or(&connections, &[1, 32]) {
                for in_flight in or(&in_flight, &[1, 16]) {
                    let messages = messages.div_ceil(connections as u64);
                    loads.push(Load { wire, connections, in_flight, messages });
                }
            }
        }
        loads
    }

    /// The orders for the child processes.
    fn orders(&self, columns: &[Column], workers: Option<usize>) -> Vec<Order> {
        let n: Vec<u64> = self.n.iter().map(|n| n.get()).collect();
        let mut orders = Vec::new();
        for model in columns.iter().filter_map(|column| column.model()) {
            for threads in or(&n, &[10_000]) {
                for stack in or(&self.stack, &[LEAST_STACK]) {
                    for guard in or(&self.guard, &[false]) {
                        orders.push(Order { model, threads, stack, guard, workers });
                    }
                }
            }
        }
        orders
    }
}
