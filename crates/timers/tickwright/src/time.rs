//! Time: clocks, ticks, alarms, and the drivers that wake a scheduler when its next timer is due.
//!
//! # Clocks
//!
//! A clock has a **steady** timeline, which never steps and never runs backwards. The points of
//! this timeline are [`Instant`]s, and due times are such points. A clock that people set (the wall
//! clock) is a steady clock plus an offset, which can change. When the offset changes, the timers
//! that follow the wall clock are inserted again, and other timers are unaffected.
//!
//! A [`SystemClock`] is one of three clocks of the machine. A [`VirtualHost`] simulates a machine
//! with the same three clocks, which a test moves by calls.
//!
//! | system | monotonic | wall | resolution: monotonic; wall | in a suspend |
//! |---|---|---|---|---|
//! | Linux | `CLOCK_MONOTONIC` | `CLOCK_REALTIME` | 1 ns | stands still |
//! | Linux, boot time | `CLOCK_BOOTTIME` | `CLOCK_REALTIME` | 1 ns | goes on |
//! | Windows | `QueryPerformanceCounter` | precise system time | 100 ns | goes on, waits stop |
//! | macOS | `CLOCK_UPTIME_RAW` | `CLOCK_REALTIME` | 42 ns on Arm; 1 us | stands still |
//! | macOS, boot time | `CLOCK_MONOTONIC_RAW` | `CLOCK_REALTIME` | 42 ns on Arm; 1 us | goes on |
//! | FreeBSD | `CLOCK_MONOTONIC` | `CLOCK_REALTIME` | 1 ns | see below |
//! | [page](#pages) | `performance.now()` | `Date.now()` | 5 us to 1 ms; 1 ms | browser's choice |
//! | WASI | `clock_time_get` | `clock_time_get` | host's choice | host's choice |
//!
//! | system | a parked thread waits by | it wakes within |
//! |---|---|---|
//! | Linux | a futex with an absolute time, or a [`TimerFd`] | 50 us (the slack of a thread) |
//! | Windows | a waitable timer of high resolution | 0.5 ms |
//! | Windows before 10 1803 | an ordinary waitable timer | 15.6 ms |
//! | macOS | a condition variable, or a [`TimerFd`]; relative | the kernel's coalescing time |
//! | FreeBSD | `_umtx_op`, absolute, or a [`TimerFd`] | 5 % (`kern.timecounter.alloweddeviation`) |
//! | page ([`web`](#pages)) | `setTimeout` | 1 ms; 4 ms if nested; 1 s and more if hidden |
//! | WASI | there are no threads, so your own loop's time-out | - |
//!
//! FreeBSD uses the same clock for monotonic time and for boot time. According to its manual, the
//! clock goes on during a suspend, but we have not tested this.
//!
//! A wait never ends early, because its length is rounded up and the clock is read again when the
//! wait ends. On Windows the clocks continue during a suspend, but waits stand still. A thread that
//! waits for a time of [`BootTime`](SystemClock::BootTime) reads the clock each second, so timers
//! that came due during the suspend fire within a second after the resume. A thread that waits for
//! a time of [`Monotonic`](SystemClock::Monotonic) continues its wait after the resume. Example: a
//! timer of an hour is armed, and 5 minutes later the machine is suspended for 8 hours. With
//! `Monotonic` the timer fires 55 minutes after the resume, and with `BootTime` it fires within a
//! second after the resume.
//!
//! # Pages
//!
//! The standard library has no clock on `wasm32-unknown-unknown`. With the feature `web`, a
//! [`SystemClock`] reads the clocks of the page, and a `WebAlarm` uses `setTimeout`. Without this
//! feature a [`SystemClock`] stands still, so pass your own [`Clock`] wherever a clock is accepted.
//!
//! # What happens to timers when time does something odd
//!
//! A *relative* timer is due a given time after it was armed. A *periodic* timer is first due like
//! a relative timer, and then on a grid. A *wall* timer is due when the wall clock shows a given
//! date, or on a grid that begins at that date. Only [`SystemClock::RealTime`] has wall timers.
//!
//! - **The wall clock is set back 1 h.** Each pending wall timer fires 1 h later, when the wall
//!   clock shows its date. A timer that has fired does not fire again. If a wall timer's grid has
//!   begun, its next run is at most one period away. Relative and periodic timers are unaffected.
//! - **The wall clock is set forward 1 d.** Each wall timer that was due within that day fires now,
//!   once. The missed due times of a grid are counted as overruns. Relative and periodic timers are
//!   unaffected.
//! - **The machine is suspended for 8 h.**
//!   - [`Monotonic`](SystemClock::Monotonic): the clock stands still, so for an observer outside of
//!     the machine all timers fire 8 h late. There are no overruns.
//!   - [`BootTime`](SystemClock::BootTime): timers that came due fire at the resume. Periodic
//!     timers count the periods during the suspend as overruns. Their policy for missed periods
//!     determines for which of these periods they still run.
//!   - [`RealTime`](SystemClock::RealTime): relative and periodic timers behave as with
//!     `Monotonic`. Wall timers that came due fire at the resume.
//! - **The virtual machine and its clocks are paused.** Timers are unaffected. After the pause the
//!   wall clock is behind until it is set forward, which has the effects described above.
//! - **The virtual machine is paused, and its clocks jump when it goes on.** Timers that came due
//!   fire at once, and periodic timers count overruns.
//!
//! "At the resume" and "now" mean the driver's next read of the clock. A thread that sleeps by a
//! steady clock is not notified of a step or of a suspend. Therefore a parked thread reads the
//! clock at least every [`longest_sleep`](Clock::longest_sleep), which is one second. The kernel
//! does notify a [timerfd](TimerFd). When NTP slews the clock, nothing happens to timers, because
//! slewing changes the speed of the steady timeline and of the wall clock equally.
//!
//! # Drivers
//!
//! A scheduler owns no thread. Whenever the time of its next run changes, it sets an [`Alarm`] to
//! that time. The thread that waits at the alarm runs the scheduler.
//!
//! | driver | for |
//! |---|---|
//! | [`Parker`] and [`DriverThread`] | a dedicated thread, which sleeps until a timer is due |
//! | [`TimerFd`] (Linux, macOS, FreeBSD) | an event loop that waits for descriptors |
//! | `WebAlarm` (feature `web`) | a page, with the event loop of a browser or of Node.js |
//! | [`timeout_ms`], [`timeout`] | a `poll` loop on the only thread that arms timers |
//! | [`ShardDriver`](crate::shard::ShardDriver) | a dedicated thread for a shard |
//!
//! # Forks
//!
//! A forked child has only the thread that forked, so it has no driver thread. Start another driver
//! thread in the child. If the child calls [`DriverThread::stop`] for a driver thread of the
//! parent, or drops it, the call returns at once, and `settle` returns `false`. If a callback
//! forks, the thread that runs it continues as a driver thread in the child.
//!
//! A child has its own [`TimerFd`]. The descriptor keeps its number, and its alarm is set to the
//! same time as in the parent. The two timerfds do not affect each other. The child shares an
//! inherited `epoll` instance with the parent, so it must create its own `epoll` instance.
//!
//! In the child all locks of this crate are free and their data is consistent, because a fork waits
//! until other threads have released these locks. Therefore do not fork inside of a [`Clock`], an
//! [`Alarm`] or an [`Origin`](crate::scheduler::Origin), nor while you hold a lock that one of
//! these takes. Such a fork takes two seconds longer. A child that is created without `fork` (by
//! `vfork` or `clone`) can call `exec`, but must not use this crate.

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
