//! Creates only a queue on the stack. On a target where a queue cannot draw an identity, this
//! program must not compile.
#![no_std]
#![no_main]

use tickwright_core::{HookQueue, SortedList};

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let queue: HookQueue<'_, SortedList, u32> = HookQueue::new();
    i32::from(!queue.is_empty())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
