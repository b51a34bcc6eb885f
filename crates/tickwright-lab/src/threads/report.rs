//! The results of `bench threads`, and their tables.

use serde::Serialize;

use crate::clock::Calibration;
use crate::host::Host;
use crate::output::{SCHEMA, table};
use crate::reproduce::nptl::{self, Target};
use crate::stats;

/// The results.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(skip)]
    pub(crate) interrupted: bool,
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) clock: Calibration,
    pub(crate) notes: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) targets: Vec<Target>,
}

/// A lane; a sample a round, in ns of one operation.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) ns: Vec<f64>,
}

/// A line of the CSV: a sample.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    schema: u32,
    what: &'static str,
    round: usize,
    ns: f64,
}

pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let rows = report.rows.iter().flat_map(|row| {
        (1..).zip(&row.ns).map(|(round, &ns)| Line { schema: SCHEMA, what: row.what, round, ns })
    });
    rows.collect()
}

pub(crate) fn text(report: &Report) -> String {
    let mut out = format!("{}\nclock  {}\n", report.host, report.clock);
    for note in &report.notes {
        out += &format!("note   {note}\n");
    }
    let mut rows = table::new(["ns of one", "median", "from", "to", "least"]);
    for row in &report.rows {
        let Some(all) = stats::summarise(row.ns.iter().copied()) else { continue };
        let mut cells = vec![row.what.to_owned()];
        cells.extend([all.median, all.interval.low, all.interval.high, all.min].map(table::ns));
        rows.add_row(cells);
    }
    out += &format!("\n{}\n\n{}", table::show(&rows), nptl::targets_text(&report.targets));
    out
}
