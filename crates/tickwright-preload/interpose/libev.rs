//! libev: `ev_timer_start`, `ev_timer_stop`, `ev_timer_again`.
//!
//! libev stops a timer that expires once through its symbol table. So a stop that is called by
//! libev itself, and not by another call that is recorded, is an expiry. It moves a repeating timer
//! without a call: the recorder adds those expiries.

use core::ffi::{c_int, c_void};

use super::emit;
use super::enter::{No, enter};
use super::next::{self, Name, real};
use super::range::Range;
use super::sys;
use crate::ring::source::LIBEV;

/// `struct ev_timer`, as libev is built by default.
#[repr(C)]
#[derive(Debug)]
struct EvTimer {
    active: c_int,
    pending: c_int,
    priority: c_int,
    data: *mut c_void,
    callback: *const c_void,
    /// When it is due, in seconds of the loop's clock, once it is active.
    at: f64,
    repeat: f64,
}

/// Where libev lies.
static LIBRARY: Range = Range::new();

/// Looks for the library.
pub(crate) fn find() {
    LIBRARY.set(next::known(Name::EvStop) as usize);
}

enter! {
    ev_timer_start => start;
    ev_timer_stop => stop;
    ev_timer_again => again;
}

unsafe extern "C-unwind" fn start(of: *mut c_void, timer: *mut EvTimer, _: No, _: No, _: No, site: usize) {
    // SAFETY: 1. A timer of the caller's, which was initialized.
    let was_active = unsafe { (*timer).active } != 0;
    emit::nested(|| real!(EvStart, site, fn(*mut c_void, *mut EvTimer), of, timer));
    if !was_active && !emit::is_nested() {
        arm(timer, site);
    }
}

unsafe extern "C-unwind" fn stop(of: *mut c_void, timer: *mut EvTimer, _: No, _: No, _: No, site: usize) {
    // SAFETY: 1. A timer of the caller's, which was initialized.
    let is_active = unsafe { (*timer).active } != 0;
    if is_active && !emit::is_nested() {
        if LIBRARY.holds(site) {
            emit::fire(LIBEV, timer as usize, site);
        } else {
            emit::stop(LIBEV, timer as usize, site);
        }
    }
    real!(EvStop, site, fn(*mut c_void, *mut EvTimer), of, timer);
}

unsafe extern "C-unwind" fn again(of: *mut c_void, timer: *mut EvTimer, _: No, _: No, _: No, site: usize) {
    // SAFETY: 1. A timer of the caller's, which was initialized.
    let was_active = unsafe { (*timer).active } != 0;
    emit::nested(|| real!(EvAgain, site, fn(*mut c_void, *mut EvTimer), of, timer));
    if emit::is_nested() {
        return;
    }
    // SAFETY: 1. As above.
    if unsafe { (*timer).active } != 0 {
        arm(timer, site);
    } else if was_active {
        emit::stop(LIBEV, timer as usize, site);
    }
}

fn arm(timer: *mut EvTimer, site: usize) {
    // SAFETY: 1. A timer that was started.
    let (at, repeat) = unsafe { ((*timer).at, (*timer).repeat) };
    let second = sys::SECOND as f64;
    let deadline_ns = sys::steady((at * second) as u64);
    emit::arm(LIBEV, timer as usize, deadline_ns, (repeat * second) as u64, site);
}
