//! Runs each hot path of a shard many times in a function of its own, for an instruction counter:
//!
//! ```text
//! cargo build --release -p tickwright --example count_shard
//! valgrind --tool=callgrind --callgrind-out-file=out target/release/examples/count_shard
//! callgrind_annotate --inclusive=yes out | grep count_shard::
//! ```

use tickwright::shard::{Shards, SharedTimer};

/// Calls of each path.
const CALLS: u64 = 10_000;

/// Re-arms that stay in the bucket: no lock.
#[inline(never)]
fn rearm_unlocked(timer: &SharedTimer) {
    for call in 0..CALLS {
        let _ = timer.modify(1024 + call % 64);
    }
}

/// Re-arms into another bucket: under the lock.
#[inline(never)]
fn rearm_locked(timer: &SharedTimer) {
    for call in 0..CALLS {
        let _ = timer.modify(1024 + 64 * (call % 16));
    }
}

#[inline(never)]
fn add(timers: &[SharedTimer]) {
    for (at, timer) in (1..).zip(timers) {
        let _ = timer.add(at % 4000);
    }
}

#[inline(never)]
fn cancel(timers: &[SharedTimer]) {
    for timer in timers {
        let _ = timer.cancel();
    }
}

/// One pass that fires every timer.
#[inline(never)]
fn pass(shards: &Shards) {
    let _ = shards.shard(0).unwrap().advance_within(100_000, usize::MAX);
}

fn main() {
    let shards = Shards::new(1);
    let timer = || shards.shard(0).unwrap().timer(|_| {});
    let one = timer();
    let _ = one.modify(1030);
    rearm_unlocked(&one);
    rearm_locked(&one);
    let many: Vec<_> = (0..CALLS).map(|_| timer()).collect();
    add(&many);
    cancel(&many);
    add(&many);
    pass(&shards);
    println!("{:?}", shards.statistics());
}
