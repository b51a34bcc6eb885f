use super::super::tests::{ALL, readable, settled};
use super::super::{Rung, TimerFd};
use super::{EV_ADD, EV_DELETE, EV_ONESHOT, timer};
use crate::sync::lock;
use crate::time::{Alarm, Instant, SystemClock};

/// Ends the kernel's wait before the alarm is due, as happens when a wait reaches the longest
/// possible wait.
fn wake_early(fd: &TimerFd) {
    let told = lock(&fd.told);
    told.call(&[timer(EV_DELETE, 0)], &mut []).unwrap();
    told.call(&[timer(EV_ADD | EV_ONESHOT, 1)], &mut []).unwrap();
}

#[test]
fn a_wait_that_ends_early_is_set_again() {
    for clock in ALL.map(settled) {
        let fd = TimerFd::new(clock).unwrap();
        fd.set(Some(Instant::MAX));
        for _ in 0..2 {
            wake_early(&fd);
            assert!(readable(&fd, true));
            assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet, "{clock:?}");
            assert!(!readable(&fd, false));
        }
    }
}

#[test]
fn a_step_of_the_wall_is_found_at_the_next_look_and_at_the_next_setting() {
    let fd = TimerFd::new(settled(SystemClock::RealTime)).unwrap();
    fd.set(Some(Instant::MAX));
    for is_set in [false, true] {
        lock(&fd.told).wall.offset = Some(0);
        if is_set {
            fd.set(Some(Instant::MAX));
            assert!(lock(&fd.told).wall.stepped);
        } else {
            wake_early(&fd);
        }
        assert!(readable(&fd, true));
        assert_eq!(fd.acknowledge().unwrap(), Rung::Stepped);
        assert!(!readable(&fd, false));
        assert_eq!(fd.acknowledge().unwrap(), Rung::Quiet);
    }
}
