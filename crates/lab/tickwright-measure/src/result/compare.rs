//! Compares two results of one command, series by series.

use super::section::Cell;
use super::{Better, Report, Section, Series, Table};
use crate::error::LabError;
use crate::format::Format;
use crate::stats::{Shift, Verdict};

/// One series that is in both results.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The name and the labels of the series, as in the second result.
    pub title: String,
    /// The comparison of the second result's samples with the first result's samples.
    pub shift: Shift,
    /// Whether lower or higher figures are better.
    pub better: Better,
}

impl Compared {
    /// Returns the verdict in words. The words depend on which direction is better. For example, a
    /// higher rate is better.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match (self.shift.verdict(), self.better) {
            (Verdict::Slower, Better::Lower) | (Verdict::Faster, Better::Higher) => "WORSE",
            (Verdict::Faster, Better::Lower) | (Verdict::Slower, Better::Higher) => "better",
            (Verdict::Slower, Better::Neither) => "more",
            (Verdict::Faster, Better::Neither) => "less",
            _ => "no difference shown",
        }
    }
}

/// Compares two results of one experiment.
///
/// # Errors
/// If the results are of two different experiments, or have no series in common.
pub fn compare(first: &Report, second: &Report) -> Result<Vec<Compared>, LabError> {
    if first.experiment != second.experiment {
        return Err(LabError::usage(format!(
            "a result of `{}` cannot be compared with one of `{}`: compare two results of one command",
            first.experiment, second.experiment
        )));
    }
    let pairs = second.series.iter().filter_map(|b| Some((first.find_same(b)?, b)));
    let compared: Vec<Compared> = pairs
        .filter_map(|(a, b)| {
            let shift = Shift::of(&a.samples, &b.samples)?;
            // A reference row describes the machine, so a change of its figures is neither better
            // nor worse.
            let better = if b.is_reference() { Better::Neither } else { b.better };
            Some(Compared { title: b.title(), shift, better })
        })
        .collect();
    if compared.is_empty() {
        return Err(LabError::usage(
            "the two results have no series in common: their sizes or structures differ",
        ));
    }
    Ok(compared)
}

impl Report {
    /// Finds the series of the same name and labels.
    fn find_same(&self, other: &Series) -> Option<&Series> {
        self.series.iter().find(|series| series.name == other.name && series.labels == other.labels)
    }
}

/// Returns a comparison as sections: first the series that differ, then all series.
#[must_use]
pub fn sections(first: &str, second: &str, compared: &[Compared]) -> Vec<Section> {
    let differs = |one: &&Compared| one.words() != "no difference shown";
    let shown: Vec<&Compared> = compared.iter().filter(differs).collect();
    let conclusion = match shown.as_slice() {
        [] => format!("No difference is shown between {first} and {second}."),
        [one] => format!("One of {} series differs: {}.", compared.len(), one.title),
        many => format!("{} of {} series differ.", many.len(), compared.len()),
    };
    let mut sections = vec![Section::new("").text(conclusion)];
    if !shown.is_empty() {
        sections.push(Section::new("What differs").table(table(&shown)));
    }
    let all: Vec<&Compared> = compared.iter().collect();
    sections.push(
        Section::new(format!("{second} beside {first}"))
            .text(
                "ratio: the middle quotient of all pairs of samples, with its interval; p: rank test; effect: 1 \
                 when every sample of the second is larger, -1 when every one is smaller.",
            )
            .table(table(&all)),
    );
    sections
}

fn table(compared: &[&Compared]) -> Table {
    let mut table = Table::new()
        .column("series", Format::Text)
        .column("ratio", Format::Ratio)
        .column("from", Format::Fixed(2))
        .column("to", Format::Fixed(2))
        .column("p", Format::Fixed(3))
        .column("effect", Format::Fixed(2))
        .column("verdict", Format::Text);
    for one in compared {
        let Shift { ratio, p, effect } = one.shift;
        let covered = ratio.interval.coverage > 0.0;
        let bound = |value: f64| Cell::maybe(covered.then_some(value));
        table.row([
            one.title.as_str().into(),
            ratio.median.into(),
            bound(ratio.interval.low),
            bound(ratio.interval.high),
            p.into(),
            effect.into(),
            one.words().into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;
