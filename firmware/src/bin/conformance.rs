//! Runs random operations on each structure in a static, and compares it with an oracle. Prints a
//! line for each structure, and ends with 1 if a structure differs.
//!
//! With the argument `control` the oracle breaks ties backwards. Then every exact structure must
//! differ.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

use core::cell::RefCell;

use critical_section::Mutex;
use semihosting::experimental::env;
use tickwright_core::{HookQueue, Timer};
use tickwright_firmware::board::{entry, exit, println};
use tickwright_firmware::conformance::{TIMERS, Timers, run};
#[cfg(not(small_board))]
use tickwright_firmware::for_each_large_family;
#[cfg(any(part = "wheels", not(small_board)))]
use tickwright_firmware::for_each_small_wheel;
#[cfg(not(part = "wheels"))]
use tickwright_firmware::for_each_static_family;
use tickwright_firmware::oracle::Oracle;

/// The number of operations on each structure.
const OPERATIONS: u32 = 20_000;

/// Returns whether the emulator passes the argument `control`. Without arguments it passes the
/// program's path, which can be longer than the buffer.
fn is_control() -> bool {
    env::args::<128>()
        .is_ok_and(|arguments| (&arguments).into_iter().any(|argument| argument == Ok("control")))
}

fn oracle() -> Oracle<TIMERS> {
    if is_control() { Oracle::backwards() } else { Oracle::new() }
}

macro_rules! run_each {
    ($($name:literal => $family:ty, $bound:expr;)+) => {{
        let mut failed = 0;
        $({
            static TIMERS_OF: Timers<$family> = {
                let mut timers = [const { Timer::new(0) }; TIMERS];
                let mut at = 0;
                while at < TIMERS {
                    timers[at].payload = at as u8;
                    at += 1;
                }
                timers
            };
            static QUEUE: Mutex<RefCell<HookQueue<'static, $family, u8>>> =
                Mutex::new(RefCell::new(HookQueue::new()));
            let verdict = critical_section::with(|cs| {
                run(&mut QUEUE.borrow_ref_mut(cs), &TIMERS_OF, oracle(), $bound, OPERATIONS, 19)
            });
            match verdict {
                Ok(()) => println!("{}: {OPERATIONS} operations agree", $name),
                Err(mismatch) => {
                    failed += 1;
                    println!("{}: FAILED: {mismatch}", $name);
                }
            }
        })+
        failed
    }};
}

/// Runs every row for which this board has room.
fn run_all() -> u32 {
    let mut failed = 0;
    #[cfg(not(part = "wheels"))]
    {
        failed += for_each_static_family!(run_each);
    }
    #[cfg(any(part = "wheels", not(small_board)))]
    {
        failed += for_each_small_wheel!(run_each);
    }
    #[cfg(not(small_board))]
    {
        failed += for_each_large_family!(run_each);
    }
    failed
}

#[entry]
fn main() -> ! {
    exit(i32::from(run_all() > 0))
}
