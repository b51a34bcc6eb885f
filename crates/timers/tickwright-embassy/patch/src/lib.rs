//! Re-exports `tickwright-embassy` under the name by which time drivers know their queue.
#![no_std]

pub use tickwright_embassy::*;
