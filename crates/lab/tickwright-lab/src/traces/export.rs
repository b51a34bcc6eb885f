//! `tickwright export`: writes a trace for other programs, as text or as a Parquet file.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
#[cfg(feature = "parquet")]
use tickwright_trace::parquet::to_parquet;
use tickwright_trace::{TraceError, text};

use super::input::open;
use crate::error::LabError;
use crate::output::text::name;
use crate::output::{self, TextFile};

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Comma-separated values with a line of column names.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// A table by columns, for DuckDB, DataFusion, Spark and others. Needs a build with the feature
    /// `parquet`.
    Parquet,
}

/// The error of a build without the feature `parquet`, with the remedy.
const WITHOUT_PARQUET: &str = "this build writes no Parquet files: build it with `--features parquet`, or export \
                               --form csv, which DuckDB and others read";

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
    /// If the file is not a trace, if the export cannot be written, or if the trace is damaged. The
    /// events before the damage are written nevertheless.
    pub(crate) fn execute(&self) -> Result<(), LabError> {
        let form = self.form();
        if form == Form::Parquet && cfg!(not(feature = "parquet")) {
            return Err(LabError::usage(WITHOUT_PARQUET));
        }
        let mut reader = open(&self.trace)?;
        let out = self.out.as_deref().unwrap_or(Path::new("-"));
        if output::is_stdout(out) && form == Form::Parquet && io::stdout().is_terminal() {
            let why = "a Parquet file is binary: name a file with --out FILE.parquet";
            return Err(LabError::usage(why));
        }
        output::keep_inputs("--out", out, &[&self.trace])?;
        let file = TextFile::open(out)?;
        let mut damage = None;
        file.write_with(|to| {
            let done = match form {
                Form::Csv => text::to_csv(&mut reader, to),
                Form::Jsonl => text::to_json_lines(&mut reader, to),
                #[cfg(feature = "parquet")]
                Form::Parquet => to_parquet(&mut reader, to),
                #[cfg(not(feature = "parquet"))]
                Form::Parquet => Err(TraceError::Io(io::Error::other(WITHOUT_PARQUET))),
            };
            match done {
                // The export is incomplete, so it is not published.
                Err(TraceError::Io(error)) => return Err(error),
                // The export of a damaged trace is published, with the events before the damage.
                done => damage = done.err(),
            }
            Ok(())
        })?;
        damage.map_or(Ok(()), |damage| {
            let what = format!("exporting {}", name(&self.trace.display().to_string()));
            Err(LabError::io(what, io::Error::other(damage.to_string())))
        })
    }

    /// Returns the form that the user gave, or else the form that the file's name implies.
    fn form(&self) -> Form {
        let end = self.out.as_deref().and_then(Path::extension).and_then(|end| end.to_str());
        self.form.unwrap_or(match end {
            Some("jsonl" | "json") => Form::Jsonl,
            Some("parquet") => Form::Parquet,
            _ => Form::Csv,
        })
    }
}
