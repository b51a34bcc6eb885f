//! Counts the instructions of each operation of each structure. The sequence is the same as in
//! Zephyr's benchmark: insert n timers, move each of them, cancel half of them, and fire the
//! remaining timers. A look is a call that finds no due timer. Prints a line for each structure, n
//! and operation, which `ci/mcu.py` reads.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

use core::hint::black_box;

use tickwright_core::{Family, HookQueue, Timer, TimerRef};
use tickwright_firmware::board::{Counter, entry, exit, println};
use tickwright_firmware::random::Random;

const MOST: usize = 64;
/// The number of rounds for each n. Each round has other deadlines.
const ROUNDS: u32 = 24;
/// Deadlines are random below this many ticks.
const SPAN: u32 = 10_000;

type Queue<F> = HookQueue<'static, F, u8>;
type Timers<F> = [Timer<F, u8>; MOST];

/// The cost of the calls of one operation, in steps of the board's counter.
#[derive(Clone, Copy, Default)]
struct Cost {
    calls: u32,
    sum: u64,
    worst: u32,
}

impl Cost {
    fn add(&mut self, steps: u32) {
        self.calls += 1;
        self.sum += u64::from(steps);
        self.worst = self.worst.max(steps);
    }

    fn print(&self, counter: &Counter, name: &str, n: usize, operation: &str) {
        if let Some(mean) = self.sum.checked_div(self.calls.into()) {
            let (mean, worst) = (counter.instructions(mean), counter.instructions(self.worst.into()));
            println!("cost,{name},{n},{operation},{mean},{worst}");
        }
    }
}

#[inline(never)]
fn insert<F: Family>(queue: &mut Queue<F>, deadline: u64, timer: &'static Timer<F, u8>) -> bool {
    queue.insert_at(deadline, timer, 0).is_ok()
}

#[inline(never)]
fn abort<F: Family>(queue: &mut Queue<F>, timer: &'static Timer<F, u8>) -> bool {
    queue.remove(TimerRef::from(timer)).is_ok()
}

#[inline(never)]
fn move_to<F: Family>(queue: &mut Queue<F>, deadline: u64, timer: &'static Timer<F, u8>) -> bool {
    queue.reschedule_at(TimerRef::from(timer), deadline, 0).is_ok()
}

#[inline(never)]
fn fire<F: Family>(queue: &mut Queue<F>, now: u64) -> bool {
    queue.pop_expired(now).is_some()
}

#[inline(never)]
fn next_wake<F: Family>(queue: &Queue<F>) -> Option<u64> {
    queue.next_wake()
}

/// Measures one structure. Returns whether every call had the right result.
fn measure<F: Family>(
    name: &str,
    queue: &mut Queue<F>,
    timers: &'static Timers<F>,
    counter: &Counter,
) -> bool {
    println!("bytes,{name},{},{}", size_of::<Queue<F>>(), size_of::<Timer<F, u8>>());
    let mut right = true;
    for n in [1, 4, 16, 64] {
        let mut random = Random::new(n as u64);
        let mut cost = [Cost::default(); 6];
        for _ in 0..ROUNDS {
            let mut deadline = |queue: &Queue<F>| queue.now() + 1 + u64::from(random.below(SPAN));
            for timer in &timers[..n] {
                let deadline = black_box(deadline(queue));
                let (took, done) = counter.of(|| insert(queue, deadline, timer));
                cost[0].add(took);
                right &= done;
            }
            for timer in &timers[..n] {
                let deadline = black_box(deadline(queue));
                let (took, done) = counter.of(|| move_to(queue, deadline, timer));
                cost[1].add(took);
                right &= done;
            }
            for timer in &timers[..n / 2] {
                let timer = black_box(timer);
                let (took, done) = counter.of(|| abort(queue, timer));
                cost[2].add(took);
                right &= done;
            }
            let mut fired = 0;
            // The alarm comes at the next wake-up, and takes all due timers.
            while let (took, Some(now)) = counter.of(|| next_wake(queue)) {
                cost[4].add(took);
                let now = black_box(now);
                loop {
                    let (took, one) = counter.of(|| fire(queue, now));
                    // The last look of each alarm finds no due timer.
                    cost[if one { 3 } else { 5 }].add(took);
                    if !one {
                        break;
                    }
                    fired += 1;
                }
            }
            right &= fired == n - n / 2 && queue.is_empty();
        }
        let [inserts, moves, aborts, fires, wakes, looks] = cost;
        inserts.print(counter, name, n, "insert");
        moves.print(counter, name, n, "re-arm");
        aborts.print(counter, name, n, "abort");
        fires.print(counter, name, n, "fire");
        wakes.print(counter, name, n, "next wake");
        looks.print(counter, name, n, "look");
    }
    right
}

macro_rules! measure_each {
    ($counter:expr; $($name:literal => $family:ty;)+) => {{
        let mut right = true;
        $({
            static TIMERS: Timers<$family> = [const { Timer::new(0) }; MOST];
            static mut QUEUE: Queue<$family> = HookQueue::new();
            // SAFETY: 1. `main` runs once, and runs this block once; 2. nothing else names the
            // static.
            let queue = unsafe { &mut *(&raw mut QUEUE) };
            right &= measure($name, queue, &TIMERS, $counter);
        })+
        right
    }};
}

#[entry]
fn main() -> ! {
    let counter = Counter::start();
    let right = measure_each! { &counter;
        "list" => tickwright_core::SortedList;
        "flat-bounded" => tickwright_core::BoundedFlat<MOST>;
        "heap2-bounded" => tickwright_core::BoundedHeap<2, MOST>;
        "heap4-bounded" => tickwright_core::BoundedHeap<4, MOST>;
        "rb" => tickwright_core::RbTree;
        "rb-cached" => tickwright_core::RbTreeCached;
        "wheel-tiny" => tickwright_core::TinyWheel;
        "wheel-small" => tickwright_core::SmallWheel;
        "wheel" => tickwright_core::Wheel;
        "coarse" => tickwright_core::CoarseWheel;
    };
    println!("right,{right}");
    exit(i32::from(!right))
}
