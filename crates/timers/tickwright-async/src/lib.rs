//! Timers for futures, under any executor: sleeps, time-outs, intervals and delay queues.
//!
//! Most timers are time-outs that never expire. With this crate such a time-out costs one read of
//! the clock and two atomic exchanges. It takes no lock and allocates nothing if its thread has an
//! unused timer (it keeps [at most 1025](#limits)). Moving a deadline to a later time costs one
//! store, however long the delay is.
//!
//! The crate is not on a registry yet. Use it from a checkout in the same folder as your project:
//!
//! ```text
//! cargo add --path ../tickwright/crates/timers/tickwright-async
//! cargo add --path ../tickwright/crates/timers/tickwright-async --features hyper  # others: below
//! ```
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
//! | code for a runtime's functions | [`sleep`], [`timeout`], [`interval`]: the same names |
//! | a connection with a deadline per operation | a [`Slot`], which keeps its timer |
//! | thousands of values with a delay each, for one task | a [`DelayQueue`] |
//! | settings: slack, resolution, shards | [`TimerSettings`], which create [`Timers`] |
//! | a loop of your own | [`TimerSettings::driven`], [`Timers::poll_timeout`], [`Timers::run`] |
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
//! A timer is armed by the first poll that is pending. If its future is dropped before the
//! deadline, the timer becomes vacant and stays in its wheel. The thread reuses the vacant timer
//! for its next time-out: it writes the new deadline into the timer and does not access the wheel.
//! A timer is in the wheel at its *filed* tick. When the wheel reaches this tick, it moves an armed
//! timer to its current deadline, and drops a vacant timer. Arming takes a lock in only two cases:
//! if the timer is in no wheel, or if the new deadline is before the filed tick. A timer is in no
//! wheel at its first use, after it has fired, and if its filed tick has passed while it was
//! vacant.
//!
//! # What is promised
//!
//! - No timer is early and none is lost. A timer wakes its task once. In addition it can wake the
//!   task once for each deadline that is moved while the timer fires, and once for each poll that
//!   is held back.
//! - A task whose timers are always ready does not starve the other tasks of its thread. The thread
//!   has a budget of 16 polls that are ready without a wait, or 128 values of a delay queue, or
//!   1024 timers that have fired. When the budget is spent, a poll that would be ready wakes its
//!   task and returns pending. Polls are held back in this way until the task has returned to its
//!   executor, but the same timer at most twice in a row.
//! - A timer's lateness is at most the sum of the [resolution](TimerSettings::resolution) (16.4
//!   us), your slack, and the machine's time to wake a thread. While thousands of timers fire per
//!   second, the thread [gathers](TimerSettings::gather) the timers of 400 us, so that a timer can
//!   be up to 400 us later. If at most 1,000 timers fire in any second, the thread never gathers.
//! - A duration can have any length, and no input causes a panic.
//! - The driver does not wake while no timer is due. A dropped timer can wake the driver once more.
//! - A [`Sleep`] has at most 64 bytes. Its timer takes 72 bytes on the heap, or 88 bytes with the
//!   feature `metrics`, plus one entry in a timer wheel.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `hyper` | `hyper::rt::Timer` for [`Timers`]: `.timer(timers)`; see `examples/http.rs` |
//! | `quinn` | `QuinnRuntime`, a runtime for endpoints; see `examples/quic.rs` |
//! | `smithy` | `AsyncSleep` for [`Timers`]: `.sleep_impl(SharedAsyncSleep::new(timers))` |
//! | `tokio` | `TimerSettings::on_tokio`: one tokio sleep drives all timers, by tokio's clock |
//! | `metrics` | a [`TimerReport`] as OpenMetrics text, with `tickwright::metrics` |
//! | `record` | `TimerSettings::recorded`: a trace for `tickwright recommend` |
//! | `sites` | `Timers::sites`: the places where live timers were created |
//! | `web` | in a page: the page's clock, and `setTimeout` in place of a thread |
//!
//! # Limits
//!
//! - [`Instant`] is the type of the standard library, so `Instant::now()` does not follow the clock
//!   of a test or a paused clock of tokio. [`now`] and [`Timers::now`] follow such a clock. On
//!   `wasm32-unknown-unknown`, where the standard library's `Instant` does not work, [`Instant`] is
//!   [`tickwright::time::Instant`].
//! - A forked child has no driver thread, and timers of the parent do not fire in the child.
//! - A timer belongs to the shard of the thread that created it. If another thread uses the timer
//!   and needs a lock, it takes the lock of that shard.
//! - A thread keeps at most 1025 unused timers of each [`Timers`] for its next time-outs. If a
//!   thread drops more timers, each further drop takes the lock of the timer's shard and frees the
//!   timer. Example: if a thread drops 3000 armed sleeps, 1975 of the drops take a lock.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adapter;
mod coop;
mod counts;
mod current;
pub mod delay_queue;
mod driver;
mod interval;
mod node;
mod owner;
mod pace;
mod pool;
mod record;
mod report;
mod settings;
mod shard;
mod sleep;
mod slot;
mod sync;
mod test_clock;
mod thread;
mod time;
mod timeout;
mod timers;

#[cfg(feature = "quinn")]
pub use adapter::QuinnRuntime;
#[doc(no_inline)]
pub use core::time::Duration;
pub use current::{Entered, interval, interval_at, now, sleep, sleep_until, slot, timeout, timeout_at};
#[doc(inline)]
pub use delay_queue::DelayQueue;
pub use interval::{Interval, MissedTickBehavior};
pub use report::TimerReport;
pub use settings::TimerSettings;
pub use sleep::Sleep;
pub use slot::{Slot, SlotTimeout};
pub use test_clock::TestClock;
#[doc(no_inline)]
pub use tickwright::time::{ClockHold, Lateness};
#[doc(no_inline)]
pub use time::Instant;
pub use timeout::{Elapsed, Timeout};
pub use timers::Timers;

/// The examples of the book's page run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/start/async.md")]
pub struct BookPage;

#[cfg(all(doctest, feature = "metrics"))]
#[doc = include_str!("../../../../docs/metrics.md")]
pub struct MetricsPage;
