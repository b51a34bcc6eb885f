//! A report as Markdown: tables with pipes. A plot is text, folded under its title.

use super::plot;
use super::svg::escape;
use super::text::field;
use crate::result::{Block, Report, Table};

/// The whole report.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut out = format!("# {}\n\n`{}`\n\n```text\n{}\n", report.experiment, report.command, report.host);
    if let Some(clock) = &report.clock {
        out += &format!("clock  {clock}\n");
    }
    out += "```\n";
    for note in &report.notes {
        out += &format!("\n> {note}\n");
    }
    if report.interrupted {
        out += "\n> **Interrupted**: figures are missing or rest on fewer rounds.\n";
    }
    for section in &report.sections {
        if !section.title.is_empty() {
            out += &format!("\n## {}\n", section.title);
        }
        for block in &section.blocks {
            out.push('\n');
            match block {
                // Each line is a paragraph.
                Block::Text(text) => out += &text.trim().lines().collect::<Vec<_>>().join("  \n"),
                Block::Table(table) => out += &pipes(table),
                Block::Plot(picture) => {
                    let title = escape(&picture.title);
                    let drawn = plot::plot(picture);
                    out +=
                        &format!("<details><summary>{title}</summary>\n\n```text\n{drawn}```\n\n</details>");
                }
            }
            out = out.trim_end().to_owned() + "\n";
        }
    }
    out
}

fn pipes(table: &Table) -> String {
    let row = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let escaped = |text: String| text.replace('|', "\\|");
    let mut out = row(table.columns.iter().map(|column| escaped(column.name.clone())).collect());
    let rule = |column: &crate::result::Column| if column.format.is_text() { "---" } else { "---:" };
    out += &format!("|{}|\n", table.columns.iter().map(rule).collect::<Vec<_>>().join("|"));
    for cells in &table.rows {
        out += &row((0..table.columns.len()).map(|at| escaped(field(cells.get(at), table, at))).collect());
    }
    out
}
