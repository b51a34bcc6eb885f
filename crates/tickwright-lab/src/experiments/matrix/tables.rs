//! The tables and the plot of the matrix.

use crate::experiments::bench::cell::Row;
use crate::experiments::matrix::work::{ADAPTIVE_AT_MOST, Pair, Work};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Finding, Plot, Section, Table, labels};
use crate::stats::{self, Bound, Verdict};

/// The sections of the queues.
pub(super) fn sections(works: &[Work], pairs: &[Pair<'_>]) -> Vec<Section> {
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
    let above = "x: AdaptiveQueue to the fastest of our other structures, round by round.";
    let title = "AdaptiveQueue beside the best single structure";
    let adaptive = pairs.iter().any(|pair| pair.adaptive().is_some()).then(|| adaptive(pairs));
    let second = adaptive.map(|table| Section::new(title).text(above).table(table));
    core::iter::once(first).chain(second).chain([memory]).collect()
}

fn table(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("ours", Format::Text).column("ns", Format::Ns);
    table = table.column("other", Format::Text).column("ns", Format::Ns);
    table = table.columns(["x", "from", "to", "at most"], Format::Fixed(2));
    let table = table.column("verdict", Format::Text).column("floor", Format::Ns);
    let mut table = table.column("x floor", Format::Fixed(1));
    for pair @ Pair { work, cell, ours, other, at_most } in pairs {
        let ns = |row: &Row| Field::maybe(row.summary.map(|summary| summary.median));
        let interval = ours.ratio.map(|ratio| ratio.interval).filter(|interval| interval.coverage > 0.0);
        let floor = stats::median(&cell.floor).filter(|floor| *floor > 0.0);
        let verdict = pair.bounded().map_or("", |summary| Bound::AtMost(*at_most).judge(&summary).words());
        table.row([
            work.scenario.as_str().into(),
            cell.population.into(),
            ours.structure.id.into(),
            ns(ours),
            other.structure.id.into(),
            ns(other),
            Field::maybe(ours.ratio.map(|ratio| ratio.median)),
            Field::maybe(interval.map(|interval| interval.low)),
            Field::maybe(interval.map(|interval| interval.high)),
            (*at_most).into(),
            verdict.into(),
            Field::maybe(floor),
            Field::maybe(ours.summary.zip(floor).map(|(ours, floor)| ours.median / floor)),
        ]);
    }
    table
}

fn adaptive(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("adaptive ns", Format::Ns).column("single", Format::Text).column("ns", Format::Ns);
    let mut table =
        table.columns(["x", "from", "to", "at most"], Format::Fixed(2)).column("verdict", Format::Text);
    for pair in pairs {
        let Some((adaptive, single, ratio)) = pair.adaptive() else { continue };
        let interval = Some(ratio.interval).filter(|interval| interval.coverage > 0.0);
        table.row([
            pair.work.scenario.as_str().into(),
            pair.cell.population.into(),
            Field::maybe(adaptive.summary.map(|summary| summary.median)),
            single.structure.id.into(),
            Field::maybe(single.summary.map(|summary| summary.median)),
            ratio.median.into(),
            Field::maybe(interval.map(|interval| interval.low)),
            Field::maybe(interval.map(|interval| interval.high)),
            ADAPTIVE_AT_MOST.into(),
            Bound::AtMost(ADAPTIVE_AT_MOST).judge(&ratio).words().into(),
        ]);
    }
    table
}

/// A row for the best of ours, the best of others and each structure with dead entries.
fn memory(pairs: &[Pair<'_>]) -> Table {
    let mut table = Table::new().column("work", Format::Text).column("n", Format::Count);
    table = table.column("structure", Format::Text).column("ns", Format::Ns);
    table = table.columns(["bytes", "then"], Format::Fixed(1));
    table = table.columns(["dead", "then"], Format::Fixed(2));
    for Pair { work, cell, ours, other, .. } in pairs {
        let dead = |row: &&Row| row.held.is_some_and(|held| held.iter().any(|held| held.dead != Some(0)));
        let best = |row: &&Row| [ours.structure, other.structure].contains(&row.structure);
        for row in cell.rows.iter().filter(|row| best(row) || dead(row)) {
            let Some(held) = row.held else { continue };
            let a_timer = |count: usize| count as f64 / cell.population as f64;
            let bytes = held.map(|held| a_timer(held.bytes).into());
            let dead = held.map(|held| Field::maybe(held.dead.map(a_timer)));
            let who = [work.scenario.as_str().into(), cell.population.into(), row.structure.id.into()];
            let ns = Field::maybe(row.summary.map(|summary| summary.median));
            table.row(who.into_iter().chain([ns]).chain(bytes).chain(dead));
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
            of_work.filter_map(|pair| Some((pair.cell.population as f64, pair.ours.ratio?.median))).collect();
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
pub(super) fn bytes(pairs: &[Pair<'_>]) -> Vec<Finding> {
    let mut most: Vec<(&'static str, f64)> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.cell.population == MANY) {
        let adaptive = pair.adaptive().map(|(adaptive, ..)| adaptive);
        for row in [pair.ours].into_iter().chain(adaptive) {
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
pub(super) fn goals(findings: &[Finding]) -> Section {
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
