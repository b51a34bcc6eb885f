//! Tables of a run: populations across, structures down, then a line of verdict per cell.

use core::fmt::Write;

use serde::Serialize;

use crate::bench::cell::{Cell, Report, Row};
use crate::error::LabError;
use crate::output::{Files, Run, SCHEMA, table};
use crate::registry::Kind;
use crate::scenario::Measure;
use crate::stats::{CONFIDENCE, Interval, Summary, TIE, Verdict};

/// The whole report for the terminal.
pub(crate) fn show(report: &Report) -> String {
    let mut text = format!("{}\nclock  {}\n", report.host, report.clock);
    for doubt in report.host.doubts() {
        let _ = writeln!(text, "note   {doubt}");
    }
    for cells in groups(&report.cells) {
        let _ = write!(text, "\n{}", group(cells));
    }
    text
}

/// Cells that share a table: one scenario and one measure.
fn groups(cells: &[Cell]) -> Vec<Vec<&Cell>> {
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        let same = |group: &&mut Vec<&Cell>| {
            group.iter().any(|other| other.scenario == cell.scenario && other.measure == cell.measure)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

fn group(cells: Vec<&Cell>) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let mut text = format!(
        "{}, {}: median ns per operation; x: its ratio to the baseline of the column, taken round by round, the median of these\n",
        first.scenario, first.measure
    );
    let body = if let [cell] = cells.as_slice() { details(cell) } else { overview(&cells) };
    let _ = writeln!(text, "{body}");
    for cell in &cells {
        let _ = writeln!(text, "{}", verdict(cell));
        if let Some(wheels) = against_wheel(cell) {
            let _ = writeln!(text, "{wheels}");
        }
    }
    text.push_str(&skipped(&cells));
    if cells.iter().any(|cell| cell.rows.iter().any(|row| row.question.is_some())) {
        let _ = write!(
            text,
            " the question alone, ns more than the exchange, round by round\n{}\n",
            questions(&cells)
        );
    }
    text
}

/// The structures of some cells, each once, in the order of the registry.
fn structures(cells: &[&Cell]) -> Vec<&'static str> {
    let mut ids = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows) {
        if !ids.contains(&row.structure) {
            ids.push(row.structure);
        }
    }
    ids
}

/// A structure's row in a cell, run or not.
fn row_of<'c>(cell: &'c Cell, id: &str) -> Option<&'c Row> {
    cell.rows.iter().find(|row| row.structure == id)
}

/// `n=500` for each of some cells, after an empty corner.
fn populations(cells: &[&Cell]) -> impl Iterator<Item = String> {
    let heading: Vec<_> = cells.iter().map(|cell| format!("n={}", table::count(cell.population))).collect();
    [String::new()].into_iter().chain(heading)
}

/// Structures down, populations across: the price of a question.
fn questions(cells: &[&Cell]) -> String {
    let mut table = table::new(populations(cells));
    for id in structures(cells) {
        let columns = cells.iter().map(|cell| {
            let price = row_of(cell, id)?.question?;
            Some(format!("{:.1} {}", price.median, interval(&price.interval)))
        });
        let columns: Vec<_> = columns.map(|column| column.unwrap_or_else(|| "-".into())).collect();
        table.add_row([id.to_owned()].into_iter().chain(columns));
    }
    let harness = cells.iter().map(|cell| cell.harness_question.map_or("-".into(), |ns| format!("{ns:.1}")));
    table
        .add_row(["(harness alone)".to_owned()].into_iter().chain(harness.map(|h| format!("{h}          "))));
    table::show(&table)
}

/// Structures down, populations across.
fn overview(cells: &[&Cell]) -> String {
    let mut table = table::new(populations(cells));
    for id in structures(cells) {
        let columns = cells.iter().map(|cell| {
            let row = row_of(cell, id)?;
            let ns = table::ns(row.summary?.median);
            Some(match &row.ratio {
                Some(ratio) => format!("{ns} {:.2}x", ratio.median),
                None if cell.baseline == Some(row.structure) => format!("{ns}  base"),
                None => format!("{ns}     -"),
            })
        });
        table.add_row(
            [id.to_owned()].into_iter().chain(columns.map(|cell| cell.unwrap_or_else(|| "-".into()))),
        );
    }
    let harness = cells
        .iter()
        .map(|cell| cell.harness.map_or("-".into(), |h| format!("{}      ", table::ns(h.median))));
    table.add_row(["(harness alone)".to_owned()].into_iter().chain(harness));
    table::show(&table)
}

/// Everything that is known about one cell.
fn details(cell: &Cell) -> String {
    let heading = [format!("n={}", table::count(cell.population))]
        .into_iter()
        .chain(DETAILS.iter().map(|h| (*h).to_owned()));
    let mut table = table::new(heading);
    let spread = |s: &Summary| [table::ns(s.median), table::ns(s.mad), table::ns(s.min), table::ns(s.max)];
    for row in &cell.rows {
        let Some(summary) = &row.summary else { continue };
        let against = match (&row.ratio, row.verdict) {
            (Some(ratio), Some(verdict)) => {
                [format!("{:.2}x", ratio.median), interval(&ratio.interval), verdict.words().to_owned()]
            }
            _ if cell.baseline == Some(row.structure) => ["base".into(), String::new(), String::new()],
            _ => ["-".into(), String::new(), String::new()],
        };
        table.add_row([row.structure.to_owned()].into_iter().chain(spread(summary)).chain(against));
    }
    if let Some(harness) = &cell.harness {
        table.add_row(["(harness alone)".to_owned()].into_iter().chain(spread(harness)));
    }
    table::show(&table)
}

const DETAILS: [&str; 7] = ["median", "MAD", "min", "max", "ratio", "interval", "verdict"];

/// The bounds; one round has none.
fn interval(interval: &Interval) -> String {
    if interval.coverage > 0.0 { format!("{:.2}..{:.2}", interval.low, interval.high) } else { "-".into() }
}

/// An interval with its coverage; one round has none.
fn covered(interval: &Interval) -> String {
    match interval {
        Interval { coverage, .. } if *coverage > 0.0 => {
            format!("{:.0} % interval {}", coverage * 100.0, self::interval(interval))
        }
        _ => "no interval from one round".into(),
    }
}

/// One sentence on ours against the baseline.
fn verdict(cell: &Cell) -> String {
    let at = format!(" n={:<5}", table::count(cell.population));
    let (Some(ours), Some(baseline)) = (cell.best(Kind::Ours), cell.baseline.and_then(|id| cell.row(id)))
    else {
        return format!("{at} nothing to compare");
    };
    let (Some(time), Some(base)) = (&ours.summary, &baseline.summary) else {
        return format!("{at} nothing to compare");
    };
    let times = format!("{} {} ns", ours.structure, table::ns(time.median));
    let Some((ratio, verdict)) = ours.ratio.as_ref().zip(ours.verdict) else {
        return format!("{at} {times}: the fastest, and the baseline itself");
    };
    let against = format!("{} {} ns", baseline.structure, table::ns(base.median));
    let Interval { coverage, .. } = ratio.interval;
    let why = match verdict {
        Verdict::NoDifferenceShown if coverage < CONFIDENCE => {
            format!(" ({} rounds cannot show one)", ratio.samples)
        }
        Verdict::NoDifferenceShown if (1.0 / (1.0 + TIE)..1.0 + TIE).contains(&ratio.median) => {
            format!(" (under {:.0} %)", TIE * 100.0)
        }
        Verdict::NoDifferenceShown => " (the interval includes 1)".into(),
        Verdict::Faster | Verdict::Slower => String::new(),
    };
    format!(
        "{at} best of ours {times}, against {against}: {:.2}x, {}: {}{why}",
        ratio.median,
        covered(&ratio.interval),
        verdict.words()
    )
}

/// The same against the fastest wheel of others, where that is not the baseline: by our fastest
/// wheel, or else by our fastest.
fn against_wheel(cell: &Cell) -> Option<String> {
    let wheel = cell.wheel.filter(|id| cell.baseline != Some(id)).and_then(|id| cell.row(id))?;
    let ours = cell.best_wheel(Kind::Ours).or_else(|| cell.best(Kind::Ours))?;
    let ratio = ours.to_wheel?;
    Some(format!(
        "         {} {} ns, against the fastest wheel {} {} ns: {:.2}x, {}: {}",
        ours.structure,
        table::ns(ours.summary?.median),
        wheel.structure,
        table::ns(wheel.summary?.median),
        ratio.median,
        covered(&ratio.interval),
        Verdict::on(&ratio).words()
    ))
}

/// Which rows were left out, and why, once per reason.
fn skipped(cells: &[&Cell]) -> String {
    let mut text = String::new();
    for id in structures(cells) {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for cell in cells {
            let Some(why) = row_of(cell, id).and_then(|row| row.skipped.clone()) else { continue };
            let n = table::count(cell.population);
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, populations)) => populations.push(n),
                None => reasons.push((why, vec![n])),
            }
        }
        for (why, populations) in reasons {
            let _ = writeln!(text, " {id} not run at n={}: {why}", populations.join(", "));
        }
    }
    text
}

/// A raw sample, for `--csv`.
#[derive(Debug, Serialize)]
pub(crate) struct Raw<'r> {
    schema: u32,
    scenario: &'r str,
    measure: Measure,
    population: usize,
    operations: u64,
    seed: u64,
    structure: &'r str,
    round: usize,
    ns_per_operation: f64,
}

/// Every sample.
pub(crate) fn raw(report: &Report) -> impl Iterator<Item = Raw<'_>> {
    report.cells.iter().flat_map(move |cell| {
        cell.rows.iter().flat_map(move |row| {
            row.samples.iter().enumerate().map(move |(round, ns)| Raw {
                schema: SCHEMA,
                scenario: &cell.scenario,
                measure: cell.measure,
                population: cell.population,
                operations: cell.operations,
                seed: cell.seed,
                structure: row.structure,
                round: round + 1,
                ns_per_operation: *ns,
            })
        })
    })
}

/// Prints and writes a report where it was asked for.
///
/// # Errors
/// [`LabError::Interrupted`] when it is partial; a file that cannot be written after all.
pub(crate) fn finish(report: &Report, files: &Files) -> Result<(), LabError> {
    let run = Run { interrupted: report.interrupted, host: &report.host };
    files.finish(run, || show(report), report, raw(report))
}
