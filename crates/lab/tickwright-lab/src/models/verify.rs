//! The only module that defines which answers of a queue are right.
//!
//! - An exact structure must answer as the oracle does: the same expiries in the same order. A FIFO
//!   structure must also deliver the same ids.
//! - A granular structure can choose its own order, but must deliver each timer once, never early,
//!   and within its bound. A ledger checks these rules. The work runs again with the structure's
//!   answers, so that the ledger knows when each timer was armed.
//! - The next wake-up can be early by any time, but must never be late.

#[cfg(test)]
pub(crate) mod faulty;
mod judge;
mod ledger;
pub(crate) mod oracle;

pub(crate) use self::judge::Judge;
pub(crate) use self::ledger::Ledger;

#[cfg(test)]
mod tests;
