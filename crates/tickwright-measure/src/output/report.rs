//! Where a report goes besides the terminal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::file::Sink;
use super::{place, print};
use crate::error::LabError;
use crate::render;
use crate::result::{Report, write_csv};

/// Where a run writes its report. Without any of these it prints tables.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Results")]
pub struct ReportArgs {
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
}

/// A way to write a report.
type Writer = fn(&Report, &mut dyn Write) -> io::Result<()>;

/// The opened outputs of a run.
#[derive(Debug, Default)]
pub struct ReportFiles(Vec<(Writer, Sink)>);

impl ReportArgs {
    fn all(&self) -> [(&'static str, Option<&Path>, Writer); 4] {
        [
            ("--json", self.json.as_deref(), |report, out| {
                serde_json::to_writer_pretty(&mut *out, report)?;
                out.write_all(b"\n")
            }),
            ("--csv", self.csv.as_deref(), write_csv),
            ("--markdown", self.markdown.as_deref(), |report, out| {
                out.write_all(render::markdown(report).as_bytes())
            }),
            ("--svg", self.svg.as_deref(), |report, out| {
                out.write_all(render::svg(report.plots()).as_bytes())
            }),
        ]
    }

    /// Every file that is written, with the option that names it.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        self.all().into_iter().filter_map(|(flag, path, _)| Some((flag, path?.to_owned())))
    }

    /// Opens what was asked for. Existing files keep their content until a report replaces it.
    ///
    /// # Errors
    /// A path that cannot be written; two outputs in one place.
    pub fn open(&self) -> Result<ReportFiles, LabError> {
        let stdout = Path::new("-");
        let mut open: Vec<(&str, &Path, Writer)> = Vec::new();
        for (flag, path, writer) in self.all() {
            let Some(path) = path else { continue };
            let same = |other: &Path| match (path == stdout, other == stdout) {
                (false, false) => place(path) == place(other),
                (both, either) => both && either,
            };
            if let Some((other, _, _)) = open.iter().find(|(_, other, _)| same(other)) {
                let what = if path == stdout {
                    "standard output".to_owned()
                } else {
                    format!("'{}'", path.display())
                };
                return Err(LabError::usage(format!(
                    "{other} and {flag} cannot both go to {what}: name another file for one; nothing was run"
                )));
            }
            open.push((flag, path, writer));
        }
        let sinks = open.into_iter().map(|(_, path, writer)| Ok((writer, Sink::open(path)?)));
        sinks.collect::<Result<_, _>>().map(ReportFiles)
    }
}

impl ReportFiles {
    /// Whether standard output is free for tables.
    #[must_use]
    pub fn terminal(&self) -> bool {
        !self.0.iter().any(|(_, sink)| matches!(sink, Sink::Stdout))
    }

    /// Prints a report, and writes it where it was asked for.
    ///
    /// # Errors
    /// When the file system refuses after all. [`LabError::Interrupted`] when the report is partial.
    pub fn deliver(&self, report: &Report) -> Result<(), LabError> {
        if self.terminal() {
            print(&render::text(report))?;
        }
        for (writer, sink) in &self.0 {
            sink.write(|out| writer(report, out))?;
        }
        if report.interrupted { Err(LabError::Interrupted) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
