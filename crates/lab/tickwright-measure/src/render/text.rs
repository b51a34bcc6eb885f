//! A report for the terminal.

use super::{about, plot};

use crate::result::{Block, Cell, Report, Section, Table};
use crate::table;
use crate::text::{name, plain};

/// The last lines of an interrupted run's report.
const INTERRUPTED: &str =
    "\nINTERRUPTED: the run was stopped early; figures are missing or rest on fewer rounds.\n";

/// Returns the whole report: host, notes, sections.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = about(report);
    for note in &report.notes {
        out += &format!("note   {}\n", plain(note));
    }
    out += &sections(&report.sections);
    if report.interrupted {
        out += INTERRUPTED;
    }
    out
}

/// Returns the sections, with an empty line before each.
#[must_use]
pub fn sections(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections.iter().filter(|section| !section.is_picture_alone()) {
        out.push('\n');
        if !section.title.is_empty() {
            out += &name(&section.title);
            out.push('\n');
        }
        for block in &section.blocks {
            let block = match block {
                Block::Plot(picture) if !picture.has_course() => continue,
                Block::Text(text) => filled(&plain(text.trim_end())),
                Block::Table(table) => lines(table),
                Block::Plot(picture) => "\n".to_owned() + &plot::plot(picture),
            };
            out += block.trim_end();
            out.push('\n');
        }
    }
    out
}

/// The width of prose, in columns.
const COLUMNS: usize = 100;

/// Breaks prose into lines of at most `COLUMNS`. Each line of `text` is a paragraph. An indented
/// paragraph stays indented.
#[must_use]
pub fn filled(text: &str) -> String {
    let mut out = Vec::new();
    for paragraph in text.lines() {
        let indent = " ".repeat(paragraph.len() - paragraph.trim_start().len());
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let after = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && after > COLUMNS {
                out.push(core::mem::take(&mut line));
            }
            line += if line.is_empty() { &indent } else { " " };
            line += word;
        }
        out.push(line);
    }
    out.join("\n")
}

/// Returns a cell as text of one line: a figure or words, or `-` if nothing was measured.
pub(super) fn field(cell: Option<&Cell>, table: &Table, column: usize) -> String {
    match cell {
        None => String::new(),
        Some(Cell::Empty(())) => "-".to_owned(),
        Some(Cell::Text(text)) => name(text),
        Some(Cell::Number(value)) => {
            table.columns.get(column).map(|column| column.format.write(*value)).unwrap_or_default()
        }
    }
}

fn lines(of: &Table) -> String {
    let mut shown = table::text(of.columns.iter().map(|column| name(&column.name)))
        .aligned(of.columns.iter().map(|column| !column.format.is_text()));
    for row in &of.rows {
        shown.add_row((0..of.columns.len()).map(|at| field(row.get(at), of, at)));
    }
    table::show(&shown)
}
