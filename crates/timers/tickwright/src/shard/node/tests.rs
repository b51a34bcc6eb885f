use tickwright_core::Violation;

use super::super::Shards;
use super::super::word::{DEADLINES, Word};
use crate::sync::{Ordering, lock};

/// The level of a timer with a delay of 100 ticks. Its bucket ends at tick 104.
const LEVEL: u8 = 1;

#[test]
fn each_lie_of_a_word_is_a_violation() {
    let shards = Shards::new(2);
    let timer = shards.shard(0).unwrap().timer(|_| {});
    timer.modify(100).unwrap();
    let honest = timer.word();
    assert_eq!(honest, Word::pending(100, LEVEL));

    let says = |word: Word| {
        timer.node.word.store(word.0, Ordering::Relaxed);
        let result = shards.check();
        timer.node.word.store(honest.0, Ordering::Relaxed);
        result
    };
    assert_eq!(says(honest), Ok(()));
    assert_eq!(says(Word::pending(103, LEVEL)), Ok(()), "the last deadline of its bucket");
    assert_eq!(says(Word::pending(104, LEVEL)), Err(Violation::Bucket), "the next bucket");
    assert_eq!(says(Word::pending(DEADLINES - 1, LEVEL)), Err(Violation::Bucket), "the last deadline");
    assert_eq!(says(Word::pending(100, 0)), Err(Violation::Bucket), "a finer level");
    assert_eq!(says(Word::pending(100, LEVEL + 1)), Err(Violation::Bucket), "a coarser level");
    for word in [Word::IDLE, Word::FIRING, Word::DEAD] {
        assert_eq!(says(word), Err(Violation::Position), "{word:?}");
    }

    timer.node.shard.store(1, Ordering::Relaxed);
    assert_eq!(shards.check(), Err(Violation::Owner));
    timer.node.shard.store(0, Ordering::Relaxed);

    for (which, more) in [(0, 1), (1, 1)] {
        lock(&shards.set.bases[0].state).len[which] += more;
        assert_eq!(shards.check(), Err(Violation::Count), "wheel {which}");
        lock(&shards.set.bases[0].state).len[which] -= more;
    }
    assert_eq!(shards.check(), Ok(()));
}
