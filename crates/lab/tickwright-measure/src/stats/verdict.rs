//! One policy for conclusions from samples: differences, and bounds.
//!
//! A *difference* is shown when the median of the ratios is at least [`TIE`] away from 1 and the
//! interval excludes 1. A *bound* is held or missed when the whole interval is on one side of the
//! bound. With fewer than six rounds no interval reaches [`CONFIDENCE`], so no difference is shown
//! and no bound is decided.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{CONFIDENCE, Interval, Summary};

/// A difference below this value is a tie, regardless of the interval, because code layout and
/// alignment can change medians by this much.
pub const TIE: f64 = 0.20;

/// The conclusion from a figure.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A ratio of times: at least [`TIE`] faster, and the interval excludes 1.
    Faster,
    /// A ratio of times: at least [`TIE`] slower, and the interval excludes 1.
    Slower,
    /// A ratio of times: neither faster nor slower is shown.
    NoDifferenceShown,
    /// A bound: the whole interval meets the bound.
    Held,
    /// A bound: the whole interval violates the bound.
    Missed,
    /// A bound: the interval contains the bound, or there are too few rounds.
    NotShown,
    /// A fact that no test decides.
    Stated,
}

impl Verdict {
    /// Returns the verdict on a summary of [`ratios`](super::ratios).
    #[must_use]
    pub fn on(ratio: &Summary) -> Self {
        let Interval { low, high, coverage } = ratio.interval;
        if coverage < CONFIDENCE {
            Self::NoDifferenceShown
        } else if ratio.median <= 1.0 / (1.0 + TIE) && high < 1.0 {
            Self::Faster
        } else if ratio.median >= 1.0 + TIE && low > 1.0 {
            Self::Slower
        } else {
            Self::NoDifferenceShown
        }
    }

    /// Returns the verdict in words. A missed bound is in capitals, because a reader looks for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifferenceShown => "no difference shown",
            Self::Held => "held",
            Self::Missed => "MISSED",
            Self::NotShown => "not shown",
            Self::Stated => "",
        }
    }
}

/// The bound of a figure.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The figure is at most this number.
    AtMost(f64),
    /// The figure is at least this number.
    AtLeast(f64),
    /// The figure is at least the first number and at most the second.
    Within(f64, f64),
}

impl Bound {
    /// Returns the verdict on whether a figure meets the bound.
    #[must_use]
    pub fn judge(self, figure: &Summary) -> Verdict {
        let Interval { low, high, coverage } = figure.interval;
        match self {
            _ if coverage < CONFIDENCE => Verdict::NotShown,
            Self::AtMost(limit) if high <= limit => Verdict::Held,
            Self::AtMost(limit) if low > limit => Verdict::Missed,
            Self::AtLeast(limit) if low >= limit => Verdict::Held,
            Self::AtLeast(limit) if high < limit => Verdict::Missed,
            Self::Within(from, to) if low >= from && high <= to => Verdict::Held,
            Self::Within(from, to) if high < from || low > to => Verdict::Missed,
            _ => Verdict::NotShown,
        }
    }

    /// Returns the verdict on whether a figure without an error meets the bound.
    #[must_use]
    pub fn judge_exact(self, figure: f64) -> Verdict {
        let meets = match self {
            Self::AtMost(limit) => figure <= limit,
            Self::AtLeast(limit) => figure >= limit,
            Self::Within(from, to) => (from..=to).contains(&figure),
        };
        if meets { Verdict::Held } else { Verdict::Missed }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "at most {limit}"),
            Self::AtLeast(limit) => write!(f, "at least {limit}"),
            Self::Within(from, to) => write!(f, "from {from} to {to}"),
        }
    }
}
