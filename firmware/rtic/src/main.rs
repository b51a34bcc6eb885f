//! Tasks of RTIC at two priorities, whose delays and time-outs are timers of our queue.
//!
//! RTIC's own macros, dispatchers and executor run the tasks; only the monotonic is ours. The
//! program fails if a wait ends early, late or never. Each check is named after a mistake that a
//! timer queue of some executor had.
#![no_std]
#![no_main]
// RTIC's macro turns the tasks into public functions and modules.
#![allow(missing_docs)]

mod checks;
mod device;
mod monotonic;

use tickwright_firmware::board::{exit, println};

/// The largest allowed lateness of a wait, in ticks. The emulator lets 3.2 ticks pass for each
/// instruction, and the task of priority 2 can run first.
pub(crate) const BOUND: u64 = 8_000;

/// Ends the program with an error, unless `holds` is true.
pub(crate) fn require(holds: bool, what: &str) {
    if !holds {
        println!("rtic: FAILED: {what}");
        exit(1);
    }
}

#[rtic::app(device = crate::device, peripherals = false, dispatchers = [Low, High])]
mod app {
    use core::sync::atomic::{AtomicBool, Ordering};

    use rtic_time::Timebase;
    use tickwright_firmware::board::{exit, println};
    use tickwright_firmware::chip::HZ;

    use crate::checks;
    use crate::monotonic::{self, Duration, Instant, Mono, SLOTS};
    use crate::require;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    /// The number of beats of the task with priority 2.
    const BEATS: u64 = 100;
    /// A limit on the program's run, which takes two seconds of the board's time.
    const LIMIT: u64 = 20 * HZ;

    static BEATEN: AtomicBool = AtomicBool::new(false);

    #[init]
    fn init(context: init::Context) -> (Shared, Local) {
        monotonic::start(context.core.SYST);
        require(low::spawn().is_ok() && high::spawn().is_ok(), "a task was not spawned");
        (Shared {}, Local {})
    }

    /// Runs while no task can run. After a lost wake-up this function ends the program.
    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            // On a chip this is `wfi`; see `tickless.rs`.
            for _ in 0..50 {
                cortex_m::asm::nop();
            }
            require(Mono::now().as_ticks() < LIMIT, "a wake-up was lost: no task runs");
        }
    }

    #[task(binds = SysTick, priority = 3)]
    fn alarm(_: alarm::Context) {
        monotonic::on_interrupt();
    }

    /// Beats on a fixed grid of ticks, while the other task checks.
    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let first = Mono::now();
        for beat in 1..=BEATS {
            let due = Instant::from_ticks(first.as_ticks() + beat * HZ / 100);
            Mono::delay_until(due).await;
            checks::on_time(due.as_ticks(), "a beat");
        }
        BEATEN.store(true, Ordering::Relaxed);
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        let waits = checks::run().await;
        while !BEATEN.load(Ordering::Relaxed) {
            Mono::delay(Duration::from_ticks(HZ / 1_000)).await;
        }
        let (free, _) = monotonic::slots();
        require(free as usize == SLOTS, "a slot is still taken, though no task waits");
        println!("rtic: {BEATS} beats beside {waits} waits, none early, lost or late");
        exit(0)
    }
}
