//! Sections of a comparison: populations across, structures down, a picture, and the skipped.

use crate::experiments::bench::cell::{Cell, Row};
use crate::experiments::request::left_out;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Plot, Section, Table};
use crate::stats::{self, Interval, Summary, Verdict};
use crate::structures::registry::Structure;

/// One section for each scenario and measure.
pub(crate) fn sections(cells: &[Cell]) -> Vec<Section> {
    groups(cells).iter().map(|cells| section(cells)).collect()
}

/// Cells that share a table: one scenario and one measure.
pub(super) fn groups(cells: &[Cell]) -> Vec<Vec<&Cell>> {
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

fn section(cells: &[&Cell]) -> Section {
    let Some(first) = cells.first() else { return Section::default() };
    let one = cells.len() == 1;
    let above = "Median ns per operation; x: its ratio to the baseline of the column, taken round by round, \
                 the median of these.";
    let mut section = Section::new(format!("{}, {}", first.scenario, first.measure))
        .text(above)
        .table(if one { details(first) } else { overview(cells) })
        .plot(by_population(cells));
    let skipped = structures(cells).into_iter().flat_map(|structure| {
        let rows = cells.iter().filter_map(move |cell| Some((cell.population, row_of(cell, structure)?)));
        rows.filter_map(move |(n, row)| Some((structure.id, count(n), row.skipped.clone()?)))
    });
    section = section.text(left_out(skipped));
    if cells.iter().any(|cell| cell.rows.iter().any(|row| row.question.is_some())) {
        section = section
            .text("The question alone, ns more than the exchange, round by round:")
            .table(questions(cells));
    }
    section
}

/// The structures of some cells, each once, in the order of the registry.
fn structures(cells: &[&Cell]) -> Vec<&'static Structure> {
    let mut found = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows) {
        if !found.contains(&row.structure) {
            found.push(row.structure);
        }
    }
    found
}

/// A structure's row in a cell, run or not.
fn row_of<'c>(cell: &'c Cell, structure: &Structure) -> Option<&'c Row> {
    cell.rows.iter().find(|row| row.structure == structure)
}

/// The name of the loop without a queue.
pub(crate) const HARNESS: &str = "(harness alone)";

/// Structures down, populations across: the price of a question.
fn questions(cells: &[&Cell]) -> Table {
    let mut table = Table::new().column("", Format::Text);
    for cell in cells {
        table = table
            .column(format!("n={}", count(cell.population)), Format::Fixed(1))
            .column("interval", Format::Ns);
    }
    for structure in structures(cells) {
        let columns = cells.iter().flat_map(|cell| {
            let price = row_of(cell, structure).and_then(|row| row.question);
            [Field::maybe(price.map(|p| p.median)), price.map(|p| interval(&p.interval)).into()]
        });
        table.row([structure.id.into()].into_iter().chain(columns));
    }
    let harness = cells.iter().flat_map(|cell| [Field::maybe(cell.harness_question), "".into()]);
    table.row([HARNESS.into()].into_iter().chain(harness));
    table
}

/// Structures down, populations across.
fn overview(cells: &[&Cell]) -> Table {
    let mut table = Table::new().column("", Format::Text);
    for cell in cells {
        table =
            table.column(format!("n={}", count(cell.population)), Format::Ns).column("x", Format::Fixed(2));
    }
    for structure in structures(cells) {
        let columns = cells.iter().flat_map(|cell| {
            let row = row_of(cell, structure);
            let ratio = match row.and_then(|row| row.ratio) {
                _ if cell.baseline == Some(structure.id) => "base".into(),
                Some(ratio) => ratio.median.into(),
                None => "".into(),
            };
            [Field::maybe(row.and_then(|row| row.summary).map(|summary| summary.median)), ratio]
        });
        table.row([structure.id.into()].into_iter().chain(columns));
    }
    let harness = cells.iter().flat_map(|cell| [Field::maybe(stats::median(&cell.harness)), "".into()]);
    table.row([HARNESS.into()].into_iter().chain(harness));
    table
}

/// Everything that is known about one cell.
fn details(cell: &Cell) -> Table {
    let mut table = Table::new().column(format!("n={}", count(cell.population)), Format::Text);
    for name in ["median", "MAD", "min", "max"] {
        table = table.column(name, Format::Ns);
    }
    table =
        table.column("ratio", Format::Ratio).column("interval", Format::Ns).column("verdict", Format::Text);
    let spread = |s: &Summary| [s.median.into(), s.mad.into(), s.min.into(), s.max.into()];
    for row in &cell.rows {
        let Some(summary) = &row.summary else { continue };
        let against: [Field; 3] = match &row.ratio {
            Some(ratio) => {
                [ratio.median.into(), interval(&ratio.interval).into(), Verdict::on(ratio).words().into()]
            }
            None if cell.baseline == Some(row.structure.id) => ["base".into(), "".into(), "".into()],
            None => [Field::maybe(None), "".into(), "".into()],
        };
        table.row([row.structure.id.into()].into_iter().chain(spread(summary)).chain(against));
    }
    if let Some(harness) = stats::summarise(cell.harness.iter().copied()) {
        table.row([HARNESS.into()].into_iter().chain(spread(&harness)));
    }
    table
}

/// Medians over populations.
fn by_population(cells: &[&Cell]) -> Plot {
    let y = Axis::log("ns per operation", Format::Ns);
    let title = cells.first().map_or(String::new(), |cell| format!("{}, {}", cell.scenario, cell.measure));
    let mut plot = Plot::new(title, Axis::log("timers", Format::Count), y);
    // The better storage stands for its family: two dozen curves cannot be told apart.
    let mut curves: Vec<(&'static str, Vec<(f64, f64)>)> = Vec::new();
    for structure in structures(cells) {
        let median = |cell: &&Cell| row_of(cell, structure).and_then(|row| row.summary).map(|all| all.median);
        let points: Vec<(f64, f64)> =
            cells.iter().filter_map(|cell| Some((cell.population as f64, median(cell)?))).collect();
        let sum = |points: &[(f64, f64)]| points.iter().map(|point| point.1.ln()).sum::<f64>();
        match curves.iter_mut().find(|curve| family(curve.0) == family(structure.id)) {
            None => curves.push((structure.id, points)),
            Some(curve) if sum(&points) < sum(&curve.1) => *curve = (structure.id, points),
            Some(_) => {}
        }
    }
    // The fastest first.
    let last = |points: &[(f64, f64)]| points.last().map_or((0.0, f64::MAX), |&(n, ns)| (-n, ns));
    curves.sort_by(|a, b| last(&a.1).partial_cmp(&last(&b.1)).unwrap_or(core::cmp::Ordering::Equal));
    for (name, points) in curves {
        plot = plot.curve(name, points);
    }
    plot
}

/// A structure's name without its storage.
fn family(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// The bounds; one round has none.
fn interval(interval: &Interval) -> String {
    if interval.coverage > 0.0 { format!("{:.2}..{:.2}", interval.low, interval.high) } else { "-".into() }
}
