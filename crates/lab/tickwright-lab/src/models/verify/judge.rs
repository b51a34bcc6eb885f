//! Compares a structure's answers with the oracle's answers, or checks them with a ledger.

use std::collections::BTreeMap;

use super::ledger::Follower;
use super::oracle::Oracle;
use crate::models::erased::Erased;
use crate::models::tape::Tape;
use crate::models::witness::{Answer, Evidence, Fold, Log};
use crate::structures::registry::{self, Structure, Ties};

/// Computes the right answers of one run, from the first piece of work to the last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Judge {
    oracle: Oracle,
    followers: BTreeMap<&'static str, Follower>,
}

impl Judge {
    /// Returns the answers of an exact structure to the next piece of work.
    pub(crate) fn expect(&mut self, tape: &Tape, evidence: Evidence) -> Answer {
        let mut answer = Answer::none(tape.notes(), evidence);
        self.oracle.run(tape, &mut answer);
        answer
    }

    /// Checks the answers of a structure against the structure's promises. The judge must see every
    /// piece of work, in order.
    ///
    /// # Errors
    /// If an answer is wrong. The error describes the first mistake.
    pub(crate) fn judge(
        &mut self,
        structure: &'static Structure,
        tape: &Tape,
        answer: &Answer,
        expected: &Answer,
    ) -> Result<(), String> {
        match (answer, expected) {
            (Answer::Logged(log), _) if !structure.ties.exact() => {
                let follower = self
                    .followers
                    .entry(structure.id)
                    .or_insert_with(|| Follower::new(registry::facts(structure).lateness));
                follower.follow(tape, log)
            }
            (Answer::Folded(found), Answer::Folded(expected)) if structure.ties.exact() => {
                agree(found, expected, structure.ties)
            }
            (Answer::Logged(found), Answer::Logged(expected)) => {
                each_agrees(found, expected, structure.ties, tape.reads_a_bound())?;
                if tape.delivers_whole_expiries() { same_timers(found, expected) } else { Ok(()) }
            }
            _ => Err("its answers were not kept as they must be to be judged".into()),
        }
    }
}

pub(super) fn agree(found: &Fold, expected: &Fold, ties: Ties) -> Result<(), String> {
    let same = (found.found, found.times, found.reads) == (expected.found, expected.times, expected.reads);
    if same && (ties == Ties::AnyOrder || found.order == expected.order) {
        return Ok(());
    }
    Err(format!("{} of {} answers, not in the oracle's order", found.found, expected.found))
}

/// Checks that the same timers were delivered at each expiry, in any order.
pub(super) fn same_timers(found: &Log, expected: &Log) -> Result<(), String> {
    let [found, expected] = [found, expected].map(|log| {
        let mut timers: Vec<_> = log.deliveries.iter().map(|one| (one.expiry, one.id)).collect();
        timers.sort_unstable();
        timers
    });
    match found.iter().zip(&expected).find(|(found, expected)| found != expected) {
        Some(((expiry, id), (_, right))) => {
            Err(format!("timer {id} at expiry {expiry}, where the oracle has timer {right}"))
        }
        None => Ok(()),
    }
}

pub(super) fn each_agrees(found: &Log, expected: &Log, ties: Ties, bound: bool) -> Result<(), String> {
    let deliveries = |log: &Log| log.deliveries.len();
    if (deliveries(found), found.reads.len()) != (deliveries(expected), expected.reads.len()) {
        return Err(format!(
            "{} deliveries where the oracle has {}",
            deliveries(found),
            deliveries(expected)
        ));
    }
    for (found, expected) in found.deliveries.iter().zip(&expected.deliveries) {
        let on_time = (found.expiry, found.now) == (expected.expiry, expected.now);
        if !on_time || (ties == Ties::Fifo && found.id != expected.id) {
            return Err(format!("{found:?} where the oracle has {expected:?}"));
        }
    }
    for (at, (read, head)) in found.reads.iter().zip(&expected.reads).enumerate() {
        let agrees = if bound { read.is_some() == head.is_some() && read <= head } else { read == head };
        if !agrees {
            return Err(format!("answer {at} is {read:?} where the head is {head:?}"));
        }
    }
    Ok(())
}
