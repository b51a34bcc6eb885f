//! A callback scheduler: a caller adds a callback with a delay, and cancels it by its id.
//!
//! ```
//! use tickwright::scheduler::{Duration, Scheduler};
//!
//! let scheduler = Scheduler::spawn("timers")?;
//! let beat = scheduler.every(Duration::from_secs(1), |_| println!("alive"))?;
//! scheduler.after(Duration::from_secs(5), |_| println!("no reply"))?;
//! scheduler.cancel(beat);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! | you have | take |
//! |---|---|
//! | threads that share timers | [`Scheduler::spawn`] |
//! | threads that share timers, and a loop of your own | [`Scheduler::new`] |
//! | one thread | [`Scheduler::local`]: the same calls, no lock; callbacks need not be `Send` |
//! | a loop that acts by itself when a timer is due | [`TimerSet`]: payloads instead of callbacks |
//!
//! A single-threaded game runs its timers between its other work:
//!
//! ```
//! # use tickwright::time::VirtualHost;
//! # let host = VirtualHost::new();
//! # let sleep = |wait| host.advance(wait);
//! # fn draw(_frame: u32) {}
//! use tickwright::scheduler::{Duration, Next, Scheduler, Settings};
//!
//! let mut game = Scheduler::local(Settings::new().clock(host.monotonic()));
//! let mut frame = 0;
//! game.every(Duration::from_millis(16), move |_| {
//!     frame += 1;
//!     draw(frame);
//!     if frame < 600 { Next::Again } else { Next::Done }
//! })?;
//! while let Some(wait) = game.timeout() {
//!     sleep(wait); // or a `poll` for input
//!     game.run_queue()?;
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Who runs the callbacks
//!
//! Callbacks run on the thread that calls [`run_queue`](Scheduler::run_queue):
//!
//! - a dedicated thread of the scheduler: [`Scheduler::spawn`], [`SchedulerThread`];
//! - a loop that waits at an [alarm](Scheduler::set_alarm). A thread that arms an earlier timer
//!   moves the alarm forward. The alarm is a [`TimerFd`](crate::time), a
//!   [`Parker`](crate::time::Parker), or your own alarm that sends the time to the loop;
//! - the loop of the only thread that arms timers. The loop sleeps for
//!   [`timeout`](Scheduler::timeout). That method cannot be called on a scheduler in an `Arc`,
//!   because the loop would sleep on when another thread arms an earlier timer.
//!
//! ```
//! use core::time::Duration;
//! use std::sync::Arc;
//! use tickwright::scheduler::{Scheduler, Settings};
//! use tickwright::time::{Parker, Woken};
//!
//! let scheduler = Arc::new(Scheduler::new(Settings::new()));
//! let parker = Parker::new(scheduler.clock());
//! scheduler.set_alarm(Some(parker.clone()));
//! scheduler.after(Duration::from_secs(60), |_| println!("a minute"))?;
//! std::thread::spawn({
//!     let (scheduler, parker) = (scheduler.clone(), parker.clone());
//!     move || scheduler.after(Duration::from_millis(5), move |_| parker.stop())
//! });
//! // The add of the thread ends the sleep of a minute.
//! while parker.wait() != Woken::Stopped {
//!     scheduler.run_queue()?;
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Callbacks run without the lock, one at a time. If a second thread calls `run_queue` during a
//! pass, the call returns [`Busy`](RunError::Busy). If a callback calls it, the call returns
//! [`WithinCallback`](RunError::WithinCallback). A pass runs the timers that were armed before it
//! began and were due at that time. Timers with equal due times run in the order in which they were
//! armed.
//!
//! # Tests on virtual time
//!
//! A test moves the clock from due time to due time, without sleeps:
//!
//! ```
//! # use core::time::Duration;
//! # use tickwright::scheduler::{Scheduler, Settings};
//! # use tickwright::time::VirtualHost;
//! let host = VirtualHost::new();
//! let mut scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
//! scheduler.every(Duration::from_secs(60), |_| ())?;
//! let hour = scheduler.now() + Duration::from_secs(3600);
//! let mut runs = 0;
//! while let Some(wait) = scheduler.timeout() && scheduler.now() + wait <= hour {
//!     host.advance(wait);
//!     runs += scheduler.run_queue().expect("nobody else runs it");
//! }
//! assert_eq!(runs, 60);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! If the test makes one long `advance` instead, the timer's [`Missed`] policy decides what happens
//! to the missed periods.
//!
//! # Time and costs
//!
//! Deadlines are rounded up to ticks and the clock is rounded down, so no timer is early. A tick is
//! 1 ns, or 1 ms for wheels ([`Settings::tick`] changes it). The list in [`time`](crate::time) says
//! how a step of the wall clock, a suspend or a pause of the machine affects each kind of timer.
//!
//! An arm, a cancel and a run each cost one queue operation, at most one read of the clock, and an
//! O(1) lookup of the id. While timers that follow the wall clock are pending, each of these calls
//! also reads the offset of the wall clock once. After a step of the wall clock, the scheduler
//! reinserts all timers that follow it, in O(timers). It allocates nothing while it has at most
//! [`Settings::capacity`] timers.
//!
//! # Four ways to cancel
//!
//! | the timer is | `try_cancel`, `cancel`, `cancel_sync` | `shutdown_timer`, its `_sync` |
//! |---|---|---|
//! | pending | `Removed`: the caller gets the callback | the same |
//! | pending and kept | `Disarmed`: idle now | `Removed` |
//! | idle (kept) | `Idle` | `Removed` |
//! | done, cancelled, never was | `NotFound` | `NotFound` |
//!
//! | a running timer | from its callback | from another thread |
//! |---|---|---|
//! | [`try_cancel`] | `Running { here: true }` | `Running { here: false }` |
//! | [`cancel`], [`shutdown_timer`] (async) | the same | the same |
//! | [`cancel_sync`], [`shutdown_timer_sync`] | error `WouldDeadlock` | waits; `Finished` |
//!
//! - `try_cancel` and a call that returns the error do not change a running timer. After the other
//!   calls the timer will not run again. The async calls return at once.
//! - If a call returns a callback, the caller drops it. After a timer's last run, the thread that
//!   ran the callback drops it. It does this without the lock, and before any cancel that waits for
//!   the run returns. Every callback is dropped exactly once.
//! - `Finished { suppressed: true }` means that the callback had asked to run again and the cancel
//!   prevented this. If several threads cancel the same run, only the first one that waits gets
//!   `true`. Example: each armed timer owns a reference to an object. If `suppressed` is `true`,
//!   the canceller must release that reference. Otherwise the callback released it before it
//!   returned [`Next::Done`].
//! - If two threads cancel the same running timer with a `_sync` call, both wait, and both get the
//!   right result. If callbacks of two schedulers wait for each other, they wait forever. A thread
//!   that cancels under a lock also waits forever if the callback needs that lock.
//! - [`shutdown`](Scheduler::shutdown) ends a whole scheduler. The scheduler then refuses every
//!   arm. If one of the scheduler's own callbacks calls `shutdown`, the call returns an error.
//!
//! # A panic in a callback
//!
//! The timer is removed, or becomes idle if it is kept, and threads that wait for its end continue.
//! All other timers are unaffected. The panic propagates to the caller of `run_queue`. If dropping
//! the callback panics during that unwinding, the process aborts, as Rust prescribes.
//!
//! # Forks
//!
//! A forked child has a consistent copy of the scheduler, whatever other threads were doing with
//! the scheduler at the moment of the fork. The copy's timers are due at the same times, but no
//! thread runs its queue. Start a thread in the child, or run the queue there. If a timer's
//! callback was running on another thread, the timer does not exist in the child, even if it was
//! kept, and that callback is not dropped. For drivers in a child, see [Forks](crate::time#forks).
//!
//! [`try_cancel`]: Scheduler::try_cancel
//! [`cancel`]: Scheduler::cancel
//! [`cancel_sync`]: Scheduler::cancel_sync
//! [`shutdown_timer`]: Scheduler::shutdown_timer
//! [`shutdown_timer_sync`]: Scheduler::shutdown_timer_sync

// An add goes through `new_timer`, `life`, `table` and `queue`. A due timer goes through `thread`,
// `run`, `pass` and `callback`.
mod asleep;
mod callback;
mod cancel;
mod gate;
mod host_tick;
mod inspect;
mod int_ids;
mod life;
mod lock;
mod new_timer;
mod pass;
mod queue;
#[cfg(feature = "record")]
mod recorded;
mod report;
mod results;
mod run;
#[expect(clippy::module_inception, reason = "it holds the type of that name")]
mod scheduler;
mod settings;
mod site;
mod structure;
mod table;
#[cfg(all(test, not(loom)))]
mod tests;
mod thread;
mod timer;
mod timer_set;
mod timing;
mod wall;

pub use core::time::Duration;

pub use crate::would_deadlock::WouldDeadlock;
pub use callback::{Boxed, Callback, Firing, Plain};
pub use host_tick::Urgent;
pub use lock::{Access, Local, Shared};
pub use new_timer::NewTimer;
#[doc(hidden)]
pub use new_timer::Placed;
pub use report::{Dump, Listed, Report};
pub use results::{Cancelled, Due, HostTick, Info, Next, Refusal, Refused, RunError, Statistics};
pub use scheduler::{LocalScheduler, Scheduler};
pub use settings::Settings;
pub use site::{Origin, Site, SiteCounts};
pub use structure::{Structure, UnknownStructure};
pub use table::TimerId;
pub use thread::SchedulerThread;
pub use timer::State;
pub use timer_set::TimerSet;
pub use timing::{Missed, Timing, When};
