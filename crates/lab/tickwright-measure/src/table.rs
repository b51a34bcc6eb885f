//! Tables for the terminal.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use crate::format::Format;

/// Returns whether standard output can be colored, which it can if it is a terminal that
/// understands escape sequences.
pub fn coloured() -> bool {
    io::stdout().is_terminal() && styled()
}

/// Returns whether a terminal accepts escape sequences: `NO_COLOR` is not set (no-color.org), and
/// `TERM` is not `dumb`.
pub fn styled() -> bool {
    takes_styles(env::var_os("NO_COLOR").as_deref(), env::var_os("TERM").as_deref())
}

fn takes_styles(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

/// Rows of words under a heading.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The heading, then the rows.
    rows: Vec<Vec<String>>,
    /// The columns that are aligned to the right.
    right: Vec<bool>,
}

/// Creates an empty table with a heading. All columns are aligned to the left.
pub fn text<S: ToString>(heading: impl IntoIterator<Item = S>) -> Table {
    let mut table = Table::default();
    table.add_row(heading);
    table.right = vec![false; table.rows[0].len()];
    table
}

impl Table {
    /// Adds a row at the end.
    pub fn add_row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// Aligns columns to the right, as is usual for figures.
    #[must_use]
    pub fn aligned(mut self, right: impl IntoIterator<Item = bool>) -> Self {
        self.right = right.into_iter().collect();
        self
    }
}

/// Returns the table as lines without trailing blanks. The heading is bold if the terminal supports
/// styles.
pub fn show(table: &Table) -> String {
    let width = |at: usize| {
        table.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.right.len()).map(width).collect();
    let bold = coloured();
    let line = |(number, row): (usize, &Vec<String>)| {
        let cell = |((cell, width), right): ((&String, &usize), &bool)| {
            let width = *width;
            if *right { format!(" {cell:>width$} ") } else { format!(" {cell:width$} ") }
        };
        let line: String = row.iter().zip(&widths).zip(&table.right).map(cell).collect();
        let line = line.trim_end();
        if number == 0 && bold { format!("\u{1b}[1m{line}\u{1b}[0m") } else { line.to_owned() }
    };
    table.rows.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Formats a duration in ns: [`Format::Ns`].
pub fn ns(value: f64) -> String {
    Format::Ns.write(value)
}

/// Formats a count: [`Format::Count`].
pub fn count(n: usize) -> String {
    Format::Count.write(n as f64)
}

#[cfg(test)]
mod tests;
