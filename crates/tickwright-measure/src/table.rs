//! Tables for the terminal.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::format::Format;

/// Whether standard output may be colored: it is a terminal that understands escape sequences.
pub fn coloured() -> bool {
    io::stdout().is_terminal() && styled()
}

/// Whether a terminal accepts escape sequences: `NO_COLOR` is not set (no-color.org), and `TERM` is
/// not `dumb`.
pub fn styled() -> bool {
    takes_styles(env::var_os("NO_COLOR").as_deref(), env::var_os("TERM").as_deref())
}

fn takes_styles(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

/// An empty table of figures with a heading. The first column is text, and the others are aligned
/// to the right.
pub fn new<S: Into<String>>(heading: impl IntoIterator<Item = S>) -> Table {
    let mut table = text(heading);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// An empty table of text with a heading.
pub fn text<S: Into<String>>(heading: impl IntoIterator<Item = S>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let bold = coloured();
    if !bold {
        table.force_no_tty();
    }
    let heading: Vec<Cell> = heading
        .into_iter()
        .map(|text| {
            let cell = Cell::new(text.into());
            if bold { cell.add_attribute(Attribute::Bold) } else { cell }
        })
        .collect();
    table.set_header(heading);
    table
}

/// Returns the table as lines without trailing blanks.
pub fn show(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// A duration in ns: [`Format::Ns`].
pub fn ns(value: f64) -> String {
    Format::Ns.write(value)
}

/// A count: [`Format::Count`].
pub fn count(n: usize) -> String {
    Format::Count.write(n as f64)
}

#[cfg(test)]
mod tests;
