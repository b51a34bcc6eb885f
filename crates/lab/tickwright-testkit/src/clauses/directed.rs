//! The clauses that need more than an op script: an allocator, a bound, a panic, or a cost.

use core::time::Duration;
use std::time::Instant;

use crate::clauses::quiet;
use crate::clauses::verdict::{Tools, Verdict};
use crate::subject::{Advanced, Full, Make, Subject};

const ALL: usize = usize::MAX;

/// If a queue pays for elapsed time, the suite limits the length of its steps, but not below this
/// number of ticks, so that the other clauses can still be judged.
const LEAST_REACH: u64 = 1 << 20;

/// An advance over idle time counts as paying for elapsed time if it exceeds two limits: it takes
/// longer than `LONG`, *and* longer than `MANY_TIMES` advances over a single tick. Because the
/// least of nine tries counts, a disturbance of the host does not make a queue that jumps over idle
/// time exceed both limits.
const LONG: Duration = Duration::from_micros(200);
const MANY_TIMES: u32 = 50;
const TRIES: usize = 9;

/// Returns the least time that an advance over `gap` ticks takes. Only two timers are pending: one
/// at the start of the gap and one at its end. Returns `None` if the queue refuses the operations,
/// because another clause judges that.
fn cost_of_idle<M: Make>(gap: u64) -> Option<Duration> {
    let arena = M::arena(2);
    let once = || {
        quiet::catch(|| {
            let mut queue = M::make(&arena, 2);
            queue.insert(1, 0).ok()?;
            queue.insert(gap, 1).ok()?;
            let start = Instant::now();
            let _ = queue.advance(gap, ALL, &mut |_| ());
            Some(start.elapsed())
        })
        .ok()
        .flatten()
    };
    (0..TRIES).map(|_| once()).min().flatten()
}

/// Finds the first gap over which an advance pays for elapsed time. Returns the gap, the cost over
/// a single tick, and the cost over the gap.
fn expensive_gap<M: Make>() -> Option<(u64, Duration, Duration)> {
    let unit = cost_of_idle::<M>(2)?.max(Duration::from_nanos(20));
    (4..64).step_by(2).find_map(|k| {
        let gap = 1 << k;
        let cost = cost_of_idle::<M>(gap)?;
        (cost > LONG && cost > unit * MANY_TIMES).then_some((gap, unit, cost))
    })
}

/// Returns the longest step that a run is allowed to take while timers are pending.
pub(super) fn reach<M: Make>() -> u64 {
    expensive_gap::<M>().map_or(u64::MAX, |(gap, ..)| gap.max(LEAST_REACH))
}

/// An advance does not pay for elapsed ticks in which no timer was pending.
#[must_use]
pub fn idle_time_is_free<M: Make>(_: &Tools) -> Verdict {
    if let Some((gap, unit, cost)) = expensive_gap::<M>() {
        return Verdict::Broken(format!(
            "an advance over 2^{} idle ticks takes {} times as long as one over 2",
            gap.ilog2(),
            cost.as_nanos() / unit.as_nanos().max(1)
        ));
    }
    // Steps of this many ticks lead to the end of time. A queue that walks through every tick would
    // not finish them in a lifetime.
    const STEP: u64 = 1 << 47;
    let arena = M::arena(1);
    let walk = || {
        let mut queue = M::make(&arena, 1);
        let _ = queue.insert(u64::MAX, 0);
        for step in 1..1 << 15 {
            let _ = queue.advance(step * STEP, ALL, &mut |_| ());
        }
    };
    // A panic over far deadlines is judged by clause 7.
    let _ = quiet::catch(walk);
    Verdict::Kept
}

/// After a `reserve`, inserts and removals within the reserved room allocate nothing.
#[must_use]
pub fn no_allocation_after_reserve<M: Make>(tools: &Tools) -> Verdict {
    const ROOM: u32 = 48;
    const ROUNDS: u32 = 40;
    if !M::OFFERS.reserve {
        return Verdict::NotOffered;
    }
    let Some(count) = tools.allocations else { return Verdict::NotRun("needs an allocator that counts") };
    let arena = M::arena((ROOM * (ROUNDS + 1)) as usize);
    let mut queue = M::make(&arena, ROOM as usize);
    let mut keys = Vec::with_capacity(ROOM as usize);
    let before = count();
    for round in 0..ROUNDS {
        let now = queue.now();
        // Descending, ascending and equal deadlines alternate.
        for value in 0..ROOM {
            let delay = match round % 3 {
                0 => u64::from(ROOM - value),
                1 => u64::from(value * value),
                _ => 7,
            };
            match queue.insert(now + delay, value) {
                Ok((key, _)) => keys.push(key),
                Err(Full(_)) => return Verdict::Broken(format!("{value} of {ROOM} timers fit")),
            }
        }
        for (nth, key) in keys.drain(..).enumerate() {
            match nth % 3 {
                0 => drop(queue.remove(key)),
                1 if M::OFFERS.reschedule => drop(queue.reschedule(key, now + 9)),
                _ => {}
            }
        }
        if M::OFFERS.rearm {
            for _ in 0..4 {
                let _ = queue.rearm_expired(now + 5, &mut |expiry| expiry + 3);
            }
        }
        if round % 5 == 4 && M::OFFERS.clear {
            queue.clear();
        } else {
            let _ = queue.advance(now + 10_000, ALL, &mut |_| ());
        }
    }
    match count() - before {
        0 => Verdict::Kept,
        some => {
            Verdict::Broken(format!("{some} allocations in {ROUNDS} rounds of {ROOM} timers, all reserved"))
        }
    }
}

/// A full queue refuses an insert, gives the value back, and is otherwise unchanged.
#[must_use]
pub fn full_hands_the_value_back<M: Make>(_: &Tools) -> Verdict {
    if !M::OFFERS.bound {
        return Verdict::NotOffered;
    }
    let witness = [1, 2, 5, 16].into_iter().find_map(|most| {
        let judged = quiet::catch(|| full::<M>(most));
        judged.unwrap_or_else(|panic| Some(format!("panics: {panic}"))).map(|w| format!("bound {most}: {w}"))
    });
    Verdict::from_witness(witness)
}

fn full<M: Make>(most: usize) -> Option<String> {
    let arena = M::arena(4 * most + 8);
    let mut queue = M::make_bounded(&arena, most);
    let mut keys = Vec::new();
    for value in 0..u32::try_from(most).ok()? {
        match queue.insert(10 + u64::from(value % 2), value) {
            Ok((key, _)) => keys.push(key),
            Err(_) => return Some(format!("refuses timer {value}")),
        }
    }
    for deadline in [0, 10, u64::MAX] {
        match queue.insert(deadline, 777) {
            Err(Full(777)) => {}
            Err(Full(other)) => return Some(format!("hands {other} back instead of the value")),
            Ok(_) => return Some("takes one timer too many".into()),
        }
        if queue.len() != most {
            return Some(format!("len() is {} after a refusal", queue.len()));
        }
    }
    if M::OFFERS.check
        && let Err(violation) = queue.check()
    {
        return Some(format!("check() after a refusal says: {violation}"));
    }
    // A full queue can still reschedule, remove and re-arm its timers, and its bound can be raised.
    if M::OFFERS.reschedule && queue.reschedule(keys[0], 11).is_err() {
        return Some("a full queue does not reschedule".into());
    }
    if queue.remove(keys[0]).is_err() {
        return Some("a full queue does not remove".into());
    }
    if queue.insert(10, 0).is_err() {
        return Some("there is room again, but an insert is refused".into());
    }
    let mut left = Vec::new();
    let _ = queue.advance(20, ALL, &mut |fired| left.push(fired.value));
    left.sort_unstable();
    (!left.iter().copied().eq(0..u32::try_from(most).ok()?))
        .then(|| format!("{left:?} were inside after refusals"))
}

/// After a panic in a sink or in a re-arm closure, the queue is intact and usable.
#[must_use]
pub fn user_code_runs_on_a_whole_queue<M: Make>(_: &Tools) -> Verdict {
    if !M::OFFERS.sink {
        return Verdict::NotOffered;
    }
    let sinks = (0..12).find_map(|nth| {
        after_a_panic::<M>(Some(nth)).map(|w| format!("the sink panics at timer {nth}: {w}"))
    });
    let rearm = || {
        let witness = M::OFFERS.rearm.then(|| after_a_panic::<M>(None)).flatten();
        witness.map(|w| format!("the re-arm closure panics: {w}"))
    };
    Verdict::from_witness(sinks.or_else(rearm))
}

/// Runs twelve timers. If `nth` is present, the sink panics at the `nth` timer that it receives;
/// otherwise the re-arm closure panics. Returns what is wrong with the queue afterwards.
fn after_a_panic<M: Make>(nth: Option<usize>) -> Option<String> {
    const MANY: u32 = 12;
    let arena = M::arena(MANY as usize);
    let mut queue = M::make(&arena, MANY as usize);
    for value in 0..MANY {
        queue.insert(u64::from(10 + value / 3), value).ok()?;
    }
    let mut seen = Vec::new();
    let panicked = quiet::catch(|| match nth {
        Some(nth) => {
            queue.advance(20, ALL, &mut |fired| {
                seen.push(fired.value);
                assert!(seen.len() <= nth, "as planned");
            });
        }
        None => drop(queue.rearm_expired(20, &mut |_| panic!("as planned"))),
    });
    if panicked.is_ok() {
        return Some("the panic was swallowed".into());
    }
    if M::OFFERS.check
        && let Err(violation) = queue.check()
    {
        return Some(format!("check() says: {violation}"));
    }
    let left = MANY as usize - seen.len();
    if queue.len() != left {
        return Some(format!("len() is {}, {left} are pending", queue.len()));
    }
    let Advanced { .. } = queue.advance(20, ALL, &mut |fired| seen.push(fired.value));
    seen.sort_unstable();
    (!seen.iter().copied().eq(0..MANY)).then(|| format!("all in all {seen:?} left"))
}

/// Removes the head repeatedly. Before each removal, `second` must return the timer that becomes
/// the next head.
pub(super) fn second_becomes_head<M: Make>() -> Option<String> {
    const MANY: u32 = 40;
    let arena = M::arena(MANY as usize);
    let mut queue = M::make(&arena, MANY as usize);
    let mut keys = Vec::new();
    for value in 0..MANY {
        // This stride visits every residue, with two or three timers per tick.
        keys.push(queue.insert(u64::from(value * 23 % 16), value).ok()?.0);
    }
    let mut second = queue.second();
    while let Some(head) = queue.peek() {
        queue.remove(*keys.get(head.value as usize)?).ok()?;
        let next = queue.peek();
        if next != second {
            return Some(format!(
                "second was {second:?}, but once timer {} was removed the head is {next:?}",
                head.value
            ));
        }
        second = queue.second();
    }
    second.map(|second| format!("an empty queue has a second: {second:?}"))
}
