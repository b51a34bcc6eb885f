//! What differs from chip to chip: a counter that runs freely, and an alarm.

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

/// Ticks a second: both timers run at the 25 MHz of the board.
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

/// The counter, which has 32 bits and wraps. A clock may use fewer bits.
#[must_use]
pub fn count() -> u32 {
    // SAFETY: 1. as above; reading it changes nothing.
    let value = unsafe { ((COUNTER + VALUE) as *const u32).read_volatile() };
    !value
}

/// Lets SysTick interrupt in `ticks` ticks, or in 2^24 - 1 ticks if that is sooner; then the
/// handler has to set the alarm again. 0 is treated as 1.
pub fn alarm_in(systick: &mut SYST, ticks: u64) {
    systick.disable_counter();
    systick.set_reload(ticks.clamp(1, 0xff_ffff) as u32);
    systick.clear_current();
    systick.enable_counter();
}

/// Starts the counter at `count`. The alarm is not set.
pub fn start(systick: &mut SYST, count: u32) {
    write(RELOAD, 0xffff_ffff);
    write(VALUE, !count);
    write(CONTROL, 1);
    systick.set_clock_source(SystClkSource::Core);
    systick.enable_interrupt();
}
