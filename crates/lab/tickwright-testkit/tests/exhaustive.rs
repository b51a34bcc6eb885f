//! Every script over a small alphabet, up to a length. Together these short scripts reach every
//! case that random scripts are unlikely to reach.

use tickwright_testkit::registry::ours;
use tickwright_testkit::script::{Op, When, Whom, decode, encode};

const ALL: usize = usize::MAX;

/// Returns the ops with which a run starts: up to four inserts with distant, equal, ascending or
/// descending deadlines.
fn beginnings() -> Vec<Vec<Op>> {
    let inserts = |spans: &[u64]| spans.iter().map(|&span| Op::Insert(When::After(span))).collect();
    [&[][..], &[2, 2, 2], &[1, 2, 3, 4], &[4, 3, 2, 1], &[2, 1, 2, 1]].map(inserts).into()
}

/// Returns the ops that can follow, while at most four timers are pending.
fn alphabet() -> Vec<Op> {
    vec![
        Op::Insert(When::After(1)),
        Op::Insert(When::Like(0)),
        Op::Remove(Whom::Live(0)),
        Op::Remove(Whom::Live(1)),
        Op::Remove(Whom::Live(2)),
        Op::Remove(Whom::Any(0)),
        Op::Reschedule(Whom::Live(0), When::After(1)),
        Op::Reschedule(Whom::Live(1), When::Like(0)),
        Op::Reschedule(Whom::Live(2), When::JustBefore(0)),
        Op::Pop(When::Like(0)),
        Op::Advance(When::After(1), 1),
        Op::Advance(When::After(1), ALL),
        Op::Rearm(When::Like(0), 1),
    ]
}

/// Returns all words of `length` letters over the alphabet `letters`.
fn words(letters: &[Op], length: u32) -> impl Iterator<Item = Vec<Op>> + '_ {
    (0..letters.len().pow(length)).map(move |number| {
        let mut rest = number;
        (0..length)
            .map(|_| {
                let letter = letters[rest % letters.len()];
                rest /= letters.len();
                letter
            })
            .collect()
    })
}

/// Encodes and decodes an op, because scripts of every other source pass through the decoder too.
fn decoded(op: Op) -> Op {
    let word = encode(op).unwrap_or_else(|| panic!("{op:?} has no encoding"));
    decode(&word)[0]
}

fn pending_at_most_four(script: &[Op]) -> bool {
    // This is an upper bound, because removals and pops are subtracted, but timers that an advance
    // delivers are not.
    let inserted = script.iter().filter(|op| matches!(op, Op::Insert(_))).count();
    let removed = script.iter().filter(|op| matches!(op, Op::Remove(Whom::Live(_)) | Op::Pop(_))).count();
    inserted <= 4 + removed
}

#[test]
fn all_short_scripts() {
    const DEPTH: u32 = 4;
    let letters: Vec<Op> = alphabet().into_iter().map(decoded).collect();
    let beginnings = beginnings();
    let mut counts = Vec::new();
    for kind in ours() {
        let mut scripts = beginnings.iter().flat_map(|beginning| {
            (0..=DEPTH)
                .flat_map(|length| words(&letters, length))
                .map(|word| [beginning.as_slice(), &word].concat())
                .filter(|script| pending_at_most_four(script))
        });
        match (kind.run_all)(&mut scripts) {
            Ok(count) => counts.push(count),
            Err(failure) => panic!("{}: {failure}", kind.name),
        }
    }
    assert!(counts.iter().all(|&count| count == counts[0] && count > 100_000), "{counts:?}");
}
