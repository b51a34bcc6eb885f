//! Finds and runs cyclictest, and parses its output.

use core::time::Duration;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::child;
use crate::error::LabError;
use crate::experiments::latency::clock::Clock;
use crate::experiments::latency::histogram::Cells;
use crate::experiments::latency::platform::children_cpu;
use crate::experiments::latency::settings::WakeArgs;

/// The width of cyclictest's cells, in ns.
pub(super) const CELL_NS: u64 = 1000;

/// The command line of cyclictest, without the number of loops.
#[derive(Debug)]
pub(super) struct Call {
    path: PathBuf,
    args: Vec<String>,
}

/// Finds cyclictest in `PATH`. Debian's package is rt-tests.
pub(super) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join("cyclictest"));
    places.find(|path| path.is_file())
}

impl Call {
    /// Creates the call that measures with these settings. Refuses settings that cyclictest does
    /// not support.
    pub(super) fn new(path: PathBuf, wake: &WakeArgs) -> Result<Self, LabError> {
        let interval = wake.interval.as_nanos();
        if !interval.is_multiple_of(1000) {
            let why = "cyclictest takes intervals in whole microseconds: give --interval such a one";
            return Err(LabError::usage(why));
        }
        let clock = match wake.clock {
            Clock::Monotonic => "0",
            Clock::Realtime => "1",
        };
        // With `--default-system`, cyclictest leaves the power management unchanged, as our runs
        // do.
        let mut words = format!("-q -t 1 --default-system -c {clock} -i {}", interval / 1000);
        words += &match wake.priority.get() {
            0 => " --policy=other".into(),
            priority => format!(" -p {priority}"),
        };
        words += if wake.mlock { " -m" } else { "" };
        words += &wake.cpu.map_or(String::new(), |cpu| format!(" -a {cpu}"));
        Ok(Self { path, args: words.split(' ').map(str::to_owned).collect() })
    }

    /// Returns the command line as a user would type it.
    pub(super) fn words(&self) -> String {
        format!("cyclictest {}", self.args.join(" "))
    }

    /// Runs cyclictest for `loops` loops. Returns a histogram with `cells` cells of a microsecond,
    /// and the processor time. The last cell also counts all greater values.
    pub(super) fn run(&self, loops: u64, cells: usize) -> Result<(Cells, Duration), LabError> {
        let before = children_cpu();
        let mut tool = Command::new(&self.path);
        tool.args(&self.args).args(["-l", &loops.to_string(), "-h", &cells.to_string()]).stdin(Stdio::null());
        let output = child::output(&mut tool)
            .map_err(|source| LabError::io(format!("running {}", self.path.display()), source))?;
        let cpu = children_cpu().saturating_sub(before);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("nothing");
            return Err(LabError::failed(format!("cyclictest ended with {}: {said}", output.status)));
        }
        Ok((histogram(&String::from_utf8_lossy(&output.stdout), cells), cpu))
    }
}

/// Parses lines like `000034 000012`. Overflows go into the last cell.
pub(super) fn histogram(text: &str, cells: usize) -> Cells {
    let mut counts = Cells::new(cells, CELL_NS);
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
        let (cell, count) = if let Some(rest) = line.strip_prefix("# Histogram Overflows:") {
            (Some(u64::MAX), number(rest.split_ascii_whitespace().next()))
        } else {
            (number(words.next()), number(words.next()))
        };
        if let (Some(cell), Some(count)) = (cell, count) {
            counts.add(cell.saturating_mul(CELL_NS), count);
        }
    }
    counts
}
