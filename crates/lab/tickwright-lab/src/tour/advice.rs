//! Advice on which structure to use, from the reports of one tour on this machine.

use crate::output::table::count;
use crate::render::Format;
use crate::result::{Label, Report, Series};
use crate::stats::{TIE, median};
use crate::structures::registry::{DEFAULT, Kind, STRUCTURES, Structure};

/// An answer has at most this many ranges, because more ranges would not be useful as advice.
const MOST_RANGES: usize = 3;

/// The median of one structure at one population.
#[derive(Debug, Clone, Copy)]
struct Point {
    structure: &'static Structure,
    n: u64,
    ns: f64,
}

/// A question, and the structures that answer it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Advice {
    /// The use, such as `without an allocator`.
    pub(super) about: &'static str,
    /// Populations with their structure, in ascending order. If a question applies to every
    /// population, the ranges cover all of them.
    pub(super) ranges: Vec<(String, String)>,
}

impl Advice {
    /// The advice in one line, such as
    /// `without an allocator: 1 to 16 timers list/hook, 9 to 20 ns; ...`.
    pub(super) fn line(&self) -> String {
        let ranges: Vec<String> =
            self.ranges.iter().map(|(timers, take)| format!("{timers} {take}")).collect();
        format!("{}: {}", self.about, ranges.join("; "))
    }
}

/// Returns the advice. A question that the reports do not answer is left out.
pub(super) fn advice(reports: &[Report]) -> Vec<Advice> {
    let of = |experiment: &str, scenario: Option<&str>| {
        let found = reports.iter().find(|report| report.experiment == experiment);
        found.map(|report| points(report, scenario)).unwrap_or_default()
    };
    let hold = of("bench hold", None);
    let (network, one_delay) = (of("bench network", Some("network")), of("bench network", Some("one-delay")));
    let exact = |structure: &Structure| structure.ties.exact();
    let hook = |structure: &Structure| structure.id.ends_with("/hook") && exact(structure);
    let slab = |structure: &Structure| structure.id.ends_with("/slab") && exact(structure);
    let all = [
        Advice { about: "in a queue that owns its timers", ranges: words(&hold, cover(&hold, slab), true) },
        Advice {
            about: "in your own structs, without an allocator",
            ranges: words(&hold, cover(&hold, hook), false),
        },
        Advice { about: "where 8/63 of the delay late is fine", ranges: words(&hold, late(&hold), false) },
        Advice {
            about: "time-outs, mostly moved or cancelled",
            ranges: words(&network, cover(&network, exact), true),
        },
        Advice {
            about: "the same, all of one delay",
            ranges: words(&one_delay, cover(&one_delay, exact), true),
        },
    ];
    all.into_iter().filter(|advice| !advice.ranges.is_empty()).collect()
}

/// Returns the medians of a report, in the report's order. Series that name no scenario belong to
/// every scenario.
fn points(report: &Report, scenario: Option<&str>) -> Vec<Point> {
    let point = |series: &Series| {
        let (Label::Text(id), Label::Whole(n)) = (series.labels.get("structure")?, series.labels.get("n")?)
        else {
            return None;
        };
        if let (Some(Label::Text(own)), Some(wanted)) = (series.labels.get("scenario"), scenario)
            && own != wanted
        {
            return None;
        }
        let structure = STRUCTURES.iter().find(|known| known.id == id)?;
        Some(Point { structure, n: *n, ns: median(&series.samples)? })
    };
    report.series.iter().filter_map(point).collect()
}

/// Returns the populations in ascending order.
fn populations<'p>(points: impl Iterator<Item = &'p Point>) -> Vec<u64> {
    let mut all: Vec<u64> = points.map(|point| point.n).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn fastest<'p>(points: impl Iterator<Item = &'p Point>) -> Option<&'p Point> {
    points.min_by(|a, b| a.ns.total_cmp(&b.ns))
}

/// Populations for which one structure is the choice.
#[derive(Debug, Clone, PartialEq)]
struct Range {
    structure: &'static Structure,
    from: u64,
    /// The measured populations of the range, in ascending order.
    measured: Vec<u64>,
    /// The structure's greatest time, as a multiple of the fastest structure's time.
    worst: f64,
}

/// Divides the populations, from the least to the greatest and without a gap, among our structures
/// that `among` accepts. A structure is good enough at a population if it takes at most [`TIE`]
/// longer than the fastest structure. Each range goes to the structure that is good enough at the
/// most consecutive populations. If there would be more than [`MOST_RANGES`] ranges, the last range
/// goes to the structure whose worst case is the smallest.
fn cover(points: &[Point], among: impl Fn(&Structure) -> bool) -> Vec<Range> {
    let of: Vec<Point> = points
        .iter()
        .filter(|point| point.structure.kind == Kind::Ours && among(point.structure))
        .copied()
        .collect();
    let all = populations(of.iter());
    let candidates = || STRUCTURES.iter().filter(|known| of.iter().any(|point| point.structure == *known));
    // The structure's time as a multiple of the fastest structure's time, or `None` if the
    // structure was not measured.
    let times = |structure: &Structure, n: u64| {
        let here = || of.iter().filter(move |point| point.n == n);
        let own = here().find(|point| point.structure == structure)?;
        Some(own.ns / fastest(here())?.ns)
    };
    let worst = |structure: &Structure, some: &[u64]| {
        let all: Option<Vec<f64>> = some.iter().map(|n| times(structure, *n)).collect();
        all.map_or(f64::INFINITY, |all| all.into_iter().fold(1.0, f64::max))
    };
    let mut ranges: Vec<Range> = Vec::new();
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let keeps = |structure: &Structure| {
            rest.iter().take_while(|n| times(structure, **n).is_some_and(|times| times <= 1.0 + TIE)).count()
        };
        let key = |structure: &&Structure| {
            let kept = keeps(structure);
            (usize::MAX - kept, structure.id != DEFAULT, worst(structure, &rest[..kept]))
        };
        let less = |a: &(usize, bool, f64), b: &(usize, bool, f64)| {
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
        };
        let mut chosen = candidates().min_by(|a, b| less(&key(a), &key(b)));
        let mut kept = chosen.map_or(0, keeps);
        if ranges.len() + 1 == MOST_RANGES && kept < rest.len() {
            let least = candidates().min_by(|a, b| worst(a, rest).total_cmp(&worst(b, rest)));
            if let Some(least) = least.filter(|least| worst(least, rest).is_finite()) {
                (chosen, kept) = (Some(least), rest.len());
            }
        }
        // The fastest structure is always good enough at its population, so each pass makes
        // progress and the loop ends.
        let (Some(structure), 1..) = (chosen, kept) else { break };
        let from = ranges.last().and_then(|range| range.measured.last()).map_or(*first, |last| last + 1);
        let (measured, after) = rest.split_at(kept);
        ranges.push(Range {
            structure,
            from,
            measured: measured.to_vec(),
            worst: worst(structure, measured),
        });
        rest = after;
    }
    ranges
}

/// Returns the populations at which a granular structure is faster than every exact structure by
/// more than [`TIE`]. If there are more than [`MOST_RANGES`] ranges, the ranges of the largest
/// populations are kept.
fn late(points: &[Point]) -> Vec<Range> {
    let best = |n: u64, exact: bool| {
        let here = points.iter().filter(|point| point.n == n && point.structure.kind == Kind::Ours);
        fastest(here.filter(|point| point.structure.ties.exact() == exact))
    };
    let wins = |n: u64| {
        best(n, false).zip(best(n, true)).is_some_and(|(late, exact)| exact.ns > late.ns * (1.0 + TIE))
    };
    let all = populations(points.iter());
    let runs = all.chunk_by(|a, b| wins(*a) == wins(*b)).filter(|run| wins(run[0]));
    let ranges = runs.flat_map(|run| {
        let within: Vec<Point> = points.iter().filter(|point| run.contains(&point.n)).copied().collect();
        cover(&within, |structure| !structure.ties.exact())
    });
    let mut ranges: Vec<Range> = ranges.collect();
    ranges.drain(..ranges.len().saturating_sub(MOST_RANGES));
    ranges
}

/// Returns the ranges in words. With `rivals`, a range also names the fastest structure of another
/// project, if that structure is faster by more than [`TIE`].
fn words(points: &[Point], ranges: Vec<Range>, rivals: bool) -> Vec<(String, String)> {
    let range = |Range { structure, from, measured, worst }: Range| {
        let to = measured.last().copied().unwrap_or(from);
        let timers = match (from, to) {
            (1, 1) => "1 timer".to_owned(),
            (from, to) if from == to => format!("{} timers", count(to as usize)),
            (from, to) => format!("{} to {} timers", count(from as usize), count(to as usize)),
        };
        let own = |n: u64| points.iter().find(|point| point.n == n && point.structure == structure);
        let times = || measured.iter().filter_map(|n| own(*n)).map(|point| point.ns);
        let least = Format::Ns.write(times().fold(f64::INFINITY, f64::min));
        let most = Format::Ns.write(times().fold(0.0, f64::max));
        let times = if least == most { least } else { format!("{least} to {most}") };
        let mut take = format!("{}, {times} ns", structure.id);
        if worst > 1.0 + TIE {
            take += &format!(" (at most {} of the fastest)", Format::Ratio.write(worst));
        }
        let lost = |n: &u64| {
            let others =
                points.iter().filter(|point| point.n == *n && point.structure.kind == Kind::Baseline);
            let (own, other) = (own(*n)?, fastest(others)?);
            (own.ns > other.ns * (1.0 + TIE)).then_some((own.ns / other.ns, *other))
        };
        let lost = measured.iter().filter_map(lost).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, other)) = lost.filter(|_| rivals) {
            let (ns, n) = (Format::Ns.write(other.ns), count(other.n as usize));
            take += &format!(" ({} of others: {ns} at {n})", other.structure.id);
        }
        (timers, take)
    };
    ranges.into_iter().map(range).collect()
}

#[cfg(test)]
pub(super) mod tests;
