//! The chip-specific part: a free-running counter, and an alarm. This file is for the board
//! mps2-an385: a CMSDK APB timer is the counter, and SysTick is the alarm. For another chip, port
//! `Board::start` and the methods of `Chip`.

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use tickwright_mcu::{Chip, Tick};

/// The address of the timer's registers. The timer counts down.
const COUNTER: usize = 0x4000_1000;
const CONTROL: usize = 0;
const VALUE: usize = 4;
const RELOAD: usize = 8;

fn write(register: usize, value: u32) {
    // SAFETY: 1. the address is that of an aligned register of the timer, and writing it touches no
    // memory of the program.
    unsafe { ((COUNTER + register) as *mut u32).write_volatile(value) }
}

/// The chip, with its alarm.
pub struct Board(SYST);

impl Board {
    /// Starts the counter at 0, and lets SysTick interrupt.
    pub fn start(mut systick: SYST) -> Self {
        write(RELOAD, u32::MAX);
        write(VALUE, u32::MAX);
        write(CONTROL, 1);
        systick.set_clock_source(SystClkSource::Core);
        systick.enable_interrupt();
        Self(systick)
    }
}

impl Chip for Board {
    /// Ticks per second of the counter and of the alarm.
    const HZ: u64 = 25_000_000;
    const COUNTER_BITS: u32 = 32;
    /// SysTick has 24 bits.
    const LONGEST_ALARM: Tick = 0xff_ffff;

    fn count(&mut self) -> u32 {
        // SAFETY: 1. as above; reading it changes nothing.
        !unsafe { ((COUNTER + VALUE) as *const u32).read_volatile() }
    }

    fn alarm_in(&mut self, ticks: Tick) {
        self.0.disable_counter();
        self.0.set_reload(ticks as u32);
        self.0.clear_current();
        self.0.enable_counter();
    }
}
