//! The goals of [`DefaultQueue`](tickwright_core::DefaultQueue) in comparison with three groups:
//! other crates' structures as published, those structures under our contract, and our other
//! structures. There are also goals for the bytes of `DefaultQueue` and for the evenness of a
//! drain.

use super::work::{Goals, MANY, Pair, goal_columns, plot};
use crate::experiments::bench::cell::{Row, beside};
use crate::experiments::bench::drain;
use crate::models::scenario::Measure;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Finding, Section, findings_table, labels};
use crate::stats::{self, Bound, Summary};
use crate::structures::registry::{self, Kind, LEFT_OUT, WITHOUT_RIVALS};

/// The structures with which `DefaultQueue` is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Published,
    Contract,
    Ours,
}

impl Beside {
    const ALL: [Self; 3] = [Self::Published, Self::Contract, Self::Ours];

    /// Returns the words in tables, and the name of the goal.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Published => ["published", "DefaultQueue to others as published"],
            Self::Contract => ["our contract", "DefaultQueue to others at our contract"],
            Self::Ours => ["ours", "DefaultQueue to the best of our others"],
        }
    }
}

/// `DefaultQueue` compared with the fastest of a group of other structures in a cell.
struct Compared<'p, 'c> {
    pair: &'p Pair<'c>,
    beside: Beside,
    default: &'c Row,
    other: &'c Row,
    ratio: Summary,
    at_most: Option<f64>,
}

fn is_default(row: &Row) -> bool {
    row.structure.id == registry::DEFAULT
}

/// Returns everything that is compared, cell by cell.
fn compared<'p, 'c>(goals: &Goals, pairs: &'p [Pair<'c>]) -> Vec<Compared<'p, 'c>> {
    let of_pair = |pair: &'p Pair<'c>| {
        Beside::ALL.into_iter().filter_map(move |beside| {
            let bounds = &pair.work.default;
            let among = |row: &Row| match (beside, row.structure.kind) {
                (Beside::Published, Kind::Baseline) => {
                    bounds.beside.is_none_or(|shape| shape == row.structure.shape)
                }
                (Beside::Contract, Kind::EqualContract) => true,
                (Beside::Ours, Kind::Ours) => !is_default(row),
                _ => false,
            };
            let (default, other) = (pair.cell.fastest(is_default)?, pair.cell.fastest(among)?);
            let ratio = stats::ratios(&default.samples, &other.samples)?;
            let at_most = match beside {
                Beside::Published => bounds.published.get(pair.at).copied(),
                Beside::Contract => bounds.contract.get(pair.at).copied(),
                Beside::Ours => Some(bounds.ours.get(pair.at).copied().unwrap_or(goals.ours)),
            };
            Some(Compared { pair, beside, default, other, ratio, at_most })
        })
    };
    pairs.iter().flat_map(of_pair).collect()
}

const BYTES: &str = "DefaultQueue: bytes a timer";
pub(super) const PHASES: &str = "DefaultQueue: phases of a drain";

/// Returns every figure of `DefaultQueue` with its bound.
pub(super) fn findings(goals: &Goals, pairs: &[Pair<'_>], drained: &drain::Data) -> Vec<Finding> {
    let mut compared = compared(goals, pairs);
    compared.sort_by_key(|one| one.beside);
    let times =
        compared.into_iter().filter_map(|Compared { pair, beside, default, other, ratio, at_most }| {
            let about = format!("{} to {}", default.structure.id, other.structure.id);
            Some(pair.finding(beside.words()[1], &about, ratio, at_most?))
        });
    times.chain(bytes(goals, pairs)).chain(phases(goals, drained)).collect()
}

/// Returns the most bytes per timer in any work, separately for works in which timers only expire
/// and for works in which they are moved.
fn bytes(goals: &Goals, pairs: &[Pair<'_>]) -> impl Iterator<Item = Finding> {
    let of = |what: &str, at_most: f64, measures: &[Measure]| {
        let cells =
            pairs.iter().filter(|pair| pair.cell.population == MANY && measures.contains(&pair.cell.measure));
        let held = cells.filter_map(|pair| pair.cell.fastest(is_default)?.held);
        let most = held.flatten().map(|held| held.bytes).max()? as f64 / MANY as f64;
        let about = format!("bytes a timer, {what}, n={}", count(MANY));
        Some(Finding::counted(about, most, format!("{most:.1}"), Bound::AtMost(at_most)))
    };
    let fresh = of("where timers only expire", goals.fresh_bytes, &[Measure::Hold, Measure::Rearm]);
    let mixes = [Measure::Exchange, Measure::Turnover, Measure::Hinted];
    let mixed = of("where they are moved and cancelled", goals.mixed_bytes, &mixes);
    [fresh, mixed].into_iter().flatten().map(|finding| finding.labelled(labels([("goal", BYTES.into())])))
}

/// Returns the longest phase of each structure's drain. Only the phase of `DefaultQueue` has a
/// bound.
fn phases(goals: &Goals, drained: &drain::Data) -> impl Iterator<Item = Finding> {
    drained.rows.iter().map(|row| {
        let id = row.structure.id;
        let about = format!("{id}: longest phase of a drain to the median, n={}", count(drained.population));
        let [longest, median] = [row.longest(), row.median()];
        let ratio = longest / median;
        let here = format!("{ratio:.2} ({} to {} ns)", Format::Ns.write(longest), Format::Ns.write(median));
        let finding = match id == registry::DEFAULT {
            true => Finding::counted(about, ratio, here, Bound::AtMost(goals.phase)),
            false => Finding::stated(about, here),
        };
        finding.labelled(labels([("goal", PHASES.into())]))
    })
}

/// Returns the section of these goals.
pub(super) fn section(goals: &Goals, pairs: &[Pair<'_>], findings: &[Finding]) -> Section {
    let above = "x: DefaultQueue to the fastest of others, round by round, the median of these. Published: \
                 whatever the others promise; in network and request-timeout, heaps. Our contract: order \
                 among equals, keys that go stale, 64-bit ticks, bounded dead entries. Ours: our other \
                 structures. A row says + hints if its structure took those of the caller.";
    let mut table = goal_columns(["default", "other"], Some("beside"));
    let compared = compared(goals, pairs);
    for one in &compared {
        let verdict = one.at_most.map_or("", |at_most| Bound::AtMost(at_most).judge(&one.ratio).words());
        let fields = beside(one.pair.cell, [one.default, one.other], Some(one.ratio));
        let after = [one.at_most.into(), verdict.into()];
        table.row(
            one.pair.head().into_iter().chain([one.beside.words()[0].into()]).chain(fields).chain(after),
        );
    }
    let counted = |finding: &&Finding| {
        [BYTES, PHASES].iter().any(|goal| finding.labels.get("goal") == Some(&(*goal).into()))
    };
    let counted: Vec<Finding> = findings.iter().filter(counted).cloned().collect();
    let phases = "A drain delivers tick by tick as many timers as there are ticks. A phase is a hundredth of \
                  the ticks, and counts with its least time of all rounds, in ns a tick.";
    let section = Section::new("What DefaultQueue must reach").text(above).table(table);
    let section = if LEFT_OUT.is_empty() { section } else { section.text(WITHOUT_RIVALS) };
    let section = if counted.is_empty() { section } else { section.text(phases) };
    let section = section.table(findings_table("", Format::Fixed(2), &counted));
    [Beside::Published, Beside::Contract].into_iter().fold(section, |section, beside| {
        let of = compared.iter().filter(|one| one.beside == beside).map(|one| (one.pair, one.ratio.median));
        let plot = plot(beside.words()[1], of);
        if plot.curves.is_empty() { section } else { section.plot(plot) }
    })
}
