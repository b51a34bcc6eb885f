//! A condition on the samples of a result, such as `p99(insert) > 200ns`. If a run fulfils the
//! condition, its exit code is 1.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeSet;

use super::{Label, Report, Series, Unit};
use crate::stats::{mean, quantile, summarise};

/// `STATISTIC(SERIES[label=value, ...]) COMPARISON NUMBER[UNIT]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    statistic: Statistic,
    /// The statistic's name in series whose samples are a percentile of each round, such as `p50`
    /// or `max`.
    at: String,
    series: String,
    labels: Vec<(String, String)>,
    /// One of [`SIGNS`].
    sign: &'static str,
    /// The limit in the unit of the series, such as ns.
    limit: f64,
    unit: Unit,
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
const UNITS: [(&str, Unit, f64); 12] = [
    ("ns", Unit::Ns, 1.0),
    ("us", Unit::Ns, 1e3),
    ("ms", Unit::Ns, 1e6),
    ("s", Unit::Ns, 1e9),
    ("B", Unit::Bytes, 1.0),
    ("KiB", Unit::Bytes, 1024.0),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("%", Unit::Percent, 1.0),
    ("x", Unit::Ratio, 1.0),
    ("count", Unit::Count, 1.0),
    ("instructions", Unit::Instructions, 1.0),
    ("/s", Unit::PerSecond, 1.0),
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
        let labels = labels.collect::<Result<_, _>>()?;
        let signed = SIGNS.into_iter().find_map(|sign| Some((sign, rest.trim().strip_prefix(sign)?)));
        let (sign, limit) = signed.ok_or_else(|| wrong("no <, <=, > or >="))?;
        let (limit, unit) = number(limit.trim()).ok_or_else(|| {
            let units = UNITS.map(|(name, _, _)| name).join(", ");
            wrong(&format!("the limit is no number with a unit, one of {units}"))
        })?;
        Ok(Self {
            text: text.to_owned(),
            statistic,
            at,
            series: series.trim().to_owned(),
            labels,
            sign,
            limit,
            unit,
        })
    }
}

/// Parses a number and its unit. Returns the number in the unit that series use.
fn number(text: &str) -> Option<(f64, Unit)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let &(_, unit, factor) = UNITS.iter().find(|(name, _, _)| *name == unit.trim())?;
    Some((number * factor, unit))
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
    /// The errors of [`check`](Self::check).
    pub fn fulfilled<'r>(&self, report: &'r Report) -> Result<Vec<(&'r Series, f64)>, String> {
        self.check(&report.series)?;
        let about = report.series.iter().filter(|series| self.is_about(series));
        let valued = about.filter_map(|series| Some((series, self.statistic.of(&series.samples)?)));
        Ok(valued.filter(|(_, value)| self.holds(*value)).collect())
    }

    /// Checks that the condition is about at least one of `all`, whose samples do not matter.
    ///
    /// # Errors
    /// If no series has this name and these labels (the message lists the existing names and
    /// labels), or the limit's unit differs from the series' unit.
    pub fn check(&self, all: &[Series]) -> Result<(), String> {
        let mut about = all.iter().filter(|series| self.is_about(series)).peekable();
        if about.peek().is_none() {
            return Err(format!("'{self}': there is no such series; {}", self.others(all)));
        }
        match about.find(|series| series.unit != self.unit) {
            Some(series) => Err(format!("'{self}': {} is not in the unit of the limit", series.title())),
            None => Ok(()),
        }
    }

    /// Returns whether the condition is about a series. A condition that does not name the label
    /// `at` is about the percentile of its statistic. A condition does not apply to a reference
    /// row, such as `(floor)`, unless it names the row.
    fn is_about(&self, series: &Series) -> bool {
        let own = |key: &str| series.labels.get(key).map(Label::to_string);
        let is_named = |key: &str| self.labels.iter().any(|(name, _)| name == key);
        series.name == self.series
            && self.labels.iter().all(|(key, value)| own(key).is_some_and(|own| own == *value))
            && (is_named("at") || own("at").is_none_or(|at| at == self.at))
            && (is_named("structure") || !series.is_reference())
    }
}

impl Condition {
    /// Returns what the condition could be about: the values of the labels of the series with its
    /// name, or else the names of all series.
    fn others(&self, all: &[Series]) -> String {
        let named: Vec<&Series> = all.iter().filter(|series| series.name == self.series).collect();
        if named.is_empty() {
            let names: BTreeSet<&str> = all.iter().map(|series| series.name.as_str()).collect();
            let names: Vec<&str> = names.into_iter().collect();
            return format!("those of this result are: {}", names.join(", "));
        }
        let keys: BTreeSet<&String> = named.iter().flat_map(|series| series.labels.keys()).collect();
        let values = |key: &&String| {
            // The values keep the order of the series, in which numbers ascend.
            let mut values: Vec<String> = Vec::new();
            for value in named.iter().filter_map(|series| series.labels.get(*key)).map(Label::to_string) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            format!("{key} {}", values.join(", "))
        };
        let labels: Vec<String> = keys.iter().map(values).collect();
        format!("the labels of {} are: {}", self.series, labels.join("; "))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
