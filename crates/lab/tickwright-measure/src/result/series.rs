//! Samples of one quantity, with the labels that distinguish them from other series.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The labels that distinguish a series from other series of the same name, such as
/// `structure = heap4/slab`, `n = 1000`.
pub type Labels = BTreeMap<String, Label>;

/// Creates labels from pairs.
pub fn labels<const N: usize>(pairs: [(&str, Label); N]) -> Labels {
    of_pairs(&mut pairs.into_iter())
}

/// The part of [`labels`] that does not depend on the number of pairs, so that it is compiled once.
fn of_pairs(pairs: &mut dyn Iterator<Item = (&str, Label)>) -> Labels {
    let mut labels = Labels::new();
    for (key, value) in pairs {
        labels.insert(key.to_owned(), value);
    }
    labels
}

/// The value of a label or of a parameter.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// Yes or no.
    Bool(bool),
    /// A count.
    Whole(u64),
    /// A figure.
    Number(f64),
    /// A name.
    Text(Cow<'static, str>),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

macro_rules! label_from {
    ($($from:ty => |$value:ident| $into:expr;)+) => {
        $(impl From<$from> for Label {
            fn from($value: $from) -> Self {
                $into
            }
        })+
    };
}

label_from! {
    bool => |value| Self::Bool(value);
    u64 => |value| Self::Whole(value);
    u32 => |value| Self::Whole(value.into());
    usize => |value| Self::Whole(value as u64);
    f64 => |value| Self::Number(value);
    &'static str => |value| Self::Text(value.into());
    String => |value| Self::Text(value.into());
}

/// The unit of a series' samples.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// A number of things, without a unit.
    Count,
    /// Instructions, as callgrind counts them.
    Instructions,
    /// A rate per second.
    PerSecond,
    /// Percent.
    Percent,
    /// The quotient of two figures with the same unit.
    Ratio,
}

/// Whether lower or higher figures are better.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Lower figures are better: times, bytes.
    #[default]
    Lower,
    /// Higher figures are better: rates.
    Higher,
    /// Neither is better: a count that describes the work.
    Neither,
}

/// Samples of one quantity.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The measured quantity, such as `insert`.
    pub name: String,
    /// The unit of a sample.
    pub unit: Unit,
    /// The item to which a sample refers, such as `operation` or `timer`. Without this field, a
    /// sample is a total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Cow<'static, str>>,
    /// Whether lower or higher figures are better.
    #[serde(default)]
    pub better: Better,
    /// The labels that distinguish the series from other series of this name.
    pub labels: Labels,
    /// The labels by which the reference series differs from this series, such as `way = locked`.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub base: Labels,
    /// One value for each round, in order. The series of one interleaved run have equal lengths,
    /// and values at the same index were measured in the same round. A round without a figure has
    /// the value NaN, which is `null` in JSON.
    #[serde(deserialize_with = "numbers")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<f64>>"))]
    pub samples: Vec<f64>,
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let samples: Vec<Option<f64>> = Deserialize::deserialize(from)?;
    Ok(samples.into_iter().map(|sample| sample.unwrap_or(f64::NAN)).collect())
}

impl Series {
    /// Creates an empty series of totals. Lower figures are better.
    pub fn new(name: impl Into<String>, unit: Unit, labels: Labels) -> Self {
        Self {
            name: name.into(),
            unit,
            per: None,
            better: Better::Lower,
            labels,
            base: Labels::new(),
            samples: Vec::new(),
        }
    }

    /// States that each sample is the mean per `what`, such as `operation`.
    #[must_use]
    pub fn per(mut self, what: &'static str) -> Self {
        self.per = Some(what.into());
        self
    }

    /// Sets whether lower or higher figures are better.
    #[must_use]
    pub fn better(mut self, better: Better) -> Self {
        self.better = better;
        self
    }

    /// Names the series with which this series is compared, by the label in which the two differ.
    #[must_use]
    pub fn beside(mut self, label: &str, value: impl Into<Label>) -> Self {
        self.base.insert(label.to_owned(), value.into());
        self
    }

    /// Sets the samples.
    #[must_use]
    pub fn of(mut self, samples: impl IntoIterator<Item = f64>) -> Self {
        self.samples.extend(samples);
        self
    }

    /// Returns whether the series belongs to a reference row, such as `(floor)`. Such a row is a
    /// loop that is measured for comparison, and is not a structure.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        self.labels.get("structure").is_some_and(|row| row.to_string().starts_with('('))
    }

    /// Returns a title such as `insert (structure heap4/slab, n 1000)`.
    #[must_use]
    pub fn title(&self) -> String {
        let labels: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key} {value}")).collect();
        if labels.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, labels.join(", ")) }
    }
}
