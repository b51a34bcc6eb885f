use core::time::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Rung, TimerFd};
use crate::sync::lock;
use crate::time::{Alarm, Clock, Instant, SystemClock};

pub(super) const ALL: [SystemClock; 3] =
    [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime];

/// Returns the clock when its known offset has stopped approaching the true offset, because a
/// kqueue would treat such a change as a step.
pub(super) fn settled(clock: SystemClock) -> SystemClock {
    for _ in 0..1000 {
        let _ = clock.wall_offset();
    }
    clock
}

/// Returns whether the descriptor is readable. If `wait` is true, first waits until it is.
pub(super) fn readable(fd: &TimerFd, wait: bool) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    poll(&mut fds, if wait { None } else { Some(&now) }).unwrap() == 1
}

#[test]
fn what_is_past_rings_at_once_and_once() {
    for clock in ALL {
        let fd = TimerFd::new(clock).unwrap();
        assert!(!readable(&fd, false));
        assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet);
        for at in [Instant::ZERO, Instant::from_nanos(1), clock.now()] {
            fd.set(Some(at));
            assert!(readable(&fd, true), "{clock:?}, {at:?}");
            assert_eq!(fd.acknowledge().unwrap(), Rung::Due);
            assert!(!readable(&fd, false));
            assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet);
        }
    }
}

#[test]
fn it_rings_when_the_time_has_come_and_not_before() {
    for clock in ALL.map(settled) {
        let fd = TimerFd::new(clock).unwrap();
        let at = clock.now() + Duration::from_millis(2);
        fd.set(Some(at));
        assert!(readable(&fd, true));
        // With real time, the alarm goes off by the kernel's wall clock, and the known offset of
        // that clock has an error of about 100 ns.
        assert!(clock.now() + Duration::from_nanos(1000) >= at, "{clock:?}: early");
        assert_eq!(fd.acknowledge().unwrap(), Rung::Due);
    }
}

#[test]
fn the_last_setting_holds() {
    for clock in ALL.map(settled) {
        let fd = TimerFd::new(clock).unwrap();
        for far in [clock.now() + Duration::from_secs(3600), Instant::MAX] {
            fd.set(Some(Instant::ZERO));
            fd.set(Some(far));
            assert!(!readable(&fd, false), "{clock:?}, {far:?}");
            fd.set(Some(Instant::ZERO));
            fd.set(None);
            assert!(!readable(&fd, false));
            assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet);
        }
    }
}

/// A test is not allowed to set the machine's wall clock. This test therefore covers only what the
/// alarm does when the kernel reports a step as the result of setting the timer.
#[test]
fn a_step_that_was_heard_of_rings_whatever_is_set_after_it() {
    let fd = TimerFd::new(SystemClock::RealTime).unwrap();
    lock(&fd.told).wall.stepped = true;
    fd.set(Some(Instant::MAX));
    assert!(readable(&fd, true));
    assert_eq!(fd.acknowledge().unwrap(), Rung::Stepped);
    assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet);
}

#[test]
fn an_error_of_setting_is_told_at_the_next_look() {
    let fd = TimerFd::new(SystemClock::Monotonic).unwrap();
    lock(&fd.told).failure = Some(std::io::ErrorKind::Other.into());
    assert!(fd.acknowledge().is_err());
    assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet);
}
