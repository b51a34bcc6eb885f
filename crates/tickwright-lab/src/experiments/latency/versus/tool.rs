//! The program of others: found, called and read.

use core::time::Duration;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::LabError;
use crate::experiments::latency::clock::{Clock, Driver};
use crate::experiments::latency::histogram::Cells;
use crate::experiments::latency::platform::children_cpu;
use crate::experiments::latency::settings::Wake;
use crate::interrupt;

/// Width of cyclictest's cells.
pub(super) const CELL_NS: u64 = 1000;

/// cyclictest, of Debian's rt-tests.
#[derive(Debug)]
pub(super) struct Tool {
    path: PathBuf,
}

/// How it is called, but for the number of loops.
#[derive(Debug)]
pub(super) struct Call {
    path: PathBuf,
    args: Vec<String>,
}

impl Tool {
    #[cfg(test)]
    pub(super) fn at(path: &str) -> Self {
        Self { path: path.into() }
    }

    /// On PATH.
    pub(super) fn find() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let mut places = std::env::split_paths(&path).map(|folder| folder.join("cyclictest"));
        places.find(|path| path.is_file()).map(|path| Self { path })
    }

    /// The call that measures with these settings.
    ///
    /// # Errors
    /// What it cannot do.
    pub(super) fn call(self, wake: &Wake) -> Result<Call, LabError> {
        Ok(Call { path: self.path, args: arguments(wake)? })
    }
}

/// # Errors
/// What cyclictest cannot do.
pub(super) fn arguments(wake: &Wake) -> Result<Vec<String>, LabError> {
    let period = wake.interval.as_nanos();
    if !period.is_multiple_of(1000) {
        return Err(LabError::usage(
            "cyclictest takes intervals in whole microseconds: give --interval such a one",
        ));
    }
    let clock = match wake.clock {
        Clock::Monotonic => "0",
        Clock::Realtime => "1",
        Clock::Boot => {
            return Err(LabError::usage("cyclictest has no boot clock: --clock monotonic or realtime"));
        }
    };
    if wake.driver == Driver::Spin {
        return Err(LabError::usage("cyclictest sleeps: --driver nanosleep, timerfd or thread"));
    }
    // Power management is left alone by both.
    let mut args: Vec<String> =
        ["-q", "-t", "1", "--default-system", "-c", clock, "-i"].map(str::to_owned).to_vec();
    args.push((period / 1000).to_string());
    match wake.wish.priority.get() {
        0 => args.push("--policy=other".into()),
        priority => args.extend(["-p".into(), priority.to_string()]),
    }
    if wake.wish.mlock {
        args.push("-m".into());
    }
    if let Some(cpu) = wake.wish.cpu {
        args.extend(["-a".into(), cpu.to_string()]);
    }
    Ok(args)
}

impl Call {
    /// The words that one would type.
    pub(super) fn words(&self) -> String {
        format!("cyclictest {}", self.args.join(" "))
    }

    /// Runs it for `loops`: samples in cells of a microsecond, the last with all that is above, and
    /// its processor time.
    ///
    /// # Errors
    /// When it cannot be started, fails, or says something else than it should.
    pub(super) fn run(&self, loops: u64, cells: usize) -> Result<(Cells, Duration), LabError> {
        let before = children_cpu();
        let mut tool = Command::new(&self.path);
        tool.args(&self.args).args(["-l", &loops.to_string(), "-h", &cells.to_string()]).stdin(Stdio::null());
        let output = interrupt::output(&mut tool)
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

/// Reads `000034 000012` lines, and the overflows into the last cell.
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
