//! `tickwright check`: runs every structure and scenario once, verifies every answer, and times
//! nothing.

mod mixed;

use crate::clock::FakeMeter;
use crate::error::LabError;
use crate::experiment::{Experiment, conduct_plan};
use crate::experiments::ROWS;
use crate::experiments::bench::{Bench, BenchArgs};
#[cfg(target_os = "linux")]
use crate::experiments::latency;
use crate::experiments::request;
use crate::interrupt;
use crate::models::scenario::Scenario;
use crate::output;
use crate::result::Report;
use crate::structures::registry::STRUCTURES;
use crate::tour;

/// The output of a check and the list of failures.
#[derive(Debug, Default)]
struct Findings {
    wrong: Vec<String>,
}

impl Findings {
    fn note(&mut self, what: &str, result: Result<String, String>) -> Result<(), LabError> {
        match result {
            // An interrupted check can be incomplete, so its result is dropped.
            _ if interrupt::requested() => Err(LabError::Interrupted),
            Ok(done) => output::print(&format!("ok      {what}: {done}\n")),
            Err(wrong) => {
                self.wrong.push(what.to_owned());
                output::print(&format!("WRONG   {what}: {wrong}\n"))
            }
        }
    }
}

/// Checks everything.
///
/// # Errors
/// [`LabError::Failed`] with the names of all failures, or [`LabError::Interrupted`].
pub(crate) fn run() -> Result<(), LabError> {
    let done = all();
    if let Err(LabError::Interrupted) = done {
        output::print("\nINTERRUPTED: the rest is not checked\n")?;
    }
    done
}

fn all() -> Result<(), LabError> {
    let mut findings = Findings::default();
    findings.note("tour", plan())?;
    for scenario in Scenario::built_in()? {
        findings.note(&format!("scenario {}", scenario.name), scenario_answers(&scenario))?;
    }
    findings.note("adversary", attacks())?;
    for row in ROWS.iter() {
        findings.note(&format!("experiment {}", row.name), row.check())?;
    }
    #[cfg(target_os = "linux")]
    findings.note("latency", woken_up())?;
    for structure in STRUCTURES {
        findings.note(&format!("structure {}", structure.id), mixed::check(structure))?;
    }
    match findings.wrong.as_slice() {
        [] => output::print("\neverything checked is right\n"),
        wrong => Err(LabError::failed(format!("{} checks failed: {}", wrong.len(), wrong.join(", ")))),
    }
}

fn plan() -> Result<String, String> {
    let (length, longest) = (tour::length(&tour::plan()).as_secs(), tour::LONGEST.as_secs());
    if length < longest {
        Ok(format!("{length} s planned, under {longest} s"))
    } else {
        Err(format!("{length} s planned, not under {longest} s"))
    }
}

/// Runs an experiment to verify its answers; its times are ignored.
fn answers<E: Experiment>(experiment: &E) -> Result<Report, String> {
    let words = |error: LabError| error.to_string();
    let plan = experiment.plan().map_err(words)?;
    let report = conduct_plan(experiment, &plan, &FakeMeter::steady(1)).map_err(words)?;
    if report.interrupted { Err("interrupted".into()) } else { Ok(report) }
}

fn scenario_answers(scenario: &Scenario) -> Result<String, String> {
    // Edge cases, and populations that fill a few levels of every structure.
    let asked = ["--n", "1,2,3,17,300", "--rounds", "1", "--structures", "*"];
    let counted: &[&str] = if scenario.run.operations.is_some() { &["--operations", "500"] } else { &[] };
    let args = request::words(&[&asked, counted].concat()).map_err(|error| error.to_string())?;
    let report = answers(&Bench::of(scenario.clone(), args))?;
    Ok(format!("{} answers are right", report.series.len()))
}

/// Runs every kind of attack on every structure, with 1 and with 200 timers.
fn attacks() -> Result<String, String> {
    let words = ["--worst", "--n", "1,200", "--budget", "8", "--rounds", "1"];
    let attacks = request::words::<BenchArgs>(&words).and_then(Bench::new);
    let report = answers(&attacks.map_err(|error| error.to_string())?)?;
    Ok(format!("{} kinds of calls answered rightly", report.series.len() / 4))
}

/// Runs `latency` for a short time and counts its samples. Fails if the timer of the emulated host
/// never ticks.
#[cfg(target_os = "linux")]
fn woken_up() -> Result<String, String> {
    let runs = latency::checks().map_err(|error| error.to_string())?;
    let mut samples = 0.0;
    for args in &runs {
        let report = answers(args)?;
        let all = |name| report.series.iter().filter(move |series| series.name == name);
        if all("host ticks").any(|series| series.samples.iter().all(|ticks| *ticks == 0.0)) {
            return Err(format!("no host tick: {}", request::list(&report.notes)));
        }
        samples += all("samples").flat_map(|series| &series.samples).sum::<f64>();
    }
    Ok(format!("{samples} samples in {} runs, each period a sample or told as a gap", runs.len()))
}
