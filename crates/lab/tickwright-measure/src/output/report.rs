//! The outputs to which a report can go in addition to the terminal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::file::{Sink, TextFile, is_stdout, keep_inputs, place};
use super::print;
use crate::error::LabError;
use crate::render;
use crate::result::{Condition, Report, Series, write_csv};

/// The outputs to which a run writes its report. Without any of them, the run prints tables.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Results")]
pub struct OutputArgs {
    /// Write the report as JSON to standard output instead of the tables, or with --json=FILE to a
    /// file; `tickwright show` prints it again
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Write every sample as CSV to standard output instead of the tables, or with --csv=FILE to a
    /// file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub csv: Option<PathBuf>,
    /// Write the report as Markdown to standard output instead of the tables, or with
    /// --markdown=FILE to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub markdown: Option<PathBuf>,
    /// Write the report's plots as one SVG to standard output instead of the tables, or with
    /// --svg=FILE to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub svg: Option<PathBuf>,
    /// Exit with 1 when a series fulfils a condition: 'p99(insert) > 200ns'; the limit needs a
    /// unit: ns, us, ms, s, B, KiB, MiB, %, x, count, instructions, /s. May be repeated
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
}

/// A way to write a report.
type Writer = fn(&Report, &mut dyn Write) -> io::Result<()>;

/// The opened outputs of a run.
#[derive(Debug, Default)]
pub struct Outputs {
    sinks: Vec<(Writer, Sink)>,
    fail_if: Vec<Condition>,
}

fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

/// Writes the plots of a report.
fn svg(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.plots().next().is_none() && !report.interrupted {
        let why =
            "this result has no plot, so --svg has nothing to draw; --markdown and --csv show its figures";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    out.write_all(render::svg(report.plots()).as_bytes())
}

impl OutputArgs {
    /// Returns the requested outputs. A path that names standard output is returned as `-`.
    fn all(&self) -> [(&'static str, Option<&Path>, Writer); 4] {
        let all: [(_, _, Writer); 4] = [
            ("--json", self.json.as_deref(), json),
            ("--csv", self.csv.as_deref(), write_csv),
            ("--markdown", self.markdown.as_deref(), |report, out| {
                out.write_all(render::markdown(report).as_bytes())
            }),
            ("--svg", self.svg.as_deref(), svg),
        ];
        all.map(|(flag, path, writer)| (flag, path.map(named), writer))
    }

    /// Opens the outputs that were requested. Existing files keep their content until a report
    /// replaces it. `inputs` are the files that the command reads. No output is allowed to be one
    /// of these files.
    ///
    /// # Errors
    /// If a path cannot be written, is an input, or is the path of two outputs.
    pub fn open(&self, inputs: &[&Path]) -> Result<Outputs, LabError> {
        let mut open: Vec<(&str, &Path, Writer)> = Vec::new();
        for (flag, path, writer) in self.all() {
            let Some(path) = path else { continue };
            keep_inputs(flag, path, inputs)?;
            open.iter().try_for_each(|(other, there, _)| apart((other, there), (flag, path)))?;
            open.push((flag, path, writer));
        }
        let sinks = open.into_iter().map(|(_, path, writer)| Ok((writer, Sink::open(path)?)));
        Ok(Outputs { sinks: sinks.collect::<Result<_, LabError>>()?, fail_if: self.fail_if.clone() })
    }

    /// Returns whether standard output is free for tables, and for lines during a run.
    #[must_use]
    pub fn terminal(&self) -> bool {
        !self.all().iter().any(|(_, path, _)| *path == Some(Path::new("-")))
    }

    /// Before anything is measured, opens the files that a run writes in other tools' formats, in
    /// addition to its report.
    ///
    /// # Errors
    /// If a path cannot be written, if two outputs have the same path, or if a path names standard
    /// output.
    pub fn open_beside<const N: usize>(
        &self,
        wanted: [(&'static str, Option<&Path>); N],
    ) -> Result<[Option<TextFile>; N], LabError> {
        let mut taken: Vec<(&str, &Path)> =
            self.all().into_iter().filter_map(|(flag, path, _)| Some((flag, path?))).collect();
        let mut open = [const { None }; N];
        for (file, (flag, path)) in open.iter_mut().zip(wanted) {
            let Some(path) = path.map(named) else { continue };
            if path == Path::new("-") {
                let why = format!("{flag} needs a file: standard output is for the results");
                return Err(LabError::usage(why));
            }
            taken.iter().try_for_each(|other| apart(*other, (flag, path)))?;
            taken.push((flag, path));
            *file = Some(TextFile(Sink::open(path)?));
        }
        Ok(open)
    }
}

/// Returns `-` for any name of standard output, and any other path unchanged.
fn named(path: &Path) -> &Path {
    if is_stdout(path) { Path::new("-") } else { path }
}

/// Returns an error if two outputs go to the same place.
fn apart((other, there): (&str, &Path), (flag, path): (&str, &Path)) -> Result<(), LabError> {
    let stdout = Path::new("-");
    let what = match (path == stdout, there == stdout) {
        (true, true) => "standard output".to_owned(),
        (false, false) if place(path) == place(there) => format!("'{}'", path.display()),
        _ => return Ok(()),
    };
    Err(LabError::usage(format!(
        "{other} and {flag} cannot both go to {what}: name another file for one; nothing was run"
    )))
}

impl Outputs {
    /// Returns whether standard output is free for tables.
    #[must_use]
    pub fn terminal(&self) -> bool {
        !self.sinks.iter().any(|(_, sink)| matches!(sink, Sink::Stdout))
    }

    /// Prints a report, and writes it to the requested outputs.
    ///
    /// # Errors
    /// [`LabError`] if the file system refuses a write after the files were opened.
    /// [`LabError::Interrupted`] for a partial report. [`LabError::Failed`] when a condition of
    /// `--fail-if` is fulfilled.
    pub fn deliver(&self, report: &Report) -> Result<(), LabError> {
        let printed = if self.terminal() { print(&render::text(report)) } else { Ok(()) };
        // The files are written even if the reader of standard output has closed its end.
        let written = self.write(report);
        // If the requested picture cannot be drawn, no tables have been printed yet.
        if !self.terminal() && written.as_ref().is_err_and(LabError::is_unwritten) {
            let _ = print(&render::text(report));
        }
        printed.and(written)
    }

    /// Writes a report to the requested outputs, and prints nothing.
    ///
    /// # Errors
    /// The errors of [`deliver`](Self::deliver).
    pub fn write(&self, report: &Report) -> Result<(), LabError> {
        // If one output fails, the other outputs are still written.
        let written = self.sinks.iter().map(|(writer, sink)| {
            let written = sink.write(|out| writer(report, out));
            if written.as_ref().is_err_and(LabError::is_unwritten) && !matches!(sink, Sink::Stdout) {
                let _ = Sink::Stdout.write(|out| writer(report, out));
            }
            written
        });
        written.reduce(Result::and).unwrap_or(Ok(()))?;
        if report.interrupted { Err(LabError::Interrupted) } else { self.judge(report) }
    }

    /// Checks before a run that each condition of `--fail-if` is about one of the series that the
    /// run will measure. An empty list means that the series are not known.
    ///
    /// # Errors
    /// A usage error that names what a condition could be about.
    pub fn expect(&self, series: &[Series]) -> Result<(), LabError> {
        let mut known = self.fail_if.iter().filter(|_| !series.is_empty());
        let checked = known.try_for_each(|condition| condition.check(series));
        checked.map_err(|why| LabError::usage(format!("{why}; nothing was run")))
    }

    /// Returns an error if a condition of `--fail-if` is fulfilled.
    fn judge(&self, report: &Report) -> Result<(), LabError> {
        let mut failed = Vec::new();
        for condition in &self.fail_if {
            for (series, value) in condition.fulfilled(report).map_err(LabError::usage)? {
                failed.push(format!("{condition}: {} has {value:.1}", series.title()));
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(LabError::failed(failed.join("\n"))) }
    }
}

#[cfg(test)]
mod tests;
