//! The rights that a punctual thread needs: real-time priority, one CPU and locked memory. Each
//! refusal is reported, and each granted right is given back at the end.

use core::str::FromStr;

use super::platform;
use crate::error::LabError;
use crate::rights::LeastSlack;
use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A priority under SCHED_FIFO; 0 is the normal scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Priority(u8);

impl Priority {
    /// The normal scheduler.
    pub(super) const NONE: Self = Self(0);
    /// Returns the number of the priority; 0 for the normal scheduler.
    pub(super) fn get(self) -> u8 {
        self.0
    }

    /// Returns the scheduling policy in words, for the report.
    pub(super) fn words(self) -> String {
        if self == Self::NONE { "normal scheduling".into() } else { format!("SCHED_FIFO {}", self.0) }
    }
}

impl FromStr for Priority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let number = text.parse().ok().filter(|number| (1..=99).contains(number));
        number.map(Self).ok_or_else(|| format!("'{text}' is not a priority from 1 to 99, nor 'none'"))
    }
}

/// Parses the number of a CPU.
pub(super) fn parse_cpu(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU).ok_or_else(|| {
        format!("'{text}' is not the number of a CPU: this process may use {}", ranges(&mine()))
    })
}

/// Refuses a CPU that this process is not allowed to use.
pub(super) fn allowed(cpu: usize) -> Result<(), LabError> {
    let mine = mine();
    if mine.contains(&cpu) {
        return Ok(());
    }
    Err(LabError::usage(format!("--cpu {cpu} is no CPU of this process: it may use {}", ranges(&mine))))
}

/// Returns the CPUs that this process is allowed to use, in ascending order.
fn mine() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Writes sorted CPU numbers as ranges: `0, 2-5`.
pub(super) fn ranges(sorted: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &cpu in sorted {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let words = runs
        .into_iter()
        .map(|(from, to)| if from == to { format!("{from}") } else { format!("{from}-{to}") });
    words.collect::<Vec<_>>().join(", ")
}

/// The rights that the system granted this thread. Dropping the value gives everything back, so
/// that the rest of the program runs as before.
#[derive(Debug, Default)]
pub(super) struct Granted {
    pub(super) priority: Priority,
    is_locked: bool,
    before: Option<CpuSet>,
    slack: Option<LeastSlack>,
}

impl Granted {
    /// Asks for a priority, locked memory and a CPU. Also returns a note for each refusal. The note
    /// names a remedy.
    pub(super) fn ask(priority: Priority, mlock: bool, cpu: Option<usize>) -> (Self, Vec<String>) {
        let mut granted = Self::default();
        let mut refused = Vec::new();
        match LeastSlack::ask() {
            Ok(slack) => granted.slack = Some(slack),
            Err(why) => refused.push(why),
        }
        if let Some(cpu) = cpu {
            let before = sched_getaffinity(None).ok();
            let mut set = CpuSet::new();
            set.set(cpu);
            match sched_setaffinity(None, &set) {
                Ok(()) => granted.before = before,
                Err(error) => refused.push(format!("not pinned to CPU {cpu} ({error}): it may wander")),
            }
        }
        if mlock {
            // Locks only the present pages, which include all pages that the measured loop touches.
            // If future pages were locked too, an allocation beyond the limit would fail.
            match mlockall(MlockAllFlags::CURRENT) {
                Ok(()) => granted.is_locked = true,
                Err(error) => refused.push(format!(
                    "memory is not locked ({error}): pages may have to be fetched; `ulimit -l unlimited` or \
                     CAP_IPC_LOCK allows it"
                )),
            }
        }
        if priority == Priority::NONE {
            // The program that started this program could have set another policy. Lowering the
            // priority needs no privilege.
            let _ = platform::set_fifo(0);
        } else {
            match platform::set_fifo(priority.get()) {
                Ok(()) => granted.priority = priority,
                Err(error) => refused.push(format!(
                    "no {} ({error}): wake-ups wait for other programs; CAP_SYS_NICE or `ulimit -r 99` allows it",
                    priority.words()
                )),
            }
        }
        (granted, refused)
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        // Giving rights back needs no privilege, so no failure is expected. After a failure, the
        // rest of the program would run with a higher priority than it asked for.
        if self.priority != Priority::NONE {
            let _ = platform::set_fifo(0);
        }
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
        if self.is_locked {
            let _ = munlockall();
        }
    }
}
