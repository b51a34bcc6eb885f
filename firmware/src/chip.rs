//! The chip-specific part: a free-running counter, and an alarm.

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use tickwright_mcu::{Chip, Tick};

/// Ticks per second: both timers run at the 25 MHz of the board.
pub const HZ: u64 = 25_000_000;

/// A CMSDK APB timer of the board. It counts down.
const COUNTER: usize = 0x4000_1000;
const CONTROL: usize = 0;
const VALUE: usize = 4;
const RELOAD: usize = 8;

fn write(register: usize, value: u32) {
    // SAFETY: 1. the address is that of an aligned register of the timer, and writing it touches no
    // memory of the program.
    unsafe { ((COUNTER + register) as *mut u32).write_volatile(value) }
}

/// The chip, with a counter of which `BITS` bits are read.
pub struct Board<const BITS: u32>(SYST);

impl<const BITS: u32> Board<BITS> {
    /// Starts the counter at `count`, and lets SysTick interrupt. The alarm is not set.
    #[must_use]
    pub fn start(mut systick: SYST, count: u32) -> Self {
        write(RELOAD, 0xffff_ffff);
        write(VALUE, !count);
        write(CONTROL, 1);
        systick.set_clock_source(SystClkSource::Core);
        systick.enable_interrupt();
        Self(systick)
    }
}

impl<const BITS: u32> Chip for Board<BITS> {
    const HZ: u64 = HZ;
    const COUNTER_BITS: u32 = BITS;
    const LONGEST_ALARM: Tick = 0xff_ffff;

    fn count(&mut self) -> u32 {
        // SAFETY: 1. as above; reading it changes nothing.
        let value = unsafe { ((COUNTER + VALUE) as *const u32).read_volatile() };
        !value
    }

    fn alarm_in(&mut self, ticks: Tick) {
        self.0.disable_counter();
        self.0.set_reload(ticks as u32);
        self.0.clear_current();
        self.0.enable_counter();
    }
}
