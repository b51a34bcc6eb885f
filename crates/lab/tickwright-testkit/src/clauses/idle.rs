//! The life of timers that keep their keys: idle, pending, idle again.

use crate::clauses::quiet;
use crate::clauses::verdict::{Tools, Verdict};
use crate::subject::{Fired, Make, Stale, Subject};

const TIMERS: usize = 24;
const STEPS: u64 = 4000;

/// A timer that is not pending keeps its key. Such a timer can be armed by this key repeatedly,
/// leaves in the order in which timers were armed, and affects no operation while it is idle.
#[must_use]
pub fn idle_timers_keep_their_keys<M: Make>(_: &Tools) -> Verdict {
    if !M::OFFERS.idle {
        return Verdict::NotOffered;
    }
    let witness = (1..=8).find_map(|seed| {
        let judged = quiet::catch(|| life::<M>(seed)).unwrap_or_else(|panic| Err(format!("panics: {panic}")));
        judged.err().map(|why| format!("seed {seed}: {why}"))
    });
    Verdict::from_witness(witness)
}

/// A pending timer: its deadline, and the step that armed it.
type Armed = Option<(u64, u64)>;

/// Returns the timer that leaves first from an exact queue.
fn first(model: &[Armed]) -> Option<(u64, u64, usize)> {
    model.iter().enumerate().filter_map(|(at, armed)| armed.map(|(due, step)| (due, step, at))).min()
}

fn life<M: Make>(seed: u64) -> Result<(), String> {
    let arena = M::arena(TIMERS);
    let mut queue = M::make(&arena, TIMERS);
    let keys = (0..TIMERS as u32).map(|value| queue.keep(value));
    // A structure whose own bound is smaller accepts fewer timers.
    let keys: Vec<_> = keys.map_while(Result::ok).collect();
    let mut model: Vec<Armed> = vec![None; keys.len()];
    let mut random = seed;
    for step in 0..STEPS {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let (at, choice) = (random >> 33, random >> 56 & 7);
        let (at, now) = (at as usize % keys.len(), queue.now());
        let said = |what: &str| format!("step {step}, timer {at}: {what}");
        match choice {
            0..=3 => {
                let deadline = now + (random >> 40 & 63);
                queue.arm(keys[at], deadline).map_err(|Stale| said("arm refuses its key"))?;
                model[at] = Some((deadline, step));
            }
            4 | 5 => {
                queue.disarm(keys[at]).map_err(|Stale| said("disarm refuses its key"))?;
                model[at] = None;
            }
            _ => {
                let to = now + (random >> 40 & 15);
                while let Some(Fired { value, .. }) = queue.pop_and_keep(to) {
                    let due = model.get(value as usize).copied().flatten();
                    let head = first(&model).map(|(.., at)| at);
                    if due.is_none_or(|(due, _)| due > to) || M::EXACT && head != Some(value as usize) {
                        return Err(said(&format!(
                            "{value} leaves at {to}, armed {due:?}; the head is {head:?}"
                        )));
                    }
                    model[value as usize] = None;
                }
                if M::EXACT && first(&model).is_some_and(|(due, ..)| due <= to) {
                    return Err(said("a due timer is left"));
                }
            }
        }
        if model[at].is_none() && queue.reschedule(keys[at], now).is_ok() {
            return Err(said("reschedule takes the key of an idle timer"));
        }
        if queue.len() != model.iter().flatten().count() {
            return Err(said(&format!("len is {}", queue.len())));
        }
        queue.check().map_err(|violation| said(&violation))?;
    }
    Ok(())
}
