//! `tickwright show`, `compare` and `report`: commands that read results from files.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::host::Host;
use crate::output::{OutputArgs, TextFile, command_line, is_stdout, keep_inputs, print};
use crate::render;
use crate::result::compare::{Compared, compare, sections};
use crate::result::{Finding, Report, SCHEMA, workload};
use crate::stats::Verdict;

/// The JSON Schemas of results and of scenarios. A test compares the schemas with the types.
pub(crate) const SCHEMAS: &str = include_str!("results/schemas.json");

/// Arguments of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Result that was written with --json=FILE; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl ShowArgs {
    /// Prints an old result again, or converts it into another format.
    ///
    /// # Errors
    /// If the file is not a result, or an output cannot be written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let report = Report::read(&self.file)?;
        let files = self.output.open(&[&self.file])?;
        match files.deliver(&report) {
            // The result states that it is partial; `show` itself was not interrupted.
            Err(LabError::Interrupted) => Ok(()),
            done => done,
        }
    }
}

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// Result to compare with
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// Result that is compared with FIRST
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Exit with code 1 if a series is shown to be worse
    #[arg(long)]
    fail_if_worse: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl CompareArgs {
    /// Compares two results series by series.
    ///
    /// # Errors
    /// If a file is not a result, or the results come from two different commands. With
    /// `--fail-if-worse`, a series that became worse is an error too.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let (first, second) = (Report::read(&self.first)?, Report::read(&self.second)?);
        let compared = compare(&first, &second)?;
        let files = self.output.open(&[&self.first, &self.second])?;
        files.deliver(&report(&self.first, &first, &self.second, &second, &compared))?;
        let worse: Vec<&str> =
            compared.iter().filter(|one| one.words() == "WORSE").map(|one| one.title.as_str()).collect();
        if self.fail_if_worse && !worse.is_empty() {
            return Err(LabError::failed(format!("shown to be worse: {}", worse.join("; "))));
        }
        Ok(())
    }
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PageArgs {
    /// Results that were written with --json=FILE
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// File to which the page is written; - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "tickwright-report.html")]
    out: PathBuf,
}

impl PageArgs {
    /// Writes results as one HTML page that needs no network.
    ///
    /// # Errors
    /// If a file is not a result, or the page cannot be written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let named = |path: &PathBuf| Ok((path.display().to_string(), Report::read(path)?));
        let reports = self.files.iter().map(named).collect::<Result<Vec<_>, LabError>>()?;
        let inputs: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        keep_inputs("--out", &self.out, &inputs)?;
        let page = render::html(&reports);
        TextFile::open(&self.out)?.write(&page)?;
        if is_stdout(&self.out) {
            return Ok(());
        }
        let (count, kib) = (reports.len(), page.len() / 1024);
        let results = if count == 1 { "result" } else { "results" };
        print(&format!("{}: {count} {results}, {kib} KiB\n", self.out.display()))
    }
}

/// Builds a report of the comparison. The report's host is the host of the second result.
fn report(a: &Path, first: &Report, b: &Path, second: &Report, compared: &[Compared]) -> Report {
    let finding = |one: &Compared| {
        let verdict = one.shift.verdict();
        let here = format!("{:.2}x, p {:.3}", one.shift.ratio.median, one.shift.p);
        Finding { figure: Some(one.shift.ratio), ..Finding::stated(one.title.clone(), here) }.judged(verdict)
    };
    let mut notes: Vec<String> = [(a, first), (b, second)]
        .into_iter()
        .filter(|(_, report)| report.interrupted)
        .map(|(path, _)| format!("{} is partial: its run was interrupted", path.display()))
        .collect();
    // Two hosts differ if their processors, cores or kernels differ.
    let machine = |host: &Host| (host.cpu.clone(), host.cores, host.kernel.clone());
    if machine(&first.host) != machine(&second.host) {
        notes.push("the two results are of different machines: what differs may be the machine".into());
    }
    if first.host.profile != second.host.profile {
        notes.push("one of the results is of a debug build".into());
    }
    notes.extend(workload::doubt(first, second));
    let mut findings: Vec<Finding> = compared.iter().map(finding).collect();
    findings.retain(|finding| finding.verdict != Verdict::NoDifferenceShown);
    Report {
        schema: SCHEMA,
        experiment: "compare".into(),
        command: command_line(),
        started: OsClock::start().date(),
        host: second.host.clone(),
        workload: second.workload.clone(),
        parameters: second.parameters.clone(),
        notes,
        findings,
        sections: sections(&a.display().to_string(), &b.display().to_string(), compared),
        ..Report::default()
    }
}

#[cfg(test)]
mod tests;
