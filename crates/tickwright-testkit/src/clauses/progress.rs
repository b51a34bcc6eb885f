//! Progress under a budget. Whatever is due when a row of advances to one `now` begins leaves
//! within a bounded number of advances. That holds whatever the structure has to move first, and
//! whatever arrives between the advances.

use crate::clauses::quiet;
use crate::subject::{Make, Subject};

/// The most that one timer takes of all budgets where timers are moved: once for each of 64 levels,
/// and once when it leaves.
const MOST: usize = 65;

/// This many timers are pending at first.
const MANY: u32 = 320;

/// Timers, and the tick that a run advances to.
struct Spread {
    name: &'static str,
    deadline: fn(u64) -> u64,
    now: u64,
}

const LAST: u64 = (1 << 34) - 1;

const SPREADS: [Spread; 5] = [
    Spread { name: "at one tick", deadline: |_| 5000, now: 5000 },
    // One bucket of a wheel with 64 on each level.
    Spread { name: "in one long bucket", deadline: |nth| (1 << 24) + nth * 51_000, now: 2 << 24 },
    Spread { name: "in a bucket half due", deadline: |nth| (1 << 24) + nth * 51_000, now: 3 << 23 },
    Spread { name: "far apart", deadline: |nth| (1 << (nth % 34)) + nth, now: 1 << 34 },
    // Each of the single ones keeps the others from falling by more than a level at a time.
    // Suppose that arrivals doubled the timers left to move at each level. With few levels that
    // would pass unnoticed.
    Spread {
        name: "at one tick and one at each power of two before it",
        deadline: |nth| LAST - LAST.checked_shr(nth as u32).unwrap_or(0),
        now: LAST,
    },
];

/// What is inserted between two advances: as many timers as the budget lets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrivals {
    None,
    /// Due already.
    Past,
    /// Not due in this run, but soon after it or later.
    Ahead,
    /// Due at one of the next advances: each is told a later `now`.
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

/// A queue that lets something due wait too long. Steps beyond `reach` are not taken.
pub(super) fn stalls<M: Make>(reach: u64) -> Option<String> {
    let spreads = SPREADS.iter().filter(|spread| spread.now <= reach);
    let runs = spreads.flat_map(|spread| Arrivals::ALL.map(|arrivals| (spread, arrivals)));
    let mut runs = runs.flat_map(|(spread, arrivals)| [1, 3, 64].map(|budget| (spread, arrivals, budget)));
    runs.find_map(|(spread, arrivals, budget)| {
        // A panic over a far deadline is for clause 7.
        let witness = quiet::catch(|| stall::<M>(spread, arrivals, budget)).ok()??;
        Some(format!("{MANY} timers {}, arrivals {arrivals:?}, budget {budget}: {witness}", spread.name))
    })
}

fn stall<M: Make>(spread: &Spread, arrivals: Arrivals, budget: u32) -> Option<String> {
    // As late as that, a granular queue lets go what is asked for until then.
    let mut now = spread.now + M::LATENESS.map_or(0, |lateness| lateness(spread.now));
    let is_due = |value: u32| (spread.deadline)(value.into()) <= spread.now;
    let mut left = (0..MANY).filter(|&value| is_due(value)).count();
    // What arrives has no share in this: it may not keep those that were there before it any
    // longer.
    let work = if M::MOVES { MANY as usize * MOST } else { left };
    let advances = work.div_ceil(budget as usize) + 1;
    let room = if arrivals == Arrivals::None { 0 } else { advances * budget as usize };
    let arena = M::arena(MANY as usize + room);
    let mut queue = M::make(&arena, MANY as usize);
    for value in 0..MANY {
        // A queue that refuses has a bound of its own, or breaks another clause.
        queue.insert((spread.deadline)(value.into()), value).ok()?;
    }
    let mut inserted = MANY;
    for _ in 0..advances {
        let _ = queue.advance(now, budget as usize, &mut |fired| {
            left = left.saturating_sub(usize::from(fired.value < MANY && is_due(fired.value)));
        });
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
