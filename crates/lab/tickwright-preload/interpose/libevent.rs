//! libevent: `event_add`, `event_del`, and the library's own operations.
//!
//! libevent 2.1 calls `event_add_nolock_` and `event_active_nolock_` through its symbol table, so
//! these two calls show libevent's own operations: re-arming persistent events, and activating
//! events whose time-out has expired.

use core::ffi::{c_int, c_short, c_void};
use core::ptr;

use super::emit;
use super::next::{self, Name};
use super::sys::{self, Timeval};
use crate::ring::source::LIBEVENT;

const EV_TIMEOUT: c_int = 1;
const EV_PERSIST: c_int = 0x10;

hide! {
    fn event_add(event: *mut c_void, delay: *const Timeval; _ _ _) -> c_int, EventAdd,
    |site, call| {
        if delay.is_null() {
            return call();
        }
        // The time-out is read first: it may lie in the event itself, which the real function
        // changes. SAFETY: 1. The pointer is not null, and the caller passed it.
        let delay_ns = unsafe { *delay }.ns();
        let result = emit::nested(call);
        if result == 0 && !emit::is_nested() {
            emit::arm_in(LIBEVENT, event as usize, delay_ns, 0, site);
        }
        result
    }

    fn event_add_nolock_(
        event: *mut c_void, when: *const Timeval, is_absolute: c_int; _ _
    ) -> c_int, EventAddNolock,
    |site, call| {
        // SAFETY: 1. The pointer is not null, and the caller passed it.
        let when_ns = (!when.is_null()).then(|| unsafe { *when }.ns());
        let result = call();
        match when_ns.filter(|_| result == 0 && !emit::is_nested()) {
            Some(when_ns) if is_absolute != 0 => {
                emit::arm(LIBEVENT, event as usize, sys::steady(when_ns), 0, site);
            }
            Some(delay_ns) => emit::arm_in(LIBEVENT, event as usize, delay_ns, 0, site),
            None => {}
        }
        result
    }

    fn event_del(event: *mut c_void; _ _ _ _) -> c_int, EventDel, |site, call| { stop(event, site); call() }

    fn event_del_block(event: *mut c_void; _ _ _ _) -> c_int, EventDelBlock,
    |site, call| { stop(event, site); call() }

    fn event_del_noblock(event: *mut c_void; _ _ _ _) -> c_int, EventDelNoblock,
    |site, call| { stop(event, site); call() }

    fn event_remove_timer(event: *mut c_void; _ _ _ _) -> c_int, EventRemoveTimer,
    |site, call| { stop(event, site); call() }

    fn event_active_nolock_(event: *mut c_void, why: c_int, calls: c_short; _ _), EventActiveNolock,
    |site, call| {
        if why & EV_TIMEOUT != 0 {
            emit::fire(LIBEVENT, event as usize, site);
        } else if is_pending(event) && !is_persistent(event) {
            // libevent removes the event from its queue before it calls the callback.
            emit::stop(LIBEVENT, event as usize, site);
        }
        call();
    }
}

/// Most events have no time-out; such events are not recorded.
fn stop(event: *mut c_void, site: usize) {
    if is_pending(event) {
        emit::stop(LIBEVENT, event as usize, site);
    }
}

/// Returns whether the event has a pending time-out. Returns `true` if the library cannot tell.
fn is_pending(event: *mut c_void) -> bool {
    if event.is_null() || next::known(Name::EventPending).is_null() {
        return !event.is_null();
    }
    let what = EV_TIMEOUT as c_short;
    let none = ptr::null_mut();
    real!(EventPending, 0, fn(*mut c_void, c_short, *mut Timeval) -> c_int, event, what, none) != 0
}

fn is_persistent(event: *mut c_void) -> bool {
    if next::known(Name::EventGetEvents).is_null() {
        return false;
    }
    let events = real!(EventGetEvents, 0, fn(*const c_void) -> c_short, event);
    c_int::from(events) & EV_PERSIST != 0
}
