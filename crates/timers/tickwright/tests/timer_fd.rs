//! Checks with `/proc` how a timerfd was created and set. Three settings are checked: the clock,
//! close on exec, and the flag with which the kernel reports a step of the wall clock.
#![cfg(all(target_os = "linux", not(any(loom, tickwright_kqueue))))]

use core::time::Duration;
use std::fs;
use std::os::fd::AsRawFd;

use tickwright::time::{Alarm, Clock, SystemClock, TimerFd};

fn told(fd: &TimerFd, what: &str) -> String {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(what)?.trim().strip_prefix(':').or(Some(line)));
    line.unwrap_or_else(|| panic!("no '{what}' in {text}")).rsplit(':').next().unwrap().trim().to_owned()
}

#[test]
fn the_kernel_is_asked_for_the_right_clock_and_to_tell_of_steps() {
    for (clock, id, flags) in [
        (SystemClock::Monotonic, "1", "01"),
        (SystemClock::BootTime, "7", "01"),
        (SystemClock::RealTime, "0", "03"),
    ] {
        let fd = TimerFd::new(clock).unwrap();
        fd.set(Some(clock.now() + Duration::from_secs(3600)));
        assert_eq!(told(&fd, "clockid"), id, "{clock:?}");
        assert_eq!(
            told(&fd, "settime flags"),
            flags,
            "{clock:?}: absolute, and cancelled when the wall is set"
        );
        // O_CLOEXEC | O_NONBLOCK | O_RDWR
        assert_eq!(told(&fd, "flags"), "02004002", "{clock:?}");
    }
}
