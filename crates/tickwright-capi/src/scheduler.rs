//! Schedulers: timers that call back, shared between threads.
//!
//! The handle is in the library's memory and holds the scheduler itself, so that making one allocates only what can be refused. It stays where it is until
//! `tw_sched_destroy`, which waits for the callback that runs and for the thread; so both may point at it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tickwright::clock::{Clock, SystemClock, VirtualHost};
use tickwright::driver::{Alarm, DriverThread, Parker, timeout_ms};
#[cfg(target_os = "linux")]
use tickwright::driver::{Rung, TimerFd};
use tickwright::scheduler::{Callback, Cancelled, Firing, Next, RunError, Scheduler, TimerId};
use tickwright::service::{Missed, Origin, Refusal, Settings, Site, State, Structure, Timing, When};

use crate::code;
use crate::family::structure;
use crate::queue::{put, write_text};

/// What a callback is told.
#[repr(C)]
#[derive(Debug)]
pub struct tw_firing {
    /// Who calls.
    pub sched: *mut tw_sched,
    /// The timer.
    pub id: u64,
    /// When it was due, in ns.
    pub due: u64,
    /// The time, in ns.
    pub now: u64,
    /// Periods missed.
    pub overruns: u64,
    /// The caller's token.
    pub token: *const c_void,
}

/// Is called when a timer is due; answers whether it runs again.
pub type tw_sched_fn = Option<unsafe extern "C" fn(data: *mut c_void, firing: *const tw_firing) -> i64>;

/// Is called when a timer is gone.
pub type tw_cleanup_fn = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// When a timer is due.
#[repr(C)]
#[derive(Debug)]
pub struct tw_timing {
    /// What `when` counts from.
    pub base: c_int,
    /// What becomes of missed periods.
    pub missed: c_int,
    /// In ns.
    pub when: i64,
    /// In ns; 0: none.
    pub period: i64,
    /// In ns.
    pub slack: i64,
}

/// A timer to be.
#[repr(C)]
#[derive(Debug)]
pub struct tw_job {
    /// The callback.
    pub call: tw_sched_fn,
    /// Its data.
    pub data: *mut c_void,
    /// Ends it.
    pub cleanup: tw_cleanup_fn,
    /// The caller's, to cancel by.
    pub token: *const c_void,
    /// `TW_JOB_...`.
    pub flags: c_int,
    /// When.
    pub timing: tw_timing,
}

/// What is known of a timer.
#[repr(C)]
#[derive(Debug)]
pub struct tw_sched_info {
    /// Its id.
    pub id: u64,
    /// The same as an `int`.
    pub int_id: c_int,
    /// `TW_STATE_...`.
    pub state: c_int,
    /// When it is due, in ns.
    pub due: u64,
    /// Its period or delay, in ns.
    pub interval: u64,
    /// The caller's token.
    pub token: *const c_void,
    /// The callback's data, unless it runs.
    pub data: *mut c_void,
}

/// What was counted.
#[repr(C)]
#[derive(Debug)]
pub struct tw_sched_counts {
    /// Timers there are.
    pub timers: u64,
    /// Those that are pending.
    pub pending: u64,
    /// The most there were.
    pub high_water: u64,
    /// Times that one was armed.
    pub armed: u64,
    /// Callbacks run.
    pub fired: u64,
    /// Cancelled while pending.
    pub cancelled: u64,
    /// Periods missed.
    pub overruns: u64,
    /// Runs of the queue.
    pub passes: u64,
    /// Steps of the wall clock.
    pub steps: u64,
    /// Bytes on the heap.
    pub heap_bytes: u64,
    /// The mean lateness, in ns.
    pub late_mean: u64,
    /// What half of the callbacks kept.
    pub late_half: u64,
    /// What 99 % of them kept.
    pub late_most: u64,
    /// The greatest.
    pub late_max: u64,
}

macro_rules! numbers {
    ($($name:ident = $number:literal;)+) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: c_int = $number;
        )+
        /// Every number of the scheduler's, by its name in the header.
        pub const NUMBERS: &[(&str, c_int)] = &[$((stringify!($name), $number)),+];
    };
}

numbers! {
    TW_CLOCK_MONOTONIC = 0;
    TW_CLOCK_BOOTTIME = 1;
    TW_CLOCK_REALTIME = 2;
    TW_CLOCK_VIRTUAL = 3;
    TW_BASE_NOW = 0;
    TW_BASE_CLOCK = 1;
    TW_BASE_WALL = 2;
    TW_MISSED_COLLAPSE = 0;
    TW_MISSED_BURST = 1;
    TW_MISSED_SKIP = 2;
    TW_MISSED_DELAY = 3;
    TW_JOB_VARIABLE = 1;
    TW_JOB_KEEP = 2;
    TW_STATE_IDLE = 0;
    TW_STATE_PENDING = 1;
    TW_STATE_RUNNING = 2;
    TW_CANCEL_REMOVED = 0;
    TW_CANCEL_DISARMED = 1;
    TW_CANCEL_IDLE = 2;
    TW_CANCEL_FINISHED = 3;
    TW_CANCEL_SUPPRESSED = 4;
    TW_CANCEL_ENDING = 5;
}

/// The caller's function and data. Dropped, it is cleaned up; so nobody drops one that was refused.
struct Call {
    run: unsafe extern "C" fn(*mut c_void, *const tw_firing) -> i64,
    cleanup: tw_cleanup_fn,
    data: *mut c_void,
    variable: bool,
}

// SAFETY: by the header's contract the functions may be called with the data on whatever thread runs the queue or lets go of the timer.
unsafe impl Send for Call {}

impl Callback for Call {
    fn call(&mut self, firing: &Firing<'_, Self>) -> Next {
        let told = tw_firing {
            sched: holder(firing.scheduler()),
            id: firing.id().to_bits(),
            due: firing.due(),
            now: firing.now(),
            overruns: firing.overruns(),
            token: core::ptr::with_exposed_provenance(firing.token()),
        };
        // SAFETY: the caller's function, called as the header says, with no lock held.
        match unsafe { (self.run)(self.data, &raw const told) } {
            0 => Next::Done,
            ms if self.variable => {
                u64::try_from(ms).map_or(Next::Done, |ms| Next::After(Duration::from_millis(ms)))
            }
            _ => Next::Again,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(cleanup) = self.cleanup {
            // SAFETY: the caller's function, called as the header says: once, with no lock held.
            unsafe { cleanup(self.data) };
        }
    }
}

/// A scheduler of the library's own memory.
#[derive(Debug)]
pub struct tw_sched {
    state: AtomicU64,
    /// Calls under way that come back to the scheduler after a clean-up function; then it cannot be destroyed.
    returning: AtomicUsize,
    clock: c_int,
    scheduler: Scheduler<Call>,
    /// The machine of a virtual clock.
    host: Option<VirtualHost>,
    driver: Mutex<Driver>,
}

/// Who is told when the queue is to be run.
#[derive(Debug)]
enum Driver {
    None,
    Thread(DriverThread<Arc<dyn Clock>>),
    #[cfg(target_os = "linux")]
    Descriptor(Arc<TimerFd>),
}

/// States, before the address is mixed in.
const READY: u64 = 0x7469_636b_7363_6865;
/// It is being destroyed: what callbacks call is answered, but another destroy is refused.
const ENDING: u64 = 0x7469_636b_656e_6421;

fn state(kind: u64, sched: *const tw_sched) -> u64 {
    kind ^ (sched.addr() as u64).rotate_left(16)
}

/// A scheduler that may be used.
///
/// # Errors
/// [`code::INVALID`] where none is.
fn checked<'s>(sched: *const tw_sched) -> Result<&'s tw_sched, c_int> {
    if sched.is_null() || !sched.is_aligned() {
        return Err(code::INVALID);
    }
    // SAFETY: 1. not null and aligned; 2. a scheduler that `tw_sched_create` has made and nobody has destroyed, by the header's contract; 3. nobody
    // borrows it mutably, ever.
    let found = unsafe { &*sched };
    let now = found.state.load(Ordering::Relaxed);
    if now == state(READY, sched) || now == state(ENDING, sched) { Ok(found) } else { Err(code::INVALID) }
}

/// The handle around a scheduler.
fn holder(scheduler: &Scheduler<Call>) -> *mut tw_sched {
    let at = core::ptr::from_ref(scheduler).addr() - core::mem::offset_of!(tw_sched, scheduler);
    core::ptr::with_exposed_provenance_mut(at)
}

impl tw_sched {
    fn driver(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the thread off.
    fn take_thread(&self) -> Option<DriverThread<Arc<dyn Clock>>> {
        let mut driver = self.driver();
        match core::mem::replace(&mut *driver, Driver::None) {
            Driver::Thread(thread) => {
                self.scheduler.set_alarm(None);
                Some(thread)
            }
            other => {
                *driver = other;
                None
            }
        }
    }

    /// The timer of an id of either kind: of a 64-bit one the upper half is never 0.
    fn named(&self, id: u64) -> Option<TimerId> {
        match i32::try_from(id) {
            Ok(int) => self.scheduler.from_int(int),
            Err(_) => TimerId::from_bits(id),
        }
    }
}

/// Where a timer comes from.
struct Place {
    name: *const c_char,
    file: *const c_char,
    line: c_int,
}

impl Origin for Place {
    fn key(&self) -> [usize; 3] {
        [self.name.addr(), self.file.addr(), self.line as usize]
    }

    fn site(&self) -> Site {
        let line = self.line.unsigned_abs();
        // SAFETY: null, or a text that stays for as long as the scheduler, by the header's contract.
        let name = unsafe { text(self.name) };
        // SAFETY: as above.
        let file = unsafe { text(self.file) };
        Site { name, file, line }
    }
}

/// # Safety
/// Null, or a text that outlives every use of the answer.
unsafe fn text(at: *const c_char) -> &'static str {
    if at.is_null() {
        return "";
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(at) }.to_str().unwrap_or("(not UTF-8)")
}

/// Why a timer was not armed.
fn refused(reason: Refusal) -> c_int {
    match reason {
        Refusal::Full => code::NO_MEMORY,
        Refusal::NoWall => code::UNSUPPORTED,
        Refusal::NotFound => code::ABSENT,
        Refusal::Shutdown => code::ENDING,
        _ => code::INVALID,
    }
}

/// What a cancel that may change a running timer found. What it removed is cleaned up.
fn cancelled(found: Cancelled<Call>) -> Result<c_int, c_int> {
    match found {
        Cancelled::Removed(call) => {
            drop(call);
            Ok(TW_CANCEL_REMOVED)
        }
        Cancelled::Disarmed => Ok(TW_CANCEL_DISARMED),
        Cancelled::Idle => Ok(TW_CANCEL_IDLE),
        Cancelled::Running { .. } => Ok(TW_CANCEL_ENDING),
        Cancelled::Finished { suppressed: false } => Ok(TW_CANCEL_FINISHED),
        Cancelled::Finished { suppressed: true } => Ok(TW_CANCEL_SUPPRESSED),
        Cancelled::NotFound => Err(code::ABSENT),
    }
}

/// A span of the caller's, which may not be negative.
fn span(ns: i64) -> Result<u64, c_int> {
    u64::try_from(ns).map_err(|_| code::INVALID)
}

fn after(delay_ms: i64) -> Result<Timing, c_int> {
    Ok(Timing::after(Duration::from_millis(span(delay_ms)?)))
}

fn timing(asked: &tw_timing) -> Result<Timing, c_int> {
    let when = span(asked.when)?;
    let timing = Timing::at(match asked.base {
        TW_BASE_NOW => When::After(when),
        TW_BASE_CLOCK => When::At(when),
        TW_BASE_WALL => When::Wall(when),
        _ => return Err(code::INVALID),
    });
    let timing = timing.slack(Duration::from_nanos(span(asked.slack)?)).missed(match asked.missed {
        TW_MISSED_COLLAPSE => Missed::Collapse,
        TW_MISSED_BURST => Missed::Burst,
        TW_MISSED_SKIP => Missed::Skip,
        TW_MISSED_DELAY => Missed::Delay,
        _ => return Err(code::INVALID),
    });
    match span(asked.period)? {
        0 => Ok(timing),
        period => Ok(timing.every(Duration::from_nanos(period))),
    }
}

/// The timing that the caller points to.
///
/// # Safety
/// The header's contract.
unsafe fn timing_at(asked: *const tw_timing) -> Result<Timing, c_int> {
    if asked.is_null() || !asked.is_aligned() {
        return Err(code::INVALID);
    }
    // SAFETY: not null, aligned; the rest is the caller's word.
    timing(unsafe { &*asked })
}

/// A callback without clean-up.
fn simple(run: tw_sched_fn, data: *mut c_void, variable: bool) -> Result<Call, c_int> {
    Ok(Call { run: run.ok_or(code::INVALID)?, cleanup: None, data, variable })
}

/// What an add answers: the `int` id, and what became of an old timer.
fn place(
    sched: &tw_sched,
    old: Option<TimerId>,
    timing: Timing,
    origin: &Place,
    token: *const c_void,
    call: Call,
) -> Result<(c_int, u64, Cancelled<Call>), c_int> {
    let placed = sched.scheduler.place(old, timing, origin, token.expose_provenance(), call);
    match placed {
        Ok(placed) => Ok((placed.int_id.unwrap_or(c_int::MAX), placed.id.to_bits(), placed.old)),
        Err(back) => {
            core::mem::forget(back.payload);
            Err(refused(back.reason))
        }
    }
}

/// The machine's clock of that number.
fn system_clock(number: c_int) -> Option<SystemClock> {
    match number {
        TW_CLOCK_MONOTONIC => Some(SystemClock::Monotonic),
        TW_CLOCK_BOOTTIME => Some(SystemClock::BootTime),
        TW_CLOCK_REALTIME => Some(SystemClock::RealTime),
        _ => None,
    }
}

/// Makes a scheduler.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_create(
    sched: *mut *mut tw_sched,
    family: c_int,
    clock: c_int,
    tick_ns: u64,
    capacity: usize,
) -> c_int {
    code::answer(|| {
        if sched.is_null() || !sched.is_aligned() {
            return Err(code::INVALID);
        }
        // SAFETY: not null, aligned, writable by the header's contract.
        unsafe { sched.write(core::ptr::null_mut()) };
        let structure = if family == 0 { Some(Structure::default()) } else { structure(family) };
        let settings =
            Settings::new().structure(structure.ok_or(code::INVALID)?).int_ids().capacity(capacity);
        let settings = if tick_ns == 0 { settings } else { settings.tick(Duration::from_nanos(tick_ns)) };
        let host = (clock == TW_CLOCK_VIRTUAL).then(VirtualHost::new);
        let settings = match &host {
            Some(host) => settings.clock(host.real_time()),
            None => settings.clock(system_clock(clock).ok_or(code::INVALID)?),
        };
        let scheduler = Scheduler::try_new(settings).map_err(refused)?;
        // A box that may be refused.
        let mut one = Vec::new();
        one.try_reserve_exact(1).map_err(|_| code::NO_MEMORY)?;
        one.push(tw_sched {
            state: AtomicU64::new(0),
            returning: AtomicUsize::new(0),
            clock,
            scheduler,
            host,
            driver: Mutex::new(Driver::None),
        });
        let at: *mut tw_sched = Box::into_raw(one.into_boxed_slice()).cast();
        // Callbacks are told of it by what is made from the address.
        let _ = at.expose_provenance();
        // SAFETY: made just now.
        unsafe { &*at }.state.store(state(READY, at), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { sched.write(at) };
        Ok(0)
    })
}

/// Ends a scheduler.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_destroy(sched: *mut tw_sched) -> c_int {
    code::answer(|| {
        if sched.is_null() {
            return Ok(0);
        }
        let ending = checked(sched)?;
        if ending.scheduler.within_callback() {
            return Err(code::DEADLOCK);
        }
        if ending.returning.load(Ordering::Relaxed) > 0 {
            return Err(code::BUSY);
        }
        let (ready, end) = (state(READY, sched), state(ENDING, sched));
        // A clean-up function that this calls may come here again.
        ending
            .state
            .compare_exchange(ready, end, Ordering::Relaxed, Ordering::Relaxed)
            .map_err(|_| code::ALREADY)?;
        ending.scheduler.shutdown_each(drop).map_err(|_| code::DEADLOCK)?;
        drop(ending.take_thread());
        ending.state.store(0, Ordering::Relaxed);
        // SAFETY: 1. from `Box::into_raw` of a slice of one in `tw_sched_create`; 2. no longer used: no callback runs, the thread has ended, and the rest is
        // the header's contract.
        drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(sched, 1)) });
        Ok(0)
    })
}

/// Calls back after a delay.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_from(
    sched: *mut tw_sched,
    delay_ms: i64,
    call: tw_sched_fn,
    data: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let (sched, call) = (checked(sched)?, simple(call, data, false)?);
        let origin = Place { name, file, line };
        Ok(place(sched, None, after(delay_ms)?, &origin, core::ptr::null(), call)?.0)
    })
}

/// Calls back after a delay, and then after what the callback answers.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_variable_from(
    sched: *mut tw_sched,
    delay_ms: i64,
    call: tw_sched_fn,
    data: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let (sched, call) = (checked(sched)?, simple(call, data, true)?);
        let origin = Place { name, file, line };
        Ok(place(sched, None, after(delay_ms)?, &origin, core::ptr::null(), call)?.0)
    })
}

/// Calls back at a time.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_at_from(
    sched: *mut tw_sched,
    at_ns: u64,
    call: tw_sched_fn,
    data: *mut c_void,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let (sched, call) = (checked(sched)?, simple(call, data, false)?);
        let origin = Place { name, file, line };
        Ok(place(sched, None, Timing::at(When::At(at_ns)), &origin, core::ptr::null(), call)?.0)
    })
}

/// Adds what a job says, and cancels another in the same step.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_add_job_from(
    sched: *mut tw_sched,
    job: *const tw_job,
    replaced: u64,
    became: *mut c_int,
    id: *mut u64,
    name: *const c_char,
    file: *const c_char,
    line: c_int,
) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        if job.is_null() || !job.is_aligned() {
            return Err(code::INVALID);
        }
        // SAFETY: not null, aligned, readable by the header's contract.
        let job = unsafe { &*job };
        let (variable, keep) = (job.flags & TW_JOB_VARIABLE != 0, job.flags & TW_JOB_KEEP != 0);
        if job.flags & !(TW_JOB_VARIABLE | TW_JOB_KEEP) != 0 {
            return Err(code::INVALID);
        }
        let timing = timing(&job.timing)?;
        let mut call = simple(job.call, job.data, variable)?;
        let origin = Place { name, file, line };
        let (int, bits, old) = if keep {
            if replaced != 0 {
                return Err(code::INVALID);
            }
            call.cleanup = job.cleanup;
            match sched.scheduler.keep(&origin, job.token.expose_provenance(), call) {
                Ok(kept) => {
                    (sched.scheduler.int_id(kept).ok_or(code::ENDING)?, kept.to_bits(), Cancelled::NotFound)
                }
                Err(back) => {
                    core::mem::forget(back.payload);
                    return Err(refused(back.reason));
                }
            }
        } else {
            let old = if replaced == 0 { None } else { sched.named(replaced) };
            call.cleanup = job.cleanup;
            place(sched, old, timing, &origin, job.token, call)?
        };
        // SAFETY: the header's contract.
        unsafe { put(id, bits) };
        // The clean-up of the old one may be all that the caller waits for: it comes last.
        let old = cancelled(old).unwrap_or_else(|absent| absent);
        // SAFETY: the header's contract.
        unsafe { put(became, old) };
        Ok(int)
    })
}

/// Arms a timer that exists, after a delay.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_start(sched: *mut tw_sched, id: u64, delay_ms: i64) -> c_int {
    code::answer(|| {
        let (sched, timing) = (checked(sched)?, after(delay_ms)?);
        let id = sched.named(id).ok_or(code::ABSENT)?;
        sched.scheduler.start(id, timing).map_err(refused).map(|()| 0)
    })
}

/// Arms a timer that exists.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_start_timing(
    sched: *mut tw_sched,
    id: u64,
    timing: *const tw_timing,
) -> c_int {
    code::answer(|| {
        // SAFETY: the header's contract.
        let (sched, timing) = (checked(sched)?, unsafe { timing_at(timing) }?);
        let id = sched.named(id).ok_or(code::ABSENT)?;
        sched.scheduler.start(id, timing).map_err(refused).map(|()| 0)
    })
}

/// Cancels a timer that does not run.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_cancel_try(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        match sched.scheduler.try_cancel(sched.named(id).ok_or(code::ABSENT)?) {
            Cancelled::Running { .. } => Err(code::BUSY),
            other => cancelled(other),
        }
    })
}

/// Cancels a timer, and does not wait.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_cancel_async(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        cancelled(sched.scheduler.cancel(sched.named(id).ok_or(code::ABSENT)?))
    })
}

/// Cancels a timer, and waits for its callback.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_cancel_sync(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        let found = sched.scheduler.cancel_sync(sched.named(id).ok_or(code::ABSENT)?);
        cancelled(found.map_err(|_| code::DEADLOCK)?)
    })
}

/// Ends a timer, a kept one too, and does not wait.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_shutdown_async(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        cancelled(sched.scheduler.shutdown_timer(sched.named(id).ok_or(code::ABSENT)?))
    })
}

/// Ends a timer, a kept one too, and waits for its callback.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_shutdown_sync(sched: *mut tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        let found = sched.scheduler.shutdown_timer_sync(sched.named(id).ok_or(code::ABSENT)?);
        cancelled(found.map_err(|_| code::DEADLOCK)?)
    })
}

/// Ends every timer with a token.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_shutdown_token(
    sched: *mut tw_sched,
    token: *const c_void,
    running: *mut u64,
) -> isize {
    code::answer(|| {
        let sched = checked(sched).map_err(|code| code as isize)?;
        sched.returning.fetch_add(1, Ordering::Relaxed);
        let (removed, runs) = sched.scheduler.cancel_each_matching(token.addr(), drop);
        sched.returning.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the header's contract.
        unsafe { put(running, runs.map_or(0, TimerId::to_bits)) };
        Ok(isize::try_from(removed).unwrap_or(isize::MAX))
    })
}

/// What is known of a timer.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_find(sched: *const tw_sched, id: u64, info: *mut tw_sched_info) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        let id = sched.named(id).ok_or(code::ABSENT)?;
        let (found, data) = sched.scheduler.inspect(id, |call| Data(call.data)).ok_or(code::ABSENT)?;
        let answer = tw_sched_info {
            id: found.id.to_bits(),
            int_id: found.int_id.unwrap_or(0),
            state: match found.state {
                State::Idle => TW_STATE_IDLE,
                State::Pending => TW_STATE_PENDING,
                State::Running => TW_STATE_RUNNING,
            },
            due: found.due,
            interval: found.period,
            token: core::ptr::with_exposed_provenance(found.token),
            data: data.map_or(core::ptr::null_mut(), |data| data.0),
        };
        // SAFETY: the header's contract.
        unsafe { put(info, answer) };
        Ok(0)
    })
}

/// The caller's pointer on its way out.
struct Data(*mut c_void);

/// The `int` id of a timer.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_int(sched: *const tw_sched, id: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        sched.named(id).and_then(|id| sched.scheduler.int_id(id)).ok_or(code::ABSENT)
    })
}

/// When a timer is due.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_when(sched: *const tw_sched, id: u64, due_ns: *mut u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        let info = sched.named(id).and_then(|id| sched.scheduler.find(id)).ok_or(code::ABSENT)?;
        if info.state != State::Pending {
            return Ok(0);
        }
        // SAFETY: the header's contract.
        unsafe { put(due_ns, info.due) };
        Ok(1)
    })
}

/// How long until a timer is due.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_remaining(sched: *const tw_sched, id: u64, ms: *mut i64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        let info = sched.named(id).and_then(|id| sched.scheduler.find(id)).ok_or(code::ABSENT)?;
        if info.state != State::Pending {
            return Ok(0);
        }
        let left = info.due.saturating_sub(sched.scheduler.now()).div_ceil(1_000_000);
        // SAFETY: the header's contract. It fits: 2^64 ns are fewer ms.
        unsafe { put(ms, left as i64) };
        Ok(1)
    })
}

/// How long a poll loop may sleep.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_wait(sched: *mut tw_sched) -> c_int {
    code::answer(|| {
        let wait = checked(sched)?.scheduler.wait();
        Ok(timeout_ms(0, wait.map(|wait| u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX))))
    })
}

/// Runs what is due.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_run(sched: *mut tw_sched, budget: usize) -> isize {
    code::answer(|| {
        let sched = checked(sched).map_err(|code| code as isize)?;
        match sched.scheduler.run_queue_within(budget) {
            Ok(ran) => Ok(isize::try_from(ran).unwrap_or(isize::MAX)),
            Err(RunError::Busy) => Err(code::BUSY as isize),
            Err(RunError::WithinCallback) => Err(code::DEADLOCK as isize),
        }
    })
}

/// A handle for the thread that runs it.
struct Handle(*const tw_sched);

// SAFETY: what is reached through it is shared between threads: `tw_sched` is `Sync`.
unsafe impl Send for Handle {}

impl Handle {
    fn run(&self) {
        // SAFETY: `tw_sched_destroy` waits for the thread before the scheduler is gone.
        let sched = unsafe { &*self.0 };
        // Whoever runs it now sets the alarm afterwards.
        let _ = sched.scheduler.run_queue();
    }
}

/// Starts a thread that runs what is due.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_start_thread(sched: *mut tw_sched, name: *const c_char) -> c_int {
    code::answer(|| {
        let found = checked(sched)?;
        let mut driver = found.driver();
        if !matches!(*driver, Driver::None) {
            return Err(code::ALREADY);
        }
        if found.state.load(Ordering::Relaxed) != state(READY, sched) {
            return Err(code::ENDING);
        }
        let parker = Parker::new(found.scheduler.clock());
        found.scheduler.set_alarm(Some(Arc::clone(&parker) as Arc<dyn Alarm>));
        let handle = Handle(sched);
        // SAFETY: null, or a text, by the header's contract; it is copied.
        let name = unsafe { text(name) };
        match DriverThread::spawn(name, parker, move || handle.run()) {
            Ok(thread) => {
                *driver = Driver::Thread(thread);
                Ok(0)
            }
            Err(_) => {
                found.scheduler.set_alarm(None);
                Err(code::AGAIN)
            }
        }
    })
}

/// Stops the thread.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_stop_thread(sched: *mut tw_sched) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        if sched.scheduler.within_callback() {
            return Err(code::DEADLOCK);
        }
        drop(sched.take_thread().ok_or(code::ABSENT)?);
        Ok(0)
    })
}

/// A descriptor that is readable when the queue is to be run.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_fd(sched: *mut tw_sched) -> c_int {
    code::answer(|| descriptor(checked(sched)?))
}

/// Takes note that the descriptor was readable.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_fd_ack(sched: *mut tw_sched) -> c_int {
    code::answer(|| acknowledge(checked(sched)?))
}

#[cfg(target_os = "linux")]
fn descriptor(sched: &tw_sched) -> Result<c_int, c_int> {
    use std::os::fd::AsRawFd;

    let mut driver = sched.driver();
    match &*driver {
        Driver::Descriptor(fd) => return Ok(fd.as_raw_fd()),
        Driver::Thread(_) => return Err(code::ALREADY),
        Driver::None => {}
    }
    let clock = system_clock(sched.clock).ok_or(code::UNSUPPORTED)?;
    let fd = Arc::new(TimerFd::new(clock).map_err(|error| system(&error))?);
    let number = fd.as_raw_fd();
    sched.scheduler.set_alarm(Some(Arc::clone(&fd) as Arc<dyn Alarm>));
    *driver = Driver::Descriptor(fd);
    Ok(number)
}

#[cfg(target_os = "linux")]
fn acknowledge(sched: &tw_sched) -> Result<c_int, c_int> {
    let driver = sched.driver();
    let Driver::Descriptor(fd) = &*driver else { return Err(code::ABSENT) };
    match fd.acknowledge() {
        Ok(Rung::Due | Rung::Stepped) => Ok(1),
        Ok(Rung::Quiet) => Ok(0),
        Err(error) => Err(system(&error)),
    }
}

/// What the system said.
#[cfg(target_os = "linux")]
fn system(error: &std::io::Error) -> c_int {
    error.raw_os_error().map_or(code::INVALID, |number| -number)
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_: &tw_sched) -> Result<c_int, c_int> {
    Err(code::UNSUPPORTED)
}

#[cfg(not(target_os = "linux"))]
fn acknowledge(_: &tw_sched) -> Result<c_int, c_int> {
    Err(code::UNSUPPORTED)
}

/// The clock's time.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_now(sched: *const tw_sched, ns: *mut u64) -> c_int {
    code::answer(|| {
        let now = checked(sched)?.scheduler.now();
        // SAFETY: the header's contract.
        unsafe { put(ns, now) };
        Ok(0)
    })
}

/// Moves a virtual clock.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_advance(sched: *mut tw_sched, ns: u64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        sched.host.as_ref().ok_or(code::UNSUPPORTED)?.advance(ns);
        settle(sched);
        Ok(0)
    })
}

/// Sets the wall of a virtual clock.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_step_wall(sched: *mut tw_sched, ns: i64) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        sched.host.as_ref().ok_or(code::UNSUPPORTED)?.step_wall(ns);
        settle(sched);
        Ok(0)
    })
}

/// Waits until the thread, if there is one and this is not its callback, has run what is due.
fn settle(sched: &tw_sched) {
    let parker = match &*sched.driver() {
        Driver::Thread(thread) => Arc::clone(thread.parker()),
        _ => return,
    };
    if !sched.scheduler.within_callback() {
        parker.settle();
    }
}

/// What was counted.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_count(sched: *const tw_sched, counts: *mut tw_sched_counts) -> c_int {
    code::answer(|| {
        let sched = checked(sched)?;
        let counted = sched.scheduler.statistics();
        let answer = tw_sched_counts {
            timers: counted.timers as u64,
            pending: counted.pending as u64,
            high_water: counted.high_water as u64,
            armed: counted.armed,
            fired: counted.fired,
            cancelled: counted.cancelled,
            overruns: counted.overruns,
            passes: counted.passes,
            steps: counted.steps,
            heap_bytes: sched.scheduler.heap_bytes() as u64,
            late_mean: counted.lateness.mean() as u64,
            late_half: counted.lateness.quantile(0.5),
            late_most: counted.lateness.quantile(0.99),
            late_max: counted.lateness.max(),
        };
        // SAFETY: the header's contract.
        unsafe { put(counts, answer) };
        Ok(0)
    })
}

/// Every timer, as a table.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_dump(sched: *const tw_sched, text: *mut c_char, size: usize) -> isize {
    code::answer(|| {
        let sched = checked(sched).map_err(|code| code as isize)?;
        let dump = sched.scheduler.try_dump().map_err(|reason| refused(reason) as isize)?;
        // SAFETY: the header's contract.
        Ok(isize::try_from(unsafe { write_text(text, size, &dump) }).unwrap_or(isize::MAX))
    })
}

/// What was counted, also by call site, as text.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_report(sched: *const tw_sched, text: *mut c_char, size: usize) -> isize {
    code::answer(|| {
        let sched = checked(sched).map_err(|code| code as isize)?;
        let report = sched.scheduler.try_report().map_err(|reason| refused(reason) as isize)?;
        // SAFETY: the header's contract.
        Ok(isize::try_from(unsafe { write_text(text, size, &report) }).unwrap_or(isize::MAX))
    })
}

/// Verifies the scheduler.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_sched_check(sched: *const tw_sched, text: *mut c_char, size: usize) -> c_int {
    code::answer(|| {
        let Err(violation) = checked(sched)?.scheduler.check() else { return Ok(0) };
        // SAFETY: the header's contract.
        unsafe { write_text(text, size, &violation) };
        Err(code::BROKEN)
    })
}
