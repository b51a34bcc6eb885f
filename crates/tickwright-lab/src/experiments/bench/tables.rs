//! Sections of a comparison: a table, a plot and the list of skipped structures.

use crate::experiments::bench::cell::{Cell, FLOOR, HARNESS, Row};
use crate::experiments::request::left_out;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Plot, Section, Table};
use crate::stats::{self, Summary, Verdict};
use crate::structures::registry::Structure;

/// One section for each scenario and measure, after a section that explains the columns.
pub(crate) fn sections(cells: &[Cell]) -> Vec<Section> {
    let above = "Median ns per operation; x: its ratio to the baseline of the column, taken round by round, \
                 the median of these.";
    let floor = "(floor): the same work on a plain array or on an array for each tick, without order, handles \
                 or safety. It is no rival.";
    let above = if cells.iter().any(|cell| !cell.floor.is_empty()) {
        format!("{above} {floor}")
    } else {
        above.into()
    };
    let groups = groups(cells);
    [Section::new("").text(above)].into_iter().chain(groups.iter().map(|cells| section(cells))).collect()
}

/// Groups the cells that share a table: one scenario and one measure.
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
    let mut section = Section::new(format!("{}, {}", first.scenario, first.measure))
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

/// The structures of some cells without repetition, in the order of the registry.
fn structures(cells: &[&Cell]) -> Vec<&'static Structure> {
    let mut found = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows) {
        if !found.contains(&row.structure) {
            found.push(row.structure);
        }
    }
    found
}

/// A structure's row in a cell, even if the structure did not run.
fn row_of<'c>(cell: &'c Cell, structure: &Structure) -> Option<&'c Row> {
    cell.rows.iter().find(|row| row.structure == structure)
}

/// A row for each structure and columns for each population. The last rows are the floor and the
/// loop without a queue. `columns` are repeated for each population; the first one has the
/// population as its heading.
fn across(
    cells: &[&Cell],
    columns: &[(&str, Format)],
    of: impl Fn(&Cell, &'static Structure) -> Vec<Field>,
    floor: impl Fn(&Cell) -> Option<f64>,
    harness: impl Fn(&Cell) -> Option<f64>,
) -> Table {
    let mut table = Table::new().column("", Format::Text);
    for cell in cells {
        for (at, &(name, format)) in columns.iter().enumerate() {
            let own = || format!("n={}", count(cell.population));
            table = table.column(if at == 0 { own() } else { name.to_owned() }, format);
        }
    }
    for structure in structures(cells) {
        let fields = cells.iter().flat_map(|cell| of(cell, structure));
        table.row([structure.id.into()].into_iter().chain(fields));
    }
    let first = |figures: Vec<Option<f64>>| {
        figures.into_iter().flat_map(|figure| {
            let none = (1..columns.len()).map(|_| Field::from(""));
            [Field::maybe(figure)].into_iter().chain(none)
        })
    };
    let floors: Vec<_> = cells.iter().map(|cell| floor(cell)).collect();
    if floors.iter().any(Option::is_some) {
        table.row([FLOOR.into()].into_iter().chain(first(floors)));
    }
    let harnesses = cells.iter().map(|cell| harness(cell)).collect();
    table.row([HARNESS.into()].into_iter().chain(first(harnesses)));
    table
}

/// A table of the price of each question.
fn questions(cells: &[&Cell]) -> Table {
    let columns = [("", Format::Fixed(1)), ("from", Format::Fixed(1)), ("to", Format::Fixed(1))];
    let of = |cell: &Cell, structure| {
        let price = row_of(cell, structure).and_then(|row| row.question);
        let interval = price.map(|price| price.interval).filter(|interval| interval.coverage > 0.0);
        let bounds = [interval.map(|interval| interval.low), interval.map(|interval| interval.high)];
        [price.map(|price| price.median)].into_iter().chain(bounds).map(Field::maybe).collect()
    };
    across(cells, &columns, of, |_| None, |cell| cell.harness_question)
}

/// A table of medians and ratios.
fn overview(cells: &[&Cell]) -> Table {
    let of = |cell: &Cell, structure: &'static Structure| {
        let row = row_of(cell, structure);
        let ratio = match row.and_then(|row| row.ratio) {
            _ if cell.baseline == Some(structure.id) => "base".into(),
            Some(ratio) => ratio.median.into(),
            None => "".into(),
        };
        vec![Field::maybe(row.and_then(|row| row.summary).map(|summary| summary.median)), ratio]
    };
    let columns = [("", Format::Ns), ("x", Format::Fixed(2))];
    across(cells, &columns, of, |cell| stats::median(&cell.floor), |cell| stats::median(&cell.harness))
}

/// A table of all figures of one cell.
fn details(cell: &Cell) -> Table {
    let mut table = Table::new().column(format!("n={}", count(cell.population)), Format::Text);
    for name in ["median", "MAD", "min", "max"] {
        table = table.column(name, Format::Ns);
    }
    for name in ["x", "from", "to"] {
        table = table.column(name, Format::Fixed(2));
    }
    let mut table = table.column("verdict", Format::Text);
    let spread = |s: &Summary| [s.median.into(), s.mad.into(), s.min.into(), s.max.into()];
    for row in &cell.rows {
        let Some(summary) = &row.summary else { continue };
        let against: Vec<Field> = match &row.ratio {
            Some(ratio) => {
                let bounds = [ratio.interval.low, ratio.interval.high];
                let bounds =
                    bounds.map(|bound| Field::maybe((ratio.interval.coverage > 0.0).then_some(bound)));
                let verdict = Verdict::on(ratio).words().into();
                [ratio.median.into()].into_iter().chain(bounds).chain([verdict]).collect()
            }
            None if cell.baseline == Some(row.structure.id) => vec!["base".into()],
            None => Vec::new(),
        };
        table.row([row.structure.id.into()].into_iter().chain(spread(summary)).chain(against));
    }
    for (name, samples) in [(FLOOR, &cell.floor), (HARNESS, &cell.harness)] {
        if let Some(summary) = stats::summarise(samples.iter().copied()) {
            table.row([name.into()].into_iter().chain(spread(&summary)));
        }
    }
    table
}

/// A plot of medians over populations.
fn by_population(cells: &[&Cell]) -> Plot {
    let y = Axis::log("ns per operation", Format::Ns);
    let title = cells.first().map_or(String::new(), |cell| format!("{}, {}", cell.scenario, cell.measure));
    let mut plot = Plot::new(title, Axis::log("timers", Format::Count), y);
    // Only the faster storage of each family is drawn, because nobody can tell two dozen curves
    // apart.
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
    // The fastest curve comes first.
    let last = |points: &[(f64, f64)]| points.last().map_or((0.0, f64::MAX), |&(n, ns)| (-n, ns));
    curves.sort_by(|a, b| last(&a.1).partial_cmp(&last(&b.1)).unwrap_or(core::cmp::Ordering::Equal));
    for (name, points) in curves {
        plot = plot.curve(name, points);
    }
    plot
}

/// The name of a structure's family.
fn family(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}
