//! Runs operations on a counting queue, or on the same queue without counts, so that another
//! program can count the instructions:
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*measured*' count_counted counted reschedule
//! ```
//!
//! With `alone` in place of `counted`, the queue does not count. Each run makes `MANY` calls on a
//! wheel that holds between `MANY` and `2 * MANY` timers with random delays.

use core::hint::black_box;

use tickwright::metrics::Counted;
use tickwright::time::Ticks;
use tickwright::{SlabQueue, Tick, TimerQueue, Wheel};

const MANY: usize = 1000;
const LONGEST: Tick = 60_000;

/// Xorshift, after Marsaglia 2003.
struct Random(u64);

impl Random {
    fn delay(&mut self) -> Tick {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        1 + (self.0 >> 11) % LONGEST
    }
}

/// The counted code runs in this function.
#[inline(never)]
fn measured(work: impl FnOnce()) {
    work();
}

fn run(mut queue: impl TimerQueue<Value = u64>, operation: &str) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let before = if operation == "insert" { MANY } else { 2 * MANY };
    let keys: Vec<_> = (0..before).filter_map(|_| queue.insert_at(random.delay(), 0, 0).ok()).collect();
    let delays: Vec<Tick> = (0..MANY).map(|_| random.delay()).collect();
    match operation {
        "insert" => measured(|| {
            for &delay in &delays {
                black_box(queue.insert_at(delay, 0, 0)).ok();
            }
        }),
        "reschedule" => measured(|| {
            for (&key, &delay) in keys.iter().zip(&delays) {
                black_box(queue.reschedule_at(key, delay, 0)).ok();
            }
        }),
        "remove" => measured(|| {
            for &key in &keys[..MANY] {
                black_box(queue.remove(key)).ok();
            }
        }),
        // Half of the delays are shorter than this time.
        "pop" => measured(|| {
            for _ in 0..MANY {
                black_box(queue.pop_expired(LONGEST / 2));
            }
        }),
        other => panic!("no such operation: {other}: insert, reschedule, remove, pop"),
    }
    queue.check().expect("the queue is whole");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [queue, operation] = &arguments[..] else { panic!("alone|counted OPERATION") };
    let wheel = SlabQueue::<Wheel, u64>::with_capacity(3 * MANY).expect("memory");
    match queue.as_str() {
        "alone" => run(wheel, operation),
        _ => run(Counted::new(wheel, Ticks::MILLISECOND), operation),
    }
}
