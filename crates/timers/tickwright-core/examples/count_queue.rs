//! Runs one operation of one structure in one storage many times, so that its instructions can be
//! counted:
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*measured*' count_queue wheel slab reschedule
//! ```
//!
//! `ci/instructions.py` runs all operations, and compares the counts with recorded counts. Each run
//! makes `MANY` calls on a queue that holds between `MANY` and `2 * MANY` timers with random
//! deadlines. With a fourth argument n, each deadline is the queue's `now` plus one of n delays,
//! and `now` advances by one tick for each timer that is inserted before counting begins.

use core::hint::black_box;

use tickwright_core::{Family, HookQueue, LadderQueue, SlabQueue, Timer, TimerQueue, for_each_family};

const MANY: usize = 1000;
/// The range of deadlines, which is about an hour in milliseconds.
const SPREAD: u64 = 1 << 22;

/// Xorshift, after Marsaglia 2003.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Runs `work`. Only the instructions of this function are counted.
#[inline(never)]
fn measured(work: impl FnOnce()) {
    work();
}

fn run<Q: TimerQueue>(
    mut queue: Q,
    mut values: impl Iterator<Item = Q::Value>,
    operation: &str,
    delays: Option<u64>,
) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    // The queue reserves room for all timers, so that no counted insert makes the storage grow.
    let filler: Vec<_> =
        values.by_ref().take(MANY).filter_map(|value| queue.insert_at(u64::MAX, value, 0).ok()).collect();
    for key in filler {
        queue.remove(key).ok();
    }
    let before = if operation == "insert" { MANY } else { 2 * MANY };
    let mut keys = Vec::with_capacity(2 * MANY);
    let deadline = |now: u64, random: &mut Random| match delays {
        Some(delays) => now + SPREAD + random.below(delays),
        None => random.below(SPREAD),
    };
    for value in values.by_ref().take(before) {
        if delays.is_some() {
            assert!(queue.pop_expired(queue.now() + 1).is_none(), "the delays are longer than the test");
        }
        let at = deadline(queue.now(), &mut random);
        keys.extend(queue.insert_at(at, value, 0).ok());
    }
    for at in 0..keys.len() {
        let other = random.below(keys.len() as u64) as usize;
        keys.swap(at, other);
    }
    let deadlines: Vec<u64> = (0..MANY).map(|_| deadline(queue.now(), &mut random)).collect();
    let new: Vec<_> = values.take(MANY).collect();
    match operation {
        "insert" => measured(|| {
            for (value, &deadline) in new.into_iter().zip(&deadlines) {
                black_box(queue.insert_at(deadline, value, 0)).ok();
            }
        }),
        "remove" => measured(|| {
            for &key in &keys[..MANY] {
                black_box(queue.remove(key)).ok();
            }
        }),
        "reschedule" => measured(|| {
            for (&key, &deadline) in keys.iter().zip(&deadlines) {
                black_box(queue.reschedule_at(key, deadline, 0)).ok();
            }
        }),
        "pop" => measured(|| {
            for _ in 0..MANY {
                let now = queue.next_expiry().unwrap_or(0);
                black_box(queue.pop_expired(now));
            }
        }),
        other => panic!("no such operation: {other}: insert, remove, reschedule, pop"),
    }
    queue.check().expect("the queue is whole");
}

fn slab<F: Family>(operation: &str, delays: Option<u64>) {
    let queue = SlabQueue::<F, u32>::with_capacity(3 * MANY).expect("room");
    run(queue, 0..5 * MANY as u32, operation, delays);
}

fn hook<F: Family>(operation: &str, delays: Option<u64>) {
    let timers: Vec<Timer<F, u32>> = (0..5 * MANY as u32).map(Timer::new).collect();
    let mut queue = HookQueue::<F, u32>::new();
    queue.reserve(3 * MANY).expect("room");
    run(queue, timers.iter(), operation, delays);
}

macro_rules! run_one {
    ([$family:expr, $storage:expr, $operation:expr, $delays:expr] $($id:literal => $of:ty;)+) => {
        match ($family, $storage) {
            $(($id, "slab") => slab::<$of>($operation, $delays), ($id, "hook") => hook::<$of>($operation, $delays),)+
            other => panic!("no such queue: {other:?}"),
        }
    };
}

macro_rules! names {
    ([] $($id:literal => $of:ty;)+) => { [$($id),+] };
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => println!("{}", for_each_family!(names []).join("\n")),
        ["ladder", "slab", operation] => slab::<LadderQueue>(operation, None),
        [family, storage, operation] => for_each_family!(run_one [family, storage, operation, None]),
        [family, storage, operation, delays] => {
            let delays = Some(delays.parse().expect("a number of delays"));
            for_each_family!(run_one [family, storage, operation, delays]);
        }
        _ => panic!("FAMILY STORAGE OPERATION [DELAYS], or list"),
    }
}
