//! The two system calls that none of our safe dependencies offers.
#![allow(unsafe_code, reason = "the scheduling policy and the use of children are not in rustix")]

use core::mem::MaybeUninit;
use core::time::Duration;
use std::io;

/// Puts the calling thread under SCHED_FIFO with `priority`, or back under the normal scheduler if
/// `priority` is 0.
pub(super) fn set_fifo(priority: u8) -> io::Result<()> {
    let policy = if priority == 0 { libc::SCHED_OTHER } else { libc::SCHED_FIFO };
    let param = libc::sched_param { sched_priority: priority.into() };
    // SAFETY: 1. 0 names the calling thread. 2. `param` is a complete `sched_param` that lives
    // until the call returns; the kernel only reads it.
    let done = unsafe { libc::sched_setscheduler(0, policy, &raw const param) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the processor time, user and system, of the children that were waited for.
pub(super) fn children_cpu() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: 1. `usage` is room for one `rusage`, aligned, and lives until the call returns. 2.
    // The kernel only writes to it.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: 1. All fields are integers, for which zeros are a valid value. 2. `usage` is zeroed
    // first, whether the kernel then writes it or not.
    let usage = unsafe { usage.assume_init() };
    let time = |of: libc::timeval| {
        Duration::from_secs(of.tv_sec.unsigned_abs()) + Duration::from_micros(of.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
