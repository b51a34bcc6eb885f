//! Runs operations of a scheduler, so that another program can count their instructions:
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*measured*' count_scheduler wheel start
//! ```
//!
//! With `local` as third argument, the scheduler has no lock. `ci/instructions.py` runs all
//! operations and compares the counts with recorded counts. Each run makes `MANY` calls on a
//! scheduler that holds between `MANY` and `2 * MANY` timers with random delays.

use core::hint::black_box;
use core::time::Duration;

use tickwright::scheduler::{Access, Boxed, Callback, Next, Scheduler, Settings, TimerId, Timing};
use tickwright::time::VirtualHost;

const MANY: usize = 1000;
const LONGEST_MS: u64 = 60_000;

/// Xorshift, after Marsaglia 2003.
struct Random(u64);

impl Random {
    fn delay(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(1 + (self.0 >> 11) % LONGEST_MS)
    }
}

/// The counted code runs in this function.
#[inline(never)]
fn measured(work: impl FnOnce()) {
    work();
}

fn run<C: Callback<L>, L: Access>(
    host: &VirtualHost,
    scheduler: &Scheduler<C, L>,
    callback: impl Fn() -> C,
    operation: &str,
) {
    scheduler.reserve(3 * MANY).expect("room");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let before = if operation == "add" { MANY } else { 2 * MANY };
    let ids: Vec<TimerId> =
        (0..before).filter_map(|_| scheduler.add(random.delay(), callback()).ok()).collect();
    let delays: Vec<Duration> = (0..MANY).map(|_| random.delay()).collect();
    match operation {
        "add" => measured(|| {
            for &delay in &delays {
                black_box(scheduler.add(delay, callback())).ok();
            }
        }),
        "start" => measured(|| {
            for (&id, &delay) in ids.iter().zip(&delays) {
                black_box(scheduler.start(id, Timing::after(delay))).ok();
            }
        }),
        "cancel" => measured(|| {
            for &id in &ids[..MANY] {
                black_box(scheduler.cancel(id));
            }
        }),
        "run" => {
            // Half of the delays are shorter than this time.
            host.advance(Duration::from_nanos(LONGEST_MS / 2 * 1_000_000));
            measured(|| {
                black_box(scheduler.run_queue_within(MANY)).ok();
            });
        }
        other => panic!("no such operation: {other}: add, start, cancel, run"),
    }
    scheduler.check().expect("the scheduler is whole");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [structure, operation, lock @ ..] = &arguments[..] else { panic!("STRUCTURE OPERATION [local]") };
    let host = VirtualHost::new();
    let settings = Settings::new().clock(host.monotonic()).structure(structure.parse().expect("a structure"));
    if lock.is_empty() {
        run(&host, &Scheduler::new(settings), || Boxed::once(|_| ()), operation);
    } else {
        // The closure captures a value, so that boxing it allocates, as boxing the closure for
        // `once` does.
        let callback = || {
            let mut call = Some(|| ());
            Boxed::local(move |_| {
                if let Some(call) = call.take() {
                    call();
                }
                Next::Done
            })
        };
        run(&host, &Scheduler::local(settings), callback, operation);
    }
}
