//! Runs operations of a shard, so that another program can count their instructions:
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*measured*' count_shard rearm-unlocked
//! ```
//!
//! `ci/instructions.py` runs all operations and compares the counts with recorded counts.

use std::sync::Arc;

use tickwright::shard::{Shards, SharedTimer};
use tickwright::time::{SystemClock, Ticks};

const CALLS: u64 = 1000;

/// The counted code runs in this function.
#[inline(never)]
fn measured(work: impl FnOnce()) {
    work();
}

fn main() {
    let operation = std::env::args().nth(1).unwrap_or_default();
    let shards = Shards::new(1);
    let timers: Vec<SharedTimer> =
        (0..CALLS).map(|_| shards.shard(0).expect("the first").timer(|_| {})).collect();
    let add = || {
        for (at, timer) in (1..).zip(&timers) {
            let _ = timer.add(at % 4000);
        }
    };
    match &*operation {
        "add" => measured(add),
        // The timer stays in its bucket, so the re-arm takes no lock.
        "rearm-unlocked" => {
            let _ = timers[0].modify(1030);
            measured(|| {
                for call in 0..CALLS {
                    let _ = timers[0].modify(1024 + call % 64);
                }
            });
        }
        // The same re-arm on a shard with a clock of the machine. `rearm-clock` reads the clock at
        // each call, and `rearm-at` gets the time as an argument. Valgrind does not count the
        // kernel's instructions.
        "rearm-clock" | "rearm-at" => {
            let shard = shards.shard(0).expect("the first");
            shard.set_clock(Arc::new(SystemClock::Monotonic), Ticks::MILLISECOND);
            let _ = timers[0].modify(shard.now() + 3_600_000);
            let last = shard.next_expiry().unwrap_or_default() - 1;
            let now = shard.now();
            if operation == "rearm-clock" {
                measured(|| {
                    for call in 0..CALLS {
                        let _ = timers[0].modify(last - call % 64);
                    }
                });
            } else {
                measured(|| {
                    for call in 0..CALLS {
                        let _ = timers[0].modify_at(last - call % 64, now);
                    }
                });
            }
        }
        // The timer moves to another bucket, which needs the lock.
        "rearm-locked" => measured(|| {
            for call in 0..CALLS {
                let _ = timers[0].modify(1024 + 64 * (call % 16));
            }
        }),
        "cancel" => {
            add();
            measured(|| {
                for timer in &timers {
                    let _ = timer.cancel();
                }
            });
        }
        "pass" => {
            add();
            measured(|| {
                let _ = shards.shard(0).expect("the first").advance_within(100_000, usize::MAX);
            });
        }
        other => panic!(
            "no such operation: {other}: add, rearm-unlocked, rearm-clock, rearm-at, rearm-locked, \
             cancel, pass"
        ),
    }
}
