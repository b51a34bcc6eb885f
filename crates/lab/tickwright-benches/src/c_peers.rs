//! `benches c-peers`: one C program runs the same adds, re-arms and deletes through our C
//! library and through other event loops.
//!
//! The program is in `crates/c/tickwright-capi/peers`. This module builds the program with `make`,
//! runs it, and reads its output. The program verifies what it measures.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::child;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::interrupt;
use crate::number::{Population, Rounds, Seed};
use crate::output::OutputArgs;
use crate::output::table::count;
use crate::progress::Progress;
use crate::render::Format;
use crate::request;
use crate::result::{Finding, Section, Series, Table, Unit, findings_table, labels};
use crate::stats::{self, Bound, Verdict};

/// Arguments of `c-peers`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PeersArgs {
    /// Number of timers
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1k,10k,100k", value_parser = Population::parse)]
    pub(crate) n: Vec<Population>,
    /// Number of samples of each library; fewer than 6 cannot show a difference
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// Programs in other languages that run after the C program
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    also: Vec<Also>,
    /// Seed of the delays
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A program that does the same work in another language and verifies what it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Also {
    /// `ScheduledThreadPoolExecutor`, and from JDK 25 on the `DelayScheduler`
    Jdk,
    /// `time.AfterFunc`
    Go,
}

impl Also {
    /// Returns the program, its first arguments, and the Debian package that contains it.
    fn command(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Self::Jdk => ("java", &["peers/Timers.java"], "default-jdk-headless"),
            Self::Go => ("go", &["run", "peers/timers.go"], "golang-go"),
        }
    }
}

/// The output of the C program.
#[derive(Debug, Deserialize)]
pub(crate) struct Printed {
    skipped: Vec<Skipped>,
    samples: Vec<Sample>,
}

impl Printed {
    /// Reads the output of an interrupted program: one entry per line.
    fn so_far(text: &str) -> Self {
        let entry = |line: &str| line.trim().trim_end_matches(',').to_owned();
        let entries: Vec<String> = text.lines().map(entry).collect();
        Self {
            skipped: entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect(),
            samples: entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect(),
        }
    }
}

/// A library that was not measured.
#[derive(Debug, Clone, Deserialize)]
struct Skipped {
    peer: String,
    why: String,
}

/// One operation of one library in one round.
#[derive(Debug, Clone, Deserialize)]
struct Sample {
    peer: String,
    n: usize,
    /// Whether each call of the library takes a lock.
    lock: bool,
    /// When the clock is read: `each call`, or `cached`.
    clock: String,
    operation: String,
    ns_per_operation: f64,
}

/// The library with which the other libraries are compared.
const OURS: &str = "tickwright/wheel";
const OPERATIONS: [&str; 3] = ["add", "rearm", "del"];
/// The targets. Each target lists the operations whose times are added, our library, the other
/// library, and the greatest allowed ratio. libuv, libevent and libev arm timers that were created
/// before the measurement, as our `kept` does.
const TARGETS: [(&[&str], &str, &str, f64); 9] = [
    (&OPERATIONS, "tickwright/kept-since", "libuv", 0.67),
    (&OPERATIONS, "tickwright/kept-since", "libevent-locked", 0.67),
    (&OPERATIONS, "tickwright/sched-since", "libuv", 0.67),
    (&OPERATIONS, "tickwright/sched-since", "libevent-locked", 0.67),
    (&OPERATIONS, OURS, "libev", 1.0),
    (&["add"], "tickwright/own-since", "libev", 1.3),
    (&["add"], "tickwright/own-since", "libevent", 0.7),
    (&["add"], "tickwright/sched-since", "libevent", 0.9),
    (&["add"], "tickwright/sched-since", "libuv", 0.9),
];
/// The number of libraries in the program, for the progress bar.
const PEERS: u64 = 12;

impl Experiment for PeersArgs {
    type Plan = Vec<usize>;
    type Data = Printed;

    fn name(&self) -> String {
        "bench c-peers".into()
    }

    fn plan(&self) -> Result<Vec<usize>, LabError> {
        sources()?;
        Ok(request::sizes(&self.n))
    }

    fn parameters(&self, sizes: &Vec<usize>) -> Parameters {
        request::parameters([("n", request::list(sizes).into()), ("rounds", self.rounds.get().into())])
    }

    fn seed(&self, _: &Vec<usize>) -> Option<u64> {
        Some(self.seed.get())
    }

    /// Always `false`: the C program reads its own clock.
    fn is_timed(&self) -> bool {
        false
    }

    fn run(&self, _: &Vec<usize>, lab: &mut Lab<'_>) -> Result<Printed, LabError> {
        let printed = match build().and_then(|program| self.peers(&program)) {
            Err(LabError::Interrupted) => Printed::so_far(""),
            ran => ran?,
        };
        let mut printed = printed;
        for &also in &self.also {
            if !interrupt::requested() {
                let Printed { skipped, samples } = self.others(also)?;
                printed.skipped.extend(skipped);
                printed.samples.extend(samples);
            }
        }
        lab.interrupted = interrupt::requested();
        lab.notes.extend(printed.skipped.iter().map(|skipped| format!("{}: {}", skipped.peer, skipped.why)));
        Ok(printed)
    }

    fn series(&self, sizes: &Vec<usize>, printed: &Printed) -> Vec<Series> {
        let mut series = Vec::new();
        for &n in sizes {
            for peer in printed.peers(n) {
                for operation in OPERATIONS {
                    let of = labels([("peer", peer.to_owned().into()), ("n", n.into())]);
                    let samples = printed.times(n, peer, operation);
                    series.push(Series::new(operation, Unit::Ns, of).per("operation").of(samples));
                }
            }
        }
        series
    }

    /// Compares every other library with ours. A ratio above 1 means that the other library is
    /// slower. The targets come last.
    fn findings(&self, sizes: &Vec<usize>, printed: &Printed) -> Vec<Finding> {
        let mut findings = Vec::new();
        for &n in sizes {
            for peer in printed.peers(n).into_iter().filter(|peer| *peer != OURS) {
                for operation in OPERATIONS {
                    let theirs = printed.times(n, peer, operation);
                    let Some(ratio) = stats::ratios(&theirs, &printed.times(n, OURS, operation)) else {
                        continue;
                    };
                    let about = format!("{operation}, {peer} to {OURS}, n={}", count(n));
                    findings.push(Finding::ratio(about, ratio, Format::Ratio.write(ratio.median)));
                }
            }
        }
        findings.extend(sizes.iter().flat_map(|&n| printed.targets(n)));
        findings
    }

    fn sections(&self, sizes: &Vec<usize>, printed: &Printed, findings: &[Finding]) -> Vec<Section> {
        let above = format!(
            "ns for one timer, median of {} rounds; x: times {OURS}, round by round; ~: no difference shown.\n\
             Each call takes a lock: {}. Each call reads the clock: {}; the others take a time that was read once \
             before. Each library has counted and fired rightly. Those of --also ran after the others.",
            self.rounds.get(),
            printed.peers_with(|sample| sample.lock),
            printed.peers_with(|sample| sample.clock == "each call"),
        );
        let tables = sizes.iter().map(|&n| section(printed, n));
        let first = Section::new("One C program over each library").text(above);
        let mut sections: Vec<Section> = [first].into_iter().chain(tables).collect();
        let targets: Vec<Finding> =
            findings.iter().filter(|finding| finding.bound.is_some()).cloned().collect();
        if !targets.is_empty() {
            let table = findings_table("ratio", Format::Fixed(2), &targets);
            sections.push(Section::new("Targets").table(table));
        }
        sections
    }
}

impl PeersArgs {
    /// Runs a program in another language.
    ///
    /// # Errors
    /// If the language is not installed, or its timers gave a wrong answer.
    fn others(&self, also: Also) -> Result<Printed, LabError> {
        let (program, words, package) = also.command();
        let sizes: Vec<String> = self.n.iter().map(|n| n.get().to_string()).collect();
        let ran = child::output(
            Command::new(program)
                .args(words)
                .args([sizes.join(","), self.rounds.get().to_string(), self.seed.get().to_string()])
                .current_dir(sources()?)
                .stdin(Stdio::null()),
        );
        let ran = ran.map_err(|error| {
            LabError::usage(format!("--also needs {program} (Debian: apt-get install {package}): {error}"))
        })?;
        match ran.status {
            status if status.success() => Ok(Printed::so_far(&String::from_utf8_lossy(&ran.stdout))),
            status => {
                let said = String::from_utf8_lossy(&ran.stderr).into_owned();
                Err(LabError::failed(format!("{program} ended with {status}: {}", said.trim_end())))
            }
        }
    }

    /// Runs the C program.
    ///
    /// # Errors
    /// If the program cannot be started, or a library gave a wrong answer.
    fn peers(&self, program: &Path) -> Result<Printed, LabError> {
        let sizes: Vec<String> = self.n.iter().map(|n| n.get().to_string()).collect();
        let failed = |what: String| LabError::failed(format!("the C program: {what}"));
        let mut child = Command::new(program)
            .args(["--n", &sizes.join(","), "--rounds", &self.rounds.get().to_string()])
            .args(["--seed", &self.seed.get().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let told = interrupt::passing_on(&child);
        let progress = Progress::steps(self.n.len() as u64 * self.rounds.get() * PEERS, "c-peers");
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().ok_or_else(|| failed("no output".into()))?).lines() {
            let line = line.map_err(|error| failed(error.to_string()))?;
            if line.contains("\"del\"") {
                progress.step();
            }
            text += &(line + "\n");
        }
        drop(told);
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        match status {
            _ if interrupt::requested() => Ok(Printed::so_far(&text)),
            status if !status.success() => Err(failed(format!("it ended with {status}; see above"))),
            _ => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
        }
    }
}

/// Returns the directory of the C program's sources.
///
/// # Errors
/// If the directory does not exist, because this program does not run in a checkout.
fn sources() -> Result<PathBuf, LabError> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c/tickwright-capi");
    if !sources.join("Makefile").exists() {
        Err(LabError::usage(format!(
            "the C program is built from the sources, and '{}' is not there: run this from a checkout",
            sources.display()
        )))
    } else {
        Ok(sources)
    }
}

/// Builds the C program in a subfolder of this program's folder. Returns its path.
fn build() -> Result<PathBuf, LabError> {
    let sources = sources()?;
    let here = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let here = here.unwrap_or_else(env::temp_dir);
    let program = here.join("c-peers");
    let made = child::output(
        Command::new("make")
            .args(["-s", "peers"])
            .arg(format!("OUT={}", program.display()))
            .arg(format!("STAGE={}", here.join("c-peers-prefix").display()))
            .current_dir(sources)
            .stdin(Stdio::null()),
    )
    .map_err(|error| LabError::usage(format!("make is needed to build the C program: {error}")))?;
    if made.status.success() {
        Ok(program)
    } else if interrupt::requested() {
        // The program is not built yet, so there are no measurements to show.
        Err(LabError::Interrupted)
    } else {
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        Err(LabError::usage(format!("the C program could not be built: {}", said.trim_end())))
    }
}

impl Printed {
    /// Returns the libraries that were measured with `n` timers, ours first.
    fn peers(&self, n: usize) -> Vec<&str> {
        let mut peers: Vec<&str> = Vec::new();
        for sample in self.samples.iter().filter(|sample| sample.n == n) {
            if !peers.contains(&sample.peer.as_str()) {
                peers.push(&sample.peer);
            }
        }
        peers.sort_unstable_by_key(|peer| (!peer.starts_with("tickwright"), *peer));
        peers
    }

    /// Returns the names of the libraries that have a sample for which `is_such` is true.
    fn peers_with(&self, is_such: impl Fn(&Sample) -> bool) -> String {
        let such: BTreeSet<&str> =
            self.samples.iter().filter(|sample| is_such(sample)).map(|sample| &*sample.peer).collect();
        if such.is_empty() { "none".into() } else { such.into_iter().collect::<Vec<_>>().join(", ") }
    }

    /// Returns the ns per operation, one value per round.
    fn times(&self, n: usize, peer: &str, operation: &str) -> Vec<f64> {
        let of = |s: &&Sample| s.n == n && s.peer == peer && s.operation == operation;
        self.samples.iter().filter(of).map(|sample| sample.ns_per_operation).collect()
    }

    /// Returns the ns that these operations on one timer take together, one value per round.
    fn sums(&self, n: usize, peer: &str, operations: &[&str]) -> Vec<f64> {
        let times = operations.iter().map(|operation| self.times(n, peer, operation));
        times
            .reduce(|sums, more| sums.iter().zip(more).map(|(sum, one)| sum + one).collect())
            .unwrap_or_default()
    }

    /// Judges the targets whose two libraries were measured.
    fn targets(&self, n: usize) -> impl Iterator<Item = Finding> {
        TARGETS.iter().filter_map(move |&(operations, ours, theirs, at_most)| {
            let ratio = stats::ratios(&self.sums(n, ours, operations), &self.sums(n, theirs, operations))?;
            let about = format!("{}: {ours} to {theirs}, n={}", operations.join(" + "), count(n));
            Some(Finding::bounded(about, ratio, Bound::AtMost(at_most)))
        })
    }
}

fn section(printed: &Printed, n: usize) -> Section {
    let mut table = Table::new().column(format!("n={}", count(n)), Format::Text);
    for operation in OPERATIONS {
        table = table.column(format!("{operation} ns"), Format::Ns).column("x", Format::Fixed(2));
    }
    for peer in printed.peers(n) {
        let columns = OPERATIONS.iter().flat_map(|operation| {
            let theirs = printed.times(n, peer, operation);
            let ratio = match stats::ratios(&theirs, &printed.times(n, OURS, operation)) {
                Some(_) if peer == OURS => "base".into(),
                Some(ratio) if Verdict::on(&ratio) == Verdict::NoDifferenceShown => "~".into(),
                ratio => ratio.map(|ratio| ratio.median).into(),
            };
            [stats::summarise(theirs).map(|summary| summary.median).into(), ratio]
        });
        table.row([peer.into()].into_iter().chain(columns));
    }
    Section::new("").table(table)
}

#[cfg(test)]
mod tests;
