//! The tables of `bench scheduler`.

use serde::Serialize;

use super::{LIMIT, Operation, Report, Row};
use crate::output::{SCHEMA, table};
use crate::stats;

/// A line of the CSV: a round.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    schema: u32,
    structure: &'static str,
    n: usize,
    round: usize,
    add_ns: f64,
    add_bare_ns: f64,
    del_ns: f64,
    del_bare_ns: f64,
    lock_ns: f64,
    clock_ns: f64,
}

pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let rounds = report.rows.iter().flat_map(|row| (0..row.lock.len()).map(move |round| (row, round)));
    rounds
        .map(|(row, round)| Line {
            schema: SCHEMA,
            structure: row.structure,
            n: row.n,
            round: round + 1,
            add_ns: row.add.through[round],
            add_bare_ns: row.add.bare[round],
            del_ns: row.del.through[round],
            del_bare_ns: row.del.bare[round],
            lock_ns: row.lock[round],
            clock_ns: row.clock[round],
        })
        .collect()
}

fn median(samples: &[f64]) -> Option<f64> {
    stats::summarise(samples.iter().copied()).map(|summary| summary.median)
}

pub(crate) fn text(report: &Report) -> String {
    let mut out = format!("{}\nclock  {}\n", report.host, report.clock);
    for note in &report.notes {
        out += &format!("note   {note}\n");
    }
    for (name, operation) in [("add", (|row| &row.add) as fn(&Row) -> &Operation), ("del", |row| &row.del)] {
        out += &format!("\n{}\n{}", operations(report, name, operation), fastest(report, name, operation));
    }
    out += "\n";
    out += &growth(report);
    out
}

fn operations(report: &Report, name: &str, operation: fn(&Row) -> &Operation) -> String {
    let mut rows = table::new([
        format!("{name}, ns"),
        "N".into(),
        "scheduler".into(),
        "bare queue".into(),
        "lock".into(),
        "clock".into(),
        "to the sum, median".into(),
        "from".into(),
        "to".into(),
        format!("{LIMIT}x"),
        "bytes per timer".into(),
    ]);
    for row in &report.rows {
        let one = |samples: &[f64]| median(samples).map_or("-".into(), table::ns);
        let op = operation(row);
        let ratio = row.ratio(op);
        let shown = |value: fn(&stats::Summary) -> f64| {
            ratio.as_ref().map_or("-".into(), |(summary, _)| format!("{:.2}", value(summary)))
        };
        rows.add_row([
            row.structure.to_owned(),
            table::count(row.n),
            one(&op.through),
            one(&op.bare),
            one(&row.lock),
            one(&row.clock),
            shown(|summary| summary.median),
            shown(|summary| summary.interval.low),
            shown(|summary| summary.interval.high),
            ratio.as_ref().map_or("-", |(_, kept)| kept.words()).to_owned(),
            format!("{:.1}", row.bytes_per_timer),
        ]);
    }
    table::show(&rows)
}

/// The limit is meant for the structure that one would take: the fastest at each N.
fn fastest(report: &Report, name: &str, operation: fn(&Row) -> &Operation) -> String {
    let mut sizes: Vec<usize> = report.rows.iter().map(|row| row.n).collect();
    sizes.dedup();
    let said = sizes.into_iter().filter_map(|n| {
        let ns = |row: &Row| median(&operation(row).through).unwrap_or(f64::INFINITY);
        let rows = report.rows.iter().filter(|row| row.n == n);
        let best = rows.min_by(|a, b| ns(a).total_cmp(&ns(b)))?;
        let (ratio, kept) = best.ratio(operation(best))?;
        Some(format!("{} {} {:.2} {}", table::count(n), best.structure, ratio.median, kept.words()))
    });
    format!(
        "The fastest to {name} at each N, to the sum of its parts: {}.\n",
        said.collect::<Vec<_>>().join("; ")
    )
}

/// How a delete grows from the smallest N to the largest, beside what of that is the bare queue's.
fn growth(report: &Report) -> String {
    let mut structures: Vec<&str> = report.rows.iter().map(|row| row.structure).collect();
    structures.dedup();
    structures.sort_unstable();
    structures.dedup();
    let mut out = String::new();
    for structure in structures {
        let of = || report.rows.iter().filter(|row| row.structure == structure);
        let (Some(small), Some(large)) = (of().min_by_key(|row| row.n), of().max_by_key(|row| row.n)) else {
            continue;
        };
        if small.n == large.n {
            continue;
        }
        let own = |row: &Row| median(&row.del.through).zip(median(&row.del.bare));
        let (Some((from, from_bare)), Some((to, to_bare))) = (own(small), own(large)) else { continue };
        out += &format!(
            "{structure}: a delete by id takes {} ns at N = {} and {} ns at {}; of these the bare queue takes {} and {}. The rest, which looks up the id, is {} and {} ns; \
             it is the same few steps at every N, and grows by cache misses alone.\n",
            table::ns(from),
            table::count(small.n),
            table::ns(to),
            table::count(large.n),
            table::ns(from_bare),
            table::ns(to_bare),
            table::ns(from - from_bare),
            table::ns(to - to_bare),
        );
    }
    out
}
