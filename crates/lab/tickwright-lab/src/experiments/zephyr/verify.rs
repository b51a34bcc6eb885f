//! Compares every back end with the oracle before anything is timed. Time-outs are inserted, are
//! aborted and fire while the clock runs, and many of them have the same tick.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::backend::{BackEnd, Erased, Ticking, Visitor};
use super::subject::Subject;
use crate::error::LabError;
use crate::experiments::request::word;
use crate::models::verify::oracle::Oracle;

const TIMEOUTS: u32 = 64;
const STEPS: usize = 3000;
/// The longest delay, which is beyond the near distances of a wheel.
const FAR: u64 = 1500;

struct Script {
    seed: u64,
}

impl Visitor for Script {
    type Out = Result<bool, String>;

    fn visit<B: BackEnd>(self, queues: &mut [B]) -> Self::Out {
        let [queue] = queues else { return Err("one queue runs the script".into()) };
        self.run(queue)
    }
}

impl Script {
    /// Returns whether time-outs of one tick fired in the order of their insertion. The error says
    /// what fired, and what should have fired.
    fn run(self, queue: &mut dyn Erased) -> Result<bool, String> {
        let mut oracle = Ticking::new(Oracle::default());
        let mut random = Pcg64::seed_from_u64(self.seed);
        let mut pending = [false; TIMEOUTS as usize];
        let mut in_order = true;
        for step in 0..STEPS {
            let id = random.random_range(0..TIMEOUTS);
            let is_pending = &mut pending[id as usize];
            match (random.random_range(0..8), *is_pending) {
                (0, _) => {
                    let ticks = random.random_range(1..=40);
                    let (mut fired, mut right) = (Vec::new(), Vec::new());
                    queue.announce_to(ticks, &mut |id, tick| fired.push((tick, id)));
                    oracle.announce(ticks, |id, tick| right.push((tick, id)));
                    for (_, id) in &right {
                        pending[*id as usize] = false;
                    }
                    in_order &= fired == right;
                    let [mut found, mut wanted] = [&fired, &right].map(Clone::clone);
                    let ticks_rise = fired.is_sorted_by_key(|(tick, _)| *tick);
                    found.sort_unstable();
                    wanted.sort_unstable();
                    if found != wanted || !ticks_rise {
                        return Err(format!("in step {step} {fired:?} fired, and not {right:?}"));
                    }
                }
                (1, true) => {
                    *is_pending = false;
                    queue.abort(id);
                    oracle.abort(id);
                }
                (_, true) => {}
                (_, false) => {
                    *is_pending = true;
                    // Half of the delays are short, so that many time-outs end at the same tick.
                    let longest = if random.random_bool(0.5) { 40 } else { FAR };
                    let ticks = random.random_range(1..=longest);
                    queue.insert(id, ticks);
                    oracle.insert(id, ticks);
                }
            }
        }
        Ok(in_order)
    }
}

/// Runs the script on each subject. Returns, for each subject, whether time-outs of equal ticks
/// fired in order.
///
/// # Errors
/// If an answer is wrong, or a subject does not keep the order that it promises.
pub(super) fn run(subjects: &[Subject], seed: u64) -> Result<Vec<bool>, LabError> {
    let check = |subject: &Subject| {
        let name = word(subject);
        let in_order = subject.visit(1, TIMEOUTS as usize, Script { seed });
        let in_order = in_order.map_err(|why| LabError::failed(format!("{name}: {why}")))?;
        if subject.keeps_order() && !in_order {
            return Err(LabError::failed(format!("{name}: time-outs of one tick are out of order")));
        }
        Ok(in_order)
    };
    subjects.iter().map(check).collect()
}
