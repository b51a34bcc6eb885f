//! The models, and the operations of each that can be timed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of work.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Model {
    /// The earliest timer is popped and inserted again, so the population is constant.
    Hold,
    /// Time-outs of a server: most are moved, some are cancelled and armed again, and a few expire.
    Network,
    /// One-shot timers of a server: most are cancelled before they expire.
    OneShot,
    /// All timers expire, tick by tick.
    Expire,
    /// All timers are far ahead, and the queue is polled at each tick.
    Idle,
    /// The exchanges of `network`, with a question to the queue after each exchange.
    Reads,
}

impl Model {
    /// Returns the model's name in files and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Network => "network",
            Self::OneShot => "one-shot",
            Self::Expire => "expire",
            Self::Idle => "idle",
            Self::Reads => "reads",
        }
    }

    /// Returns the measures of the model.
    pub(crate) fn measures(self) -> &'static [Measure] {
        match self {
            Self::Hold => &[Measure::Hold, Measure::Rearm, Measure::Head],
            Self::Network => &[Measure::Exchange, Measure::Hinted],
            Self::OneShot => &[Measure::Turnover, Measure::Hinted],
            Self::Expire => &[Measure::Insert, Measure::Expire],
            Self::Idle => &[Measure::Poll],
            Self::Reads => &[Measure::Exchange, Measure::Wake, Measure::Expiry, Measure::Peek],
        }
    }

    /// Returns the tables and keys that this model requires and that other models may omit.
    pub(super) fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Hold => &["increments", "run.operations"],
            Self::Network | Self::Reads => &["timeouts", "run.operations"],
            Self::OneShot => &["one_shots", "run.operations"],
            Self::Idle => &["run.operations"],
            // A round of this model has one operation per timer, so the scenario gives no number.
            Self::Expire => &[],
        }
    }

    /// Returns whether a scenario must list all measures in order, because each round needs all of
    /// them.
    pub(crate) fn whole(self) -> bool {
        self == Self::Expire
    }
}

/// One timed operation of a model.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// Read the head, pop it, insert it again.
    Hold,
    /// Read the head and re-arm it in one step.
    Rearm,
    /// Read the head.
    Head,
    /// Move a time-out, or cancel it and insert it again. The measured time includes the timers
    /// that expire meanwhile.
    Exchange,
    /// An exchange, then the next wake-up.
    Wake,
    /// An exchange, then the exact next expiry.
    Expiry,
    /// An exchange, then the head with its key.
    Peek,
    /// One timer is cancelled or expires, and another timer is inserted.
    Turnover,
    /// An exchange or turnover whose caller knows its next timers and passes them as hints.
    Hinted,
    /// Advance by a tick at which nothing is due.
    Poll,
    /// Insert all timers into an empty queue.
    Insert,
    /// Deliver until the queue is empty.
    Expire,
}

impl Measure {
    /// Returns whether a question follows each exchange.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Wake | Self::Expiry | Self::Peek)
    }

    /// Returns whether the measure reads the exact head. A structure that returns a lower bound
    /// cannot be compared in such a measure.
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
            Self::Turnover => "turnover",
            Self::Hinted => "with hints",
            Self::Poll => "poll",
            Self::Insert => "insert",
            Self::Expire => "expire",
        })
    }
}
