//! Sections of a comparison: a table, a plot and the list of skipped structures.

use crate::experiments::bench::cell::{Cell, FLOOR, HARNESS, REFERENCES, Row, price, with_interval};
use crate::experiments::request::left_out;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Cell as Field, Plot, Section, Table};
use crate::stats::{self, Verdict};
use crate::structures::registry::Structure;

/// Returns one section for each scenario and measure, after a section that explains the columns.
pub(crate) fn sections(cells: &[Cell]) -> Vec<Section> {
    let above = "Median ns per operation; x: its ratio to the baseline of the column, taken round by round, \
                 the median of these.";
    let floor = "(floor): the same work on a plain array or on an array for each tick, without order, handles \
                 or safety. It is no rival.";
    let above = if cells.iter().any(|cell| !cell.samples(FLOOR).is_empty()) {
        format!("{above} {floor}")
    } else {
        above.into()
    };
    let groups = groups(cells);
    [Section::new("").text(above)]
        .into_iter()
        .chain(groups.iter().map(|group| section(cells, group)))
        .collect()
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

fn section(all: &[Cell], cells: &[&Cell]) -> Section {
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
    if price(all, first, HARNESS).is_some() {
        let columns = ["", "from", "to"].map(|name| (name, Format::Fixed(1)));
        let table = across(cells, &columns, |cell, id| match id {
            FLOOR => Vec::new(),
            id => with_interval(price(all, cell, id)).into(),
        });
        section = section.text("The question alone, ns more than the exchange, round by round:").table(table);
    }
    section
}

/// Returns the structures of some cells without repetition, in the order of the registry.
fn structures(cells: &[&Cell]) -> Vec<&'static Structure> {
    let mut found = Vec::new();
    for row in cells.iter().flat_map(|cell| &cell.rows) {
        if !found.contains(&row.structure) {
            found.push(row.structure);
        }
    }
    found
}

/// Returns a structure's row in a cell, even if the structure did not run.
fn row_of<'c>(cell: &'c Cell, structure: &Structure) -> Option<&'c Row> {
    cell.rows.iter().find(|row| row.structure == structure)
}

/// Returns a table with a row for each structure and columns for each population. The last rows are
/// the floor and the loop without a queue. `columns` are repeated for each population; the first
/// column has the population as its heading. A row without fields is left out.
fn across(cells: &[&Cell], columns: &[(&str, Format)], of: impl Fn(&Cell, &str) -> Vec<Field>) -> Table {
    let mut table = Table::new().column("", Format::Text);
    for cell in cells {
        for (at, &(name, format)) in columns.iter().enumerate() {
            let own = || format!("n={}", count(cell.population));
            table = table.column(if at == 0 { own() } else { name.to_owned() }, format);
        }
    }
    let references = REFERENCES.into_iter().filter(|id| cells.iter().any(|c| !c.samples(id).is_empty()));
    let ids = structures(cells).into_iter().map(|structure| structure.id);
    for id in ids.chain(references) {
        let fields: Vec<Field> = cells.iter().flat_map(|cell| of(cell, id)).collect();
        if !fields.is_empty() {
            let name = cells.first().map_or(id.to_owned(), |cell| cell.named(id));
            table.row([name.into()].into_iter().chain(fields));
        }
    }
    table
}

/// Returns a table of medians and ratios.
fn overview(cells: &[&Cell]) -> Table {
    across(cells, &[("", Format::Ns), ("x", Format::Fixed(2))], |cell, id| {
        let ratio = match cell.row(id).and_then(|row| cell.ratio(row)) {
            _ if cell.baseline == Some(id) => "base".into(),
            Some(ratio) => ratio.median.into(),
            None => "".into(),
        };
        vec![stats::median(cell.samples(id)).into(), ratio]
    })
}

/// Returns a table of all figures of one cell.
fn details(cell: &Cell) -> Table {
    let mut table = Table::new().column(format!("n={}", count(cell.population)), Format::Text);
    table = table.columns(["median", "MAD", "min", "max"], Format::Ns);
    table = table.columns(["x", "from", "to"], Format::Fixed(2)).column("verdict", Format::Text);
    for (id, samples) in cell.lines() {
        let Some(all) = stats::summarise(samples.iter().copied()) else { continue };
        let against: Vec<Field> = match cell.row(id).and_then(|row| cell.ratio(row)) {
            Some(ratio) => {
                let verdict = Verdict::on(&ratio).words().into();
                with_interval(Some(ratio)).into_iter().chain([verdict]).collect()
            }
            None if cell.baseline == Some(id) => vec!["base".into()],
            None => Vec::new(),
        };
        let spread = [all.median, all.mad, all.min, all.max].map(Field::from);
        table.row([cell.named(id).into()].into_iter().chain(spread).chain(against));
    }
    table
}

/// Returns a plot of medians over populations.
fn by_population(cells: &[&Cell]) -> Plot {
    let y = Axis::log("ns per operation", Format::Ns);
    let title = cells.first().map_or(String::new(), |cell| format!("{}, {}", cell.scenario, cell.measure));
    let plot = Plot::new(title, Axis::log("timers", Format::Count), y);
    // Only the faster storage of each family is drawn, because two dozen curves cannot be told
    // apart.
    let mut curves: Vec<(&'static str, Vec<(f64, f64)>)> = Vec::new();
    for structure in structures(cells) {
        let point = |cell: &&Cell| Some((cell.population as f64, row_of(cell, structure)?.median()?));
        let points: Vec<(f64, f64)> = cells.iter().filter_map(point).collect();
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
    curves.into_iter().fold(plot, |plot, (name, points)| plot.curve(name, points))
}

/// Returns the name of a structure's family.
fn family(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}
