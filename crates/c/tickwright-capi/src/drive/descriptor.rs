//! The descriptor of a scheduler, which the caller's event loop polls.

use core::ffi::c_int;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use tickwright::time::{Alarm, Rung, TimerFd};
use tickwright_boundary::code;
use tickwright_boundary::spare::covered;

use crate::handle::{Driver, tw_sched, with};
use crate::scheduler::system_clock;

/// Returns the descriptor of the scheduler, which the first call creates.
pub(super) fn of(sched: &tw_sched) -> Result<c_int, c_int> {
    let mut driver = sched.driver();
    match &*driver {
        Driver::Descriptor(fd) => return Ok(fd.as_raw_fd()),
        Driver::Thread(_) => return Err(code::ALREADY),
        Driver::None => {}
    }
    let clock = system_clock(sched.clock).ok_or(code::UNSUPPORTED)?;
    // The blocks are for the descriptor's lock and the alarm.
    let fd = covered(&[(6, 512)], || TimerFd::new(clock).map(Arc::new))?.map_err(|error| system(&error))?;
    let number = fd.as_raw_fd();
    with!(sched, scheduler => scheduler.set_alarm(Some(Arc::clone(&fd) as Arc<dyn Alarm>)));
    *driver = Driver::Descriptor(fd);
    Ok(number)
}

pub(super) fn acknowledge(sched: &tw_sched) -> Result<c_int, c_int> {
    let driver = sched.driver();
    let Driver::Descriptor(fd) = &*driver else { return Err(code::ABSENT) };
    match fd.acknowledge() {
        Ok(Rung::Due | Rung::Stepped) => Ok(1),
        Ok(Rung::Quiet) => Ok(0),
        Err(error) => Err(system(&error)),
    }
}

/// Converts an error of the operating system to a code.
fn system(error: &std::io::Error) -> c_int {
    error.raw_os_error().map_or(code::INVALID, |number| -number)
}
