//! Tests other crates' queues against the contract: the same functions that our queues pass find
//! the clauses that these queues break.

use tickwright_testkit::clauses::{NAMES, Verdict};
use tickwright_testkit::table::{render, table};

#[test]
fn the_suite_finds_what_foreign_queues_break() {
    let rows = table();
    let text = render(&rows);
    println!("{text}");
    let verdict = |queue: &str, clause: &str| -> &Verdict {
        let row =
            rows.iter().find(|row| row.queue.contains(queue)).unwrap_or_else(|| panic!("{queue} is missing"));
        &row.verdicts
            [NAMES.iter().position(|name| *name == clause).unwrap_or_else(|| panic!("{clause} is missing"))]
    };
    let broken = |queue, clause| match verdict(queue, clause) {
        Verdict::Broken(witness) => witness.as_str(),
        other => panic!("{queue}, {clause}: {other}\n{text}"),
    };
    // Timers of higher gears leave at the start of their slot.
    assert!(broken("bitwheel", "never_early").contains("left at"));
    // The queue accepts delays up to 2^36 ms, and panics beyond that.
    assert!(broken("DelayQueue", "every_deadline_is_ordinary").contains("panics"));
    // The queue's keys are indices, which the queue uses again.
    broken("DelayQueue", "stale_keys_stay_stale");
    // A queue that is built from std's containers with a sequence number can be right.
    for queue in ["BinaryHeap", "BTreeMap"] {
        let row =
            rows.iter().find(|row| row.queue.contains(queue)).unwrap_or_else(|| panic!("{queue} is missing"));
        assert!(row.verdicts.iter().all(|verdict| !verdict.is_broken()), "{text}");
    }
}
