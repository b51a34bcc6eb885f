//! What a scenario may be about, and what of it is timed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of work.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Model {
    /// Constant population: the earliest leaves and comes back.
    Hold,
    /// Time-outs of a server: most are moved, some are set anew, a few expire.
    Network,
    /// All expire, tick by tick.
    Expire,
    /// The network's exchanges, and a question after each.
    Reads,
}

impl Model {
    /// As in files, and the command that runs it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Network => "network",
            Self::Expire => "expire",
            Self::Reads => "reads",
        }
    }

    /// The measures that it has.
    pub(super) fn measures(self) -> &'static [Measure] {
        match self {
            Self::Hold => &[Measure::Hold, Measure::Rearm, Measure::Head],
            Self::Network => &[Measure::Exchange],
            Self::Expire => &[Measure::Insert, Measure::Expire],
            Self::Reads => &[Measure::Exchange, Measure::Wake, Measure::Expiry, Measure::Peek],
        }
    }

    /// The tables and keys that it needs, of those that not every model has.
    pub(super) fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Hold => &["increments", "run.operations"],
            Self::Network | Self::Reads => &["timeouts", "run.operations"],
            // A round is as long as there are timers.
            Self::Expire => &[],
        }
    }

    /// Whether only all of its measures, in their order, make sense: each round needs them.
    pub(super) fn whole(self) -> bool {
        self == Self::Expire
    }
}

/// One timed operation of a model.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// Look at the head, pop it, insert it anew.
    Hold,
    /// Look at the head, re-arm it in one step.
    Rearm,
    /// Look at the head.
    Head,
    /// Move a time-out, or cancel it and insert it; with what expires meanwhile.
    Exchange,
    /// An exchange, and the next wake-up.
    Wake,
    /// An exchange, and the exact next expiry.
    Expiry,
    /// An exchange, and the head with its key.
    Peek,
    /// Insert, into what is empty at first.
    Insert,
    /// Deliver, until it is empty.
    Expire,
}

impl Measure {
    /// Whether it tells the exact head, which a lower bound cannot be compared with.
    pub(crate) fn exact_head(self) -> bool {
        matches!(self, Self::Head | Self::Expiry | Self::Peek)
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hold => "pop and insert",
            Self::Rearm => "re-arm in one step",
            Self::Head => "head alone",
            Self::Exchange => "exchange",
            Self::Wake => "exchange and next wake-up",
            Self::Expiry => "exchange and next expiry",
            Self::Peek => "exchange and peek",
            Self::Insert => "insert",
            Self::Expire => "expire",
        })
    }
}
