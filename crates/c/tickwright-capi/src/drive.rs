//! The drivers that run a scheduler (the caller's poll loop, a thread, or an event loop with a
//! descriptor), and the functions that move a virtual clock.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::time::Duration;
use std::io::ErrorKind;
use std::sync::Arc;

use tickwright::scheduler::{RunError, Scheduler};
use tickwright::time::{Alarm, Clock, DriverThread, Instant, Parker, VirtualHost, timeout_ms};
use tickwright_boundary::spare::covered;
use tickwright_boundary::state::is_ending;
use tickwright_boundary::{answer, code, exported};

use crate::handle::{Call, Driver, Timers, shared, tw_sched, with};

/// The descriptor of a scheduler.
#[cfg(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple"))]
mod descriptor;
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple")))]
mod descriptor {
    use super::{c_int, code, tw_sched};

    pub(super) fn of(_: &tw_sched) -> Result<c_int, c_int> {
        Err(code::UNSUPPORTED)
    }

    pub(super) fn acknowledge(_: &tw_sched) -> Result<c_int, c_int> {
        Err(code::UNSUPPORTED)
    }
}

/// The scheduler calls this function when a sleeping loop must compute its time-out again.
pub type tw_wake_fn = Option<unsafe extern "C-unwind" fn(data: *mut c_void)>;

/// The caller's function that wakes the caller's loop, and the data for that function.
struct Wake {
    call: unsafe extern "C-unwind" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: by the header's contract any thread may call the function with the data.
unsafe impl Send for Wake {}
// SAFETY: as above, and several threads may call it at a time.
unsafe impl Sync for Wake {}

impl Wake {
    fn wake(&self) {
        // SAFETY: the caller's function, called as the header says, with no lock held.
        code::contained(|| unsafe { (self.call)(self.data) });
    }
}

/// Starts the thread of a scheduler.
fn start(
    scheduler: &'static Scheduler<Call>,
    name: Option<&CStr>,
) -> Result<DriverThread<Arc<dyn Clock>>, c_int> {
    let parker = Parker::try_new(scheduler.clock()).ok_or(code::NO_MEMORY)?;
    scheduler.set_alarm(Some(Arc::clone(&parker) as Arc<dyn Alarm>));
    // If another thread is running the queue at this moment, that thread sets the alarm afterwards.
    let run = move || {
        let _ = scheduler.run_queue();
    };
    #[cfg(unix)]
    let thread = DriverThread::spawn_by(parker, run, |work| tickwright::time::start_thread(name, None, work));
    // The standard library copies the name, so a spare block must be large enough for the name.
    #[cfg(not(unix))]
    let thread = {
        let name = name.unwrap_or_default().to_bytes();
        DriverThread::spawn(&String::from_utf8_lossy(&name[..name.len().min(100)]), parker, run)
    };
    thread.map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => code::NO_MEMORY,
        _ => code::AGAIN,
    })
}

/// Moves a virtual clock. If the scheduler has a thread and the caller is not one of its callbacks,
/// waits until the thread has run all due timers.
fn turn(sched: *const tw_sched, turn: impl FnOnce(&VirtualHost)) -> c_int {
    answer::code(|| {
        let sched = shared(sched)?;
        let host = sched.host.as_ref().ok_or(code::UNSUPPORTED)?;
        // Moving the clock allocates a list of the alarms that are notified. The only one is the
        // alarm of the thread.
        covered(&[(1, 256)], || turn(host))?;
        let parker = match &*sched.driver() {
            Driver::Thread(thread) => Arc::clone(thread.parker()),
            _ => return Ok(0),
        };
        if !with!(sched, scheduler => scheduler.within_callback()) {
            parker.settle();
        }
        Ok(0)
    })
}

exported!(
    /// Returns how long a poll loop can sleep.
    fn tw_sched_timeout_ms(sched: *mut tw_sched) -> c_int {
        answer::code(|| {
            let wait = with!(shared(sched)?, scheduler => scheduler.timeout_of_loop());
            Ok(timeout_ms(Instant::ZERO, wait.map(|wait| Instant::ZERO + wait)))
        })
    }

    /// Sets the function that wakes a loop.
    fn tw_sched_set_wake(sched: *mut tw_sched, wake: tw_wake_fn, data: *mut c_void) -> c_int {
        answer::code(|| {
            let sched = shared(sched)?;
            let wake = match wake {
                None => None,
                Some(call) => Some(covered(&[(1, 128)], || {
                    let wake = Wake { call, data };
                    Arc::new(move || wake.wake()) as Arc<dyn Fn() + Send + Sync>
                })?),
            };
            with!(sched, scheduler => scheduler.set_wake(wake));
            Ok(0)
        })
    }

    /// Runs the due timers.
    fn tw_sched_run(sched: *mut tw_sched, budget: usize) -> isize {
        answer::count(|| match with!(shared(sched)?, scheduler => scheduler.run_queue_within(budget)) {
            Ok(ran) => Ok(ran),
            Err(RunError::WithinCallback) => Err(code::DEADLOCK),
            Err(_) => Err(code::BUSY),
        })
    }

    /// Starts a thread that runs due timers.
    fn tw_sched_start_thread(sched: *mut tw_sched, name: *const c_char) -> c_int {
        answer::code(|| {
            // The reference is valid as long as the thread runs, because `tw_sched_destroy` waits
            // for the thread before it frees the scheduler.
            let sched: &'static tw_sched = shared(sched)?;
            let Timers::Shared(scheduler) = &sched.scheduler else { return Err(code::UNSUPPORTED) };
            let mut driver = sched.driver();
            if !matches!(*driver, Driver::None) {
                return Err(code::ALREADY);
            }
            if is_ending(sched) {
                return Err(code::ENDING);
            }
            // SAFETY: 1. A pointer that is not null points to a text, by the header's contract. 2.
            // The text is copied.
            let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
            // The blocks are for the clock, the alarm and the thread with their locks, and for the
            // closure that the thread runs. On platforms other than Unix, a thread of the standard
            // library makes more allocations, which no test counts.
            let blocks = if cfg!(unix) { 16 } else { 32 };
            let started = covered(&[(blocks, 512)], || start(scheduler, name))?;
            *driver = Driver::Thread(started.inspect_err(|_| scheduler.set_alarm(None))?);
            Ok(0)
        })
    }

    /// Stops the thread.
    fn tw_sched_stop_thread(sched: *mut tw_sched) -> c_int {
        answer::code(|| {
            let sched = shared(sched)?;
            if with!(sched, scheduler => scheduler.within_callback()) {
                return Err(code::DEADLOCK);
            }
            drop(sched.take_thread().ok_or(code::ABSENT)?);
            Ok(0)
        })
    }

    /// Returns a descriptor that becomes readable when the queue must be run.
    fn tw_sched_fd(sched: *mut tw_sched) -> c_int {
        answer::code(|| descriptor::of(shared(sched)?))
    }

    /// Acknowledges that the descriptor was readable.
    fn tw_sched_fd_ack(sched: *mut tw_sched) -> c_int {
        answer::code(|| descriptor::acknowledge(shared(sched)?))
    }

    /// Writes the time of the scheduler's clock.
    fn tw_sched_now(sched: *const tw_sched, ns: *mut u64) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::value(ns, || Ok(with!(shared(sched)?, scheduler => scheduler.now()).as_nanos())) }
    }

    /// Moves a virtual clock.
    fn tw_sched_advance(sched: *mut tw_sched, ns: u64) -> c_int {
        turn(sched, |host| host.advance(Duration::from_nanos(ns)))
    }

    /// Steps the wall clock of a virtual clock.
    fn tw_sched_step_wall(sched: *mut tw_sched, ns: i64) -> c_int {
        turn(sched, |host| host.step_wall(ns))
    }
);
