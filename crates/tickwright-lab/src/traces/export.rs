//! `tickwright export`: a trace for other programs, as text or as a Parquet file.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tickwright_trace::parquet::to_parquet;
use tickwright_trace::{TraceError, text};

use super::input::open;
use crate::error::LabError;
use crate::output::text::name;
use crate::output::{self, OutputArgs};

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

/// Writes text for a terminal: control characters are written out, as in messages.
#[derive(Debug)]
struct Shown<W> {
    to: W,
    /// The first byte of a character of two bytes that may be a control character.
    first: bool,
}

impl<W: Write> Shown<W> {
    fn new(to: W) -> Self {
        Self { to, first: false }
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const FIRST: u8 = 0xc2;
        let mut out = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            let first = core::mem::take(&mut self.first);
            match byte {
                FIRST => self.first = true,
                0x80..=0x9f if first => out.extend(format!("\\u{{{byte:x}}}").bytes()),
                b'\n' | b'\t' | b'\r' => out.push(byte),
                0..=0x1f | 0x7f => out.extend(format!("\\u{{{byte:x}}}").bytes()),
                _ => {
                    out.extend(first.then_some(FIRST));
                    out.push(byte);
                }
            }
        }
        self.to.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
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
        let form = self.form();
        let to_stdout = self.out.as_deref().is_none_or(|name| name == Path::new("-"));
        if to_stdout && form == Form::Parquet && io::stdout().is_terminal() {
            let why = "a Parquet file is binary: name a file with --out FILE.parquet";
            return Err(LabError::usage(why));
        }
        let mut write = |to: &mut (dyn Write + Send)| match form {
            Form::Csv => text::to_csv(&mut reader, to),
            Form::Jsonl => text::to_json_lines(&mut reader, to),
            Form::Parquet => to_parquet(&mut reader, to),
        };
        let what = format!("exporting {}", name(&self.trace.display().to_string()));
        let done = match self.out.as_deref().filter(|_| !to_stdout) {
            None => output::stdout().map_err(TraceError::Io).and_then(|mut out| {
                // The names of the trace may hold escape sequences.
                if out.is_terminal() { write(&mut Shown::new(&mut out)) } else { write(&mut out) }
            }),
            Some(out) => {
                if out.canonicalize().is_ok_and(|out| self.trace.canonicalize().is_ok_and(|from| from == out))
                {
                    return Err(LabError::usage("--out names the trace itself: name another file"));
                }
                let [file] = OutputArgs::default().open_beside([("--out", Some(out))])?;
                let Some(file) = file else { return Ok(()) };
                let mut done = Ok(0);
                file.write_with(|to| match write(to) {
                    // The export is incomplete, so it is not published.
                    Err(TraceError::Io(error)) => Err(error),
                    // Of a damaged trace, what precedes the damage is published.
                    ended => {
                        done = ended;
                        Ok(())
                    }
                })?;
                done
            }
        };
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_escape_sequence_of_a_trace() {
        let mut shown = Shown::new(Vec::new());
        for byte in "a\u{1b}]0;x\u{7}\u{9b}2J\u{e4}\u{a9},b\r\n".bytes() {
            shown.write_all(&[byte]).unwrap();
        }
        let text = String::from_utf8(shown.to).unwrap();
        assert_eq!(text, "a\\u{1b}]0;x\\u{7}\\u{9b}2J\u{e4}\u{a9},b\r\n");
    }
}
