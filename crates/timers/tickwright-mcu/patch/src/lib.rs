//! Re-exports the queues of `tickwright-mcu` under the name by which time drivers know their queue.
#![no_std]

pub use tickwright_mcu::embassy::*;
