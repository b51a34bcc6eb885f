//! Findings from the counts and samples: each claim compared with the published claim, with a
//! verdict.

use super::cost::{Cost, THREADS};
use super::counts::Counts;
use super::network::{Run, Share};
use super::published::Test;
use super::run::{Data, Part, Plan};
use super::subject::{Column, Outcome};
use crate::result::{Finding, labels};
use crate::stats::{self, Summary, Verdict};

/// The percentage of re-arms that matched, by `Column as usize`; `None` if a column is missing.
pub(super) type Matched = Option<[f64; 4]>;

fn matched(of: impl Fn(Column) -> Option<Counts>) -> Matched {
    let [before, after, locked, ours] = Column::ALL.map(|column| of(column)?.match_percent());
    Some([before?, after?, locked?, ours?])
}

fn simple_matched(data: &Data) -> Matched {
    let of = |column| data.simple.iter().find(|outcome| outcome.column == column);
    matched(|column| Some(of(column)?.counts))
}

pub(super) fn network_matched(runs: &[Run], share: Share) -> Matched {
    let of = |column| runs.iter().find(|run| run.server.column == column);
    matched(|column| Some(of(column)?.counts(share)))
}

/// Returns the factor by which the number of requeues fell.
pub(super) fn fell(before: f64, after: f64) -> f64 {
    (100.0 - before) / (100.0 - after)
}

/// The largest percentage of late re-arms for which a conclusion is drawn.
const MOST_LATE: f64 = 1.0;

/// The minimum number of the server's re-arms for a conclusion about the size of the change. In
/// shorter runs, most timers are started but not re-armed.
const ENOUGH: u64 = 50_000;

/// Returns the headline for the two tests, then each claim separately.
pub(super) fn of(plan: &Plan, data: &Data) -> Vec<Finding> {
    let (simple, network) = (&plan.published.simple, &plan.published.network);
    // The headline has a part for each test, and the change in the test decides that part.
    let mut tests: Vec<(&str, Matched, Finding)> = Vec::new();
    if plan.has(Part::Simple) {
        let shares = simple_matched(data);
        let late = |outcome: &Outcome| 100.0 * outcome.late as f64 / outcome.counts.rearms().max(1) as f64;
        let worst = data.simple.iter().map(late).fold(0.0, f64::max);
        let mut change = reproduced("match by the patch, simple", simple, shares);
        if worst > MOST_LATE {
            // If the host is late, too many re-arms fall into one tick.
            change.here = format!("the host was busy: {worst:.1} % of re-arms late by a tick");
            change.verdict = Verdict::NotShown;
        }
        tests.push(("simple", shares, change));
    }
    if plan.has(Part::Network) {
        let shares = network_matched(&data.network, Share::Server);
        let mut change = reproduced("match by the patch, network", network, shares);
        let rearms = data.network.first().map(|run| run.server.counts.rearms());
        if change.verdict == Verdict::Missed && rearms.is_some_and(|rearms| rearms < ENOUGH) {
            change.here += ", in a short run";
            change.verdict = Verdict::NotShown;
        }
        tests.push(("network", shares, change));
    }
    let published = |test: &Test| format!("{} to {} %", test.before.matched, test.after.matched);
    let headline = headline(&tests).published(format!(
        "{} (simple), {} (network)",
        published(simple),
        published(network)
    ));
    let mut findings = vec![headline];
    for (name, shares, change) in tests {
        findings.push(change);
        if let Some([_, after, _, ours]) = shares {
            // A difference below the printed digits does not count.
            let verdict = if ours + 0.05 >= after { Verdict::Held } else { Verdict::Missed };
            let about = format!("match by ours, {name}");
            findings
                .push(Finding::stated(about, format!("{ours:.1} %, the patch {after:.1} %")).judged(verdict));
        }
    }
    if !data.network.is_empty() {
        let about = "match by the patch, both ends";
        let both = reproduced(about, network, network_matched(&data.network, Share::Both));
        findings.push(both.judged(Verdict::Stated));
    }
    findings.extend(THREADS.into_iter().filter_map(|threads| {
        let ratio = ratio(&data.costs, threads)?;
        let here = format!("{:.2}x ({:.2} to {:.2})", ratio.median, ratio.interval.low, ratio.interval.high);
        let about = format!("cost, ours to locked, {}", with(threads));
        Some(Finding::ratio(about, ratio, here).labelled(labels([("threads", threads.into())])))
    }));
    findings
}

fn headline(tests: &[(&str, Matched, Finding)]) -> Finding {
    let about = "re-arms that stay in their bucket, before and after the patch";
    let here = tests.iter().map(|(name, shares, _)| match shares {
        Some([before, after, ..]) => format!("{before:.1} to {after:.1} % ({name})"),
        None => format!("not measured ({name})"),
    });
    let here: Vec<String> = here.collect();
    let any = |verdict| tests.iter().any(|(_, _, change)| change.verdict == verdict);
    let verdict = if any(Verdict::Missed) {
        Verdict::Missed
    } else if tests.is_empty() || any(Verdict::NotShown) {
        Verdict::NotShown
    } else {
        Verdict::Held
    };
    let here = if here.is_empty() { "neither test was run".to_owned() } else { here.join(", ") };
    Finding::stated(about, here).judged(verdict)
}

/// Compares the direction and the size of the change with the published change.
fn reproduced(about: &str, test: &Test, shares: Matched) -> Finding {
    let change = |before: f64, after: f64, requeues: &str| {
        format!("{before:.1} to {after:.1} %, requeues to {requeues}")
    };
    let one_of = |factor: f64| format!("1/{factor:.1}");
    let theirs = fell(test.before.matched, test.after.matched);
    let published = change(test.before.matched, test.after.matched, &one_of(theirs));
    let (here, verdict) = match shares {
        None => ("a column is missing".to_owned(), Verdict::NotShown),
        // A gain below the printed digits does not count.
        Some([before, after, ..]) if after < before + 0.05 => {
            (format!("{before:.1} to {after:.1} %: it did not rise"), Verdict::Missed)
        }
        Some([before, after, ..]) => match fell(before, after) {
            here if here > 1000.0 => (change(before, after, "none"), Verdict::NotShown),
            here if (0.5..=2.0).contains(&(here / theirs)) => {
                (change(before, after, &one_of(here)), Verdict::Held)
            }
            here => (change(before, after, &one_of(here)) + ": another size", Verdict::Missed),
        },
    };
    Finding::stated(about, here).judged(verdict).published(published)
}

fn samples(costs: &[Cost], column: Column, threads: usize) -> Option<&[f64]> {
    let cost = costs.iter().find(|cost| cost.column == column && cost.threads == threads)?;
    Some(&cost.samples)
}

/// Returns the times of the column *ours* divided by the times of the column *locked*, round by
/// round.
fn ratio(costs: &[Cost], threads: usize) -> Option<Summary> {
    stats::ratios(samples(costs, Column::Ours, threads)?, samples(costs, Column::Locked, threads)?)
}

fn with(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}
