//! Timers for futures, under any executor.
#![warn(missing_docs)]

mod base;
mod current;
pub mod delay_queue;
mod interval;
mod owner;
mod pool;
mod queue;
mod report;
mod sleep;
mod slot;
mod sync;
mod test_clock;
mod thread;
mod time;
mod timeout;
mod timers;
mod wake;
mod word;

pub use current::{Entered, interval, interval_at, now, sleep, sleep_until, slot, timeout, timeout_at};
#[doc(inline)]
pub use delay_queue::DelayQueue;
pub use interval::{Interval, MissedTickBehavior};
pub use report::{Lateness, Report};
pub use sleep::Sleep;
pub use slot::{Slot, SlotTimeout};
#[doc(no_inline)]
pub use std::time::Instant;
pub use test_clock::{ClockHold, TestClock};
pub use timeout::{Elapsed, Timeout};
pub use timers::{Settings, Timers};
