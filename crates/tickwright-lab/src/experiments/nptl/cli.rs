//! `tickwright reproduce nptl`: its arguments.

use std::path::PathBuf;

use clap::Args;
use tickwright_threads::{Dictionary, LEAST_STACK, MOST_STACK};

use super::child::Errand;
use super::column::Column;
use super::echo::Wire;
use crate::models::scenario::{Rounds, Seed, Within};
use crate::output::OutputArgs;

/// Threads created in a cell.
pub(super) type Starts = Within<1, 100_000_000>;
/// Kernel threads under M:N ones.
pub(super) type Workers = Within<1, 255>;
/// Threads alive together.
pub(super) type AtOnce = Within<1, 16_777_216>;
/// Of `--work`.
pub(super) type Percent = Within<0, 100>;
pub(super) type Cost = Within<1, 1_000_000>;
pub(super) type Draws = Within<1, 1000>;
/// Of `--io`. A client sends all that is in flight before it reads, 16 bytes each: it must fit into
/// two pipes of one page, to which the kernel comes down for a user with many pipes (pipe(7),
/// pipe-user-pages-soft). More could wait for each other for ever.
pub(super) type Connections = Within<1, 10_000>;
pub(super) type InFlight = Within<1, 500>;
pub(super) type Messages = Within<1, 100_000_000>;

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

impl core::fmt::Display for Threads {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.as_slice() {
            [low, .., high] if high - low + 1 == self.0.len() => write!(f, "{low}..{high}"),
            all => f.write_str(&all.iter().map(usize::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// The experiment that settled Linux's threads in 2002: one kernel thread for each, M:N, or a
/// manager?
///
/// Without one of --table, --ladder, --syscalls, --work, --io, --all-at-once, --guard, --stack,
/// --stack-cache and --registry it runs the first three.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NptlArgs {
    /// The 20 x 10 table of each model and peer, and its two summaries
    #[arg(long)]
    pub(super) table: bool,

    /// M:N from NGPT's way to ours, one knob after another, beside one-to-one
    #[arg(long)]
    pub(super) ladder: bool,

    /// System calls for one creation and its join, counted by strace
    #[arg(long)]
    pub(super) syscalls: bool,

    /// Threads that compute or sleep 10 ms, by a draw, as the original's work option
    #[arg(long)]
    pub(super) work: bool,

    /// Pairs of threads that echo over pipes and sockets
    #[arg(long)]
    pub(super) io: bool,

    /// So many threads alive together, of each model, in a child process
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = AtOnce::parse)]
    pub(super) all_at_once: Option<AtOnce>,

    /// What a guard page costs in each model: on,off; with --all-at-once, a run with each
    /// [default there: off]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = on_or_off)]
    pub(super) guard: Vec<bool>,

    /// What the size of stacks costs in each model: 16k,1M; with --all-at-once, a run with each
    /// [default there: 16k]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = stack)]
    pub(super) stack: Vec<usize>,

    /// What using the stacks of ended threads again brings in each model: on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "all_at_once", value_parser = on_or_off)]
    pub(super) stack_cache: Vec<bool>,

    /// What the dictionary costs that each model registers its threads in: rb,avl,none
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "all_at_once", value_parser = str::parse::<Dictionary>)]
    pub(super) registry: Vec<Dictionary>,

    /// Models and peers [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Column::parse)]
    pub(super) models: Vec<Column>,

    /// Threads that create: 1..20, 4 or 1,2,4; outside of the table the first counts
    /// [default: 1..20]
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_parser = Threads::parse)]
    pub(super) toplevel: Option<Threads>,

    /// Threads that each of them keeps at once: 1..10, 4 or 1,2,4; outside of the table the last
    /// counts [default: 1..10]
    #[arg(long, value_name = "C", allow_hyphen_values = true, value_parser = Threads::parse)]
    pub(super) children: Option<Threads>,

    /// Threads created in a run [default: 100k in a cell of the table, as the original: most of an
    /// hour in all; 10k for knobs and the ladder, 200 with work]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Starts::parse)]
    pub(super) starts: Option<Starts>,

    /// Times that each is run; below 6 no difference can be shown [default: 1 for the table, 9 for
    /// knobs and the ladder, 3 with work and io]
    #[arg(long, allow_hyphen_values = true, value_parser = Rounds::parse)]
    pub(super) rounds: Option<Rounds>,

    /// Kernel threads under those of m:n, may and tokio [default: one for each core]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Workers::parse)]
    pub(super) workers: Option<Workers>,

    /// With --work: how many of a hundred draws compute [default: 75]
    #[arg(long, requires = "work", value_name = "PERCENT", allow_hyphen_values = true, value_parser = Percent::parse)]
    pub(super) workload: Option<Percent>,

    /// With --work: how much one computes [default: 20]
    #[arg(long, requires = "work", value_name = "N", allow_hyphen_values = true, value_parser = Cost::parse)]
    pub(super) workcost: Option<Cost>,

    /// With --work: draws of a thread [default: 10]
    #[arg(long, requires = "work", value_name = "N", allow_hyphen_values = true, value_parser = Draws::parse)]
    pub(super) draws: Option<Draws>,

    /// With --io: what pairs talk over [default: both]
    #[arg(long, requires = "io", value_enum, value_delimiter = ',')]
    pub(super) wire: Vec<Wire>,

    /// With --io: pairs at once [default: 1,32]
    #[arg(long, requires = "io", value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = Connections::parse)]
    pub(super) connections: Vec<Connections>,

    /// With --io: messages that each pair has under way [default: 1,16]
    #[arg(long, requires = "io", value_name = "N", value_delimiter = ',', allow_hyphen_values = true, value_parser = InFlight::parse)]
    pub(super) in_flight: Vec<InFlight>,

    /// With --io: messages in all [default: 10k]
    #[arg(long, requires = "io", value_name = "N", allow_hyphen_values = true, value_parser = Messages::parse)]
    pub(super) messages: Option<Messages>,

    /// What the order of runs follows from [default: 1]
    #[arg(long, allow_hyphen_values = true, value_parser = Seed::parse)]
    pub(super) seed: Option<Seed>,

    /// Draw the two summaries into an SVG file
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,

    /// What this process does for one that counts it or may lose it
    #[arg(long, hide = true, value_parser = Errand::parse)]
    pub(super) child: Option<Errand>,

    /// Shown without the large tables.
    #[arg(skip)]
    pub(super) brief: bool,

    #[command(flatten)]
    pub(super) output: OutputArgs,
}
