//! Op scripts: the operations of one run, and the decoder that turns any bytes into a script.
//!
//! The property tests, the exhaustive enumeration, the corpus and the fuzz target share the
//! decoder. The decoder is total: any four bytes are an op, so every input of a generator or a
//! fuzzer is a run.

/// A point in time, relative to the state of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// `now` plus n ticks, saturating.
    After(u64),
    /// `now` minus n ticks, saturating: a past deadline, or a clock that steps back.
    Before(u64),
    /// Exactly this tick.
    At(u64),
    /// The expiry of a pending timer, counted from the head; `now` if no timer is pending.
    Like(u8),
    /// One tick before the expiry of such a timer.
    JustBefore(u8),
}

/// A timer of this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// A pending timer, counted in delivery order.
    Live(u8),
    /// Any timer ever inserted, counted from the latest, including timers whose key is dead.
    Any(u8),
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `insert` a new timer.
    Insert(When),
    /// `remove`.
    Remove(Whom),
    /// `reschedule`.
    Reschedule(Whom, When),
    /// `pop_expired` with this `now`.
    Pop(When),
    /// `advance` to this `now` with this budget.
    Advance(When, usize),
    /// `update_now` to this `now`.
    Tell(When),
    /// `pop_and_reinsert` with this `now`, at the expiry plus n ticks.
    Rearm(When, u64),
    /// `clear`.
    Clear,
}

/// Bytes per op.
pub const WIDTH: usize = 4;

/// Ops beyond this number are ignored, so that even a fuzzer's longest input runs quickly.
pub const MOST_OPS: usize = 1024;

/// Budgets for the advances of a script.
pub const BUDGETS: [usize; 4] = [usize::MAX, 0, 1, 2];

/// Spans in ticks: everyday spans first, then every power of two and its neighbors.
pub const SPANS: [u64; 256] = spans();

const fn spans() -> [u64; 256] {
    const EVERYDAY: [u64; 32] = [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        10,
        10,
        10,
        12,
        16,
        20,
        31,
        40,
        50,
        63,
        64,
        65,
        100,
        127,
        128,
        1000,
        u64::MAX - 1,
        u64::MAX,
    ];
    let mut spans = [0; 256];
    let mut at = 0;
    while at < 64 {
        spans[at] = EVERYDAY[at % 32];
        spans[64 + at * 3] = (1 << at) - 1;
        spans[65 + at * 3] = 1 << at;
        spans[66 + at * 3] = (1 << at) + 1;
        at += 1;
    }
    spans
}

/// Returns how far the clock advances. Long steps are rare, because the clock never goes back
/// during a run.
fn stride(byte: u8) -> u64 {
    match byte {
        0..240 => SPANS[usize::from(byte % 30)],
        255 => u64::MAX,
        // 2^0, 2^4, .. 2^56: index 65 + 3k holds 2^k.
        _ => SPANS[65 + 12 * usize::from(byte - 240)],
    }
}

fn when(mode: u8, index: u8, span: impl Fn(u8) -> u64) -> When {
    match mode % 16 {
        0..=7 => When::After(span(index)),
        8 | 9 => When::Before(span(index)),
        10 => When::At(span(index)),
        11..=13 => When::Like(index % 8),
        _ => When::JustBefore(index % 8),
    }
}

fn whom(byte: u8) -> Whom {
    if byte.is_multiple_of(4) { Whom::Any(byte / 4) } else { Whom::Live(byte / 4) }
}

fn decode_one([kind, mode, index, extra]: [u8; WIDTH]) -> Op {
    let span = |index| SPANS[usize::from(index)];
    match kind % 16 {
        0..=4 => Op::Insert(when(mode, index, span)),
        5 | 6 => Op::Remove(whom(extra)),
        7 | 8 => Op::Reschedule(whom(extra), when(mode, index, span)),
        9 | 10 => Op::Pop(when(mode, index, stride)),
        // Both ops have the same effect, so a queue can offer either of them.
        11 | 12 if extra >= 128 && BUDGETS[usize::from(extra % 4)] == 0 => {
            Op::Tell(when(mode, index, stride))
        }
        11 | 12 => Op::Advance(when(mode, index, stride), BUDGETS[usize::from(extra % 4)]),
        // A clear removes all timers, so one such op in 256 is enough.
        13 if mode.is_multiple_of(16) => Op::Clear,
        _ => Op::Rearm(when(mode, index, stride), span(extra)),
    }
}

/// Decodes a script; an incomplete op at the end is ignored.
#[must_use]
pub fn decode(bytes: &[u8]) -> Vec<Op> {
    bytes.as_chunks().0.iter().take(MOST_OPS).map(|&word| decode_one(word)).collect()
}

/// Returns bytes that [`decode`] turns into `op`, if there are any. This is a search, for the
/// corpus and for alphabets.
#[must_use]
pub fn encode(op: Op) -> Option<[u8; WIDTH]> {
    let bytes = || 0..=u8::MAX;
    let kind = match op {
        Op::Insert(_) => 0,
        Op::Remove(_) => 5,
        Op::Reschedule(..) => 7,
        Op::Pop(_) => 9,
        Op::Advance(..) | Op::Tell(_) => 11,
        Op::Rearm(..) => 14,
        Op::Clear => 13,
    };
    let found = |word: &[u8; WIDTH]| decode_one(*word) == op;
    match op {
        Op::Clear | Op::Remove(_) => bytes().map(|extra| [kind, 0, 0, extra]).find(found),
        Op::Insert(_) | Op::Pop(_) => {
            bytes().flat_map(|mode| bytes().map(move |index| [kind, mode, index, 0])).find(found)
        }
        Op::Tell(_) => {
            bytes().flat_map(|mode| bytes().map(move |index| [kind, mode, index, 129])).find(found)
        }
        Op::Reschedule(who, _) => {
            let extra = bytes().find(|&extra| whom(extra) == who)?;
            bytes().flat_map(|mode| bytes().map(move |index| [kind, mode, index, extra])).find(found)
        }
        Op::Advance(_, budget) => {
            let extra = (0..4).find(|&at| BUDGETS[usize::from(at)] == budget)?;
            bytes().flat_map(|mode| bytes().map(move |index| [kind, mode, index, extra])).find(found)
        }
        Op::Rearm(_, delay) => {
            let extra = bytes().find(|&at| SPANS[usize::from(at)] == delay)?;
            bytes().flat_map(|mode| bytes().map(move |index| [kind, mode, index, extra])).find(found)
        }
    }
}

/// Creates a script of bursts of timers. Many advances with small budgets deliver each burst.
/// Between these advances other timers arrive, are moved and leave, so that every operation meets a
/// structure that has moved only a part of a burst. Equal seeds give equal scripts.
#[must_use]
pub fn gust(seed: u64) -> Vec<Op> {
    const BURSTS: usize = 5;
    const BURST: usize = 20;
    let mut bytes = noise(seed, 4096).into_iter();
    let mut byte = || bytes.next().unwrap_or(0);
    let mut ops = Vec::new();
    for _ in 0..BURSTS {
        // The burst falls into one bucket or into many, and is near or far.
        let (far, apart) = (1 << (byte() % 30), 1 << (byte() % 16));
        let within = |byte: u8| u64::from(byte % 64) * apart;
        ops.extend((0..BURST).map(|_| Op::Insert(When::After(far + within(byte())))));
        // After these removals, a structure could still remember an earliest timer that was
        // removed.
        ops.extend((0..byte() % 3).map(|_| Op::Remove(Whom::Live(0))));
        let mut when = When::After(far + within(byte()));
        for _ in 0..BURST {
            ops.push(Op::Advance(when, [1, 1, 2, 5][usize::from(byte() % 4)]));
            for _ in 0..byte() % 3 {
                let whom = Whom::Live(byte());
                ops.push(match byte() % 12 {
                    0..3 => Op::Insert(When::After(0)),
                    3 => Op::Insert(When::Before(byte().into())),
                    4 => Op::Insert(When::After(1)),
                    5 | 6 => Op::Insert(When::After(within(byte()))),
                    7 => Op::Insert(When::Like(byte() % 16)),
                    8 => Op::Reschedule(whom, When::After(within(byte() / 2))),
                    9 => Op::Remove(whom),
                    10 => Op::Pop(When::After(0)),
                    _ => Op::Rearm(When::After(0), within(byte())),
                });
            }
            // `now` mostly stays the same, while timers that are due at this `now` are still
            // pending.
            when = When::After(if byte().is_multiple_of(8) { within(byte()) } else { 0 });
        }
    }
    ops
}

/// Returns n bytes that look random and depend only on the seed (Steele, Lea and Flood's
/// SplitMix64, OOPSLA 2014).
#[must_use]
pub fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    };
    core::iter::repeat_with(word).flatten().take(bytes).collect()
}
