//! The report of `mcu`: the cheapest structures, each operation, bytes, and a plot.

use crate::render::Format;
use crate::result::{Axis, Cell, Plot, Section, Table};

use super::choice::{USES, Use, findings, sizes, structures};
use super::data::Plan;
use super::record::{Kind, Row, WAKE_UP, distinct};

/// The maximum number of curves in a plot. A plot shows the structures that are cheapest at the
/// largest number of timers.
const CURVES: usize = 6;

pub(super) fn sections(plan: &Plan) -> Vec<Section> {
    let rows = &plan.rows;
    let mut sections = vec![cheapest(plan)];
    let counted = rows.iter().filter(|row| row.kind == Kind::Instructions);
    let operations = distinct(counted.map(|row| row.of.as_str()));
    sections.extend(operations.into_iter().map(|operation| calls(rows, operation)));
    sections.push(bytes(plan));
    let pictures = USES.iter().filter(|case| ["insert + fire", "insert + abort"].contains(&case.name));
    sections.push(pictures.fold(Section::new(""), |section, case| section.plot(picture(plan, case))));
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

fn columns(table: Table, before: &str, sizes: &[u64], format: Format) -> Table {
    table.columns(sizes.iter().map(|n| format!("{before}n={}", Format::Count.write(*n as f64))), format)
}

/// Returns the cheapest structure for each number of timers.
fn cheapest(plan: &Plan) -> Section {
    let Plan { processor, level, rows, .. } = plan;
    let sizes = sizes(rows);
    let mut table = columns(Table::new().column("cheapest for", Format::Text), "", &sizes, Format::Text);
    for case in &USES {
        let cells = sizes
            .iter()
            .map(|n| case.cheapest(rows, *n).map(|(structure, cost)| format!("{structure} {cost}")).into());
        table.row([Cell::from(case.name)].into_iter().chain(cells));
    }
    let said = findings(rows).into_iter().map(|finding| {
        let use_of = finding.about.trim_start_matches("cheapest for ").to_owned();
        format!("{use_of}: {}.", finding.here)
    });
    let said = said.collect::<Vec<_>>().join("\n");
    Section::new(format!("{processor}, opt-level {level}: the cheapest structure, in instructions"))
        .text("n timers are pending. Instructions on an emulator are not cycles.")
        .table(if sizes.is_empty() { Table::new() } else { table })
        .text(said)
}

/// Returns the figures of one operation's calls.
fn calls(rows: &[Row], operation: &str) -> Section {
    let figures = || rows.iter().filter(|row| row.kind == Kind::Instructions && row.of == operation);
    let mut sizes = distinct(figures().map(|row| row.n));
    sizes.sort_unstable();
    let table = columns(Table::new().column(operation, Format::Text), "", &sizes, Format::Thousands);
    let mut table = columns(table, "worst, ", &sizes, Format::Thousands);
    for structure in distinct(figures().map(|row| row.structure.as_str())) {
        let at = |n: u64| figures().find(|row| row.structure == structure && row.n == n);
        let means = sizes.iter().map(|n| at(*n).map(|row| row.mean).into());
        let worst = sizes.iter().map(|n| at(*n).and_then(|row| row.worst).into());
        table.row([Cell::from(structure)].into_iter().chain(means).chain(worst));
    }
    let title = match operation {
        WAKE_UP => format!("{operation} of a task: instructions of its queue, mean and worst, with n tasks"),
        "schedule wake" | "next expiration" => {
            format!("{operation}: instructions of a call, mean and worst, with n tasks")
        }
        _ => format!("{operation}: instructions of a call, mean and worst"),
    };
    Section::new(title).table(table)
}

/// Returns the flash and the RAM that each structure needs in addition to the program without a
/// queue, and the size of a queue and of a timer.
fn bytes(plan: &Plan) -> Section {
    let Plan { processor, level, rows, .. } = plan;
    let figures = || rows.iter().filter(|row| row.kind == Kind::Bytes);
    let title = "Bytes";
    let wanted = distinct(figures().map(|row| (row.of.as_str(), row.n)));
    if wanted.is_empty() {
        let said = format!("The file has no bytes for {processor} at opt-level {level}.");
        return Section::new(title).text(said);
    }
    let heading = wanted.iter().map(|(of, n)| match *of {
        "timer" => "a timer".to_owned(),
        of => format!("{of}, n={n}"),
    });
    let mut table = Table::new().column("", Format::Text).columns(heading, Format::Thousands);
    for structure in distinct(figures().map(|row| row.structure.as_str())) {
        let cells = wanted.iter().map(|(of, n)| {
            let figure = figures().find(|row| row.structure == structure && row.of == *of && row.n == *n);
            figure.map(|row| row.mean).into()
        });
        table.row([Cell::from(structure)].into_iter().chain(cells));
    }
    Section::new(title)
        .text("Flash and RAM are those beyond the program without a queue, with n timers.")
        .table(table)
}

/// Plots the number of instructions against the number of timers, for one kind of use.
fn picture(plan: &Plan, case: &Use) -> Plot {
    let Plan { processor, level, rows, .. } = plan;
    let sizes = sizes(rows);
    let most = sizes.last().copied().unwrap_or(0);
    let mut curves: Vec<(&str, Option<u64>)> = structures(rows)
        .into_iter()
        .map(|structure| (structure, case.cost(rows, structure, most)))
        .filter(|(_, cost)| cost.is_some())
        .collect();
    curves.sort_by_key(|(_, cost)| *cost);
    let title = format!(
        "{}: the {} cheapest at n = {most}; {processor}, opt-level {level}",
        case.name,
        curves.len().min(CURVES)
    );
    let plot =
        Plot::new(title, Axis::log("timers", Format::Count), Axis::log("instructions", Format::Thousands));
    curves.into_iter().take(CURVES).fold(plot, |plot, (structure, _)| {
        let points = sizes.iter().filter_map(|n| Some((*n as f64, case.cost(rows, structure, *n)? as f64)));
        plot.curve(structure, points)
    })
}
