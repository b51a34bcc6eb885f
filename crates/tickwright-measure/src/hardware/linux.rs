//! The hardware counters of Linux, read through `perf_event_open`.

use core::fmt;
use core::time::Duration;
use std::fs;
use std::io;

use perf_event::events::Hardware as Event;
use perf_event::{Builder, Counter, Group};

use super::{EVENTS, Reading};
use crate::virtualisation;

/// The hardware counters of the thread that created them, until they are dropped.
pub struct Hardware {
    group: Group,
    /// The counters in the order of [`EVENTS`]; `None` if the processor cannot count the event.
    counters: [Option<Counter>; EVENTS.len()],
    kernel: bool,
}

impl fmt::Debug for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hardware").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}

/// The events in the order of [`EVENTS`].
const COUNTED: [Event; EVENTS.len()] =
    [Event::INSTRUCTIONS, Event::CPU_CYCLES, Event::CACHE_MISSES, Event::BRANCH_MISSES];

impl Hardware {
    /// Counts the events of the calling thread from now on: in user space, and also in the kernel
    /// if the system allows this.
    ///
    /// # Errors
    /// The reason why nothing is counted, and a remedy.
    pub fn start() -> Result<Self, String> {
        let mut counters = Self::open(true)
            .or_else(|error| if is_denied(&error) { Self::open(false) } else { Err(error) })
            .map_err(|error| refusal(&error, paranoid(), &virtualisation::name()))?;
        let still = || {
            let machine = virtualisation::name();
            format!("no hardware counters: they stand still on this machine (virtual machine: {machine})")
        };
        // Some virtual machines offer counters that never count. A share of 0 means that the group
        // has not run yet, which another program's counters can cause.
        let before = counters.read().ok_or_else(still)?;
        let counted = counters.read().ok_or_else(still)?.since(&before);
        if counted.share > 0.0 && counted.counts[0] == 0.0 { Err(still()) } else { Ok(counters) }
    }

    fn open(kernel: bool) -> io::Result<Self> {
        let mut group = Group::new()?;
        let mut add = |event| group.add(Builder::new(event).exclude_kernel(!kernel));
        // If the processor cannot count instructions, there are no hardware counters. Other events
        // may be missing.
        let [first, others @ ..] = COUNTED;
        let first = add(first)?;
        let [cycles, cache, branches] = others.map(|event| add(event).ok());
        let mut this = Self { group, counters: [Some(first), cycles, cache, branches], kernel };
        this.group.enable()?;
        Ok(this)
    }

    /// Reads all counters: one system call. `None` if the system refuses.
    pub fn read(&mut self) -> Option<Reading> {
        let data = self.group.read().ok()?;
        let value = |counter: &Option<Counter>| Some(data.get(counter.as_ref()?)?.value());
        let ns = |time: Option<Duration>| time.and_then(|time| u64::try_from(time.as_nanos()).ok());
        Some(Reading {
            values: core::array::from_fn(|at| value(&self.counters[at])),
            enabled_ns: ns(data.time_enabled())?,
            running_ns: ns(data.time_running())?,
        })
    }

    /// A description of what the counts cover.
    pub fn scope(&self) -> &'static str {
        if self.kernel { "in user space and in the kernel" } else { "in user space" }
    }
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The system's limit on counting without privileges.
fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// The reason why nothing is counted. `machine` names the virtual machine.
fn refusal(error: &io::Error, paranoid: Option<i32>, machine: &str) -> String {
    if is_denied(error) {
        let now = paranoid.map_or(String::new(), |level| format!(", which is {level} now"));
        format!(
            "no hardware counters ({error}): set /proc/sys/kernel/perf_event_paranoid to 2 or less{now}, or grant \
             CAP_PERFMON; a container must also allow the system call perf_event_open"
        )
    } else if error.kind() == io::ErrorKind::Unsupported && error.raw_os_error() == Some(libc::ENOSYS) {
        format!("no hardware counters ({error}): this kernel has no perf_event_open")
    } else if machine == "none seen" {
        format!("no hardware counters ({error}): this processor or this kernel does not offer them")
    } else {
        format!(
            "no hardware counters in this virtual machine, {machine} ({error}): its host must pass them on"
        )
    }
}

#[cfg(test)]
mod tests {
    use core::hint::black_box;

    use super::*;

    #[test]
    fn it_counts_or_says_why_not() {
        match Hardware::start() {
            Ok(mut counters) => {
                let before = counters.read().unwrap();
                let sum = (0..100_000u64).map(black_box).fold(0, u64::wrapping_add);
                let counted = counters.read().unwrap().since(&before);
                assert_eq!(black_box(sum), 4_999_950_000);
                // Another program's counters may have counted for the whole time.
                if counted.share == 1.0 {
                    assert!(counted.counts[0] > 100_000.0, "{counted:?}");
                }
            }
            Err(why) => assert!(why.contains("no hardware counters") && why.contains(':'), "{why}"),
        }
    }

    #[test]
    fn a_refusal_names_the_cause_and_the_remedy() {
        let because = |errno: i32, paranoid, machine: &str| {
            refusal(&io::Error::from_raw_os_error(errno), paranoid, machine)
        };
        for errno in [libc::EACCES, libc::EPERM] {
            let denied = because(errno, Some(4), "KVM");
            for word in ["perf_event_paranoid to 2 or less, which is 4 now", "CAP_PERFMON", "container"] {
                assert!(denied.contains(word), "{denied}");
            }
            assert!(!because(errno, None, "KVM").contains("now"));
        }
        for errno in [libc::ENOENT, libc::EOPNOTSUPP, libc::ENODEV] {
            assert!(because(errno, Some(2), "KVM").contains("in this virtual machine, KVM"));
            assert!(because(errno, Some(2), "none seen").contains("this processor"));
        }
        assert!(because(libc::ENOSYS, None, "KVM").contains("this kernel has no perf_event_open"));
    }
}
