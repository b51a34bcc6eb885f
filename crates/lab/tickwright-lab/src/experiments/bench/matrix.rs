//! `tickwright bench --matrix`: our best structure compared with the best other structure, for each
//! work and population, in one table and one plot. The report also shows the worst single call.
//! Each figure has a bound. [`goals`] has the bounds of the default queue.

mod goals;
mod work;

use self::work::{MANY, Pair, goal_columns, pairs, plot};
pub(super) use self::work::{Matrix, Part};
use crate::experiments::bench::cell::{self, Cell, FLOOR, beside};
use crate::experiments::bench::drain;
use crate::experiments::bench::worst::{self, Call};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Cell as Field, Finding, Section, Table, findings_table, labels};
use crate::stats::{self, Bound, Verdict};
use crate::structures::registry::Kind;

/// The structures that are measured, unless the user names others.
pub(super) const STRUCTURES: &str = "!*/hook,!coarse/*,!delay-queue,!list/slab";

/// The number of drains of each structure whose times count.
pub(super) const DRAINS: u64 = 5;

/// The parts that the user asked for, and what was measured.
pub(super) struct Ran<'d> {
    pub(super) parts: &'d [Part],
    pub(super) cells: &'d [Cell],
    pub(super) drained: &'d drain::Data,
    pub(super) calls: (&'d worst::Plan, &'d worst::Data),
}

/// Returns every figure with its bound: first for the queues, then for the default queue, then for
/// single calls.
pub(super) fn findings(matrix: &Matrix, Ran { parts, cells, drained, calls }: &Ran<'_>) -> Vec<Finding> {
    let pairs = pairs(&matrix.works, cells);
    let of_pair = |pair: &Pair<'_>| {
        let (ours, other) = (pair.ours.structure.id, pair.other.structure.id);
        let about = if pair.work.in_ns { format!("{ours}, ns") } else { format!("{ours} to {other}") };
        Some(pair.finding("ours to the best of others", &about, pair.bounded()?, pair.at_most))
    };
    let queues = if Part::Queues.is_asked(parts) { pairs.as_slice() } else { &[] };
    let of_queues = queues.iter().filter_map(of_pair).chain(bytes(queues));
    of_queues
        .chain(goals::findings(&matrix.default, &pairs, drained))
        .chain(of_calls(calls.0, calls.1))
        .collect()
}

/// Returns the sections of the parts that ran.
pub(super) fn sections(
    matrix: &Matrix,
    Ran { parts, cells, calls: (plan, calls), .. }: &Ran<'_>,
    findings: &[Finding],
) -> Vec<Section> {
    let pairs = pairs(&matrix.works, cells);
    let mut all = Vec::new();
    if !pairs.is_empty() {
        if Part::Queues.is_asked(parts) {
            all.extend(of_queues(&pairs));
        }
        all.push(goals::section(&matrix.default, &pairs, findings));
    }
    let has = |finding: &&Finding| finding.labels.get("goal") == Some(&CALLS.into());
    let of_calls: Vec<Finding> = findings.iter().filter(has).cloned().collect();
    if !plan.structures.is_empty() {
        let above = format!(
            "The longest of all single calls under {} kinds of deadlines. Each call counts with the least \
             of {} rounds. `bench --worst` shows the tails.",
            plan.patterns.len(),
            plan.rounds
        );
        let table = findings_table("goal", Format::Fixed(2), &of_calls);
        all.push(Section::new(CALLS).text(above).table(table).text(calls.left_out(|_, _| true)));
    }
    all.push(goals(findings));
    all
}

fn of_queues(pairs: &[Pair<'_>]) -> [Section; 2] {
    let above = "x: the best of ours to the best of others, round by round, the median of these. Ours \
                 are exact, in a slab, with keys that go stale and order among equals. Floor: the same \
                 work without order, handles or safety; x floor: ours to it. At most: the greatest x \
                 that is wanted; of idle, the greatest number of ns.";
    let title = "The best of ours beside the best of others";
    let ratios = pairs.iter().filter_map(|pair| Some((pair, pair.ratio()?.median)));
    let plot = plot("Ratio by population", ratios);
    let first = Section::new(title).text(above).table(table(pairs)).plot(plot);
    let above = "Bytes on the heap per pending timer, without the keys that a caller keeps, before the first \
                 sample and after the last. Dead: entries of timers that were moved or cancelled, per \
                 pending timer. A structure that keeps such entries is measured when as many leave as \
                 come.";
    let memory = Section::new("What a pending timer takes").text(above).table(memory(pairs));
    [first, memory]
}

fn table(pairs: &[Pair<'_>]) -> Table {
    let table = goal_columns(["ours", "other"], None).column("floor", Format::Ns);
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

/// Returns a table with a row for our best structure, for the best other structure, and for each
/// structure with dead entries.
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

/// A live timer takes at most 32 bytes. Dead entries and slack add at most 40 % to that.
const BYTES_AT_MOST: f64 = 32.0 * 1.4;

/// For each of the best structures, returns the most bytes per timer that it takes in any work.
fn bytes(pairs: &[Pair<'_>]) -> Vec<Finding> {
    let mut most: Vec<(&'static str, f64)> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.cell.population == MANY) {
        let Some(held) = pair.ours.held else { continue };
        let (id, bytes) = (pair.ours.structure.id, held.iter().map(|held| held.bytes).max());
        let bytes = bytes.unwrap_or(0) as f64 / MANY as f64;
        match most.iter_mut().find(|of| of.0 == id) {
            Some((_, most)) => *most = most.max(bytes),
            None => most.push((id, bytes)),
        }
    }
    let finding = |(id, bytes): (&str, f64)| {
        let about = format!("{id}: bytes a timer with dead entries and slack, n={}", count(MANY));
        let goal = labels([("goal", "bytes a timer".into())]);
        Finding::counted(about, bytes, format!("{bytes:.1}"), Bound::AtMost(BYTES_AT_MOST)).labelled(goal)
    };
    most.into_iter().map(finding).collect()
}

/// Returns how many goals of each group are held, not shown and missed.
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

/// Our structures for large populations, in slabs. The array is for small populations, so it is
/// left out.
pub(super) const ATTACKED: &str = "heap4/slab,fixed-delay/slab,wheel/slab,ladder/slab";
/// The greatest allowed time of one insert, re-arm or removal.
const CALL_AT_MOST_US: f64 = 20.0;
/// The goal of single calls, and the title of their section.
const CALLS: &str = "The worst single call";

/// Returns the number of timers in the attacks of the part `calls`.
pub(super) fn attacked(quick: bool) -> usize {
    if quick { cell::QUICK_POPULATIONS } else { MANY }
}

/// Returns the worst calls of each structure: first the worst call on one timer, which has a bound
/// if the structure is ours, then the worst call on several timers.
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
