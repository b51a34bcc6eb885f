//! libev: `ev_timer_start`, `ev_timer_stop`, `ev_timer_again`.
//!
//! libev stops an expired one-shot timer by a call through its symbol table. Therefore a stop that
//! libev itself calls, outside any recorded call, is an expiry. libev moves a repeating timer
//! without a call, so the recorder adds the expiries of such a timer.

use core::ffi::{c_int, c_void};

use super::emit;
use super::next::{self, Name};
use super::range::Range;
use super::sys;
use crate::ring::source::LIBEV;

/// `struct ev_timer` of libev's default build.
#[repr(C)]
#[derive(Debug)]
struct EvTimer {
    active: c_int,
    pending: c_int,
    priority: c_int,
    data: *mut c_void,
    callback: *const c_void,
    /// The delay in seconds. For an active timer, this field is the due time on the loop's clock.
    at: f64,
    repeat: f64,
}

/// The address range of libev.
static LIBRARY: Range = Range::new();

/// Finds the address range of the library.
pub(crate) fn find() {
    LIBRARY.set(next::known(Name::EvStop) as usize);
}

hide! {
    fn ev_timer_start(of: *mut c_void, timer: *mut EvTimer; _ _ _), EvStart,
    |site, call| {
        // SAFETY: 1. The timer belongs to the caller, who has initialized it.
        let was_active = unsafe { (*timer).active } != 0;
        // SAFETY: 1. As above.
        let delay = unsafe { (*timer).at };
        emit::nested(call);
        if !was_active && !emit::is_nested() {
            arm(timer, delay, site);
        }
    }

    fn ev_timer_stop(of: *mut c_void, timer: *mut EvTimer; _ _ _), EvStop,
    |site, call| {
        // SAFETY: 1. The timer belongs to the caller, who has initialized it.
        let is_active = unsafe { (*timer).active } != 0;
        if is_active && !emit::is_nested() {
            if LIBRARY.holds(site) {
                emit::fire(LIBEV, timer as usize, site);
            } else {
                emit::stop(LIBEV, timer as usize, site);
            }
        }
        call();
    }

    fn ev_timer_again(of: *mut c_void, timer: *mut EvTimer; _ _ _), EvAgain,
    |site, call| {
        // SAFETY: 1. The timer belongs to the caller, who has initialized it.
        let was_active = unsafe { (*timer).active } != 0;
        emit::nested(call);
        if emit::is_nested() {
            return;
        }
        // SAFETY: 1. As above.
        let is_active = unsafe { (*timer).active } != 0;
        if is_active {
            // SAFETY: 1. As above.
            let delay = unsafe { (*timer).repeat };
            arm(timer, delay, site);
        } else if was_active {
            emit::stop(LIBEV, timer as usize, site);
        }
    }
}

/// Records a timer with the delay that the program chose. The loop counts this delay from the time
/// at which the loop woke.
fn arm(timer: *mut EvTimer, delay: f64, site: usize) {
    // SAFETY: 1. libev passes a timer that was started.
    let repeat = unsafe { (*timer).repeat };
    let [delay_ns, period_ns] = [delay, repeat].map(|seconds| (seconds * sys::SECOND as f64) as u64);
    emit::arm_in(LIBEV, timer as usize, delay_ns, period_ns, site);
}
