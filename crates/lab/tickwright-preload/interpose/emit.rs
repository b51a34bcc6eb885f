//! Writes operations as records into the ring.

use core::ffi::c_uint;
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed},
};

use super::{slots, sys};
use crate::ring::{self, Record, Ring, op};

/// The ring of this process; null before recording begins, and if the ring could not be created.
pub(crate) static RING: AtomicPtr<Ring> = AtomicPtr::new(ptr::null_mut());

/// The key of the thread-specific word; `u32::MAX` if there is no key.
pub(crate) static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Returns the word of the calling thread. The low bits are the thread's id, and the high bits
/// count the calls of libuv or libev in which the thread currently is.
fn word() -> usize {
    let key: c_uint = KEY.load(Relaxed);
    if key == u32::MAX {
        return sys::gettid() as usize;
    }
    // SAFETY: 1. The key was created.
    let word = unsafe { sys::pthread_getspecific(key) } as usize;
    if word != 0 {
        return word;
    }
    let word = sys::gettid() as usize;
    set_word(word);
    word
}

fn set_word(word: usize) {
    let key = KEY.load(Relaxed);
    if key != u32::MAX {
        // SAFETY: 1. The key was created and is one of the first 32, whose values need no memory.
        unsafe { sys::pthread_setspecific(key, word as *const _) };
    }
}

/// Forgets the id of the calling thread, which a fork has changed.
pub(crate) fn forget_thread() {
    set_word(0);
}

/// Returns whether the calling thread is inside a library call that is recorded as one operation.
pub(crate) fn is_nested() -> bool {
    word() >> 32 != 0
}

/// Runs the real function, and marks the calls that it makes as nested.
pub(crate) fn nested<R>(call: impl FnOnce() -> R) -> R {
    set_word(word() + (1 << 32));
    let result = call();
    set_word(word() - (1 << 32));
    result
}

/// Records that a timer was armed or moved.
#[inline]
pub(crate) fn arm(source: u8, id: usize, deadline_ns: u64, period_ns: u64, site: usize) {
    arm_since(source, id, sys::now(), deadline_ns, period_ns, site);
}

/// Records that a timer is due after `delay_ns`.
#[inline]
pub(crate) fn arm_in(source: u8, id: usize, delay_ns: u64, period_ns: u64, site: usize) {
    let now = sys::now();
    arm_since(source, id, now, now.saturating_add(delay_ns), period_ns, site);
}

#[inline]
fn arm_since(source: u8, id: usize, now: u64, deadline_ns: u64, period_ns: u64, site: usize) {
    let armed = Record { deadline_ns, period_ns, op: op::ARM, ..Record::default() };
    record(source, id, site, now, armed);
}

/// Records that a timer was cancelled.
#[inline]
pub(crate) fn stop(source: u8, id: usize, site: usize) {
    record(source, id, site, sys::now(), Record { op: op::STOP, ..Record::default() });
}

/// Records that a timer expired.
#[inline]
pub(crate) fn fire(source: u8, id: usize, site: usize) {
    record(source, id, site, sys::now(), Record { op: op::FIRE, ..Record::default() });
}

/// Returns whether the ring belongs to the calling process, and not to a parent whose memory the
/// process shares. This function makes a system call.
pub(crate) fn is_of_this_process() -> bool {
    let ring = RING.load(Acquire);
    // SAFETY: 1. `ring` is not null. 2. A ring is mapped until the process ends. 3. Its parts are
    // atomics.
    let pid = (!ring.is_null()).then(|| unsafe { (*ring).header.pid.load(Relaxed) });
    // SAFETY: 1. The function has no arguments.
    pid == Some(unsafe { sys::getpid() } as u64)
}

fn record(source: u8, id: usize, site: usize, time_ns: u64, rest: Record) {
    let ring = RING.load(Acquire);
    if ring.is_null() {
        return;
    }
    let record = fill(source, id, site, time_ns, rest);
    // SAFETY: 1. A ring is mapped until the process ends. 2. Its parts are atomics.
    let header = unsafe { &(*ring).header };
    if !slots::has_slot(ring, header) {
        header.lost_at_ns.store(time_ns, Relaxed);
        header.lost.fetch_add(1, Relaxed);
        return;
    }
    // SAFETY: 1. As above. 2. The next slot has memory.
    let slots = unsafe { &(*ring).slots };
    ring::push(header, slots, &record);
}

/// Fills in the fields of a record that depend on the caller.
#[inline]
pub(crate) fn fill(source: u8, id: usize, site: usize, time_ns: u64, rest: Record) -> Record {
    // SAFETY: 1. The function has no arguments.
    let cpu = unsafe { sys::sched_getcpu() } as u16;
    Record { time_ns, id: id as u64, site: site as u64, thread: word() as u32, cpu, source, ..rest }
}
