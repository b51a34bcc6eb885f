//! `tickwright export`: a trace for other programs, as text or as a Parquet file.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tickwright_trace::parquet::to_parquet;
use tickwright_trace::{Reader, TraceError, text};

use super::input::open;
use crate::error::LabError;
use crate::output::OutputArgs;
use crate::output::text::plain;

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Comma-separated values with a line of column names.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// A table by columns, for DuckDB, DataFusion, Spark and others.
    Parquet,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// Trace in the format .twt; - for standard input
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Form of the export [default: that of the name of --out, else csv]
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// File for the export [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ExportArgs {
    /// Writes the events of a trace.
    ///
    /// # Errors
    /// The file is no trace; the export cannot be written. Damage in the trace, after the events
    /// before it were written.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let mut reader = open(&self.trace)?;
        let name = self.out.as_deref().unwrap_or(Path::new("-"));
        let done = match self.form() {
            Form::Csv => text::to_csv(&mut reader, create(name)?),
            Form::Jsonl => text::to_json_lines(&mut reader, create(name)?),
            Form::Parquet => self.parquet(&mut reader, name)?,
        };
        let what = format!("exporting {}", plain(&self.trace.display().to_string()));
        done.map(drop).map_err(|error| match error {
            TraceError::Io(error) => LabError::io(what, error),
            damage => LabError::io(what, io::Error::other(damage.to_string())),
        })
    }

    /// The form that was asked for, or that the name of the file says.
    fn form(&self) -> Form {
        let end = self.out.as_deref().and_then(Path::extension).and_then(|end| end.to_str());
        self.form.unwrap_or(match end {
            Some("jsonl" | "json") => Form::Jsonl,
            Some("parquet") => Form::Parquet,
            _ => Form::Csv,
        })
    }

    /// Writes a Parquet file. It appears in one step, as a query may read its folder meanwhile.
    /// The inner error is damage in the trace: the file has what precedes it.
    fn parquet(
        &self,
        reader: &mut Reader<Box<dyn Read>>,
        name: &Path,
    ) -> Result<Result<u64, TraceError>, LabError> {
        if name == Path::new("-") {
            if io::stdout().is_terminal() {
                let why = "a Parquet file is binary: name a file with --out FILE.parquet";
                return Err(LabError::usage(why));
            }
            return Ok(to_parquet(reader, io::stdout()));
        }
        let [file] = OutputArgs::default().open_beside([("--out", Some(name))])?;
        let mut done = Ok(0);
        file.map_or(Ok(()), |file| {
            file.write_with(|to| {
                done = match to_parquet(reader, to) {
                    Err(TraceError::Io(error)) => return Err(error),
                    done => done,
                };
                Ok(())
            })
        })?;
        Ok(done)
    }
}

/// Creates the file for a text; `-` is standard output.
fn create(name: &Path) -> Result<Box<dyn Write>, LabError> {
    if name == Path::new("-") {
        return Ok(Box::new(io::stdout().lock()));
    }
    let file = File::create(name).map_err(|error| {
        LabError::usage(format!("'{}' cannot be written: {error}", plain(&name.display().to_string())))
    })?;
    Ok(Box::new(file))
}
