//! What the programs share: the board, random numbers, an oracle, and the machine that compares a
//! queue with the oracle. The crate is `no_std` and never allocates.
#![no_std]

pub mod board;
#[cfg(target_arch = "arm")]
pub mod chip;
pub mod conformance;
pub mod families;
pub mod oracle;
pub mod random;
#[cfg(target_pointer_width = "32")]
mod sizes;
