//! Formats of numbers, the same for every table, axis and sentence.

use serde::{Deserialize, Serialize};

/// The format in which a column or an axis writes its figures.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Words, aligned to the left. A figure in such a column has at most three digits after the
    /// point.
    #[default]
    Text,
    /// Thousands with a suffix: 500, 10k, 1M.
    Count,
    /// Thousands separated by commas: 403,320.
    Thousands,
    /// Nanoseconds without the unit, with fewer digits after the point for greater values: 9.5,
    /// 1234.
    Ns,
    /// Nanoseconds, with the unit that suits the value: 12 ns, 3.4 us, 1.20 ms.
    Span,
    /// A quotient: 1.23x, 0.014x.
    Ratio,
    /// A share in percent: 5.5 %.
    Percent,
    /// A change in percent, with its sign: +1.1 %.
    Change,
    /// A figure with this number of digits after the point.
    Fixed(u8),
}

impl Format {
    /// Returns whether a column of this format is aligned to the left.
    #[must_use]
    pub fn is_text(self) -> bool {
        self == Self::Text
    }

    /// Formats a number.
    #[must_use]
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Text => trimmed(value),
            Self::Count => count(value),
            Self::Thousands => thousands(value),
            Self::Ns => ns(value),
            Self::Span => span(value),
            Self::Ratio if value != 0.0 && value.abs() < 0.1 => format!("{value:.3}x"),
            Self::Ratio => format!("{value:.2}x"),
            Self::Percent if value != 0.0 && value.abs() < 0.1 => format!("{value:.3} %"),
            Self::Percent => format!("{value:.1} %"),
            Self::Change => format!("{value:+.1} %"),
            Self::Fixed(digits) => format!("{value:.*}", usize::from(digits)),
        }
    }
}

fn ns(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// Formats a time in ns with three digits and a unit.
fn span(ns: f64) -> String {
    let units = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
    let (scale, unit) = units.into_iter().rev().find(|(scale, _)| ns.abs() >= *scale).unwrap_or(units[0]);
    let value = ns / scale;
    let digits = match value.abs() {
        v if scale > 1.0 && v < 10.0 => 2,
        v if v < 100.0 && (scale > 1.0 || v.fract() != 0.0) => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

fn count(value: f64) -> String {
    let whole = |scale: f64| value >= scale && value % scale == 0.0;
    match value {
        v if whole(1e6) => format!("{}M", v / 1e6),
        v if whole(1e3) => format!("{}k", v / 1e3),
        v => trimmed(v),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 && digits != "0" { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with at most three digits after the point, without trailing zeros.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
