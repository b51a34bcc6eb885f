//! Samples and findings as CSV, with the same first and last columns for every command. A command
//! that gets a new figure writes a new row, not a new column.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use super::{Finding, Labels, Report, SCHEMA};

/// The columns of a finding: what the row is about, the published result, the result of this run,
/// the interval of the figure, its bound, the verdict, and whether the published claim holds.
const OF_FINDINGS: [&str; 8] = ["about", "published", "here", "low", "high", "bound", "verdict", "claim"];

/// Writes each sample and each finding in its own row. A row begins with schema, experiment,
/// series, unit, per, and each label. The next fields are the number of the sample (from 1), its
/// value, and whether the run was interrupted. The column `kind` is `sample` or `finding`. A
/// finding has no series, and its value is its figure, such as a ratio. A report without samples
/// has a row of the kind `none`.
///
/// # Errors
/// If `out` refuses a write.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let keys: BTreeSet<&String> = report.series.iter().flat_map(|series| series.labels.keys()).collect();
    let mut csv = csv::Writer::from_writer(out);
    let heading = ["schema", "experiment", "series", "unit", "per"].into_iter();
    let heading = heading.chain(keys.iter().map(|key| key.as_str()));
    csv.write_record(heading.chain(["sample", "value", "interrupted", "kind"]).chain(OF_FINDINGS))?;
    let (schema, interrupted) = (SCHEMA.to_string(), report.interrupted.to_string());
    let mut row = |series: [&str; 3], of: &Labels, values: [&str; 2], kind: &str, finding: &[String; 8]| {
        let label = |key: &&String| of.get(*key).map(ToString::to_string).unwrap_or_default();
        let labels: Vec<String> = keys.iter().map(label).collect();
        let begin = [schema.as_str(), &report.experiment].into_iter().chain(series);
        let middle = labels.iter().map(String::as_str).chain(values).chain([interrupted.as_str(), kind]);
        csv.write_record(begin.chain(middle).chain(finding.iter().map(String::as_str)))
    };
    let none = [const { String::new() }; 8];
    if report.series.iter().all(|series| series.samples.is_empty()) {
        row([""; 3], &Labels::new(), [""; 2], "none", &none)?;
    }
    for series in &report.series {
        let unit = word(&series.unit);
        let of: [&str; 3] = [&series.name, &unit, series.per.as_deref().unwrap_or("")];
        for (at, value) in series.samples.iter().enumerate() {
            row(of, &series.labels, [&(at + 1).to_string(), &value.to_string()], "sample", &none)?;
        }
    }
    for finding in &report.findings {
        let value = finding.figure.map_or(String::new(), |figure| figure.median.to_string());
        row([""; 3], &finding.labels, ["", &value], "finding", &fields(finding))?;
    }
    csv.flush()
}

/// Returns the fields of [`OF_FINDINGS`].
fn fields(finding: &Finding) -> [String; 8] {
    let interval = finding.figure.map(|figure| figure.interval).filter(|interval| interval.coverage > 0.0);
    let [low, high] =
        interval.map_or_else(Default::default, |of| [of.low, of.high].map(|figure| figure.to_string()));
    let published = finding.published.clone().unwrap_or_default();
    let bound = finding.bound.map_or(String::new(), |bound| bound.to_string());
    let claim = finding.claim().map_or(String::new(), |claim| word(&claim));
    [finding.about.clone(), published, finding.here.clone(), low, high, bound, word(&finding.verdict), claim]
}

/// Returns the word of a value that JSON writes as one string.
fn word(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default().trim_matches('"').to_owned()
}
