//! Prints reports in the text format of OpenMetrics.

use core::fmt;
use std::collections::BTreeMap;

use super::metric::{
    Distribution, Histogram, Labels, Measured, Metric, histograms, labels, samples, seconds,
};

/// The media type of the text: the value of the HTTP header `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A set of reports that prints as OpenMetrics text.
///
/// Each sample has the labels `name` and `kind`. Counts by origin also have the labels `site`,
/// `file` and `line`. A scheduler counts at most 1024 origins separately. Reports with the same
/// name and kind are added up. Printing takes O(samples).
#[derive(Clone, Debug, Default)]
pub struct OpenMetrics {
    /// Sorted by metric first, because the format requires that all samples of a metric are
    /// adjacent.
    numbers: BTreeMap<(Metric, String), u64>,
    histograms: BTreeMap<(Histogram, String), Distribution>,
}

impl OpenMetrics {
    /// Adds a report. The label `name` of its samples has the value of the argument `name`, which
    /// can be any text.
    #[must_use]
    pub fn with<M: Measured>(mut self, name: &str, report: &M) -> Self {
        for (metric, labels, count) in samples(name, report) {
            let sum = self.numbers.entry((metric, text_of(&labels))).or_default();
            *sum = sum.saturating_add(count);
        }
        for (histogram, counts) in histograms(report) {
            let sum = self.histograms.entry((histogram, text_of(&labels::<M>(name))));
            sum.and_modify(|sum| sum.add(&counts)).or_insert(counts);
        }
        self
    }
}

impl fmt::Display for OpenMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for ((metric, labels), count) in &self.numbers {
            let (name, kind, help) = metric.texts();
            if before.replace(metric) != Some(metric) {
                writeln!(f, "# TYPE {name} {kind}\n# HELP {name} {help}.")?;
            }
            let total = if kind == "counter" { "_total" } else { "" };
            writeln!(f, "{name}{total}{{{labels}}} {count}")?;
        }
        let mut before = None;
        for ((histogram, labels), counts) in &self.histograms {
            let (name, help) = histogram.texts();
            if before.replace(histogram) != Some(histogram) {
                writeln!(f, "# TYPE {name} histogram\n# UNIT {name} seconds\n# HELP {name} {help}.")?;
            }
            for (le, within) in histogram.bounds().zip(&counts.within) {
                writeln!(f, "{name}_bucket{{{labels},le=\"{le}\"}} {within}")?;
            }
            if let Some((sum, count)) = counts.sum_ns {
                let sum = seconds(sum);
                writeln!(f, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}")?;
            }
        }
        f.write_str("# EOF\n")
    }
}

/// Returns the labels as the text between the braces of a sample.
fn text_of(labels: &Labels) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let texts: Vec<_> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
    texts.join(",")
}
