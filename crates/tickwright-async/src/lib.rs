//! Timers for futures, under any executor: sleeps, time-outs, intervals and delay queues.
//!
//! Most timers are time-outs that do not come. With this crate such a time-out costs a look at the
//! clock and two exchanges of a word. It takes no lock, allocates nothing, and a later deadline is
//! one store, whatever the delay is.
//!
//! ```
//! use core::time::Duration;
//! use tickwright_async::{TestClock, sleep, timeout};
//!
//! async fn answer() -> &'static str {
//!     sleep(Duration::from_secs(1)).await;
//!     "hello"
//! }
//!
//! // A program awaits in a task of any runtime. Here a clock for tests is used, so that it takes
//! // no time.
//! let clock = TestClock::new();
//! clock.block_on(async {
//!     let answered = timeout(Duration::from_secs(5), answer()).await;
//!     assert_eq!(answered, Ok("hello"));
//! });
//! ```
//!
//! # Which one
//!
//! | you have | use |
//! |---|---|
//! | code for the functions of a runtime | [`sleep`], [`timeout`], [`interval`]: the same names |
//! | a connection, a deadline an operation | a [`Slot`], which keeps its timer between two |
//! | thousands of values with a delay each, for one task | a [`DelayQueue`] |
//! | settings: slack, resolution, shards | [`Settings`], which make [`Timers`] |
//! | a loop of your own | [`Settings::driven`], [`Timers::poll_timeout`], [`Timers::run`] |
//! | tests | a [`TestClock`], which stands still and moves by itself when all threads wait |
//! | hyper, quinn, a client for AWS, a runtime of tokio | a feature, see below |
//!
//! # How it works
//!
//! ```text
//!   Sleep, Slot ──> timer { deadline, filed, waker } <── shard { lock, wheel } <── driver thread
//!        owns         └ and a word: its state         a timer is filed at a tick that is not
//!                                                     later than its deadline
//! ```
//!
//! A timer is armed by the first poll that is pending. When it is dropped in time, it stays in its
//! wheel, vacant, and the thread uses it for its next time-out. The new deadline is written into
//! the timer; the wheel is not touched. When the wheel reaches the tick of the timer, it moves the
//! timer to its deadline, or drops it if it is vacant. It takes a lock only for the first use of a
//! timer, after a fire, and for a deadline before its filed tick.
//!
//! # What is promised
//!
//! - A timer is never early and not lost. It wakes its task once, and once more at most for each
//!   deadline that was moved while it fired.
//! - Its lateness is at most the sum of three: its [resolution](Settings::resolution) of 16.4 us,
//!   your slack, and the machine's time to wake a thread.
//! - No duration is too long and no input panics.
//! - A driver with nothing due does not wake. A timer that was dropped may wake it once more.
//! - [`Sleep`] takes at most 64 bytes, and its timer 72 and its place in a wheel.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `hyper` | `hyper::rt::Timer` for [`Timers`]: `.timer(timers)`; see `examples/http.rs` |
//! | `quinn` | `QuinnRuntime`, a runtime for endpoints; see `examples/quic.rs` |
//! | `smithy` | `AsyncSleep` for [`Timers`]: `.sleep_impl(SharedAsyncSleep::new(timers))` |
//! | `tokio` | `Settings::on_tokio`: one sleep of tokio under all timers, for its paused clock |
//! | `record` | `Settings::recorded`: a trace for `tickwright recommend` |
//! | `sites` | `Timers::sites`, where live timers were made |
//!
//! # Limits
//!
//! - A forked child has no driver thread, and the timers of its parent do not fire there.
//! - A timer belongs to the shard of the thread that made it first. Another thread that uses it
//!   takes that shard's lock, when it takes one.
//! - A thread keeps up to 1024 timers for its next time-outs.

mod adapter;
mod base;
mod current;
pub mod delay_queue;
mod interval;
mod owner;
mod pool;
mod queue;
mod record;
mod report;
mod settings;
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

#[cfg(feature = "quinn")]
pub use adapter::QuinnRuntime;
pub use current::{Entered, interval, interval_at, now, sleep, sleep_until, slot, timeout, timeout_at};
#[doc(inline)]
pub use delay_queue::DelayQueue;
pub use interval::{Interval, MissedTickBehavior};
pub use report::{Lateness, Report};
pub use settings::Settings;
pub use sleep::Sleep;
pub use slot::{Slot, SlotTimeout};
#[doc(no_inline)]
pub use std::time::Instant;
pub use test_clock::{ClockHold, TestClock};
pub use timeout::{Elapsed, Timeout};
pub use timers::Timers;

/// The examples of the book's page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start/async.md")]
pub struct BookPage;
