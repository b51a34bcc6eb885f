//! The page of a tour: a few lines for each part, then the advice from all parts.

use std::path::Path;

use super::advice::Advice;
use crate::experiment::Parameters;
use crate::experiments::row::Part;
use crate::output::command_line;
use crate::render::{self, Format};
use crate::result::{Claim, Finding, Labels, Plot, Report, Section, Table, labels};

/// Limits of a small picture: curves, and columns. A part whose headline takes two lines has one
/// curve.
const CURVES: usize = 2;
const COLUMNS: usize = 32;

/// Columns of a line, without the indentation.
const WIDTH: usize = 98;

/// Formats the result of a part: the published figures, the figures of this run, the verdict, and a
/// small plot.
pub(super) fn block(name: &str, about: &str, report: &Report) -> String {
    let mut lines = Vec::new();
    if let Some(headline) = report.findings.first() {
        let both = headline.lines();
        let joined = both.join("; ");
        if joined.chars().count() < WIDTH + 2 { lines.push(joined) } else { lines.extend(both) }
    }
    if let Some(plot) = report.plots().find(|plot| plot.has_course()) {
        lines.extend(render::sparks(plot, COLUMNS, CURVES + 1 - lines.len().clamp(1, CURVES)));
    }
    if report.interrupted {
        lines.push("INTERRUPTED: figures are missing or rest on fewer rounds".into());
    }
    let mut out = format!("{name}: {about}\n");
    for line in lines {
        let line = format!("  {line}");
        // A long headline is wrapped. A line of a picture is not wrapped, because its columns must
        // stay aligned.
        out += &if line.chars().count() > WIDTH + 2 { render::filled(&line) } else { line };
        out.push('\n');
    }
    out
}

/// Returns the line before the conclusion. The line says what the words about published claims
/// mean, or is empty if no report has such words.
pub(super) fn meaning(reports: &[Report]) -> String {
    let has_claim = |report: &Report| report.findings.first().is_some_and(|first| first.claim().is_some());
    if reports.iter().any(has_claim) { format!("Note: {}.\n", Claim::MEANING) } else { "\n".into() }
}

/// Formats the advice on which structure to use. A line that is too long continues, indented, on
/// the next line.
pub(super) fn conclusion(advice: &[Advice]) -> String {
    let line = |advice: &Advice| render::filled(&format!("  {}", advice.line())) + "\n";
    let lines: String = advice.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("On this machine, in ns an operation\n{lines}") }
}

/// States where the files are and which command to run next.
pub(super) fn next(page: &Path) -> String {
    format!(
        "{} holds every table, plot and command of this tour.\n\
         Next, for a program of yours: tickwright record -- PROGRAM; then tickwright recommend tickwright.twt\n",
        page.display()
    )
}

/// Merges the reports of a tour into one: first the headlines and the advice, then all parts.
pub(super) fn merged(name: &str, reports: &[Report], advice: &[Advice]) -> Option<Report> {
    let first = reports.first()?;
    let mut all = Report {
        experiment: name.into(),
        command: command_line(),
        interrupted: reports.iter().any(|report| report.interrupted),
        seed: None,
        parameters: Parameters::new(),
        notes: Vec::new(),
        series: Vec::new(),
        findings: Vec::new(),
        sections: summary(reports, advice),
        ..first.clone()
    };
    for Report { experiment, notes, series, findings, sections, .. } in reports.iter().cloned() {
        let mark = |of: &mut Labels| of.extend(labels([("experiment", experiment.clone().into())]));
        for note in notes {
            // Notes that differ only in digits, such as the load, are added only once.
            if !all.notes.iter().any(|known| letters(known).eq(letters(&note))) {
                all.notes.push(note);
            }
        }
        all.series.extend(series.into_iter().map(|mut series| {
            mark(&mut series.labels);
            series
        }));
        all.findings.extend(findings.into_iter().map(|mut finding| {
            mark(&mut finding.labels);
            finding
        }));
        all.sections.extend(sections.into_iter().map(|section| {
            let title = [experiment.as_str(), section.title.as_str()];
            Section { title: title.join(": ").trim_end_matches(": ").to_owned(), ..section }
        }));
    }
    Some(all)
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| letter.is_alphabetic())
}

/// Returns a table of the headlines, and the advice.
fn summary(reports: &[Report], advice: &[Advice]) -> Vec<Section> {
    let mut table = Table::new().columns(["experiment", "published", "here", "verdict"], Format::Text);
    for report in reports {
        let Some(headline) = report.findings.first() else { continue };
        table.row([
            report.experiment.as_str().into(),
            headline.published.clone().unwrap_or_default().into(),
            headline.here.as_str().into(),
            headline.conclusion().into(),
        ]);
    }
    let commands: Vec<&str> = reports.iter().map(|report| report.command.as_str()).collect();
    let commands = Section::new("What repeats each part").text(commands.join("\n"));
    [Section::new("In short").table(table)].into_iter().chain(advised(advice)).chain([commands]).collect()
}

/// Returns the advice as a table, if there is any.
fn advised(advice: &[Advice]) -> Option<Section> {
    let mut table = Table::new().columns(["for", "timers", "take, in ns an operation"], Format::Text);
    for Advice { about, ranges } in advice {
        for (timers, take) in ranges {
            table.row([(*about).into(), timers.trim_end_matches(" timers").into(), take.as_str().into()]);
        }
    }
    (!advice.is_empty()).then(|| Section::new("On this machine").table(table))
}

/// Returns the first result of the HTML page: the headlines with their questions, the advice, and
/// the first plot of each part. The complete parts follow.
pub(super) fn front(merged: &Report, parts: &[Part], reports: &[Report], advice: &[Advice]) -> Report {
    let headline = |(part, report): (&Part, &Report)| {
        let headline = report.findings.first()?.clone();
        Some(Finding { about: format!("{}: {}", part.name, part.about), ..headline })
    };
    let plots = parts.iter().zip(reports).filter_map(|(part, report)| {
        Some((part, report.plots().find(|plot| plot.has_course() || plot.is_rows())?))
    });
    let pictures = plots.fold(Section::new("In pictures"), |section, (part, plot)| {
        section.plot(Plot { title: format!("{}: {}", part.name, plot.title), ..plot.clone() })
    });
    Report {
        findings: parts.iter().zip(reports).filter_map(headline).collect(),
        series: Vec::new(),
        sections: advised(advice).into_iter().chain([pictures]).collect(),
        ..merged.clone()
    }
}

#[cfg(test)]
mod tests;
