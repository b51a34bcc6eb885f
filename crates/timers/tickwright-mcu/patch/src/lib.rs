//! Re-exports the queues of `tickwright-mcu` under the name of the package on which time drivers
//! depend.
#![no_std]

pub use tickwright_mcu::embassy::*;
