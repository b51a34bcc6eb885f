//! The CPUs of `--cpus`: a list as `0,2-5`, or all that this process may use.

use std::collections::BTreeSet;

use super::clock::Driver;
use super::rights::{self, Priority, ranges};
use crate::error::LabError;
use rustix::thread::CpuSet;

/// The value of `--cpus`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CpuList {
    /// All CPUs that this process may use.
    All,
    /// The listed CPUs, each once.
    These(BTreeSet<usize>),
}

impl CpuList {
    /// Parses `all`, or numbers and ranges with commas between them.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let parts: Option<Vec<_>> = text.split(',').map(range).collect();
        let parts = parts.ok_or_else(|| {
            format!(
                "'{text}' is neither a list of CPUs as 0,2-5 nor 'all': this process may use {}",
                ranges(&rights::mine())
            )
        })?;
        Ok(Self::These(parts.into_iter().flatten().collect()))
    }

    /// The CPUs in ascending order. Refuses a CPU that this process may not use.
    pub(super) fn resolve(&self) -> Result<Vec<usize>, LabError> {
        match self {
            Self::All => Ok(rights::mine()),
            Self::These(cpus) => {
                cpus.iter().try_for_each(|cpu| rights::allowed("--cpus", *cpu))?;
                Ok(cpus.iter().copied().collect())
            }
        }
    }
}

/// Parses `3` or `2-5`.
fn range(part: &str) -> Option<core::ops::RangeInclusive<usize>> {
    let number = |text: &str| text.parse().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU);
    let (from, to) = part.split_once('-').unwrap_or((part, part));
    let (from, to) = (number(from)?, number(to)?);
    (from <= to).then_some(from..=to)
}

/// Refuses busy loops at real-time priority on every CPU of `mine`. Nothing else would run there,
/// not even the thread that ends this program.
pub(super) fn check_spin(
    cpus: &[usize],
    mine: &[usize],
    driver: Driver,
    priority: Priority,
) -> Result<(), LabError> {
    let all = !cpus.is_empty() && mine.iter().all(|cpu| cpus.contains(cpu));
    if !all || driver != Driver::Spin || priority == Priority::NONE {
        return Ok(());
    }
    Err(LabError::usage(format!(
        "--driver spin under {} on all CPUs that this process may use ({}) would freeze the machine: leave a CPU \
         out of --cpus, or leave --priority out; nothing was run",
        priority.words(),
        ranges(mine)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn these(text: &str) -> Vec<usize> {
        match CpuList::parse(text).unwrap() {
            CpuList::All => panic!("'{text}' is a list"),
            CpuList::These(cpus) => cpus.into_iter().collect(),
        }
    }

    #[test]
    fn a_list_has_numbers_and_ranges() {
        assert_eq!(CpuList::parse("all"), Ok(CpuList::All));
        assert_eq!(these("0"), [0]);
        assert_eq!(these("0,2-5"), [0, 2, 3, 4, 5]);
        // A CPU that is named twice counts once, and the order does not matter.
        assert_eq!(these("5-5,3,1-3,2"), [1, 2, 3, 5]);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for wrong in ["", ",", "0,", "-1", "2-", "5-2", "0-1-2", "0 1", "ALL", "all,1", "1e0", "0-99999999"] {
            let message = CpuList::parse(wrong).unwrap_err();
            assert!(message.contains(&format!("'{wrong}' is neither")), "{message}");
            assert!(message.contains("as 0,2-5") && message.contains("may use"), "{message}");
        }
    }

    #[test]
    fn all_are_those_of_this_process() {
        assert_eq!(CpuList::All.resolve().unwrap(), rights::mine());
        let none = CpuList::parse("1023").unwrap().resolve().unwrap_err().to_string();
        assert!(none.contains("--cpus 1023 does not exist: this process may use"), "{none}");
    }

    #[test]
    fn a_busy_loop_at_real_time_priority_leaves_a_cpu_free() {
        let of = |cpus: &[usize], driver, priority| check_spin(cpus, &[0, 1, 2], driver, priority);
        let frozen = of(&[0, 1, 2], Driver::Spin, Priority::USUAL).unwrap_err();
        assert_eq!(frozen.code(), 2);
        let frozen = frozen.to_string();
        assert!(frozen.contains("SCHED_FIFO 80") && frozen.contains("(0-2) would freeze"), "{frozen}");
        assert!(of(&[0, 2], Driver::Spin, Priority::USUAL).is_ok());
        assert!(of(&[0, 1, 2], Driver::Spin, Priority::NONE).is_ok());
        assert!(of(&[0, 1, 2], Driver::Nanosleep, Priority::USUAL).is_ok());
        assert!(of(&[], Driver::Spin, Priority::USUAL).is_ok());
    }
}
