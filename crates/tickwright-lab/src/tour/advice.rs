//! Advice on which structure to use, from the reports of one tour on this machine.

use crate::output::table::count;
use crate::render::Format;
use crate::result::{Label, Report, Series};
use crate::stats::{TIE, median};
use crate::structures::registry::{Kind, STRUCTURES, Shape, Structure};

/// The median of one of our structures at one population.
#[derive(Clone, Copy)]
struct Point {
    structure: &'static Structure,
    n: u64,
    ns: f64,
}

impl Point {
    fn words(&self) -> String {
        format!("{}, {} ns at n={}", self.structure.id, Format::Ns.write(self.ns), count(self.n as usize))
    }
}

/// Returns at most five lines. A question that the reports do not answer gets no line.
pub(super) fn advice(reports: &[Report]) -> Vec<String> {
    let of = |name: &str| {
        let found = reports.iter().find(|report| report.experiment == name);
        found.map(points).unwrap_or_default()
    };
    let (hold, network) = (of("bench hold"), of("bench network"));
    let exact = |point: &&Point| point.structure.ties.exact();
    [
        list(&hold),
        beyond(&hold, exact).map(|(from, best)| {
            format!("in exact order, from {} timers on: {}", count(from as usize), best.words())
        }),
        beyond(&hold, |_| true).map(|(from, best)| {
            let late = if best.structure.ties.exact() { "" } else { " (late by at most its bucket)" };
            format!("fastest of all, from {} timers on: {}{late}", count(from as usize), best.words())
        }),
        beyond(&network, |_| true)
            .map(|(_, best)| format!("time-outs that are moved or cancelled: {}", best.words())),
        beyond(&hold, |point| point.structure.id.ends_with("/hook") && point.structure.ties.exact())
            .map(|(_, best)| format!("without an allocator: {}", best.words())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the medians of our structures, in the order of the report.
fn points(report: &Report) -> Vec<Point> {
    let point = |series: &Series| {
        let (Label::Text(id), Label::Whole(n)) = (series.labels.get("structure")?, series.labels.get("n")?)
        else {
            return None;
        };
        let structure = STRUCTURES.iter().find(|known| known.id == id && known.kind == Kind::Ours)?;
        Some(Point { structure, n: *n, ns: median(&series.samples)? })
    };
    report.series.iter().filter_map(point).collect()
}

/// The populations in ascending order.
fn populations(points: &[Point]) -> Vec<u64> {
    let mut all: Vec<u64> = points.iter().map(|point| point.n).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn fastest<'p>(points: impl Iterator<Item = &'p Point>) -> Option<&'p Point> {
    points.min_by(|a, b| a.ns.total_cmp(&b.ns))
}

/// The population up to which a list is as fast as the fastest structure, within the tie margin.
fn list(points: &[Point]) -> Option<String> {
    let keeps_up = |n: u64| {
        let here = || points.iter().filter(move |point| point.n == n);
        let list = fastest(here().filter(|point| point.structure.shape == Shape::List))?;
        (list.ns <= fastest(here())?.ns * (1.0 + TIE)).then_some(list)
    };
    let best = populations(points).into_iter().map_while(keeps_up).last()?;
    Some(format!("up to {} timers: {}", count(best.n as usize), best.words()))
}

/// Returns the structure that is fastest at the largest population. From the returned population
/// on, no other structure is faster than this one by more than the tie margin.
fn beyond(points: &[Point], among: impl Fn(&&Point) -> bool) -> Option<(u64, &Point)> {
    let all = populations(points);
    let at = |n: u64| points.iter().filter(move |point| point.n == n).filter(|point| among(point));
    let best = fastest(at(*all.last()?))?;
    let keeps_up = |n: &&u64| {
        let own = at(**n).find(|point| point.structure == best.structure);
        own.zip(fastest(at(**n))).is_some_and(|(own, fastest)| own.ns <= fastest.ns * (1.0 + TIE))
    };
    let from = all.iter().rev().take_while(keeps_up).last().copied()?;
    Some((from, best))
}

#[cfg(test)]
mod tests;
