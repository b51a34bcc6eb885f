//! What differs from chip to chip: a counter that runs freely, and an alarm. This file is for the
//! board mps2-an385: a CMSDK APB timer is the counter, and SysTick is the alarm. For another chip,
//! port the constants and the three functions `start`, `count` and `alarm_in`.

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

/// Ticks a second of the counter and of the alarm.
pub const HZ: u64 = 25_000_000;
/// Bits of the counter. Use all bits that it has: each half turn costs one interrupt.
pub const COUNTER_BITS: u32 = 32;
/// The longest that `alarm_in` can wait, in ticks: SysTick has 24 bits.
pub const LONGEST_ALARM: u64 = 0xff_ffff;

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

/// Starts the counter at 0, and lets SysTick interrupt.
pub fn start(systick: &mut SYST) {
    write(RELOAD, u32::MAX);
    write(VALUE, u32::MAX);
    write(CONTROL, 1);
    systick.set_clock_source(SystClkSource::Core);
    systick.enable_interrupt();
}

/// The counter. It counts up and wraps.
pub fn count() -> u32 {
    // SAFETY: 1. as above; reading it changes nothing.
    !unsafe { ((COUNTER + VALUE) as *const u32).read_volatile() }
}

/// Lets SysTick interrupt in `ticks` ticks, from 1 to [`LONGEST_ALARM`].
pub fn alarm_in(systick: &mut SYST, ticks: u64) {
    systick.disable_counter();
    systick.set_reload(ticks.clamp(1, LONGEST_ALARM) as u32);
    systick.clear_current();
    systick.enable_counter();
}
