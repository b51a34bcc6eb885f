//! One policy for what samples show: differences, and bounds.
//!
//! A *difference* is shown when the median of the ratios is at least [`TIE`] away from 1 and its
//! interval leaves 1 out. A *bound* is held or missed when the whole interval lies on one side of
//! it. With fewer than six rounds no interval reaches [`CONFIDENCE`], and nothing is shown.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{CONFIDENCE, Interval, Summary};

/// Differences below this are called a tie, whatever the interval says: layout and alignment alone
/// move medians this far.
pub const TIE: f64 = 0.20;

/// What a figure shows.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A ratio of times: at least [`TIE`] faster, and the interval does not touch 1.
    Faster,
    /// A ratio of times: at least [`TIE`] slower, and the interval does not touch 1.
    Slower,
    /// A ratio of times: anything else.
    NoDifferenceShown,
    /// A bound: the whole interval keeps to it.
    Held,
    /// A bound: the whole interval is beyond it.
    Missed,
    /// A bound: it lies within the interval, or there are too few rounds.
    NotShown,
    /// A fact that no test decides.
    Stated,
}

impl Verdict {
    /// The verdict on a summary of [`ratios`](super::ratios).
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

    /// In words; a missed bound in capitals, since a reader looks for it.
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

/// What a figure should keep to.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Not more.
    AtMost(f64),
    /// Not less.
    AtLeast(f64),
    /// Neither less than the first nor more than the second.
    Within(f64, f64),
}

impl Bound {
    /// Whether a figure keeps to it.
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
