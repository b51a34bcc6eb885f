//! Time: clocks, ticks, alarms, and the drivers that wake a scheduler when its next timer is due.
//!
//! # Clocks
//!
//! A clock has a **steady** timeline, which never steps and never runs backwards. Its points are
//! [`Instant`]s, and timers are due on it. A clock that people set (the wall clock) is a steady
//! clock plus an offset, which can change. When the offset changes, timers by the wall clock are
//! inserted again, and other timers are unaffected.
//!
//! [`SystemClock`] is one of three clocks of the machine. [`VirtualHost`] is a virtual machine with
//! the same three clocks, which a test moves by command.
//!
//! | system | monotonic | wall | they show: monotonic; wall | in a suspend |
//! |---|---|---|---|---|
//! | Linux | `CLOCK_MONOTONIC` | `CLOCK_REALTIME` | 1 ns | stands still |
//! | Linux, boot time | `CLOCK_BOOTTIME` | `CLOCK_REALTIME` | 1 ns | goes on |
//! | Windows | `QueryPerformanceCounter` | precise system time | 100 ns | goes on, waits do not |
//! | macOS | `CLOCK_UPTIME_RAW` | `CLOCK_REALTIME` | 42 ns on Arm; 1 us | stands still |
//! | macOS, boot time | `CLOCK_MONOTONIC_RAW` | `CLOCK_REALTIME` | 42 ns on Arm; 1 us | goes on |
//! | FreeBSD | `CLOCK_MONOTONIC` | `CLOCK_REALTIME` | 1 ns | see below |
//! | [page](#pages) | `performance.now()` | `Date.now()` | 5 us to 1 ms; 1 ms | browser's choice |
//! | WASI | `clock_time_get` | `clock_time_get` | the host's | host's choice |
//!
//! | system | a parked thread waits by | it wakes within |
//! |---|---|---|
//! | Linux | a futex with an absolute time, or a [`TimerFd`] | 50 us (the slack of a thread) |
//! | Windows | a waitable timer of high resolution | 0.5 ms |
//! | Windows before 10 1803 | an ordinary waitable timer | 15.6 ms |
//! | macOS | a condition variable, or a [`TimerFd`]; relative | what the kernel coalesces |
//! | FreeBSD | `_umtx_op`, absolute; a [`TimerFd`] | 5 % (`kern.timecounter.alloweddeviation`) |
//! | page ([`web`](#pages)) | `setTimeout` | 1 ms; 4 ms if nested; 1 s and more if hidden |
//! | WASI | no threads: the time-out of your own loop | - |
//!
//! FreeBSD has one clock for both. By its manual the clock goes on in a suspend, but no test of
//! ours has shown this.
//!
//! A wait never ends early: its length is rounded up, and the clock is read again after it. On
//! Windows the clocks continue during a suspend, but waits stand still. A thread that waits by
//! [`BootTime`](SystemClock::BootTime) reads the clock each second, so timers that came due fire
//! within a second after the resume. A thread that waits by [`Monotonic`](SystemClock::Monotonic)
//! first waits for the rest of its time. Example: a timer of an hour is armed, and 5 minutes later
//! the machine is suspended for 8 hours. By `Monotonic` the timer fires 55 minutes after the
//! resume, and by `BootTime` it fires within a second after the resume.
//!
//! # Pages
//!
//! The standard library has no clock on `wasm32-unknown-unknown`. With the feature `web` the clocks
//! are those of the page, and `WebAlarm` is a `setTimeout`. Without this feature the clocks of the
//! machine stand still, so pass your own [`Clock`] wherever a clock is accepted.
//!
//! # What happens to timers when time does something odd
//!
//! *Relative*: a timer that is due a given time after it was armed. *Periodic*: a timer that is due
//! on a grid from there. *Wall*: a timer that is due when the wall clock shows a date, or on a grid
//! from that date. Only [`SystemClock::RealTime`] has wall timers.
//!
//! - **The wall is set back 1 h.** Each pending wall timer fires 1 h later, when the wall clock
//!   shows its date again. A timer that has fired does not fire again. A grid that has begun
//!   continues within a period. Nothing happens to relative and periodic timers.
//! - **The wall is set forward 1 d.** Wall timers that were due within that day fire now, once. The
//!   missed points of a grid are overruns. Nothing happens to relative and periodic timers.
//! - **The machine is suspended for 8 h.**
//!   - [`Monotonic`](SystemClock::Monotonic): all timers stand still, and fire 8 h late by the time
//!     outside of the machine. There are no overruns.
//!   - [`BootTime`](SystemClock::BootTime): timers that came due fire at the resume. Periodic
//!     timers count the periods during the suspend as overruns, and their policy determines which
//!     of these periods they make up for.
//!   - [`RealTime`](SystemClock::RealTime): relative and periodic timers behave as with
//!     `Monotonic`. Wall timers that came due fire at the resume.
//! - **The virtual machine is paused, its clocks with it.** Nothing happens to the timers. The wall
//!   clock is behind until it is set, which has the effects of a wall clock that is set forward.
//! - **The same, and the clocks jump when the machine goes on.** Timers that came due fire at once,
//!   and periodic timers count overruns.
//!
//! "At the resume" and "now" mean the driver's next read of the clock. A thread that sleeps by a
//! steady clock is not notified of a step or of a suspend. Therefore a parked thread reads the
//! clock at least every [`longest_sleep`](Clock::longest_sleep), which is one second. The kernel
//! does notify a [timerfd](TimerFd). Slewing (NTP) is not one of these events, because it changes
//! the steady timeline and the wall clock equally.
//!
//! # Drivers
//!
//! A scheduler owns no thread. Whenever the time at which it must run next changes, it sets an
//! [`Alarm`] to that time. The thread that waits at the alarm runs the scheduler.
//!
//! | driver | for |
//! |---|---|
//! | [`Parker`] and [`DriverThread`] | a thread of its own, asleep until something is due |
//! | [`TimerFd`] (Linux, macOS, FreeBSD) | an event loop that waits for descriptors |
//! | `WebAlarm` (feature `web`) | a page: the event loop of a browser or of node |
//! | [`timeout_ms`], [`timeout`] | a `poll` loop whose thread alone arms timers |
//! | [`ShardDriver`](crate::shard::ShardDriver) | a thread for a shard |
//!
//! # Forks
//!
//! A forked child has only the thread that forked, so it has no driver thread. Start another driver
//! thread in the child. For a driver thread of the parent, [`DriverThread::stop`] and its drop
//! return at once in the child, and `settle` returns `false`. If a callback forks, its thread goes
//! on as the child's driver thread.
//!
//! A child has its own [`TimerFd`]. The descriptor keeps its number, and its alarm is set to the
//! same time as in the parent. The two timerfds do not affect each other. The child shares an
//! inherited `epoll` instance with the parent, so it must make its own.
//!
//! In the child all locks are free and their data is consistent, whatever other threads did at the
//! moment of the fork. The fork waits for those threads. Therefore do not fork inside of a
//! [`Clock`], an [`Alarm`] or an [`Origin`](crate::scheduler::Origin), nor while you hold a lock
//! that one of these takes. A fork inside of one of these takes two seconds longer. A child that is
//! created without `fork` (by `vfork` or `clone`) can call `exec`, but must not use this crate.

mod alarm;
mod clock;
mod delay_counts;
mod driver_thread;
#[cfg(all(windows, not(loom)))]
mod exact;
mod instant;
mod lateness;
mod parker;
#[cfg(unix)]
mod platform_thread;
mod source;
mod system;
mod ticks;
mod timeout;
#[cfg(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple"))]
mod timer_fd;
mod virtual_host;
#[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
mod web;

pub use alarm::Alarm;
pub use clock::{Clock, Timeline, Watcher};
pub use delay_counts::DelayCounts;
pub use driver_thread::{DriverPanicked, DriverThread, Join};
pub use instant::Instant;
pub(crate) use instant::nanos;
pub use lateness::Lateness;
pub use parker::{Parker, Woken};
#[cfg(unix)]
pub use platform_thread::start_thread;
pub(crate) use source::Source;
pub use system::SystemClock;
pub use ticks::Ticks;
pub use timeout::{timeout, timeout_ms};
#[cfg(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple"))]
pub use timer_fd::{Rung, TimerFd};
pub use virtual_host::{ClockHold, ClockMoves, VirtualClock, VirtualHost};
#[cfg(all(feature = "web", target_family = "wasm", target_os = "unknown"))]
pub use web::WebAlarm;
