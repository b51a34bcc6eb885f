//! Progress under a budget. Every timer that is due at the start of a series of advances to one
//! `now` leaves within a bounded number of advances. This holds for any number of moves inside the
//! structure, and for any arrivals between the advances. No advance does more than its budget
//! allows: the timers that it delivers and the timers that it moves are together at most `budget`.

use crate::clauses::quiet;
use crate::subject::{Make, Subject};

/// The most that one timer can cost the budgets of all advances, in a structure that moves timers:
/// 1 for each of 64 levels, and 1 when it leaves.
const MOST: usize = 65;

/// The number of timers that are pending at first.
const MANY: u32 = 320;

/// The number of advances after each of which the moved timers are counted.
const COUNTED: usize = 150;

/// The deadlines of the first timers, and the tick to which a run advances.
struct Spread {
    name: &'static str,
    deadline: fn(u64) -> u64,
    now: u64,
}

const LAST: u64 = (1 << 34) - 1;

const SPREADS: [Spread; 5] = [
    Spread { name: "at one tick", deadline: |_| 5000, now: 5000 },
    // All timers are in one bucket of a wheel with 64 buckets per level.
    Spread { name: "in one long bucket", deadline: |nth| (1 << 24) + nth * 51_000, now: 2 << 24 },
    Spread { name: "in a bucket half due", deadline: |nth| (1 << 24) + nth * 51_000, now: 3 << 23 },
    Spread { name: "far apart", deadline: |nth| (1 << (nth % 34)) + nth, now: 1 << 34 },
    // The timers at powers of two prevent the other timers from falling by more than one level at a
    // time. With arrivals, a faulty queue might move twice as many timers at each further level.
    // Only a run with many levels shows this fault.
    Spread {
        name: "at one tick and one at each power of two before it",
        deadline: |nth| LAST - LAST.checked_shr(nth as u32).unwrap_or(0),
        now: LAST,
    },
];

/// The timers that are inserted between two advances: as many as the budget allows to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrivals {
    None,
    /// Timers that are already due.
    Past,
    /// Timers that are due after this run.
    Ahead,
    /// Timers that are due at one of the next advances, each of which passes a later `now`.
    Soon,
}

impl Arrivals {
    const ALL: [Self; 4] = [Self::None, Self::Past, Self::Ahead, Self::Soon];

    fn deadline(self, now: u64, nth: u32) -> u64 {
        let turn = |of: [u64; 4]| of[nth as usize % 4];
        match self {
            Self::None | Self::Past => now - turn([0, 1, 0, 100]),
            Self::Ahead => now + turn([1, 2, 70, 5000]),
            Self::Soon => now + turn([1, 2, 3, 1]),
        }
    }
}

/// Returns a witness if a due timer waits too long. A spread whose `now` is beyond `reach` is
/// skipped.
pub(super) fn stalls<M: Make>(reach: u64) -> Option<String> {
    let spreads = SPREADS.iter().filter(|spread| spread.now <= reach);
    let runs = spreads.flat_map(|spread| Arrivals::ALL.map(|arrivals| (spread, arrivals)));
    let mut runs = runs.flat_map(|(spread, arrivals)| [1, 3, 64].map(|budget| (spread, arrivals, budget)));
    runs.find_map(|(spread, arrivals, budget)| {
        // A panic over a far deadline is judged by clause 7.
        let witness = quiet::catch(|| stall::<M>(spread, arrivals, budget)).ok()??;
        Some(format!("{MANY} timers {}, arrivals {arrivals:?}, budget {budget}: {witness}", spread.name))
    })
}

fn stall<M: Make>(spread: &Spread, arrivals: Arrivals, budget: u32) -> Option<String> {
    // At this `now` even a granular queue must release every timer with a deadline up to
    // `spread.now`.
    let mut now = spread.now + M::LATENESS.map_or(0, |lateness| lateness(spread.now));
    let is_due = |value: u32| (spread.deadline)(value.into()) <= spread.now;
    let mut left = (0..MANY).filter(|&value| is_due(value)).count();
    // New arrivals are not counted, because they must not delay the timers that were already
    // pending.
    let work = if M::MOVES { MANY as usize * MOST } else { left };
    let advances = work.div_ceil(budget as usize) + 1;
    let room = if arrivals == Arrivals::None { 0 } else { advances * budget as usize };
    let arena = M::arena(MANY as usize + room);
    let mut queue = M::make(&arena, MANY as usize);
    // The first timers that must still be moved.
    let mut waiting = Vec::new();
    for value in 0..MANY {
        // A queue that refuses an insert has a bound of its own, or breaks another clause.
        let (key, _) = queue.insert((spread.deadline)(value.into()), value).ok()?;
        waiting.push((value, key));
    }
    if !M::MOVES {
        waiting.clear();
    }
    let mut inserted = MANY;
    for nth in 0..advances {
        let counts = nth < COUNTED && !waiting.is_empty();
        if counts {
            // An insert could have moved some of these timers.
            waiting.retain(|&(_, key)| queue.waits(key));
        }
        let mut fired_now = Vec::new();
        let _ = queue.advance(now, budget as usize, &mut |fired| {
            left = left.saturating_sub(usize::from(fired.value < MANY && is_due(fired.value)));
            fired_now.push(fired.value);
        });
        if counts {
            waiting.retain(|(value, _)| !fired_now.contains(value));
            let waited = waiting.len();
            waiting.retain(|&(_, key)| queue.waits(key));
            let moved = waited - waiting.len();
            if fired_now.len() + moved > budget as usize {
                return Some(format!("advance {nth} delivers {} and moves {moved}", fired_now.len()));
            }
        }
        if left == 0 {
            return None;
        }
        if arrivals != Arrivals::None {
            for nth in 0..budget {
                let _ = queue.insert(arrivals.deadline(now, nth), inserted + nth);
            }
            inserted += budget;
        }
        now += u64::from(arrivals == Arrivals::Soon);
    }
    Some(format!("{advances} advances, and {left} that were due at the first have not left"))
}
