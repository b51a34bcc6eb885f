//! libevent: `event_add`, `event_del`, and the library's own operations.
//!
//! libevent 2.1 calls `event_add_nolock_` and `event_active_nolock_` through its symbol table. So
//! the two calls show its own operations: it re-arms persistent events, and activates events whose
//! time-out is over.

use core::ffi::{c_int, c_short, c_void};
use core::ptr;

use super::emit;
use super::enter::No;
use super::next::{self, Name};
use super::sys::{self, Timeval};
use crate::ring::source::LIBEVENT;

const EV_TIMEOUT: c_int = 1;
const EV_PERSIST: c_int = 0x10;

enter! {
    event_add => add;
    event_add_nolock_ => add_nolock;
    event_del => del;
    event_del_block => del_block;
    event_del_noblock => del_noblock;
    event_remove_timer => remove_timer;
    event_active_nolock_ => active_nolock;
}

unsafe extern "C-unwind" fn add(
    event: *mut c_void,
    delay: *const Timeval,
    _: No,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    if delay.is_null() {
        return real!(EventAdd, site, fn(*mut c_void, *const Timeval) -> c_int, event, delay);
    }
    // The time-out is read first: it may lie in the event itself, which the real function changes.
    // SAFETY: 1. The pointer is not null, and the caller passed it.
    let delay_ns = unsafe { *delay }.ns();
    let call = || real!(EventAdd, site, fn(*mut c_void, *const Timeval) -> c_int, event, delay);
    let result = emit::nested(call);
    if result == 0 && !emit::is_nested() {
        emit::arm_in(LIBEVENT, event as usize, delay_ns, 0, site);
    }
    result
}

unsafe extern "C-unwind" fn add_nolock(
    event: *mut c_void,
    when: *const Timeval,
    is_absolute: c_int,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    // SAFETY: 1. The pointer is not null, and the caller passed it.
    let when_ns = (!when.is_null()).then(|| unsafe { *when }.ns());
    let result = real!(
        EventAddNolock,
        site,
        fn(*mut c_void, *const Timeval, c_int) -> c_int,
        event,
        when,
        is_absolute
    );
    match when_ns.filter(|_| result == 0 && !emit::is_nested()) {
        Some(when_ns) if is_absolute != 0 => {
            emit::arm(LIBEVENT, event as usize, sys::steady(when_ns), 0, site);
        }
        Some(delay_ns) => emit::arm_in(LIBEVENT, event as usize, delay_ns, 0, site),
        None => {}
    }
    result
}

unsafe extern "C-unwind" fn del(event: *mut c_void, _: No, _: No, _: No, _: No, site: usize) -> c_int {
    stop(event, site);
    real!(EventDel, site, fn(*mut c_void) -> c_int, event)
}

unsafe extern "C-unwind" fn del_block(event: *mut c_void, _: No, _: No, _: No, _: No, site: usize) -> c_int {
    stop(event, site);
    real!(EventDelBlock, site, fn(*mut c_void) -> c_int, event)
}

unsafe extern "C-unwind" fn del_noblock(
    event: *mut c_void,
    _: No,
    _: No,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    stop(event, site);
    real!(EventDelNoblock, site, fn(*mut c_void) -> c_int, event)
}

unsafe extern "C-unwind" fn remove_timer(
    event: *mut c_void,
    _: No,
    _: No,
    _: No,
    _: No,
    site: usize,
) -> c_int {
    stop(event, site);
    real!(EventRemoveTimer, site, fn(*mut c_void) -> c_int, event)
}

unsafe extern "C-unwind" fn active_nolock(
    event: *mut c_void,
    why: c_int,
    calls: c_short,
    _: No,
    _: No,
    site: usize,
) {
    if why & EV_TIMEOUT != 0 {
        emit::fire(LIBEVENT, event as usize, site);
    } else if is_pending(event) && !is_persistent(event) {
        // The event leaves the queue before its callback.
        emit::stop(LIBEVENT, event as usize, site);
    }
    real!(EventActiveNolock, site, fn(*mut c_void, c_int, c_short), event, why, calls);
}

/// Most events have no time-out; such events are not recorded.
fn stop(event: *mut c_void, site: usize) {
    if is_pending(event) {
        emit::stop(LIBEVENT, event as usize, site);
    }
}

/// Whether the event has a pending time-out. `true` if the library cannot say.
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
