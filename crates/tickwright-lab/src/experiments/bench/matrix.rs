//! `tickwright bench --matrix`: our best structure beside the best of others, for each work and
//! population, in one table and one plot; and the worst single call. Each figure has a bound.

use clap::ValueEnum;
use serde::Deserialize;

use crate::error::LabError;
use crate::experiments::bench::cell::{self, Cell, FLOOR, Row, beside, beside_columns};
use crate::experiments::bench::worst::{self, Call};
use crate::models::scenario::{self, Measure, Population};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Finding, Plot, Section, Table, findings_table, labels};
use crate::stats::{self, Bound, Summary, Verdict};
use crate::structures::registry::{self, Kind};

/// A part of `bench --matrix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Each work at each population: our best structure, the best of others, the floor, bytes
    Queues,
    /// The worst single call under deadlines that an attacker chooses
    Calls,
}

/// The structures that are measured, unless others are asked for.
pub(super) const STRUCTURES: &str = "!*/hook,!coarse/*,!delay-queue,!list/slab";

/// The file `scenarios/matrix.toml`.
#[derive(Debug, Deserialize)]
struct Matrix {
    works: Vec<Work>,
}

/// One work: a measure of a scenario, at some populations.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Work {
    pub(super) scenario: String,
    measure: Measure,
    n: Vec<Population>,
    /// For each population, the greatest ratio that meets the goal.
    at_most: Vec<f64>,
    /// The bounds are instead ns per operation of our best structure.
    #[serde(default)]
    in_ns: bool,
    /// Structures that would take too long in this work, by id.
    #[serde(default)]
    pub(super) without: Vec<String>,
}

impl Work {
    /// The populations with their bounds. `--quick` keeps the small ones.
    pub(super) fn columns(&self, quick: bool) -> impl Iterator<Item = (usize, f64)> + '_ {
        let pairs = self.n.iter().map(|n| n.get() as usize).zip(self.at_most.iter().copied());
        pairs.filter(move |(n, _)| !quick || *n <= cell::QUICK_POPULATIONS)
    }
}

/// The works of the built-in file.
///
/// # Errors
/// The file has a mistake; the tests exclude this error.
pub(super) fn works() -> Result<Vec<Work>, LabError> {
    let text = include_str!("../../../../../scenarios/matrix.toml");
    Ok(scenario::parse::<Matrix>("scenarios/matrix.toml", text)?.works)
}

/// A cell that a work asks for: our best structure and the best of others.
struct Pair<'c> {
    work: &'c Work,
    cell: &'c Cell,
    ours: &'c Row,
    other: &'c Row,
    at_most: f64,
}

/// The greatest time of [`DefaultQueue`](tickwright_core::DefaultQueue), as a multiple of our best
/// other structure's time.
const DEFAULT_AT_MOST: f64 = 1.1;

impl<'c> Pair<'c> {
    /// The figure to which the bound applies.
    fn bounded(&self) -> Option<Summary> {
        if self.work.in_ns { self.ours.summary } else { self.ratio() }
    }

    /// The ratio of ours to the best of others.
    fn ratio(&self) -> Option<Summary> {
        stats::ratios(&self.ours.samples, &self.other.samples)
    }

    /// `DefaultQueue`, the fastest of the others that `among` accepts, and their ratio.
    fn default_beside(&self, among: impl Fn(&Row) -> bool) -> Option<(&'c Row, &'c Row, Summary)> {
        let is_default = |row: &Row| row.structure.id == registry::DEFAULT;
        let default = self.cell.fastest(is_default)?;
        let other = self.cell.fastest(|row| among(row) && !is_default(row))?;
        Some((default, other, stats::ratios(&default.samples, &other.samples)?))
    }

    /// `DefaultQueue` and the best of our other structures.
    fn default_beside_ours(&self) -> Option<(&'c Row, &'c Row, Summary)> {
        self.default_beside(|row| row.structure.kind == Kind::Ours)
    }

    /// The first fields of each row: the work and the population.
    fn head(&self) -> [Field; 2] {
        [self.work.scenario.as_str().into(), self.cell.population.into()]
    }

    /// A finding about this cell, for a goal.
    fn finding(&self, goal: &'static str, about: &str, figure: Summary, at_most: f64) -> Finding {
        let Work { scenario, measure, .. } = self.work;
        let about = format!("{scenario}, {measure}, n={}: {about}", count(self.cell.population));
        Finding::bounded(about, figure, Bound::AtMost(at_most)).labelled(labels([
            ("goal", goal.into()),
            ("scenario", scenario.clone().into()),
            ("measure", measure.to_string().into()),
            ("n", self.cell.population.into()),
        ]))
    }
}

/// The cells of all works in which a structure of ours and another one ran.
fn pairs<'c>(works: &'c [Work], cells: &'c [Cell]) -> Vec<Pair<'c>> {
    let of_work = |work: &'c Work| {
        work.columns(false).filter_map(move |(n, at_most)| {
            let of_work = |cell: &&Cell| (&cell.scenario, cell.measure) == (&work.scenario, work.measure);
            let cell = cells.iter().filter(of_work).find(|cell| cell.population == n)?;
            let (ours, other) = (cell.best(Kind::Ours)?, cell.best(Kind::Baseline)?);
            Some(Pair { work, cell, ours, other, at_most })
        })
    };
    works.iter().flat_map(of_work).collect()
}

/// Every figure beside its bound: of the queues, then of single calls.
pub(super) fn findings(
    works: &[Work],
    cells: &[Cell],
    plan: &worst::Plan,
    calls: &worst::Data,
) -> Vec<Finding> {
    let pairs = pairs(works, cells);
    let of_pair = |pair: &Pair<'_>| {
        let (ours, other) = (pair.ours.structure.id, pair.other.structure.id);
        let about = if pair.work.in_ns { format!("{ours}, ns") } else { format!("{ours} to {other}") };
        Some(pair.finding("ours to the best of others", &about, pair.bounded()?, pair.at_most))
    };
    let default = |pair: &Pair<'_>| {
        let (default, single, ratio) = pair.default_beside_ours()?;
        let about = format!("{} to {}", default.structure.id, single.structure.id);
        let goal = "DefaultQueue to the best of our others";
        Some(pair.finding(goal, &about, ratio, DEFAULT_AT_MOST))
    };
    let of_queues = pairs.iter().filter_map(of_pair).chain(pairs.iter().filter_map(default));
    of_queues.chain(bytes(&pairs)).chain(of_calls(plan, calls)).collect()
}

/// The sections of the parts that ran.
pub(super) fn sections(
    works: &[Work],
    cells: &[Cell],
    (plan, data): (&worst::Plan, &worst::Data),
    findings: &[Finding],
) -> Vec<Section> {
    let pairs = pairs(works, cells);
    let mut all = if pairs.is_empty() { Vec::new() } else { of_queues(works, &pairs) };
    let has = |finding: &&Finding| finding.labels.get("goal") == Some(&CALLS.into());
    let calls: Vec<Finding> = findings.iter().filter(has).cloned().collect();
    if !plan.structures.is_empty() {
        let above = format!(
            "The longest of all single calls under {} kinds of deadlines. Each call counts with the least \
             of {} rounds. `bench --worst` shows the tails.",
            plan.patterns.len(),
            plan.rounds
        );
        let table = findings_table("goal", Format::Fixed(2), &calls);
        all.push(Section::new(CALLS).text(above).table(table).text(data.left_out(|_, _| true)));
    }
    all.push(goals(findings));
    all
}

fn of_queues(works: &[Work], pairs: &[Pair<'_>]) -> Vec<Section> {
    let above = "x: the best of ours to the best of others, round by round, the median of these. Ours \
                 are exact, in a slab, with keys that go stale and order among equals. Floor: the same \
                 work without order, handles or safety; x floor: ours to it. At most: the greatest x \
                 that is wanted; of idle, the greatest number of ns.";
    let title = "The best of ours beside the best of others";
    let first = Section::new(title).text(above).table(table(pairs)).plot(plot(works, pairs));
    let above = "Bytes on the heap per pending timer, without the keys that a caller keeps, before the first \
                 sample and after the last. Dead: entries of timers that were moved or cancelled, per \
                 pending timer. A structure that keeps such entries is measured when as many leave as \
                 come.";
    let memory = Section::new("What a pending timer takes").text(above).table(memory(pairs));
    let unless_empty = |title, above, table: Table| {
        (!table.rows.is_empty()).then(|| Section::new(title).text(above).table(table))
    };
    let above = "x: DefaultQueue to the fastest of our other structures, round by round.";
    let second = unless_empty("DefaultQueue beside the best of our others", above, beside_ours(pairs));
    let above = "x: DefaultQueue to the fastest heap of others that keeps our contract: order among equals, \
                 keys that go stale, 64-bit ticks, bounded dead entries.";
    let third = unless_empty("DefaultQueue beside others under our contract", above, at_our_contract(pairs));
    [first].into_iter().chain(second).chain(third).chain([memory]).collect()
}

fn goal_columns(names: [&str; 2]) -> Table {
    let table = Table::of([("work", Format::Text), ("n", Format::Count)]);
    beside_columns(table, names).column("at most", Format::Fixed(2)).column("verdict", Format::Text)
}

fn table(pairs: &[Pair<'_>]) -> Table {
    let table = goal_columns(["ours", "other"]).column("floor", Format::Ns);
    let mut table = table.column("x floor", Format::Fixed(1));
    for pair @ Pair { cell, ours, other, at_most, .. } in pairs {
        let floor = stats::median(cell.samples(FLOOR)).filter(|floor| *floor > 0.0);
        let verdict = pair.bounded().map_or("", |summary| Bound::AtMost(*at_most).judge(&summary).words());
        let to_floor = ours.median().zip(floor).map(|(ours, floor)| ours / floor);
        let after = [(*at_most).into(), verdict.into(), floor.into(), to_floor.into()];
        table.row(pair.head().into_iter().chain(beside(cell, [ours, other], pair.ratio())).chain(after));
    }
    table
}

fn beside_ours(pairs: &[Pair<'_>]) -> Table {
    let mut table = goal_columns(["default", "ours"]);
    for pair in pairs {
        let Some((default, single, ratio)) = pair.default_beside_ours() else { continue };
        let verdict = Bound::AtMost(DEFAULT_AT_MOST).judge(&ratio).words();
        let after = [DEFAULT_AT_MOST.into(), verdict.into()];
        table.row(
            pair.head().into_iter().chain(beside(pair.cell, [default, single], Some(ratio))).chain(after),
        );
    }
    table
}

fn at_our_contract(pairs: &[Pair<'_>]) -> Table {
    let table = Table::of([("work", Format::Text), ("n", Format::Count)]);
    let mut table = beside_columns(table, ["default", "other"]);
    for pair in pairs {
        let rival = pair.default_beside(|row| row.structure.kind == Kind::EqualContract);
        let Some((default, other, ratio)) = rival else { continue };
        table.row(pair.head().into_iter().chain(beside(pair.cell, [default, other], Some(ratio))));
    }
    table
}

/// A row for the best of ours, the best of others and each structure with dead entries.
fn memory(pairs: &[Pair<'_>]) -> Table {
    let (text, ns) = (Format::Text, Format::Ns);
    let mut table = Table::of([("work", text), ("n", Format::Count), ("structure", text), ("ns", ns)]);
    table = table.columns(["bytes", "then"], Format::Fixed(1)).columns(["dead", "then"], Format::Fixed(2));
    for pair @ Pair { cell, ours, other, .. } in pairs {
        for row in &cell.rows {
            let Some(held) = row.held else { continue };
            let best = [ours.structure, other.structure].contains(&row.structure);
            if !best && held.iter().all(|held| held.dead == Some(0)) {
                continue;
            }
            let a_timer = |count: usize| count as f64 / cell.population as f64;
            let bytes = held.map(|held| a_timer(held.bytes).into());
            let dead = held.map(|held| held.dead.map(a_timer).into());
            let of_row = [row.structure.id.into(), row.median().into()];
            table.row(pair.head().into_iter().chain(of_row).chain(bytes).chain(dead));
        }
    }
    table
}

fn plot(works: &[Work], pairs: &[Pair<'_>]) -> Plot {
    let y = Axis::log("time to the best of others", Format::Fixed(2));
    let mut plot = Plot::new("Ratio by population", Axis::log("timers", Format::Count), y);
    for work in works.iter().filter(|work| !work.in_ns) {
        let of_work = pairs.iter().filter(|pair| pair.work.scenario == work.scenario);
        let points: Vec<(f64, f64)> =
            of_work.filter_map(|pair| Some((pair.cell.population as f64, pair.ratio()?.median))).collect();
        if !points.is_empty() {
            plot = plot.curve(work.scenario.as_str(), points);
        }
    }
    plot
}

/// The population at which bytes are judged.
const MANY: usize = 1_000_000;
/// A live timer takes at most 32 bytes. Dead entries and slack take at most 40 % of that on top.
const BYTES_AT_MOST: f64 = 32.0 * 1.4;

/// The most bytes per timer that each of the best structures takes in any work.
fn bytes(pairs: &[Pair<'_>]) -> Vec<Finding> {
    let mut most: Vec<(&'static str, f64)> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.cell.population == MANY) {
        let default = pair.default_beside_ours().map(|(default, ..)| default);
        for row in [pair.ours].into_iter().chain(default) {
            let Some(held) = row.held else { continue };
            let bytes = held.iter().map(|held| held.bytes).max().unwrap_or(0) as f64 / MANY as f64;
            match most.iter_mut().find(|(id, _)| *id == row.structure.id) {
                Some((_, most)) => *most = most.max(bytes),
                None => most.push((row.structure.id, bytes)),
            }
        }
    }
    let finding = |(id, bytes): (&str, f64)| {
        let about = format!("{id}: bytes a timer with dead entries and slack, n={}", count(MANY));
        let goal = labels([("goal", "bytes a timer".into())]);
        Finding::counted(about, bytes, format!("{bytes:.1}"), Bound::AtMost(BYTES_AT_MOST)).labelled(goal)
    };
    most.into_iter().map(finding).collect()
}

/// The goals in groups: how many are held, not shown and missed.
fn goals(findings: &[Finding]) -> Section {
    let mut table = Table::new().column("goal", Format::Text);
    table = table.columns(["held", "not shown", "missed"], Format::Count);
    let goal = |finding: &Finding| finding.labels.get("goal").map(ToString::to_string);
    let mut names: Vec<String> = findings.iter().filter_map(goal).collect();
    names.dedup();
    for name in names {
        let verdicts = [Verdict::Held, Verdict::NotShown, Verdict::Missed];
        let of = |verdict| {
            let such =
                |finding: &&Finding| finding.verdict == verdict && goal(finding).as_ref() == Some(&name);
            findings.iter().filter(such).count()
        };
        table.row([name.as_str().into()].into_iter().chain(verdicts.map(of).map(Field::from)));
    }
    Section::new("Goals").table(table)
}

/// Our structures in slabs that large populations use, and the array for none.
pub(super) const ATTACKED: &str = "heap4/slab,fixed-delay/slab,wheel/slab,ladder/slab";
/// The greatest time of one insert, re-arm or removal.
const CALL_AT_MOST_US: f64 = 20.0;
/// The goal of single calls, and the title of their section.
const CALLS: &str = "The worst single call";

/// The number of timers in the attacks of the part `calls`.
pub(super) fn attacked(quick: bool) -> usize {
    if quick { cell::QUICK_POPULATIONS } else { MANY }
}

/// The worst calls of each structure: of one timer, which has a bound if the structure is ours, and
/// of some timers.
fn of_calls(plan: &worst::Plan, calls: &worst::Data) -> Vec<Finding> {
    let mut findings = Vec::new();
    let n = plan.populations.first().map_or(String::new(), |n| count(*n));
    for structure in &plan.structures {
        let id = structure.id;
        let worst = |calls: &[Call], rows: &[worst::Row]| {
            let of = |row: &&worst::Row| row.structure == *structure && calls.contains(&row.call);
            let longest = rows.iter().filter(of).max_by_key(|row| row.worst_ns())?;
            let ns = longest.worst_ns() as f64;
            let time = Format::Span.write(ns);
            Some((ns, format!("{time} ({}, {})", longest.call.name(), longest.pattern)))
        };
        if let Some((ns, what)) = worst(&[Call::Insert, Call::Rearm, Call::Remove], &calls.rows) {
            let about = format!("{id}: one insert, re-arm or removal, n={n}, us");
            findings.push(match structure.kind {
                Kind::Ours => Finding::counted(about, ns / 1e3, what, Bound::AtMost(CALL_AT_MOST_US)),
                _ => Finding::stated(about, what),
            });
        }
        if let Some((_, what)) = worst(&[Call::AdvanceWithin], &calls.rows) {
            let about = format!("{id}: one advance of at most {} timers, n={n}", plan.budget);
            findings.push(Finding::stated(about, what));
        }
    }
    let goal = |finding: Finding| finding.labelled(labels([("goal", CALLS.into())]));
    findings.into_iter().map(goal).collect()
}

#[cfg(test)]
mod tests;
