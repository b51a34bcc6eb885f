//! Rights that a run requests from the system. The run gives them back when it ends, so that the
//! next run of the process does not inherit them.

use core::marker::PhantomData;
#[cfg(target_os = "linux")]
use core::num::NonZeroU64;

/// Sets the timer slack of this thread to the least value, until this guard is dropped.
///
/// The slack is how late the system is allowed to wake a thread in order to save power. The default
/// is 50 us. The slack belongs to the thread, so the guard cannot leave the thread.
#[derive(Debug)]
pub struct LeastSlack {
    #[cfg(target_os = "linux")]
    before: Option<NonZeroU64>,
    of_this_thread: PhantomData<*const ()>,
}

impl LeastSlack {
    /// Requests a slack of 1 ns.
    ///
    /// # Errors
    /// If the slack stays unchanged. The error is the reason.
    #[cfg(target_os = "linux")]
    pub fn ask() -> Result<Self, String> {
        use rustix::thread::{current_timer_slack, set_current_timer_slack};
        let before = current_timer_slack().ok().and_then(NonZeroU64::new);
        match set_current_timer_slack(NonZeroU64::new(1)) {
            Ok(()) => Ok(Self { before, of_this_thread: PhantomData }),
            Err(error) => {
                let slack = before.map_or(50_000, NonZeroU64::get);
                Err(format!(
                    "the timer slack stays at {slack} ns ({error}): wake-ups may be that late on purpose"
                ))
            }
        }
    }

    /// Requests nothing, because only Linux has a timer slack.
    ///
    /// # Errors
    /// Always, because this system cannot set the timer slack.
    #[cfg(not(target_os = "linux"))]
    pub fn ask() -> Result<Self, String> {
        Err("no absolute sleep and no control of the timer slack on this system: wake-ups are late".into())
    }
}

impl Drop for LeastSlack {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if self.before.is_some() {
            // Setting a greater slack needs no privilege.
            let _ = rustix::thread::set_current_timer_slack(self.before);
        }
    }
}

/// Returns whether this process runs under SCHED_FIFO (1) or SCHED_RR (2): field 41 of its stat
/// line.
#[must_use]
pub fn is_real_time() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses and can contain blanks; field 3 follows
    // the name.
    let policy = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(41 - 3));
    matches!(policy, Some("1" | "2"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::{current_timer_slack, set_current_timer_slack};

    /// A part of the tour must not run with the rights of the previous part.
    #[test]
    fn the_timer_slack_is_given_back() {
        // The test runs in a separate thread, because the slack belongs to a thread.
        let seen = std::thread::spawn(|| {
            set_current_timer_slack(NonZeroU64::new(70_000)).unwrap();
            let before = current_timer_slack().unwrap();
            let slack = LeastSlack::ask().unwrap();
            let during = current_timer_slack().unwrap();
            drop(slack);
            [before, during, current_timer_slack().unwrap()]
        });
        assert_eq!(seen.join().unwrap(), [70_000, 1, 70_000]);
    }
}
