//! What RTIC's macro needs from a chip: its interrupts and its vector table.

use cortex_m::interrupt::InterruptNumber;

/// The chip has more priority bits, but RTIC's priorities 1 to 8 need only this many.
pub const NVIC_PRIO_BITS: u8 = 3;

/// Interrupts that no peripheral uses here: RTIC runs its tasks in them.
#[derive(Clone, Copy, Debug)]
#[repr(u16)]
pub enum Interrupt {
    /// Runs the tasks of priority 1.
    Low = 0,
    /// Runs the tasks of priority 2.
    High = 1,
}

pub use Interrupt as interrupt;

// SAFETY: 1. each variant has the number of its handler in the vector table; 2. no two have the
// same; 3. the numbers never change.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

unsafe extern "C" {
    safe fn Low();
    safe fn High();
}

/// The handlers, indexed by number. RTIC's macro creates them.
// SAFETY: 1. the linker script places this section behind the exceptions, where the processor looks
// for the handlers by number; 2. nothing else is in it; 3. both names are unique in the program.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
pub static __INTERRUPTS: [extern "C" fn(); 2] = [Low, High];
