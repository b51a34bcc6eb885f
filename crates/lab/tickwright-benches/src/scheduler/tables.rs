//! The report of `scheduler`: each operation compared with its parts, and how a delete grows with
//! N.

use super::data::{LIMIT, Operation, Plan, Row};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Finding, Plot, Section, Table, findings_table, labels};
use crate::stats::median;

/// Checks the limit for the fastest structure at each N, because a user would choose that
/// structure.
pub(super) fn findings(plan: &Plan, rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, name) in ["add", "delete"].into_iter().enumerate() {
        let of = |row: &Row| -> Operation { row.operations()[at].1.clone() };
        for &n in &plan.sizes {
            let ns = |row: &Row| median(&of(row).through).unwrap_or(f64::INFINITY);
            let fastest = rows.iter().filter(|row| row.n == n).min_by(|a, b| ns(a).total_cmp(&ns(b)));
            let Some((row, ratio)) = fastest.and_then(|row| Some((row, row.ratio(&of(row))?))) else {
                continue;
            };
            let count = count(n);
            let about = format!("{name} to the sum of its parts, n={count}: the fastest, {}", row.structure);
            let of =
                labels([("operation", name.into()), ("n", n.into()), ("structure", row.structure.into())]);
            findings.push(Finding::bounded(about, ratio, LIMIT).labelled(of));
        }
    }
    findings
}

pub(super) fn sections(plan: &Plan, rows: &[Row], findings: &[Finding]) -> Vec<Section> {
    let targets = findings_table("target", Format::Ratio, findings);
    vec![
        operations(rows, 0, "add"),
        operations(rows, 1, "delete"),
        Section::new("In short").table(targets).text(growth(plan, rows)),
    ]
}

fn operations(rows: &[Row], at: usize, name: &str) -> Section {
    let mut table = Table::new().column(format!("{name}, ns"), Format::Text).column("N", Format::Count);
    for part in ["scheduler", "bare queue", "lock", "clock"] {
        table = table.column(part, Format::Ns);
    }
    for bound in ["x the sum", "from", "to"] {
        table = table.column(bound, Format::Fixed(2));
    }
    let mut table = table.column(LIMIT.to_string(), Format::Text).column("bytes each", Format::Fixed(1));
    let y = Axis::log("ns", Format::Ns);
    let mut plot = Plot::new(
        format!("{name}, through the scheduler and on the bare queue"),
        Axis::log("timers", Format::Count),
        y,
    );
    for row in rows {
        let (_, operation) = row.operations()[at];
        let ratio = row.ratio(operation);
        table.row([
            row.structure.into(),
            row.n.into(),
            median(&operation.through).into(),
            median(&operation.bare).into(),
            median(&row.lock).into(),
            median(&row.clock).into(),
            ratio.map(|ratio| ratio.median).into(),
            ratio.map(|ratio| ratio.interval.low).into(),
            ratio.map(|ratio| ratio.interval.high).into(),
            ratio.map(|ratio| LIMIT.judge(&ratio).words()).into(),
            row.bytes_per_timer.into(),
        ]);
    }
    let mut structures: Vec<&str> = Vec::new();
    for row in rows {
        if !structures.contains(&row.structure) {
            structures.push(row.structure);
        }
    }
    for structure in structures {
        for (part, samples) in [
            ("scheduler", (|operation| &operation.through) as fn(&Operation) -> &Vec<f64>),
            ("bare", |operation| &operation.bare),
        ] {
            let of = rows.iter().filter(|row| row.structure == structure);
            let points = of.filter_map(|row| Some((row.n as f64, median(samples(row.operations()[at].1))?)));
            plot = plot.curve(format!("{structure}, {part}"), points);
        }
    }
    Section::new(format!("{name}, beside its parts")).table(table).plot(plot)
}

/// Returns how the time of a delete grows from the smallest N to the largest, and the bare queue's
/// share of that growth.
fn growth(plan: &Plan, rows: &[Row]) -> String {
    let mut lines = Vec::new();
    for structure in plan.structures.iter().map(|structure| structure.id()) {
        let of = || rows.iter().filter(|row| row.structure == structure);
        let (Some(small), Some(large)) = (of().min_by_key(|row| row.n), of().max_by_key(|row| row.n)) else {
            continue;
        };
        let own = |row: &Row| median(&row.del.through).zip(median(&row.del.bare));
        let (Some((from, from_bare)), Some((to, to_bare))) = (own(small), own(large)) else { continue };
        if small.n == large.n {
            continue;
        }
        let ns = |value: f64| Format::Ns.write(value);
        lines.push(format!(
            "{structure}: a delete by id takes {} ns at N = {} and {} ns at {}.\n  The bare queue takes {} and \
             {} ns of that; the look-up of the id takes {} and {} ns.",
            ns(from),
            count(small.n),
            ns(to),
            count(large.n),
            ns(from_bare),
            ns(to_bare),
            ns(from - from_bare),
            ns(to - to_bare),
        ));
    }
    if !lines.is_empty() {
        lines.push("The look-up is the same few steps at every N, and grows by cache misses alone.".into());
    }
    lines.join("\n")
}
