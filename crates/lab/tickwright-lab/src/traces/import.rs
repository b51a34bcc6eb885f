//! `tickwright import`: makes a trace from the output of another program.
//!
//! The importers, and how to add one, are in `tickwright-trace/src/import.rs`.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tickwright_trace::import::{self, Imported, Unpacked, chrome, kernel, perfetto};
use tickwright_trace::{Header, TraceError, text};

use crate::error::LabError;
use crate::output::text::plain;
use crate::output::{self, OutputArgs};

/// What wrote the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// The Linux kernel: ftrace, trace-cmd report, perf script, babeltrace.
    Kernel,
    /// Perfetto, as on Android: protobuf with the timer events of ftrace.
    Perfetto,
    /// Chrome, Edge, Electron, Node's inspector: JSON.
    Chrome,
    /// `tickwright export`, or any CSV with the same columns.
    Csv,
}

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Trace of another program, packed with gzip or not; - for standard input
    #[arg(value_name = "FILE")]
    from: PathBuf,
    /// File for the trace [default: the name of FILE with .twt, in the working directory]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What wrote FILE [default: found out from its beginning]
    #[arg(long, value_enum)]
    source: Option<Source>,
    /// Jiffies a second of the kernel, where the lines do not tell
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    hz: Option<u64>,
}

impl From<import::Source> for Source {
    fn from(source: import::Source) -> Self {
        match source {
            import::Source::Kernel => Self::Kernel,
            import::Source::Perfetto => Self::Perfetto,
            import::Source::Chrome => Self::Chrome,
            import::Source::Csv => Self::Csv,
        }
    }
}

impl ImportArgs {
    /// Reads the source, writes the trace and prints what was found.
    ///
    /// # Errors
    /// If a file cannot be read or written, or the source has no timer events.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let name = plain(&self.from.display().to_string());
        let cannot =
            |error: &dyn core::fmt::Display| LabError::usage(format!("'{name}' cannot be read: {error}"));
        let out = self.out()?;
        output::keep_inputs("--out", &out, &[&self.from])?;
        let from = if self.from == Path::new("-") {
            Unpacked::new(BufReader::new(io::stdin()))
        } else {
            File::open(&self.from).and_then(|file| Unpacked::new(BufReader::new(file)))
        };
        let from = from.map_err(|error| cannot(&error))?;
        if from.beginning().is_empty() {
            return Err(cannot(&"it is empty"));
        }
        let (source, taken) = match self.source {
            Some(source) => (source, None),
            None => {
                let guess = import::Source::guess(from.beginning()).map_err(|why| cannot(&why))?;
                (guess.into(), Some(format!("taken for {guess}")))
            }
        };
        let shown = plain(&out.display().to_string());
        let [file] = OutputArgs::default().open_beside([("--out", Some(&out))])?;
        let Some(file) = file else { return Ok(()) };
        let mut said = Ok(String::new());
        let written = file.write_with(|to| {
            said = self.import(source, from, &name, to);
            // After an error the file is incomplete, so it is not published.
            said.as_ref().map(drop).map_err(|error| io::Error::other(error.to_string()))
        });
        let said = match said {
            Ok(said) => said,
            Err(TraceError::Io(error)) => {
                return Err(LabError::io(format!("importing {name} into {shown}"), error));
            }
            Err(wrong) => {
                let taken = taken.map(|taken| format!(" (it was {taken}: --source names another)"));
                let taken = taken.unwrap_or_default();
                return Err(LabError::usage(format!("'{name}' cannot be imported: {wrong}{taken}")));
            }
        };
        written?;
        let said = taken.map_or(String::new(), |taken| format!("{taken}\n")) + &said;
        let bytes = out.metadata().map_or(0, |about| about.len());
        output::print(&(said + &format!("{shown}: {bytes} bytes\nNext: tickwright describe {shown}\n")))
    }

    /// Returns the path of the trace's file. Without `--out`, an existing file is refused, not
    /// replaced.
    fn out(&self) -> Result<PathBuf, LabError> {
        if let Some(out) = &self.out {
            return Ok(out.clone());
        }
        let name = self.from.file_name().map_or("trace".into(), |name| name.to_string_lossy());
        let mut stem = if name == "-" { "trace" } else { &*name };
        for ending in [".gz", ".txt", ".csv", ".json", ".trace", ".log", ".pftrace"] {
            stem = stem.strip_suffix(ending).filter(|rest| !rest.is_empty()).unwrap_or(stem);
        }
        let out = PathBuf::from(format!("{stem}.twt"));
        if out.exists() {
            let name = plain(&out.display().to_string());
            return Err(LabError::usage(format!(
                "'{name}' exists: name the file for the trace with --out FILE"
            )));
        }
        Ok(out)
    }

    fn import(
        &self,
        source: Source,
        from: Unpacked<'_>,
        name: &str,
        to: &mut dyn Write,
    ) -> Result<String, TraceError> {
        Ok(match source {
            Source::Kernel | Source::Perfetto => {
                let options = kernel::Options { hz: self.hz, of: name.into() };
                let (_, found) = match source {
                    Source::Perfetto => perfetto::import(from, &options, to)?,
                    _ => kernel::import(from, &options, to)?,
                };
                let queue = |name: &str, lines: &kernel::Lines| {
                    format!("{name}: {} starts, {} of them after a cancel\n", lines.starts, lines.restarts)
                };
                let queues = queue("timer_list", &found.timer_list) + &queue("hrtimer", &found.hrtimer);
                let late = match found.late {
                    0 => String::new(),
                    late => {
                        let sort = match source {
                            Source::Kernel => "; sort the file by time and import it again",
                            _ => "",
                        };
                        format!(
                            "{late} events came more than a million events after a later one: they are out of \
                             order{sort}\n"
                        )
                    }
                };
                let unknown = match found.unknown {
                    0 => String::new(),
                    unknown => format!(
                        "{unknown} starts have a deadline that no line tells, or that never comes: they have no delay\n"
                    ),
                };
                counts(&found.count) + &queues + &unknown + &late
            }
            Source::Chrome => {
                let (_, found) = chrome::import(from, name, to)?;
                let more = format!(
                    "{} installs, {} fires, {} removes, {} of them true cancels\n",
                    found.installs, found.fires, found.removes, found.cancels
                );
                counts(&found.count) + &more
            }
            Source::Csv => {
                let header = Header { of: name.into(), ..Header::of("csv") };
                let (_, events) = text::from_csv(from, &header, to)?;
                if events == 0 {
                    let what = "it has 0 events: no row after the heading is one".into();
                    return Err(TraceError::Line { line: 0, what });
                }
                format!("{events} events\n")
            }
        })
    }
}

fn counts(count: &Imported) -> String {
    let mut said = match count.lines {
        0 => format!("{} events\n", count.events),
        lines => format!("{lines} lines, {} events\n", count.events),
    };
    if count.unreadable > 0 {
        said += &format!("{} timer events could not be read and are left out\n", count.unreadable);
    }
    if let Some(damage) = &count.damage {
        said += &format!("the source is damaged: {}; what precedes is in the trace\n", plain(damage));
    }
    said
}
