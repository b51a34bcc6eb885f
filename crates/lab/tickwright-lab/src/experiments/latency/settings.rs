//! Settings of a wake-up measurement, ours or cyclictest's: interval, clock, driver, rights, load.

use core::time::Duration;

use clap::Args;

use super::clock::{Clock, System};
use super::load::{Generator, Load};
use super::rights::{self, Granted, Priority};
use crate::duration;
use crate::error::LabError;
use crate::experiment::Parameters;
use crate::experiments::request;
use crate::models::scenario::Seed;

/// Arguments that `latency run` and `latency versus-cyclictest` share. The short options are
/// cyclictest's.
#[derive(Debug, Clone, Args)]
pub(crate) struct WakeArgs {
    /// Interval of the timer, from 1us to 10s
    #[arg(long, short, value_name = "DURATION", allow_hyphen_values = true, default_value = "1ms", value_parser = duration::within::<1_000, 10_000_000_000>)]
    pub(super) interval: Duration,

    /// Duration of the whole run
    #[arg(long, short = 'D', allow_hyphen_values = true, default_value = "20s", value_parser = duration::parse)]
    pub(super) duration: Duration,

    /// Structures, as patterns: * matches anything, ! excludes
    /// [default: list, heap2, rb and rb-cached, by hooks; the list beside cyclictest]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    pub(super) structures: Vec<String>,

    /// Priority under SCHED_FIFO, from 1 to 99, or 'none' for the normal scheduler
    #[arg(long, short, value_name = "N", allow_hyphen_values = true, default_value = "80")]
    pub(super) priority: Priority,

    /// Lock the memory, so that no page has to be fetched during the run
    #[arg(long, short)]
    pub(super) mlock: bool,

    /// Pin the measuring thread to this CPU
    #[arg(long, short = 'a', value_name = "N", allow_hyphen_values = true, value_parser = rights::parse_cpu)]
    pub(super) cpu: Option<usize>,

    /// Clock that ends each wait and measures lateness
    #[arg(long, short, value_enum, default_value = "monotonic")]
    pub(super) clock: Clock,

    /// Disturb the machine during the run, by a process that ends with this one
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',')]
    load: Vec<Load>,

    /// Seed of the order of turns
    #[arg(long, allow_hyphen_values = true, default_value = "1", value_parser = Seed::parse)]
    pub(super) seed: Seed,
}

impl WakeArgs {
    /// Refuses an interval below the clock's resolution, and a CPU that this process is not allowed
    /// to use.
    pub(super) fn check(&self) -> Result<(), LabError> {
        let resolution = Duration::from_nanos(self.clock.resolution());
        if self.interval < resolution {
            return Err(LabError::usage(format!(
                "--interval {} is below the resolution of the {} clock: between {} and 10s",
                duration::show(self.interval),
                request::word(&self.clock),
                duration::show(resolution)
            )));
        }
        self.cpu.map_or(Ok(()), rights::allowed)
    }

    /// Asks the system for the rights of the measuring thread. Also returns a note for each
    /// refusal.
    pub(super) fn ask(&self) -> (Granted, Vec<String>) {
        Granted::ask(self.priority, self.mlock, self.cpu)
    }

    /// Returns the interval in ns. It is at most 10 s.
    pub(super) fn interval_ns(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the settings by name, for a report.
    pub(super) fn parameters(&self) -> Parameters {
        request::parameters([
            ("interval", duration::show(self.interval).into()),
            ("duration", duration::show(self.duration).into()),
            ("priority", self.priority.words().into()),
            ("mlock", self.mlock.into()),
            ("cpu", self.cpu.map_or("any".into(), |cpu| cpu.to_string()).into()),
            ("clock", request::word(&self.clock).into()),
            ("driver", "nanosleep".into()),
            ("load", self.load_words().into()),
        ])
    }

    fn load_words(&self) -> String {
        let loads = Load::of(&self.load);
        if loads.is_empty() { "none".into() } else { request::names(&loads) }
    }

    /// Returns the settings as the system granted them, such as
    /// `1ms, monotonic clock, nanosleep, SCHED_FIFO 80`.
    pub(super) fn words(&self, granted: Priority) -> String {
        let (interval, clock) = (duration::show(self.interval), request::word(&self.clock));
        format!("{interval}, {clock} clock, nanosleep, {}, load {}", granted.words(), self.load_words())
    }

    pub(super) fn system(&self) -> Result<System, LabError> {
        System::new(self.clock)
    }

    /// Starts the load, if `--load` names one. Call this function before the rights are granted,
    /// because the load would inherit them.
    pub(super) fn start_load(&self) -> Result<Option<Generator>, LabError> {
        let loads = Load::of(&self.load);
        (!loads.is_empty()).then(|| Generator::start(&loads)).transpose()
    }
}
