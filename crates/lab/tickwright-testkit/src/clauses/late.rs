//! Lateness from the caller's time. A program that has been up for a long time, or that has slept,
//! tells its queue the time and then arms timers. None of these timers is allowed to be later than
//! the queue's bound for the requested delay.
//!
//! A tick is 1 ms here. The clock is virtual, so the hours cost nothing.

use crate::clauses::quiet;
use crate::subject::{Make, Subject};

const SECOND: u64 = 1000;
const HOUR: u64 = 3600 * SECOND;

/// How long the program has been up when it arms its first timer.
const UPTIMES: [u64; 8] =
    [SECOND, 61 * SECOND, 3388 * SECOND, HOUR, 5 * HOUR + 777, 22 * HOUR + 1, 55 * HOUR, 100 * HOUR];

/// How long the program then sleeps.
const PAUSES: [u64; 8] = [1, 70, SECOND, 12 * SECOND, 90 * SECOND, 600 * SECOND, 1799 * SECOND, HOUR];

/// The delays of the program's timers: below, at and above the ends of a coarse wheel's levels.
const DELAYS: [u64; 12] = [1, 20, 62, 63, 200, 503, 504, 1000, 4032, 60 * SECOND, 600 * SECOND, HOUR];

/// A timer of the program, and the ticks between which it must leave.
#[derive(Clone, Copy, Debug)]
struct Armed {
    value: u32,
    deadline: u64,
    latest: u64,
}

/// Returns a witness if a queue that was told the time delivers later than its bound, or if it
/// loses or delivers a timer when it is told the time. Uptimes beyond `reach` are skipped. A queue
/// that cannot be told the time promises nothing here, so it is not tested.
pub(super) fn from_the_callers_time<M: Make>(reach: u64) -> Option<String> {
    if !M::OFFERS.tell {
        return None;
    }
    let runs = UPTIMES.iter().flat_map(|&uptime| PAUSES.map(|pause| (uptime, pause)));
    runs.filter(|&(uptime, pause)| uptime.max(pause) <= reach).find_map(|(uptime, pause)| {
        let witness = quiet::catch(|| run::<M>(uptime, pause).err()).unwrap_or_else(Some)?;
        Some(format!("up for {uptime} ms, then asleep for {pause} ms: {witness}"))
    })
}

fn run<M: Make>(uptime: u64, pause: u64) -> Result<(), String> {
    const MANY: usize = 2 * DELAYS.len();
    let bound = M::LATENESS.unwrap_or(|_| 0);
    let arena = M::arena(MANY);
    let mut queue = M::make(&arena, MANY);
    let mut armed: Vec<Armed> = Vec::with_capacity(MANY);
    let mut keys = Vec::with_capacity(MANY);
    let mut now = uptime;
    for slept in [0, pause] {
        now += slept;
        let len = queue.len();
        queue.tell(now);
        if queue.len() != len {
            return Err(format!("{len} were pending, {} are after the queue was told the time", queue.len()));
        }
        for delay in DELAYS {
            let value = u32::try_from(armed.len()).unwrap_or(u32::MAX);
            let timer = Armed { value, deadline: now + delay, latest: now + delay + bound(delay) };
            let Ok((key, _)) = queue.insert(timer.deadline, value) else {
                return Err(format!("timer {value} is refused"));
            };
            in_time(&queue, key, timer, now)?;
            armed.push(timer);
            keys.push(key);
        }
        // The timers of the first round that are still ahead are re-armed after the pause, each
        // with another delay than before.
        if slept > 0 && M::OFFERS.reschedule {
            for (at, delay) in (0..DELAYS.len()).zip(DELAYS.iter().rev()) {
                if armed[at].deadline > now {
                    let timer =
                        Armed { deadline: now + delay, latest: now + delay + bound(*delay), ..armed[at] };
                    queue.reschedule(keys[at], timer.deadline).map_err(|_| format!("{timer:?} is stale"))?;
                    in_time(&queue, keys[at], timer, now)?;
                    armed[at] = timer;
                }
            }
        }
    }
    leave_in_time(&mut queue, armed, now)
}

/// Requires that the expiry is within the bound, if the queue states one.
fn in_time<S: Subject>(queue: &S, key: S::Key, timer: Armed, now: u64) -> Result<(), String> {
    match queue.expiry(key) {
        Some(said) if !(timer.deadline..=timer.latest).contains(&said) => Err(format!(
            "timer {} for {} is due at {said}, by the bound it is by {}, armed at {now}",
            timer.value, timer.deadline, timer.latest
        )),
        _ => Ok(()),
    }
}

/// Requires that every timer leaves at its latest tick, and that no timer leaves before its
/// deadline.
fn leave_in_time(queue: &mut impl Subject, mut armed: Vec<Armed>, now: u64) -> Result<(), String> {
    let mut looks: Vec<u64> = armed.iter().flat_map(|timer| [timer.deadline - 1, timer.latest]).collect();
    looks.retain(|&look| look >= now);
    looks.push(now);
    looks.sort_unstable();
    for look in looks {
        let mut early = None;
        let _ = queue.advance(look, usize::MAX, &mut |fired| match armed
            .iter()
            .position(|timer| timer.value == fired.value)
        {
            Some(at) if armed[at].deadline <= look => drop(armed.swap_remove(at)),
            _ => early = early.or(Some(fired)),
        });
        if let Some(fired) = early {
            return Err(format!("timer {} left at {look}, too early or twice", fired.value));
        }
        if let Some(late) = armed.iter().find(|timer| timer.latest <= look) {
            return Err(format!(
                "timer {} is pending at {look}, its latest tick is {}",
                late.value, late.latest
            ));
        }
    }
    match armed.first() {
        Some(timer) => Err(format!("timer {} never left", timer.value)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
