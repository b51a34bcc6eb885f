//! The goal that another bench measures: the worst single call.

use clap::ValueEnum;

use crate::error::LabError;
use crate::experiment::{Experiment, Lab};
use crate::experiments::adversary::AdversaryArgs;
use crate::experiments::request;
use crate::render::Format;
use crate::result::{Finding, Section, Series, findings_table};
use crate::stats::Bound;

/// A part of `bench matrix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Each work at each population: our best structure, the best of others, the floor, bytes
    Queues,
    /// The worst single call under deadlines that an attacker chooses
    Calls,
}

/// What another bench measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(super) title: &'static str,
    above: String,
    pub(super) series: Vec<Series>,
    pub(super) findings: Vec<Finding>,
}

impl Measured {
    pub(super) fn section(&self) -> Section {
        let table = findings_table("goal", Format::Fixed(2), &self.findings);
        Section::new(self.title).text(self.above.as_str()).table(table)
    }
}

/// Measures a part; `None` for the queues, which no other bench measures.
///
/// # Errors
/// Those of the other bench.
pub(super) fn measure(part: Part, quick: bool, lab: &mut Lab<'_>) -> Result<Option<Measured>, LabError> {
    match part {
        Part::Queues => Ok(None),
        Part::Calls => calls(quick, lab).map(Some),
    }
}

fn take<E: Experiment>(bench: &E, lab: &mut Lab<'_>) -> Result<(Vec<Series>, Vec<Finding>), LabError> {
    let plan = bench.plan()?;
    let data = bench.run(&plan, lab)?;
    Ok((bench.series(&plan, &data), bench.findings(&plan, &data)))
}

/// Our structures in slabs that large populations use, and the array for none.
const ATTACKED: &str = "heap4/slab,fixed-delay/slab,wheel/slab,ladder/slab,adaptive/slab";
/// The most timers that an advance with a budget may deliver or move.
const BUDGET: &str = "64";
/// The greatest time of one insert, re-arm or removal.
const CALL_AT_MOST_US: f64 = 20.0;

fn calls(quick: bool, lab: &mut Lab<'_>) -> Result<Measured, LabError> {
    let n = if quick { "10k" } else { "1M" };
    let words = ["--structures", ATTACKED, "--n", n, "--rounds", "5", "--budget", BUDGET];
    let (mut series, _) = take(&request::words::<AdversaryArgs>(&words)?, lab)?;
    series.retain(|series| series.labels.get("figure").is_some_and(|figure| figure.to_string() == "worst"));
    let mut findings = Vec::new();
    for structure in ATTACKED.split(',') {
        let worst = |calls: &[&str]| worst(&series, structure, calls);
        if let Some((ns, what)) = worst(&["insert", "re-arm", "remove"]) {
            let about = format!("{structure}: one insert, re-arm or removal, n={n}, us");
            findings.push(Finding::counted(about, ns / 1e3, what, Bound::AtMost(CALL_AT_MOST_US)));
        }
        if let Some((_, what)) = worst(&["advance within"]) {
            let about = format!("{structure}: one advance of at most {BUDGET} timers, n={n}");
            findings.push(Finding::stated(about, what));
        }
    }
    let above =
        "The longest of all single calls under nine kinds of deadlines. Each call counts with the least \
                 of five rounds. `bench adversary` shows the tails."
            .to_owned();
    Ok(Measured { title: "The worst single call", above, series, findings })
}

/// The longest of these calls of a structure in ns; the time, the call and the kind of deadlines in
/// words.
fn worst(series: &[Series], structure: &str, calls: &[&str]) -> Option<(f64, String)> {
    let label = |series: &Series, name: &str| series.labels.get(name).map(ToString::to_string);
    let of = |series: &&Series| {
        calls.contains(&series.name.as_str()) && label(series, "structure").as_deref() == Some(structure)
    };
    let ns = |series: &&Series| series.samples.first().copied().unwrap_or(0.0);
    let longest = series.iter().filter(of).max_by(|a, b| ns(a).total_cmp(&ns(b)))?;
    let pattern = label(longest, "pattern").unwrap_or_default();
    let time = Format::Span.write(ns(&longest));
    Some((ns(&longest), format!("{time} ({}, {pattern})", longest.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Unit, labels};

    fn call(name: &str, structure: &'static str, pattern: &'static str, ns: f64) -> Series {
        let of = labels([("structure", structure.into()), ("pattern", pattern.into())]);
        Series::new(name, Unit::Ns, of).of([ns])
    }

    #[test]
    fn the_worst_call_of_a_structure_is_found_among_all_deadlines() {
        let series = [
            call("insert", "heap4/slab", "clusters", 900.0),
            call("re-arm", "heap4/slab", "later", 25_000.0),
            call("pop", "heap4/slab", "later", 1e9),
            call("insert", "wheel/slab", "later", 1e9),
        ];
        let found = worst(&series, "heap4/slab", &["insert", "re-arm", "remove"]);
        assert_eq!(found, Some((25_000.0, "25.0 us (re-arm, later)".into())));
        assert_eq!(worst(&series, "heap4/slab", &["advance within"]), None);
    }
}
