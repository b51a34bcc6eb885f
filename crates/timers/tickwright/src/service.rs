//! A timer service: a clock over a queue, and the life of each timer. One thread owns it; to share
//! timers between threads, take a [`Scheduler`](crate::scheduler::Scheduler).
//!
//! A [`Service`] holds payloads of any type, and returns each when it is due.
//! [`take`](Service::take) returns the payload and marks its timer as running.
//! [`finish`](Service::finish) decides what happens to the timer afterwards. The caller runs its
//! own code in between.
//!
//! ```
//! use core::time::Duration;
//! use tickwright::service::{Missed, Next, Service, Settings, Site, Timing};
//! use tickwright::time::{Instant, VirtualHost};
//!
//! let host = VirtualHost::new();
//! let mut service = Service::new(Settings::new().clock(host.monotonic()));
//! let period = Duration::from_millis(10);
//! let beat = Timing::after(period).every(period).missed(Missed::Skip);
//! service.add(beat, &Site::here("beat"), "payload")?;
//! assert_eq!(service.timeout(), Some(Duration::from_millis(10)));
//!
//! host.advance(Duration::from_millis(47));
//! service.begin_pass();
//! let due = service.take().expect("it is late");
//! assert_eq!(due.due, Instant::ZERO + Duration::from_millis(40));
//! assert_eq!((due.payload, due.overruns), ("payload", 3));
//! service.finish(due.id, due.payload, Next::Again);
//! assert_eq!(service.timeout(), Some(Duration::from_millis(3)), "on the grid");
//! # Ok::<(), tickwright::service::Refused<&str>>(())
//! ```
//!
//! # Time
//!
//! Deadlines are rounded up to ticks and the clock is rounded down, so no timer is early. A tick is
//! 1 ns, or 1 ms for wheels ([`Settings::tick`] changes it).
//!
//! The table in [`time`](crate::time) says what a step of the wall, a suspend or a pause of the
//! machine means to each kind of timer.
//!
//! # Passes
//!
//! A pass begins with [`begin_pass`](Service::begin_pass), which reads the clock once. The pass
//! takes no timer that is due later, and no timer that is armed after the pass began. So a timer
//! that is always armed for now cannot keep a pass from ending: the next pass takes it first. A
//! poll loop sleeps for [`timeout`](Service::timeout) between two passes.
//! [`end_pass`](Service::end_pass) sets the alarm; without an alarm it does nothing.
//!
//! # Costs
//!
//! Costs of `add`, `start`, `cancel`, `take` and `finish`: one operation of the queue, at most one
//! read of the clock, and O(1) for the id. While timers by the wall clock are pending, each also
//! reads the wall's offset once. [`Timing::since`] spares `add` and `start` the read of the clock.
//! Up to [`Settings::capacity`] nothing is allocated. A step of the wall clock inserts all timers
//! by the wall again: O(timers).

mod base;
mod entry;
mod held;
pub mod host;
mod int;
mod life;
mod look;
mod pass;
mod queue;
#[cfg(feature = "record")]
mod recorded;
mod settings;
mod site;
mod structure;
mod table;
mod timing;
mod wall;
mod words;

pub use base::Service;
pub use entry::State;
pub use held::HostTick;
pub use settings::Settings;
pub use site::{Origin, Site, SiteCounts};
pub use structure::{Structure, UnknownStructure};
pub use table::TimerId;
pub use timing::{Missed, Timing, When};
pub use words::{Due, Finished, Info, Next, Refusal, Refused, Removal, Statistics};

#[cfg(test)]
mod tests;
