//! Reports as one page: without scripts or network access, for light and dark mode, for screen and
//! paper.

use core::fmt::Write;

use super::about;
use super::svg::{escape, small_svg_of, svg_of};
use super::text::field;
use crate::format::Format;
use crate::result::{Block, Cell, Claim, Finding, Plot, Report, Section, Table};
use crate::stats::Verdict;

const STYLE: &str = include_str!("page.css");

/// If there are at least this many consecutive plots, they are small and placed side by side.
const FEWEST_BESIDE: usize = 4;

/// A table wraps its cells if the text of one cell has more characters than this.
const LONG_WORDS: usize = 60;

/// Returns a page with several reports. Each report has a name, such as the name of its file.
#[must_use]
pub fn html(reports: &[(String, Report)]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = page(&mut out, reports);
    out
}

fn page(out: &mut String, reports: &[(String, Report)]) -> core::fmt::Result {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Tickwright: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#results\">Skip to the results</a>",
        escape(&names(reports))
    )?;
    writeln!(out, "<header><h1>Tickwright</h1>\n<p>{}</p></header>", counted(reports.len()))?;
    writeln!(out, "<nav aria-label=\"Results\"><ol>")?;
    for (at, entry) in reports.iter().enumerate() {
        let (title, more) = title(entry);
        let more = more.map_or(String::new(), |more| format!(" <small>{}</small>", escape(&more)));
        writeln!(out, "<li><a href=\"#r{at}\">{}</a>{more}</li>", escape(&title))?;
    }
    writeln!(out, "</ol></nav>\n<main id=\"results\">")?;
    for (at, (name, report)) in reports.iter().enumerate() {
        article(out, at, name, report)?;
    }
    writeln!(out, "</main>\n</body>\n</html>")
}

fn names(reports: &[(String, Report)]) -> String {
    reports.iter().map(|(_, report)| report.experiment.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns what distinguishes a result from other results of the same experiment: its file and its
/// date.
fn title((file, report): &(String, Report)) -> (String, Option<String>) {
    let file = Some(file).filter(|file| **file != report.experiment).cloned();
    let facts: Vec<String> = file.into_iter().chain(report.started.as_deref().map(minute)).collect();
    (report.experiment.clone(), (!facts.is_empty()).then(|| facts.join(", ")))
}

/// Formats a date such as `2026-11-28T20:09:28Z` for a reader, to the minute.
fn minute(date: &str) -> String {
    match (date.get(..10), date.get(11..16)) {
        (Some(day), Some(time)) if date.ends_with('Z') => format!("{day} {time} UTC"),
        _ => date.into(),
    }
}

fn counted(reports: usize) -> String {
    let results = if reports == 1 { "One result".into() } else { format!("{reports} results, each") };
    format!("Measurements of data structures for timers. {results} with the command that repeats it.")
}

fn article(out: &mut String, at: usize, name: &str, report: &Report) -> core::fmt::Result {
    writeln!(out, "<article id=\"r{at}\">\n<h2>{}</h2>", escape(&report.experiment))?;
    let date = report.started.as_ref().map_or(String::new(), |date| {
        format!(" <time datetime=\"{}\">{}</time>", escape(date), escape(&minute(date)))
    });
    writeln!(out, "<p><code>{}</code>{date}</p>", escape(&report.command))?;
    if report.interrupted {
        writeln!(
            out,
            "<p class=\"note\"><strong>Interrupted:</strong> figures are missing or rest on fewer rounds.</p>"
        )?;
    }
    for note in &report.notes {
        writeln!(out, "<p class=\"note\">{}</p>", escape(note))?;
    }
    write!(out, "<details><summary>Machine and build</summary><pre>{}", escape(&about(report)))?;
    if let Some(seed) = report.seed {
        writeln!(out, "seed   {seed}")?;
    }
    for (key, value) in &report.parameters {
        writeln!(out, "{}  {}", escape(key), escape(&value.to_string()))?;
    }
    writeln!(out, "file   {}</pre></details>", escape(name))?;
    findings(out, &report.findings)?;
    for section in &report.sections {
        self::section(out, section)?;
    }
    writeln!(out, "</article>")
}

/// Returns a symbol that precedes the words, so that a verdict is not shown only by color.
fn sign(finding: &Finding) -> (&'static str, &'static str) {
    match finding.claim() {
        Some(Claim::Holds) => return ("good", "\u{2713}"),
        Some(Claim::Fails) => return ("bad", "\u{2717}"),
        Some(Claim::Open) => return ("open", "?"),
        None => {}
    }
    match finding.verdict {
        Verdict::Faster | Verdict::Held => ("good", "\u{25b2}"),
        Verdict::Slower | Verdict::Missed => ("bad", "\u{25bc}"),
        Verdict::NoDifferenceShown | Verdict::NotShown => ("open", "\u{2248}"),
        Verdict::Stated => ("", ""),
    }
}

fn findings(out: &mut String, findings: &[Finding]) -> core::fmt::Result {
    if findings.is_empty() {
        return Ok(());
    }
    let published = findings.iter().any(|finding| finding.published.is_some());
    writeln!(
        out,
        "<h3>Findings</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Findings\"><table class=\"words findings\">"
    )?;
    let column = if published { "<th>published</th>" } else { "" };
    writeln!(out, "<thead><tr><th>what</th>{column}<th>here</th><th>verdict</th></tr></thead><tbody>")?;
    for finding in findings {
        let (class, sign) = sign(finding);
        write!(out, "<tr><td>{}</td>", escape(&finding.about))?;
        if published {
            let published = finding.published.as_deref().unwrap_or("");
            write!(out, "<td data-of=\"published\">{}</td>", escape(published))?;
        }
        let words = finding.conclusion();
        write!(out, "<td data-of=\"here\">{}</td>", escape(&finding.here))?;
        writeln!(out, "<td class=\"{class}\">{sign} {words}</td></tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn section(out: &mut String, section: &Section) -> core::fmt::Result {
    if !section.title.is_empty() {
        writeln!(out, "<h3>{}</h3>", escape(&section.title))?;
    }
    let are_plots = |a: &Block, b: &Block| matches!((a, b), (Block::Plot(_), Block::Plot(_)));
    let shown = |block: &&Block| match block {
        Block::Plot(plot) => plot.has_course() || plot.is_rows(),
        _ => true,
    };
    let shown: Vec<&Block> = section.blocks.iter().filter(shown).collect();
    for blocks in shown.chunk_by(|a, b| are_plots(a, b)) {
        let beside = blocks.len() >= FEWEST_BESIDE;
        if beside {
            writeln!(out, "<div class=\"beside\">")?;
        }
        for block in blocks {
            match block {
                Block::Text(text) => writeln!(out, "<p class=\"text\">{}</p>", escape(text.trim()))?,
                Block::Table(table) => self::table(out, &section.title, table)?,
                Block::Plot(plot) if beside => figure(out, plot, small_svg_of)?,
                Block::Plot(plot) => figure(out, plot, svg_of)?,
            }
        }
        if beside {
            writeln!(out, "</div>")?;
        }
    }
    Ok(())
}

fn table(out: &mut String, title: &str, table: &Table) -> core::fmt::Result {
    let label = if title.is_empty() { "Table" } else { title };
    let long = |cell: &Cell| matches!(cell, Cell::Text(text) if text.chars().count() > LONG_WORDS);
    let wraps = if table.rows.iter().flatten().any(long) { " class=\"words\"" } else { "" };
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{wraps}><thead><tr>",
        escape(label)
    )?;
    let class = |at: usize| match table.columns.get(at) {
        Some(column) if !column.format.is_text() => " class=\"figure\"",
        _ => "",
    };
    for (at, column) in table.columns.iter().enumerate() {
        write!(out, "<th{}>{}</th>", class(at), escape(&column.name))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in &table.rows {
        out.push_str("<tr>");
        for at in 0..table.columns.len() {
            write!(out, "<td{}>{}</td>", class(at), escape(&field(row.get(at), table, at)))?;
        }
        out.push_str("</tr>\n");
    }
    writeln!(out, "</tbody></table></div>")
}

/// Writes the plot, and its points as a table for a reader who cannot see the plot.
fn figure(out: &mut String, plot: &Plot, draw: fn(&Plot) -> String) -> core::fmt::Result {
    writeln!(out, "<figure>{}\n<details><summary>The points of this plot</summary>", draw(plot))?;
    let (x, y) = (&plot.x, &plot.y);
    let mut points =
        Table::of([("curve", Format::Text), (x.name.as_str(), x.format), (y.name.as_str(), y.format)]);
    for curve in &plot.curves {
        let row = |point: &(f64, f64)| -> [Cell; 3] {
            [curve.name.as_str().into(), point.0.into(), point.1.into()]
        };
        curve.points.iter().map(row).for_each(|row| points.row(row));
    }
    table(out, "Points", &points)?;
    writeln!(out, "</details></figure>")
}

#[cfg(test)]
mod tests;
