//! libuv: `uv_timer_start`, `uv_timer_stop`, `uv_timer_again`, `uv_close`.
//!
//! Before libuv calls the callback of a timer, it stops the timer by a call through its symbol
//! table, so a stop that libuv itself calls, outside any recorded call, is an expiry.

use core::ffi::{c_int, c_void};

use super::emit;
use super::next::{self, Name};
use super::range::Range;
use crate::ring::source::LIBUV;

const MS: u64 = 1_000_000;
/// libuv's number for the handle kind "timer".
const UV_TIMER: c_int = 13;

/// The address range of libuv.
static LIBRARY: Range = Range::new();

/// Finds the address range of the library.
pub(crate) fn find() {
    LIBRARY.set(next::known(Name::UvStop) as usize);
}

hide! {
    fn uv_timer_start(
        timer: *mut c_void, callback: *const c_void, delay_ms: u64, period_ms: u64; _
    ) -> c_int, UvStart,
    |site, call| {
        let result = emit::nested(call);
        if result == 0 && !emit::is_nested() {
            arm(timer, delay_ms, period_ms, site);
        }
        result
    }

    fn uv_timer_stop(timer: *mut c_void; _ _ _ _) -> c_int, UvStop,
    |site, call| {
        if !emit::is_nested() {
            if LIBRARY.holds(site) {
                emit::fire(LIBUV, timer as usize, site);
            } else {
                emit::stop(LIBUV, timer as usize, site);
            }
        }
        call()
    }

    fn uv_timer_again(timer: *mut c_void; _ _ _ _) -> c_int, UvAgain,
    |site, call| {
        let result = emit::nested(call);
        if result == 0 && !emit::is_nested() {
            let period_ms = real!(UvGetRepeat, site, fn(*const c_void) -> u64, timer);
            if period_ms != 0 {
                arm(timer, period_ms, period_ms, site);
            }
        }
        result
    }

    fn uv_close(handle: *mut c_void, callback: *const c_void; _ _ _), UvClose,
    |site, call| {
        let is_timer = real!(UvType, site, fn(*const c_void) -> c_int, handle) == UV_TIMER;
        if is_timer && !emit::is_nested() {
            emit::stop(LIBUV, handle as usize, site);
        }
        emit::nested(call);
    }
}

/// Records a timer with the delay that the program chose. The loop counts this delay from the time
/// at which the loop woke.
fn arm(timer: *mut c_void, delay_ms: u64, period_ms: u64, site: usize) {
    emit::arm_in(LIBUV, timer as usize, delay_ms.saturating_mul(MS), period_ms.saturating_mul(MS), site);
}
