//! `tickwright check`: every structure and scenario once, every answer verified, nothing timed.

mod mixed;

use tickwright::service::Structure;
use tickwright_testkit::clauses::{Tools, Verdict};
use tickwright_testkit::{registry as suite, table as suite_table};

use crate::adversary;
use crate::adversary::pattern::Pattern;
use crate::allocator;
use crate::bench::run::{self, Options};
use crate::clock::{FakeMeter, OsClock};
use crate::error::LabError;
use crate::heap;
use crate::interrupt;
#[cfg(target_os = "linux")]
use crate::latency;
use crate::output;
use crate::progress::Progress;
use crate::registry::STRUCTURES;
use crate::reproduce::{asterisk, linux, nptl, xenomai};
use crate::scenario::Scenario;
use crate::scheduler;
use crate::threads::micro::Lane;
use crate::tour;

/// Populations that every scenario is run with; edge cases and a few levels of every structure.
const POPULATIONS: [usize; 5] = [1, 2, 3, 17, 300];
const OPERATIONS: u64 = 500;

/// What was checked, and what was wrong with it.
#[derive(Debug, Default)]
struct Findings {
    wrong: Vec<String>,
}

impl Findings {
    fn note(&mut self, what: &str, result: Result<String, String>) -> Result<(), LabError> {
        match result {
            // It may have been cut short; then it says nothing.
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
/// [`LabError::Failed`] with the names of what is wrong; [`LabError::Interrupted`].
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
        interrupted()?;
        findings.note(&format!("scenario {}", scenario.name), scenario_answers(&scenario))?;
    }
    interrupted()?;
    findings.note("adversary", attacks())?;
    interrupted()?;
    findings.note("scheduler", scheduled())?;
    interrupted()?;
    findings.note("registries", crate::dictionaries::check())?;
    interrupted()?;
    findings.note("experiment xenomai", xenomai::check())?;
    interrupted()?;
    findings.note("experiment linux", linux::check())?;
    interrupted()?;
    findings.note("heap", by_itself())?;
    interrupted()?;
    findings.note("experiment asterisk", asterisk::check())?;
    #[cfg(target_os = "linux")]
    {
        interrupted()?;
        findings.note("latency", latency::check())?;
        interrupted()?;
        findings.note("latency, timer path", latency::check_timer_path())?;
    }
    interrupted()?;
    #[cfg(target_os = "linux")]
    findings.note("experiment helenos", crate::reproduce::helenos::check())?;
    interrupted()?;
    findings.note("experiment nptl", nptl::check())?;
    interrupted()?;
    findings.note("threads", woken())?;
    for structure in STRUCTURES {
        interrupted()?;
        findings.note(&format!("structure {}", structure.id), mixed::check(structure))?;
    }
    clauses(&mut findings)?;
    let foreign = suite_table::render(&suite_table::rows(&suite::foreign(), &tools()));
    output::print(&format!("\nThe contract on queues of others:\n{foreign}\n"))?;
    match findings.wrong.as_slice() {
        [] => output::print("\neverything checked is right\n"),
        wrong => Err(LabError::failed(format!("{} checks failed: {}", wrong.len(), wrong.join(", ")))),
    }
}

fn interrupted() -> Result<(), LabError> {
    if interrupt::requested() { Err(LabError::Interrupted) } else { Ok(()) }
}

fn plan() -> Result<String, String> {
    let (length, longest) = (tour::length().as_secs(), tour::LONGEST.as_secs());
    if length < longest {
        Ok(format!("{length} s planned, under {longest} s"))
    } else {
        Err(format!("{length} s planned, not under {longest} s"))
    }
}

fn scenario_answers(scenario: &Scenario) -> Result<String, String> {
    let options = Options {
        populations: Some(POPULATIONS.to_vec()),
        rounds: Some(1),
        operations: Some(OPERATIONS),
        structures: Some(vec!["*".into()]),
        ..Options::default()
    };
    let report = run::run(core::slice::from_ref(scenario), &options, &FakeMeter::steady(1))
        .map_err(|error| error.to_string())?;
    if report.interrupted {
        return Err("interrupted".into());
    }
    let ran: usize =
        report.cells.iter().map(|c| c.rows.iter().filter(|r| !r.samples.is_empty()).count()).sum();
    Ok(format!("{ran} answers are right"))
}

/// Every kind of attack on every structure, by one timer and by a few.
fn attacks() -> Result<String, String> {
    let options = adversary::Options {
        structures: vec!["*".into()],
        patterns: Pattern::ALL.to_vec(),
        populations: vec![1, 200],
        budget: 8,
        rounds: 1,
        seed: 1,
    };
    let report = adversary::run(&options, &FakeMeter::steady(1)).map_err(|error| error.to_string())?;
    if report.interrupted {
        return Err("interrupted".into());
    }
    Ok(format!("{} kinds of calls answered rightly", report.rows.len()))
}

/// The heap with the user's comparator.
fn by_itself() -> Result<String, String> {
    let rows = heap::run(10_000, 1).map_err(|error| error.to_string())?;
    if rows.len() < heap::PARTS {
        return Err("interrupted".into());
    }
    Ok(format!("{} parts passed", rows.len()))
}

/// Every structure under the scheduler and alone, with few timers.
fn scheduled() -> Result<String, String> {
    let structures = Structure::all();
    let options =
        scheduler::Options { structures, sizes: vec![1, 2, 100], rounds: 1, operations: 1, seed: 1 };
    let report = scheduler::run(&options, &FakeMeter::steady(1)).map_err(|error| error.to_string())?;
    if report.interrupted {
        return Err("interrupted".into());
    }
    Ok(format!("{} times every timer was added and deleted", report.rows.len()))
}

/// What `bench threads` times, once each.
fn woken() -> Result<String, String> {
    let lanes = Lane::ALL;
    lanes.iter().try_for_each(|lane| {
        lane.verify(OsClock::start()).map_err(|why| format!("{}: {why}", lane.what()))
    })?;
    Ok(format!("{} ways of creating, switching and waking do what they say", lanes.len()))
}

fn tools() -> Tools {
    Tools { allocations: Some(allocator::allocations) }
}

/// Every clause of the contract on every family in both storages.
fn clauses(findings: &mut Findings) -> Result<(), LabError> {
    let tools = tools();
    let kinds = suite::ours();
    let progress = Progress::steps(kinds.len() as u64, "conformance");
    for kind in &kinds {
        progress.doing(kind.name.clone());
        let (mut kept, mut broken, mut silent) = (0, Vec::new(), Vec::new());
        interrupted()?;
        for (clause, verdict) in kind.clauses.iter().zip((kind.verdicts)(&tools)) {
            match verdict {
                Verdict::Kept => kept += 1,
                Verdict::Broken(witness) => {
                    broken.push(format!("{} {}: {witness}", clause.number, clause.name))
                }
                Verdict::NotOffered => silent.push(format!("{} not offered", clause.name)),
                Verdict::NotRun(why) => {
                    broken.push(format!("{} {} not run: {why}", clause.number, clause.name))
                }
            }
        }
        progress.step();
        let silent = if silent.is_empty() { String::new() } else { format!(" ({})", silent.join(", ")) };
        let result = if broken.is_empty() {
            Ok(format!("{kept} clauses kept{silent}"))
        } else {
            Err(broken.join("; "))
        };
        findings.note(&format!("contract {}", kind.name), result)?;
    }
    Ok(())
}
