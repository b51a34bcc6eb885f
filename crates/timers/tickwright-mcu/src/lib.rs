//! Timers for firmware: `no_std`, without allocations.
//!
//! ```
//! # struct Board;
//! # impl Board { fn take() -> Self { Self } }
//! # impl tickwright_mcu::Chip for Board {
//! #     const HZ: u64 = 32_768;
//! #     const COUNTER_BITS: u32 = 16;
//! #     fn count(&mut self) -> u32 { 0 }
//! #     fn alarm_in(&mut self, _: u64) {}
//! # }
//! # fn toggle() {}
//! use tickwright_mcu::SlotTimers;
//!
//! static TIMERS: SlotTimers<Board, fn(), 4> = SlotTimers::new(); // room for four timers
//!
//! fn main() {
//!     let blink = TIMERS.with(|timers| {
//!         timers.start(Board::take());
//!         timers.after(TIMERS.ms(500), toggle)
//!     });
//!     # blink.unwrap();
//! }
//!
//! // The handler of the alarm's interrupt.
//! fn on_interrupt() {
//!     TIMERS.on_alarm(|_| TIMERS.ms(500), |work, _expiry| work());
//! }
//! # main();
//! # on_interrupt();
//! ```
//!
//! | a program has | it uses |
//! |---|---|
//! | values to deliver: functions, messages, wakers | [`SlotTimers`]: `N` slots in one static |
//! | structs with timers in them, as in C | [`HookTimers`]: each [`Timer`] is part of a static |
//! | its own queue and alarm | [`Widened`]: a 64-bit clock, read from a narrower counter |
//! | tasks of Embassy | the feature `embassy`, and one line in its `Cargo.toml` |
//!
//! The program implements [`Chip`] for its counter and its alarm, and provides a critical section
//! for the crate `critical-section`. Most chip crates have a feature that provides one. For tests
//! on a computer, add a dev-dependency on `critical-section` with the feature `std`. The folder
//! `firmware/template` is a complete project that you can copy. That program has several periodic
//! timers, and cancels a timer.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
extern crate std;

#[cfg(feature = "embassy")]
pub mod embassy;
mod timers;
mod widened;

pub use tickwright_core::{Key, Reject, Rejected, SortedList, Tick, Timer};

pub use timers::{Chip, FirmwareTimers, HookTimers, Service, SlotTimers};
pub use widened::Widened;
