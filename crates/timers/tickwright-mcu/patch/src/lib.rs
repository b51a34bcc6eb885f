//! Re-exports the queues of `tickwright-mcu` under the package name that time drivers depend on.
#![no_std]

pub use tickwright_mcu::embassy::*;
