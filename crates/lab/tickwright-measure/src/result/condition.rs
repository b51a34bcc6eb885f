//! A condition on the samples of a result: `p99(insert) > 200ns`. If a run fulfils the condition,
//! its exit code is 1.

use core::fmt;
use core::str::FromStr;

use super::{Label, Report, Series, Unit};
use crate::stats::{mean, quantile, summarise};

/// `STATISTIC(SERIES[label=value, ...]) COMPARISON NUMBER[UNIT]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    statistic: Statistic,
    /// The statistic as series name it whose samples are a percentile of each round: `p50`, `max`.
    at: String,
    series: String,
    labels: Vec<(String, String)>,
    /// One of [`SIGNS`].
    sign: &'static str,
    /// The limit in the unit of the series: ns, bytes, or none.
    limit: f64,
    unit: Option<Unit>,
}

/// The statistic of a series that the condition compares.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    Min,
    Median,
    Mean,
    Max,
    /// The figure that this share of the samples, from 0 to 1, does not exceed.
    Quantile(f64),
}

/// The signs of comparison. The longer signs come first, because a shorter sign is a prefix of a
/// longer one.
const SIGNS: [&str; 4] = ["<=", ">=", "<", ">"];

const FORM: &str =
    "a condition is like 'p99(insert) > 200ns' or 'median(hold[structure=wheel/slab]) > 1.5us'";

/// Units that a limit can have, with their factors.
const UNITS: [(&str, Unit, f64); 9] = [
    ("ns", Unit::Ns, 1.0),
    ("us", Unit::Ns, 1e3),
    ("ms", Unit::Ns, 1e6),
    ("s", Unit::Ns, 1e9),
    ("B", Unit::Bytes, 1.0),
    ("KiB", Unit::Bytes, 1024.0),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("%", Unit::Percent, 1.0),
    ("x", Unit::Ratio, 1.0),
];

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("'{text}': {what}; {FORM}");
        let (statistic, rest) = text.split_once('(').ok_or_else(|| wrong("no '(' after the statistic"))?;
        let (inside, rest) = rest.rsplit_once(')').ok_or_else(|| wrong("no ')' after the series"))?;
        let at = statistic.trim().replace("median", "p50");
        let statistic = Statistic::parse(statistic.trim())
            .ok_or_else(|| wrong("the statistic is none of min, median, mean, max, p1 to p99.99"))?;
        let (series, labels) = match inside.split_once('[') {
            None => (inside, ""),
            Some((series, labels)) => {
                (series, labels.trim_end().strip_suffix(']').ok_or_else(|| wrong("no ']' after the labels"))?)
            }
        };
        if series.trim().is_empty() {
            return Err(wrong("no series is named"));
        }
        let label = |pair: &str| -> Result<(String, String), String> {
            let (key, value) = pair.split_once('=').ok_or_else(|| wrong("a label has no '='"))?;
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        };
        let labels = labels.split(',').filter(|pair| !pair.trim().is_empty()).map(label);
        let signed = SIGNS.into_iter().find_map(|sign| Some((sign, rest.trim().strip_prefix(sign)?)));
        let (sign, limit) = signed.ok_or_else(|| wrong("no <, <=, > or >="))?;
        let (limit, unit) =
            number(limit.trim()).ok_or_else(|| wrong("the limit is no number with a unit"))?;
        Ok(Self {
            text: text.to_owned(),
            statistic,
            at,
            series: series.trim().to_owned(),
            labels: labels.collect::<Result<_, _>>()?,
            sign,
            limit,
            unit,
        })
    }
}

/// Parses a number and its unit. Returns the number without scaling it by the unit.
fn number(text: &str) -> Option<(f64, Option<Unit>)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    match unit.trim() {
        "" => Some((number, None)),
        unit => {
            let &(_, unit, factor) = UNITS.iter().find(|(name, _, _)| *name == unit)?;
            Some((number * factor, Some(unit)))
        }
    }
}

impl Statistic {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "min" => Self::Min,
            "median" => Self::Median,
            "mean" => Self::Mean,
            "max" => Self::Max,
            _ => {
                let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
                Self::Quantile((percent > 0.0 && percent < 100.0).then_some(percent / 100.0)?)
            }
        })
    }

    fn of(self, samples: &[f64]) -> Option<f64> {
        let summary = summarise(samples.iter().copied())?;
        Some(match self {
            Self::Min => summary.min,
            Self::Median => summary.median,
            Self::Max => summary.max,
            Self::Mean => mean(samples),
            Self::Quantile(share) => quantile(samples, share)?,
        })
    }
}

impl Condition {
    fn holds(&self, value: f64) -> bool {
        match self.sign {
            "<" => value < self.limit,
            "<=" => value <= self.limit,
            ">" => value > self.limit,
            _ => value >= self.limit,
        }
    }

    /// Returns the series that fulfil the condition, each with its figure.
    ///
    /// # Errors
    /// If no series has this name and these labels (the message lists the existing ones), or the
    /// limit's unit differs from the series' unit.
    pub fn fulfilled<'r>(&self, report: &'r Report) -> Result<Vec<(&'r Series, f64)>, String> {
        let mut found = Vec::new();
        let mut any = false;
        for series in report.series.iter().filter(|series| self.is_about(series)) {
            any = true;
            if self.unit.is_some_and(|unit| unit != series.unit) {
                return Err(format!("'{self}': {} is not in the unit of the limit", series.title()));
            }
            let Some(value) = self.statistic.of(&series.samples) else { continue };
            if self.holds(value) {
                found.push((series, value));
            }
        }
        if any { Ok(found) } else { Err(format!("'{self}': there is no such series; {}", names(report))) }
    }

    /// A condition that does not name the label `at` is about the percentile of its statistic. A
    /// condition is about no reference row, such as `(floor)`, unless it names the row.
    fn is_about(&self, series: &Series) -> bool {
        let own = |key: &str| series.labels.get(key).map(Label::to_string);
        let is_named = |key: &str| self.labels.iter().any(|(name, _)| name == key);
        series.name == self.series
            && self.labels.iter().all(|(key, value)| own(key).is_some_and(|own| own == *value))
            && (is_named("at") || own("at").is_none_or(|at| at == self.at))
            && (is_named("structure") || !series.is_reference())
    }
}

/// Returns the names of a report's series, each name once.
fn names(report: &Report) -> String {
    let mut names: Vec<&str> = report.series.iter().map(|series| series.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    format!("those of this result are: {}", names.join(", "))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
