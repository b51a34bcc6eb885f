//! Samples as CSV: one row for each sample, with the same columns for every command.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use super::{Report, SCHEMA};

/// Writes each sample in its own row. A row begins with schema, experiment, series, unit, per, and
/// each label. Then follow the number of the sample (from 1), its value, and whether the run was
/// interrupted. A report without samples has a single row.
///
/// # Errors
/// The errors of `out`.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let keys: BTreeSet<&String> = report.series.iter().flat_map(|series| series.labels.keys()).collect();
    let mut csv = csv::Writer::from_writer(out);
    let heading = ["schema", "experiment", "series", "unit", "per"].into_iter();
    let heading =
        heading.chain(keys.iter().map(|key| key.as_str())).chain(["sample", "value", "interrupted"]);
    csv.write_record(heading)?;
    let interrupted = report.interrupted.to_string();
    let schema = SCHEMA.to_string();
    if report.series.iter().all(|series| series.samples.is_empty()) {
        let empty = vec![""; 3 + keys.len() + 2];
        csv.write_record(
            [schema.as_str(), &report.experiment].into_iter().chain(empty).chain([interrupted.as_str()]),
        )?;
    }
    for series in &report.series {
        let unit = word(&series.unit);
        let labels: Vec<String> = keys
            .iter()
            .map(|key| series.labels.get(*key).map(ToString::to_string).unwrap_or_default())
            .collect();
        for (at, value) in series.samples.iter().enumerate() {
            let (at, value) = ((at + 1).to_string(), value.to_string());
            let before = [&schema, &report.experiment, &series.name, &unit].map(String::as_str);
            let per = series.per.as_deref().unwrap_or("");
            let labels = labels.iter().map(String::as_str);
            csv.write_record(before.into_iter().chain([per]).chain(labels).chain([
                at.as_str(),
                &value,
                &interrupted,
            ]))?;
        }
    }
    csv.flush()
}

/// Returns the word of a value that JSON writes as one string.
fn word(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default().trim_matches('"').to_owned()
}
