//! The report of `latency run`: lateness of each structure, its histogram, and the order.

use super::histogram;
use super::lane::Lane;
use super::order::Order;
use super::overhead::Overhead;
use super::plan::{Data, Plan};
use super::structures::PUBLISHED;
use crate::render::Format;
use crate::result::{Cell, Finding, Section, Table, findings_table};
use crate::stats::Distribution;

pub(super) fn sections(plan: &Plan, data: &Data, order: &Order, findings: &[Finding]) -> Vec<Section> {
    let curves = data.lanes.iter().map(|lane| (lane.structure.id, &lane.cells));
    let title = format!("Wake-up lateness of one periodic timer: {}", plan.wake.words(data.granted));
    let lateness = Section::new(title)
        .text(conditions(plan, data))
        .table(figures(&data.lanes))
        .text(gaps(&data.lanes))
        .plot(histogram::plot("Wake-up lateness, samples in each cell", curves));
    let mut all = vec![lateness];
    if order.by_average.len() > 1 {
        let words = format!(
            "By average here: {}.\nPublished: {} ({}).\nShown: {}.\nEach ratio is the median of the rounds, with its interval. Beside it stand the rounds in which the \
             first was earlier, and the chance of so many if there were no difference.",
            order.by_average.join(" < "),
            PUBLISHED.words,
            PUBLISHED.source,
            order.here
        );
        let pairs = findings_table(
            "average lateness, by rounds",
            Format::Fixed(2),
            findings.get(1..).unwrap_or_default(),
        );
        all.push(Section::new("Order of the structures").text(words).table(pairs));
    }
    if plan.histogram {
        all.push(Section::new("Histogram, samples in each cell").table(cells(&data.lanes)));
    }
    all
}

fn conditions(plan: &Plan, data: &Data) -> String {
    let Overhead { clock_ns, note_ns } = data.overhead;
    format!(
        "{} structures in turns of {}, in random order; the first turn of each does not count. Host tick: {}.\n\
         Measuring costs a sample {:.0} ns: {clock_ns:.0} ns to read the clock, {note_ns:.0} ns to note the \
         lateness. The thread used {:.2} % of a processor.",
        data.lanes.len(),
        Format::Span.write(plan.slice.as_nanos() as f64),
        if plan.host_hz == 0 { "off".into() } else { format!("{} Hz", plan.host_hz) },
        clock_ns + note_ns,
        data.cpu_percent,
    )
}

/// A column of the table: its heading, and the figure in ns.
type Figure = (&'static str, fn(&Distribution) -> f64);

const FIGURES: [Figure; 7] = [
    ("min", |all| all.running().min() as f64),
    ("avg", |all| all.running().avg()),
    ("median", |all| all.percentile(50.0) as f64),
    ("p99", |all| all.percentile(99.0) as f64),
    ("p99.9", |all| all.percentile(99.9) as f64),
    ("max", |all| all.running().max() as f64),
    ("stddev", |all| all.running().stddev()),
];

fn figures(lanes: &[Lane]) -> Table {
    let mut table = Table::new()
        .column("lateness, us", Format::Text)
        .column("samples", Format::Thousands)
        .columns(FIGURES.map(|(name, _)| name), Format::Fixed(3))
        .columns(["overruns", "gaps"], Format::Thousands);
    for lane in lanes {
        let before = [lane.structure.id.into(), lane.all.running().count().into()];
        let after = [lane.overruns.into(), lane.gaps.len().into()];
        let figures = FIGURES.map(|(_, figure)| Cell::maybe(lane.us(figure)));
        table.row(before.into_iter().chain(figures).chain(after));
    }
    table
}

/// Returns a line for each structure that had gaps.
fn gaps(lanes: &[Lane]) -> String {
    let of_lane = |lane: &Lane| {
        let longest = lane.gaps.iter().map(|gap| gap.ns).max()?;
        let periods: u64 = lane.gaps.iter().map(|gap| gap.periods).sum();
        Some(format!(
            "gaps of {}: {}, the longest {}; {periods} periods are overruns and no samples",
            lane.structure.id,
            lane.gaps.len(),
            Format::Span.write(longest as f64)
        ))
    };
    lanes.iter().filter_map(of_lane).collect::<Vec<_>>().join("\n")
}

/// Returns the cells with a count above 0. Each cell is named by its middle.
fn cells(lanes: &[Lane]) -> Table {
    let table = Table::new().column("cell, us", Format::Fixed(3));
    let mut table =
        lanes.iter().fold(table, |table, lane| table.column(lane.structure.id, Format::Thousands));
    let count = lanes.iter().map(|lane| lane.cells.counts().len()).max().unwrap_or(0);
    for at in 0..count {
        let counts = || lanes.iter().map(|lane| lane.cells.counts().get(at).copied().unwrap_or(0));
        if let Some(lane) = lanes.first().filter(|_| counts().any(|count| count > 0)) {
            table.row([lane.cells.middle_us(at).into()].into_iter().chain(counts().map(Cell::from)));
        }
    }
    table
}
