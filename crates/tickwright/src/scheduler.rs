//! A callback scheduler: delays in, callbacks out, ids to cancel by. To be shared between threads.
//!
//! ```
//! use core::time::Duration;
//! use tickwright::clock::VirtualHost;
//! use tickwright::scheduler::{Boxed, Next, Scheduler};
//! use tickwright::service::Settings;
//!
//! let host = VirtualHost::new();
//! let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
//! let mut left = 3;
//! let id = scheduler.add(Duration::from_secs(2), Boxed::new(move |_| {
//!     left -= 1;
//!     if left > 0 { Next::Again } else { Next::Done }
//! }))?;
//! assert_eq!(scheduler.timeout(), Some(Duration::from_secs(2)));
//! host.advance(Duration::from_secs(2));
//! assert_eq!(scheduler.run_queue(), Ok(1));
//! assert_eq!(scheduler.remaining(id), Some(Duration::from_secs(2)), "again");
//! # Ok::<(), tickwright::service::Refused<Boxed>>(())
//! ```
//!
//! # Who runs the callbacks
//!
//! The thread that calls [`run_queue`](Scheduler::run_queue): a poll loop that sleeps for
//! [`timeout`](Scheduler::timeout), or a thread of its own ([`SchedulerThread`]). Callbacks run
//! without the lock, one at a time. A second thread that calls `run_queue` meanwhile gets
//! [`Busy`](RunError::Busy), and a callback gets [`WithinCallback`](RunError::WithinCallback). A
//! pass takes what was due when it began and armed before. Equal due times run in the order in
//! which they were armed.
//!
//! # Tests on virtual time
//!
//! A test moves the clock from due time to due time; nothing sleeps:
//!
//! ```
//! # use core::time::Duration;
//! # use tickwright::clock::VirtualHost;
//! # use tickwright::scheduler::{Boxed, Next, Scheduler};
//! # use tickwright::service::Settings;
//! let host = VirtualHost::new();
//! let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
//! scheduler.add(Duration::from_secs(60), Boxed::new(|_| Next::Again))?;
//! let hour = scheduler.now() + Duration::from_secs(3600);
//! let mut runs = 0;
//! while let Some(wait) = scheduler.timeout() && scheduler.now() + wait <= hour {
//!     host.advance(wait);
//!     runs += scheduler.run_queue().expect("nobody else runs it");
//! }
//! assert_eq!(runs, 60);
//! # Ok::<(), tickwright::service::Refused<Boxed>>(())
//! ```
//!
//! After one long `advance` instead, [`Missed`] says what becomes of the
//! periods in between.
//!
//! # Four ways to cancel
//!
//! | the timer is | [`try_cancel`](Scheduler::try_cancel) | [`cancel`](Scheduler::cancel) (async) | [`cancel_sync`](Scheduler::cancel_sync) | [`shutdown_timer`](Scheduler::shutdown_timer) / [`_sync`](Scheduler::shutdown_timer_sync) |
//! |---|---|---|---|---|
//! | pending | `Removed`: the caller gets the callback | `Removed` | `Removed` | `Removed` |
//! | pending and kept | `Disarmed`: idle now | `Disarmed` | `Disarmed` | `Removed` |
//! | idle (kept) | `Idle` | `Idle` | `Idle` | `Removed` |
//! | running, asked from its callback | `Running { here: true }`: nothing is changed | `Running { here: true }`: will not run again | error `WouldDeadlock`: nothing is changed | as async; `_sync`: the error |
//! | running on another thread | `Running { here: false }`: nothing is changed | `Running { here: false }`: will not run again, returns at once | waits; `Finished`, will not run again | as async; `_sync`: waits, `Finished` |
//! | done, cancelled, never was | `NotFound` | `NotFound` | `NotFound` | `NotFound` |
//!
//! - A callback that is handed back is dropped by the caller. The callback of a timer that ran is
//!   dropped by the thread that ran it, without the lock, before a waiting cancel returns. In every
//!   case once.
//! - `Finished { suppressed: true }` says that the callback had asked to run again and was not let.
//!   When several threads cancel the same run, one of them gets it: the first one that waits. A
//!   caller that counts references takes the timer's reference back then. In other cases the
//!   callback did that when it answered "done".
//! - Two threads that cancel one running timer both wait and are both right. Two callbacks of two
//!   schedulers that wait for each other wait for ever. So does a thread that holds a lock that the
//!   callback wants.
//! - A whole scheduler: [`shutdown`](Scheduler::shutdown). Nothing can be armed afterwards; from a
//!   callback of its own it is refused.
//!
//! # A panic in a callback
//!
//! The timer is gone (a kept one is idle), and threads that wait for it go on. All other timers are
//! as they were. The panic goes on to the caller of `run_queue`. If the drop of the callback panics
//! while that unwinds, the process ends, as everywhere in Rust.
//!
//! # Forks
//!
//! A forked child has a copy that is whole, whatever other threads did with the scheduler at the
//! moment of the fork. Its timers are pending for the same times, and no thread runs it. Start a
//! thread there, or run the queue. A timer whose callback ran on another thread is gone in the
//! child, a kept one too; that callback is not dropped. What holds of drivers is
//! [there](crate::driver#forks).

mod base;
mod callback;
mod cancel;
mod look;
mod new_timer;
mod report;
mod run;
#[cfg(all(test, not(loom)))]
mod tests;
mod thread;
mod urgent;

pub use crate::service::{Missed, Next, Origin, Refusal, Refused, Settings, Site, TimerId, Timing, When};
pub use base::Scheduler;
pub use callback::{Boxed, Callback, Firing, Plain};
pub use cancel::{Cancelled, WouldDeadlock};
pub use look::Inspected;
pub use new_timer::NewTimer;
#[doc(hidden)]
pub use new_timer::Placed;
pub use report::{Dump, Listed, Report};
pub use run::RunError;
pub use thread::SchedulerThread;
pub use urgent::Urgent;
