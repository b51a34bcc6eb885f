//! `tickwright export`: a trace as text for other programs.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tickwright_trace::{TraceError, text};

use super::input::open;
use crate::error::LabError;
use crate::output::text::plain;

/// The forms of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Comma-separated values with a line of column names.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// Trace in the format .twt; - for standard input
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Form of the text [default: that of the name of --out, else csv]
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// File for the text [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ExportArgs {
    /// Writes the events of a trace.
    ///
    /// # Errors
    /// The file is no trace; the text cannot be written. Damage in the trace, after the events
    /// before it were written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let mut reader = open(&self.trace)?;
        let name = self.out.as_deref().unwrap_or(Path::new("-"));
        let is_lines = name.extension().is_some_and(|end| end == "jsonl" || end == "json");
        let form = self.form.unwrap_or(if is_lines { Form::Jsonl } else { Form::Csv });
        let to: Box<dyn Write> = if name == Path::new("-") {
            Box::new(io::stdout().lock())
        } else {
            let file = File::create(name);
            Box::new(file.map_err(|error| {
                LabError::usage(format!(
                    "'{}' cannot be written: {error}",
                    plain(&name.display().to_string())
                ))
            })?)
        };
        let done = match form {
            Form::Csv => text::to_csv(&mut reader, to),
            Form::Jsonl => text::to_json_lines(&mut reader, to),
        };
        let what = format!("exporting {}", plain(&self.trace.display().to_string()));
        done.map(drop).map_err(|error| match error {
            TraceError::Io(error) => LabError::io(what, error),
            damage => LabError::io(what, io::Error::other(damage.to_string())),
        })
    }
}
