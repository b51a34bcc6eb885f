//! A random mix of all operations on one structure, compared with the oracle. The mix verifies
//! operations that the hold model never calls: removal, re-arming to another deadline, and reading
//! the second timer.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::models::erased::Erased;
use crate::models::live::with_one;
use crate::models::verify::Ledger;
use crate::models::verify::oracle::Oracle;
use crate::structures::candidate::BenchQueue;
use crate::structures::registry::{self, Structure, Ties};

/// The number of timers.
const TIMERS: u32 = 64;
const OPERATIONS: u32 = 5000;
/// Delays are below this bound. The bound is small, so that many deadlines are equal.
const FAR: u64 = 200;

/// Runs the mix on a structure. Returns how many operations agreed with the oracle. The error names
/// an operation that did not agree.
pub(super) fn check(structure: &'static Structure) -> Result<String, String> {
    if !registry::holds(structure, TIMERS as usize).map_err(|error| error.to_string())? {
        return Ok("bounded below the mix".into());
    }
    with_one(structure, TIMERS as usize, false, |live| {
        let queue = &mut *live.sampler.queue();
        match structure.ties.exact() {
            true => mix(structure, queue),
            false => mix_granular(queue, registry::facts(structure).lateness),
        }
    })
}

/// Runs the same mix on a structure without an exact order. The ledger verifies the deliveries.
fn mix_granular(queue: &mut dyn Erased, lateness: fn(u64) -> u64) -> Result<String, String> {
    let mut ledger = Ledger::new(lateness);
    let mut rng = Pcg64::seed_from_u64(1);
    let mut armed = [false; TIMERS as usize];
    let mut now = 0;
    for step in 0..OPERATIONS {
        let id = rng.random_range(0..TIMERS);
        let deadline = now + rng.random_range(0..FAR);
        let is_armed = &mut armed[id as usize];
        let result = match (rng.random_range(0..8), *is_armed) {
            (0..=3, false) => {
                *is_armed = true;
                queue.insert(id, deadline);
                ledger.arm(id, deadline);
                Ok(())
            }
            (0, true) => {
                *is_armed = false;
                queue.remove(id);
                ledger.disarm(id);
                Ok(())
            }
            (1..=3, true) => {
                queue.reschedule(id, deadline);
                ledger.arm(id, deadline);
                Ok(())
            }
            (4 | 5, _) => {
                now += rng.random_range(0..8);
                match queue.pop_expired(now) {
                    Some((id, expiry)) => {
                        armed[id as usize] = false;
                        ledger.deliver(id, expiry, now)
                    }
                    None => ledger.complete(now),
                }
            }
            (6, _) => ledger.read(queue.wake()),
            _ => ledger.read(queue.head()),
        };
        result.map_err(|wrong| format!("operation {step}: {wrong}"))?;
    }
    Ok(format!("{OPERATIONS} mixed operations, each timer once, never early, within the bound"))
}

fn mix(structure: &Structure, queue: &mut dyn Erased) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut rng = Pcg64::seed_from_u64(1);
    // The deadline of each armed timer. Among timers of equal deadlines, a structure can return any
    // timer, and this map gives the deadline of the returned timer.
    let mut armed: BTreeMap<u32, u64> = BTreeMap::new();
    let mut now = 0;
    for step in 0..OPERATIONS {
        let id = rng.random_range(0..TIMERS);
        let deadline = now + rng.random_range(0..FAR);
        let wrong = |what: &str, is: String, should: String| {
            Err(format!("operation {step}, {what}: {is} where the oracle says {should}"))
        };
        match (rng.random_range(0..9), armed.contains_key(&id)) {
            (0..=3, false) => {
                queue.insert(id, deadline);
                oracle.insert(id, deadline);
                armed.insert(id, deadline);
            }
            (0, true) => {
                queue.remove(id);
                oracle.remove(id);
                armed.remove(&id);
            }
            (1..=2, true) => {
                queue.reschedule(id, deadline);
                oracle.reschedule(id, deadline);
                armed.insert(id, deadline);
            }
            (3, true) | (4, _) => {
                now += rng.random_range(0..8);
                let by_handle = rng.random::<bool>() && structure.exact_head;
                let taken = if by_handle {
                    let due = queue.look_at_head().is_some_and(|head| head <= now);
                    if due { queue.take_head(now) } else { None }
                } else {
                    queue.pop_expired(now)
                };
                let expected = oracle.head().filter(|head| *head <= now);
                if taken.map(|(_, expiry)| expiry) != expected {
                    return wrong("pop", format!("{taken:?}"), format!("expiry {expected:?}"));
                }
                let Some((id, expiry)) = taken else { continue };
                if armed.remove(&id) != Some(expiry) {
                    return wrong("pop", format!("{taken:?}"), "that timer is not due then".into());
                }
                if structure.ties == Ties::Fifo {
                    let first = oracle.pop_expired(now);
                    if first != taken {
                        return wrong("pop", format!("{taken:?}"), format!("{first:?}"));
                    }
                } else {
                    oracle.remove(id);
                }
            }
            // Re-arms only due timers, so that no queue's time runs ahead of the mix.
            (8, _) if structure.exact_head && oracle.head().is_some_and(|head| head <= now) => {
                let expected = oracle.head();
                // The deadline is at or after `now`, because a queue is allowed to move a deadline
                // that is in the past.
                let delay = now - expected.unwrap_or(now) + rng.random_range(0..FAR);
                let taken = queue.pop_and_reinsert(delay);
                let agrees = taken.map(|(_, expiry)| expiry) == expected
                    && (structure.ties == Ties::AnyOrder || taken == oracle.first());
                let Some((id, expiry)) = taken.filter(|_| agrees) else {
                    return wrong("re-arm", format!("{taken:?}"), format!("{:?}", oracle.first()));
                };
                oracle.reschedule(id, expiry + delay);
                armed.insert(id, expiry + delay);
            }
            (5, _) if structure.second => {
                let (is, should) = (queue.second(), oracle.second());
                if is != should {
                    return wrong("second", format!("{is:?}"), format!("{should:?}"));
                }
            }
            _ => {
                let (is, should) = (queue.head(), oracle.head());
                let agrees = if structure.exact_head {
                    is == should
                } else {
                    is.is_some() == should.is_some() && is <= should
                };
                if !agrees {
                    return wrong("head", format!("{is:?}"), format!("{should:?}"));
                }
            }
        }
    }
    let untried = if structure.second { "" } else { ", no second" };
    Ok(format!("{OPERATIONS} mixed operations agree{untried}"))
}

#[cfg(test)]
mod tests;
