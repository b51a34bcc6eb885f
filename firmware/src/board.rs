//! What the programs need from a board: an entry point, a counter of instructions, and a way to
//! exit.
//!
//! QEMU with `-icount shift=7` lets 128 ns pass for each instruction, so a counter of the board
//! counts instructions. Instructions are not cycles: the emulator models no wait states, no
//! pipeline and no bus.

use core::hint::black_box;
use core::sync::atomic::{Ordering, compiler_fence};

#[cfg(target_arch = "arm")]
pub use cortex_m_rt::entry;
#[cfg(target_arch = "riscv32")]
pub use riscv_rt::entry;
pub use semihosting::process::exit;
pub use semihosting::{print, println};

/// Ends the program with exit code 101. In programs whose sizes are compared this function prints
/// nothing, because the code that formats a message would count as part of the structure.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    if !cfg!(quiet_panic) {
        println!("{info}");
    }
    exit(101)
}

/// Counts instructions from one call to the next.
#[derive(Debug)]
pub struct Counter {
    /// The advance of the board's counter in [`LOOP`] instructions.
    steps: u32,
    /// The difference between two adjacent readings.
    overhead: u32,
}

/// The number of instructions of the loop of known length.
const LOOP: u32 = 20_000;

impl Counter {
    /// Starts the board's counter, and compares it with a loop of known length.
    #[must_use]
    pub fn start() -> Self {
        imp::start();
        let mut counter = Self { steps: 1, overhead: 0 };
        counter.overhead = (0..8).map(|_| counter.of(|| ()).0).min().unwrap_or(0);
        counter.steps = counter.of(|| imp::known_loop(LOOP / 2)).0.max(1);
        counter
    }

    /// Returns the advance of the board's counter while `work` runs, and the result of `work`. A
    /// black box ensures that the compiler does not move code across the two readings of the
    /// counter.
    #[inline(always)]
    pub fn of<R>(&self, work: impl FnOnce() -> R) -> (u32, R) {
        compiler_fence(Ordering::SeqCst);
        let before = black_box(imp::read());
        let result = black_box(work());
        let after = imp::read();
        compiler_fence(Ordering::SeqCst);
        (black_box(imp::distance(before, after).saturating_sub(self.overhead)), result)
    }

    /// Converts an advance of the counter by `steps` to the nearest number of instructions.
    #[must_use]
    pub fn instructions(&self, steps: u64) -> u32 {
        ((steps * u64::from(LOOP) + u64::from(self.steps) / 2) / u64::from(self.steps)) as u32
    }
}

#[cfg(target_arch = "arm")]
mod imp {
    use core::arch::asm;

    use cortex_m::Peripherals;
    use cortex_m::peripheral::SYST;
    use cortex_m::peripheral::syst::SystClkSource;

    /// SysTick has 24 bits and counts down.
    const TOP: u32 = 0xff_ffff;

    pub(super) fn start() {
        // Programs that count instructions use no other core peripheral.
        if let Some(peripherals) = Peripherals::take() {
            let mut systick = peripherals.SYST;
            systick.set_clock_source(SystClkSource::Core);
            systick.set_reload(TOP);
            systick.clear_current();
            systick.enable_counter();
        }
    }

    #[inline(always)]
    pub(super) fn read() -> u32 {
        SYST::get_current()
    }

    #[inline(always)]
    pub(super) fn distance(before: u32, after: u32) -> u32 {
        before.wrapping_sub(after) & TOP
    }

    /// Runs a loop of two instructions per round.
    #[inline(never)]
    pub(super) fn known_loop(rounds: u32) {
        // SAFETY: 1. it changes only one register, which is declared, and the flags; 2. it ends,
        // since the register reaches 0.
        unsafe { asm!("2: subs {0}, #1", "bne 2b", inout(reg) rounds => _, options(nomem, nostack)) };
    }
}

#[cfg(target_arch = "riscv32")]
mod imp {
    use core::arch::asm;

    pub(super) fn start() {}

    #[inline(always)]
    pub(super) fn read() -> u32 {
        riscv::register::minstret::read() as u32
    }

    #[inline(always)]
    pub(super) fn distance(before: u32, after: u32) -> u32 {
        after.wrapping_sub(before)
    }

    /// Runs a loop of two instructions per round.
    #[inline(never)]
    pub(super) fn known_loop(rounds: u32) {
        // SAFETY: 1. it changes one register, which is declared; 2. it ends, since the register
        // reaches 0.
        unsafe {
            asm!("2: addi {0}, {0}, -1", "bnez {0}, 2b", inout(reg) rounds => _, options(nomem, nostack))
        };
    }
}
