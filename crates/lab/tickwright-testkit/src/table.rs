//! A table of the clauses that each queue keeps, computed on demand.

use core::fmt::Write;

use crate::clauses::{NAMES, Tools, Verdict};
use crate::registry::{Kind, foreign};

/// A queue and its verdicts, in the order of the clauses.
#[derive(Clone, Debug)]
pub struct Row {
    /// The queue.
    pub queue: String,
    /// The queue's verdict on each clause.
    pub verdicts: Vec<Verdict>,
}

/// Returns the rows of the foreign queues, which takes some seconds.
#[must_use]
pub fn table() -> Vec<Row> {
    rows(&foreign(), &Tools::default())
}

/// Returns the rows of `kinds`.
#[must_use]
pub fn rows(kinds: &[Kind], tools: &Tools) -> Vec<Row> {
    let row = |kind: &Kind| Row { queue: kind.name.clone(), verdicts: (kind.verdicts)(tools).into() };
    kinds.iter().map(row).collect()
}

/// Returns the table as text: one line per clause and one column per queue, then one witness per
/// broken clause.
#[must_use]
pub fn render(rows: &[Row]) -> String {
    let left = NAMES.iter().map(|name| name.len()).max().unwrap_or(0) + 3;
    let width = |row: &Row| row.queue.len().max("not offered".len());
    let mut text = format!("{:left$}", "clause");
    for row in rows {
        let _ = write!(text, "  {:<1$}", row.queue, width(row));
    }
    let mut witnesses = String::new();
    for (at, name) in NAMES.iter().enumerate() {
        let _ = write!(text, "\n{:>2} {name:<1$}", at + 1, left - 3);
        for row in rows {
            let cell = match &row.verdicts[at] {
                Verdict::Kept => "kept",
                Verdict::NotOffered => "not offered",
                Verdict::NotRun(_) => "not run",
                Verdict::Broken(witness) => {
                    let _ = write!(witnesses, "\n{}, {name}: {witness}", row.queue);
                    "BROKEN"
                }
            };
            let _ = write!(text, "  {cell:<0$}", width(row));
        }
    }
    let mut text: String = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    if !witnesses.is_empty() {
        let _ = write!(text, "\n\nWitnesses{witnesses}");
    }
    text.push('\n');
    text
}
