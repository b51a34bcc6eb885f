//! A report as Markdown: tables with pipes. A plot is text, folded under its title.
//!
//! Names in a report can come from an untrusted file, so every text is escaped, and Markdown shows
//! the text unchanged.

use super::text::field;
use super::{about, plot, svg};
use crate::result::{Block, Report, Table};
use crate::text::name;

/// Returns the whole report.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let (title, command) = (line(&report.experiment), code(&report.command));
    let mut out = format!("# {title}\n\n{command}\n\n{}\n", fenced(&about(report)));
    for note in &report.notes {
        out += &format!("\n> {}\n", line(note));
    }
    if report.interrupted {
        out += "\n> **Interrupted**: figures are missing or rest on fewer rounds.\n";
    }
    for section in report.sections.iter().filter(|section| !section.is_picture_alone()) {
        if !section.title.is_empty() {
            out += &format!("\n## {}\n", line(&section.title));
        }
        for block in &section.blocks {
            let block = match block {
                Block::Plot(picture) if !picture.has_course() => continue,
                // Each line becomes a paragraph.
                Block::Text(text) => text.trim().lines().map(line).collect::<Vec<_>>().join("  \n"),
                Block::Table(table) => pipes(table),
                Block::Plot(picture) => {
                    let title = svg::escape(&name(&picture.title));
                    let drawn = fenced(&plot::plot(picture));
                    format!("<details><summary>{title}</summary>\n\n{drawn}\n\n</details>")
                }
            };
            out += &format!("\n{}\n", block.trim_end());
        }
    }
    out
}

fn pipes(table: &Table) -> String {
    let row = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let mut out = row(table.columns.iter().map(|column| line(&column.name)).collect());
    let rule = |column: &crate::result::Column| if column.format.is_text() { "---" } else { "---:" };
    out += &format!("|{}|\n", table.columns.iter().map(rule).collect::<Vec<_>>().join("|"));
    for cells in &table.rows {
        out += &row((0..table.columns.len()).map(|at| line(&field(cells.get(at), table, at))).collect());
    }
    out
}

/// Escapes a line, so that Markdown shows it unchanged. Indentation is removed, because it has a
/// meaning in Markdown.
fn line(text: &str) -> String {
    let text = name(text.trim_start());
    let is_word = |letter: char| !letter.is_whitespace();
    let number = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        // These characters begin a heading, a list or a rule if they are first in a line or follow
        // a number.
        let begins = at == 0 && matches!(letter, '#' | '+' | '-' | '=')
            || at == number && at > 0 && matches!(letter, '.' | ')') && !text[at + 1..].starts_with(is_word);
        if begins || matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Returns the length of the longest run of back quotes in a text.
fn quotes(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// Returns a text as code within a line.
fn code(text: &str) -> String {
    let text = name(text);
    let fence = "`".repeat(quotes(&text) + 1);
    // A blank separates a back quote at either end of the text from the fence.
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Returns lines as a block of code.
fn fenced(text: &str) -> String {
    let fence = "`".repeat(quotes(text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end_matches('\n'))
}
