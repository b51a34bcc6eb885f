//! `tickwright bench c-peers`: one C program that does the same adds, re-arms and deletes through
//! our C library and through the event loops of others.
//!
//! The program is `crates/tickwright-capi/peers`; here it is built by `make`, run, and read. What
//! it measures it has verified.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output::{OutputArgs, Run, table};
use crate::progress::Progress;
use crate::scenario::{Population, Rounds, Seed};
use crate::stats::{self, Verdict};

/// Arguments of `bench c-peers`.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    /// Timers
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "1k,10k,100k", value_parser = Population::parse)]
    n: Vec<Population>,
    /// Samples of each library; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// What delays are generated from
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    seed: Seed,
    #[command(flatten)]
    output: OutputArgs,
}

/// What the C program prints.
#[derive(Debug, Deserialize)]
struct Printed {
    skipped: Vec<Skipped>,
    samples: Vec<Sample>,
}

impl Printed {
    /// What an interrupted program has printed: an entry a line.
    fn so_far(text: &str) -> Self {
        let entry = |line: &str| line.trim().trim_end_matches(',').to_owned();
        let entries: Vec<String> = text.lines().map(entry).collect();
        Self {
            skipped: entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect(),
            samples: entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect(),
        }
    }
}

/// A library that did not take part.
#[derive(Debug, Clone, Deserialize, Serialize)]
struct Skipped {
    peer: String,
    why: String,
}

/// One operation of one library in one round.
#[derive(Debug, Clone, Deserialize, Serialize)]
struct Sample {
    peer: String,
    n: usize,
    round: u64,
    operation: String,
    ns_per_operation: f64,
}

/// The results.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    host: Host,
    rounds: u64,
    seed: u64,
    skipped: Vec<Skipped>,
    samples: Vec<Sample>,
}

/// Who the others are compared with.
const OURS: &str = "tickwright/wheel";
const OPERATIONS: [&str; 3] = ["add", "rearm", "del"];
/// Libraries in the program, for the bar.
const PEERS: u64 = 6;

impl PeersArgs {
    /// Builds, runs, prints.
    ///
    /// # Errors
    /// Without the sources, `make` or a C compiler; when a library answered wrongly; an
    /// interruption.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let files = self.output.open()?;
        let Printed { skipped, samples } = match build().and_then(|program| self.run(&program)) {
            Err(LabError::Interrupted) => Printed::so_far(""),
            ran => ran?,
        };
        let report =
            Report { host: Host::read(), rounds: self.rounds.get(), seed: self.seed.get(), skipped, samples };
        let run = Run { interrupted: interrupt::requested(), host: &report.host };
        files.finish(run, || show(&report), &report, &report.samples)
    }

    fn run(&self, program: &Path) -> Result<Printed, LabError> {
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

/// Builds the C program, beside this one.
fn build() -> Result<PathBuf, LabError> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tickwright-capi");
    if !sources.join("Makefile").exists() {
        return Err(LabError::usage(format!(
            "the C program is built from the sources, and '{}' is not there: run this from a checkout",
            sources.display()
        )));
    }
    let here = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let here = here.unwrap_or_else(env::temp_dir);
    let program = here.join("c-peers");
    let made = interrupt::output(
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
        // Nothing is measured yet.
        Err(LabError::Interrupted)
    } else {
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        Err(LabError::usage(format!("the C program could not be built: {}", said.trim_end())))
    }
}

/// The tables: one a size, and what took no part.
fn show(report: &Report) -> String {
    let mut text = String::new();
    let sizes: BTreeSet<usize> = report.samples.iter().map(|sample| sample.n).collect();
    for n in sizes {
        let times = |peer: &str, operation: &str| -> Vec<f64> {
            let of = |s: &&Sample| s.n == n && s.peer == peer && s.operation == operation;
            report.samples.iter().filter(of).map(|sample| sample.ns_per_operation).collect()
        };
        let heading = OPERATIONS.iter().flat_map(|operation| [format!("{operation} ns"), "x".to_owned()]);
        let mut table = table::new([format!("n={}", table::count(n))].into_iter().chain(heading));
        let mut peers: Vec<&str> = Vec::new();
        for sample in &report.samples {
            if sample.n == n && !peers.contains(&sample.peer.as_str()) {
                peers.push(&sample.peer);
            }
        }
        peers.sort_unstable_by_key(|peer| (!peer.starts_with("tickwright"), *peer));
        for peer in peers {
            let columns = OPERATIONS.iter().flat_map(|operation| {
                let theirs = times(peer, operation);
                let ratio = stats::ratios(&theirs, &times(OURS, operation));
                let median = stats::summarise(theirs).map_or("-".into(), |s| table::ns(s.median));
                let ratio = ratio.map_or("-".into(), |ratio| match Verdict::on(&ratio) {
                    _ if peer == OURS => "1".to_owned(),
                    Verdict::NoDifferenceShown => "~".to_owned(),
                    _ => format!("{:.2}", ratio.median),
                });
                [median, ratio]
            });
            table.add_row([peer.to_owned()].into_iter().chain(columns));
        }
        text += &(table::show(&table) + "\n\n");
    }
    text += &format!(
        "ns for one timer, median of {} rounds; x: times {OURS}, round by round; ~: no difference shown.\n\
         Nothing is locked, and the time is what each loop has in its cache; but tickwright/sched locks and reads the clock at each call.\n\
         Each library has counted and fired rightly.\n",
        report.rounds
    );
    for skipped in &report.skipped {
        text += &format!("{}: {}\n", skipped.peer, skipped.why);
    }
    for doubt in report.host.doubts() {
        text += &format!("note: {doubt}\n");
    }
    text
}

#[cfg(test)]
mod tests;
