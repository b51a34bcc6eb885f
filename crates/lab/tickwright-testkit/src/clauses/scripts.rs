//! The scripts that judge clauses. The simplest scripts come first, so that the first witness is
//! the shortest.

use crate::script::{Op, SPANS, When, Whom, decode, gust, noise};

/// A script and its name, with which a witness starts.
pub(crate) type Named = (String, Vec<Op>);

const ALL: usize = usize::MAX;

/// Returns scripts with one timer each. The timer must not leave one tick before its deadline, and
/// must leave at its deadline.
pub(crate) fn singles() -> Vec<Named> {
    let mut spans: Vec<u64> = SPANS.into();
    spans.extend([100, 500, 5_000, 100_000]);
    spans.sort_unstable();
    spans.dedup();
    let script = |&span: &u64| {
        let ops = vec![
            Op::Insert(When::After(span)),
            Op::Pop(When::JustBefore(0)),
            Op::Advance(When::JustBefore(0), ALL),
            Op::Advance(When::Like(0), ALL),
        ];
        (format!("one timer, delay {span}"), ops)
    };
    spans.iter().map(script).collect()
}

/// Returns scripts in which one timer is far away and the clock advances a little, so that no timer
/// is allowed to leave.
pub(crate) fn horizons() -> Vec<Named> {
    const LITTLE: u64 = 1 << 19;
    let script = |k: u32| {
        let ops = vec![
            Op::Insert(When::At(u64::MAX >> k)),
            Op::Advance(When::After(LITTLE), ALL),
            Op::Advance(When::JustBefore(0), ALL),
            Op::Advance(When::Like(0), ALL),
        ];
        (format!("one timer at 2^{}-1", 64 - k), ops)
    };
    (0..44).rev().map(script).collect()
}

/// Returns scripts with a few timers that were written by hand: the cases that people try first.
pub(crate) fn cases() -> Vec<Named> {
    let after = |span| Op::Insert(When::After(span));
    let to = |span| Op::Advance(When::After(span), ALL);
    let live = Whom::Live;
    let dead = Whom::Any;
    let same = When::Like(0);
    [
        ("three equals", vec![after(5), after(5), after(5), to(4), to(1)]),
        (
            "three equals, popped",
            vec![after(5), after(5), after(5), Op::Pop(same), Op::Pop(same), Op::Pop(same)],
        ),
        ("descending", vec![after(9), after(6), after(3), after(1), to(10)]),
        (
            "past deadlines",
            vec![to(50), Op::Insert(When::At(10)), after(0), Op::Insert(When::At(0)), to(0), to(1)],
        ),
        ("past, then popped", vec![to(50), Op::Insert(When::At(10)), Op::Pop(When::After(0)), to(1)]),
        (
            "the clock steps back",
            vec![
                to(100),
                Op::Advance(When::At(50), ALL),
                Op::Insert(When::At(60)),
                Op::Advance(When::At(70), ALL),
                to(1),
            ],
        ),
        ("remove the head", vec![after(3), after(5), Op::Remove(live(0)), to(3), to(2)]),
        (
            "remove twice",
            vec![after(3), Op::Remove(live(0)), Op::Remove(dead(0)), after(4), Op::Remove(dead(1)), to(4)],
        ),
        (
            "remove after delivery",
            vec![after(3), to(3), Op::Remove(dead(0)), after(9), Op::Remove(dead(1)), to(9)],
        ),
        (
            "reschedule after delivery",
            vec![
                after(3),
                to(3),
                Op::Reschedule(dead(0), When::After(4)),
                after(9),
                Op::Reschedule(dead(1), When::After(1)),
                to(9),
            ],
        ),
        (
            "reschedule to the same tick",
            vec![after(5), after(5), after(5), Op::Reschedule(live(0), same), to(5)],
        ),
        (
            "reschedule later and earlier",
            vec![
                after(5),
                after(6),
                Op::Reschedule(live(0), When::After(9)),
                Op::Reschedule(live(1), When::After(2)),
                to(2),
                to(4),
                to(9),
            ],
        ),
        (
            "re-armed nearer, where a coarse bucket would do for both",
            vec![after(4100), to(4095), Op::Reschedule(live(0), When::After(2)), to(3), to(600)],
        ),
        (
            "armed after a long sleep, while a timer is due",
            vec![
                after(5),
                Op::Tell(When::After(3_600_000)),
                after(1000),
                after(0),
                Op::Reschedule(live(1), When::After(200)),
                to(0),
                to(225),
                to(1000),
            ],
        ),
        (
            "budgets",
            vec![
                after(5),
                after(5),
                after(5),
                after(6),
                Op::Advance(When::After(5), 0),
                Op::Advance(When::After(0), 1),
                Op::Advance(When::After(1), 2),
                to(0),
            ],
        ),
        (
            "rearm",
            vec![
                after(5),
                after(5),
                Op::Rearm(When::After(4), 3),
                Op::Rearm(When::After(1), 0),
                Op::Rearm(When::After(0), 3),
                to(0),
                to(9),
            ],
        ),
        (
            "rearm, then remove",
            vec![
                after(5),
                Op::Rearm(When::After(5), 5),
                Op::Reschedule(live(0), When::After(7)),
                Op::Remove(live(0)),
                to(9),
            ],
        ),
        (
            "clear",
            vec![
                after(5),
                after(0),
                after(9),
                Op::Clear,
                Op::Remove(dead(0)),
                Op::Remove(dead(1)),
                after(2),
                to(2),
                to(9),
            ],
        ),
    ]
    .into_iter()
    .map(|(name, ops)| (name.to_string(), ops))
    .collect()
}

/// Returns scripts with clocks that start near a power of two, and with deadlines around that power
/// and the next one. Each script exists with and without a timer at the end of time.
pub(crate) fn sweeps() -> Vec<Named> {
    let mut scripts = Vec::new();
    for k in 0..64 {
        for d in [0, 1, 2, 65] {
            for far in [false, true] {
                let edge = 1u64 << k;
                let start = edge.saturating_sub(d);
                let mut ops = vec![Op::Advance(When::At(start), ALL)];
                if far {
                    ops.push(Op::Insert(When::At(u64::MAX)));
                }
                let next = edge.saturating_mul(2);
                let deadlines = [edge - 1, edge, edge + 1, next - 1, next, next.saturating_add(1), edge];
                ops.extend(deadlines.map(|deadline| Op::Insert(When::At(deadline))));
                ops.extend([0, 1, 1, 63, 64, 65].map(|span| Op::Insert(When::After(span))));
                ops.extend([0, 1, 1, 1].map(|span| Op::Advance(When::After(span), ALL)));
                ops.extend(
                    [Op::Advance(When::JustBefore(0), ALL), Op::Advance(When::Like(0), ALL)].repeat(10),
                );
                scripts
                    .push((format!("clock at 2^{k}-{d}{}", if far { ", one at u64::MAX" } else { "" }), ops));
            }
        }
    }
    scripts
}

/// Returns random scripts over everyday spans only, which a queue with a short reach can run.
pub(crate) fn breezes() -> Vec<Named> {
    let near = |when| match when {
        When::After(span) => When::After(span % 3000),
        When::Before(span) => When::Before(span % 3000),
        When::At(_) => When::After(77),
        like => like,
    };
    let tame = |op| match op {
        Op::Insert(when) => Op::Insert(near(when)),
        Op::Reschedule(whom, when) => Op::Reschedule(whom, near(when)),
        Op::Pop(when) => Op::Pop(near(when)),
        Op::Advance(when, budget) => Op::Advance(near(when), budget),
        Op::Tell(when) => Op::Tell(near(when)),
        Op::Rearm(when, delay) => Op::Rearm(near(when), delay % 3000),
        same => same,
    };
    let named =
        |seed| (format!("breeze {seed}"), decode(&noise(seed, 4 * 160)).into_iter().map(tame).collect());
    (1..=16).map(named).collect()
}

/// Returns scripts with bursts of timers that leave under small budgets while other timers arrive.
pub(crate) fn gusts() -> Vec<Named> {
    (201..=212).map(|seed| (format!("gust {seed}"), gust(seed))).collect()
}

/// Returns random scripts over all of time.
pub(crate) fn storms() -> Vec<Named> {
    (101..=124).map(|seed| (format!("storm {seed}"), decode(&noise(seed, 4 * 160)))).collect()
}
