//! Result files. They are opened before a run starts, so that a path that cannot be written costs
//! no run.

mod whole;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::error::LabError;
use crate::host::Host;

pub use crate::result::SCHEMA;

/// Where a run writes besides the terminal.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// Write the results as JSON to standard output instead of the tables, or with --json=FILE to a
    /// file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Write the run's rows as CSV to standard output instead of the tables, or with --csv=FILE to
    /// a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub csv: Option<PathBuf>,
}

/// An output that could be opened.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout,
    /// A pipe or a device, or a file in a folder that takes no other: written in place.
    Place {
        file: File,
        path: PathBuf,
    },
    /// A file that is replaced in one step, so that whoever looks sees the old results or the new
    /// ones, also when this program is killed.
    Whole {
        path: PathBuf,
    },
}

/// The opened outputs of a run.
#[derive(Debug, Default)]
pub struct Files {
    json: Option<Sink>,
    csv: Option<Sink>,
}

impl OutputArgs {
    /// Opens what was asked for. Existing files keep their content until results replace it.
    ///
    /// # Errors
    /// A path that cannot be written, or both outputs in one place.
    pub fn open(&self) -> Result<Files, LabError> {
        if let (Some(json), Some(csv)) = (&self.json, &self.csv) {
            let stdout = Path::new("-");
            if json == stdout && csv == stdout {
                return Err(LabError::usage(
                    "--json and --csv cannot both go to standard output: name a file for one",
                ));
            }
            if json != stdout && csv != stdout && place(json) == place(csv) {
                return Err(LabError::usage(format!(
                    "--json and --csv cannot both go to '{}': name another file for one; nothing was run",
                    json.display()
                )));
            }
        }
        Ok(Files {
            json: self.json.as_deref().map(Sink::open).transpose()?,
            csv: self.csv.as_deref().map(Sink::open).transpose()?,
        })
    }
}

/// Where a path leads, by whatever name; also for a file that does not exist yet.
pub fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
    })
}

impl Files {
    /// Whether standard output is free for tables.
    pub fn terminal(&self) -> bool {
        !matches!((&self.json, &self.csv), (Some(Sink::Stdout), _) | (_, Some(Sink::Stdout)))
    }

    /// Prints `text` and writes `report` and `rows` where they were asked for. Each says whether
    /// the run was interrupted: the text in a last line, the JSON in a field, the CSV in a column.
    ///
    /// # Errors
    /// When the file system refuses after all. [`LabError::Interrupted`] when the run was
    /// interrupted.
    pub fn finish<R: Serialize>(
        &self,
        run: Run<'_>,
        text: impl FnOnce() -> String,
        report: &impl Serialize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), LabError> {
        if self.terminal() {
            super::print(&text())?;
            if run.interrupted {
                super::print(INTERRUPTED)?;
            }
        }
        if let Some(sink) = &self.json {
            let envelope = Envelope { schema: SCHEMA, command: super::command_line(), run, report };
            sink.write(|out| {
                serde_json::to_writer_pretty(&mut *out, &envelope).map_err(io::Error::from)?;
                out.write_all(b"\n")
            })?;
        }
        if let Some(sink) = &self.csv {
            sink.rows(run.interrupted, rows)?;
        }
        if run.interrupted { Err(LabError::Interrupted) } else { Ok(()) }
    }
}

/// The last line of the text of a run that was interrupted.
const INTERRUPTED: &str =
    "\nINTERRUPTED: the run was stopped early; figures are missing or rest on fewer rounds.\n";

/// What every result says of its run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Run<'r> {
    /// A signal stopped it early: figures are missing or rest on fewer rounds.
    pub interrupted: bool,
    /// Where it ran.
    pub host: &'r Host,
}

/// A result as JSON.
#[derive(Debug, Serialize)]
struct Envelope<'r, R> {
    schema: u32,
    command: String,
    #[serde(flatten)]
    run: Run<'r>,
    #[serde(flatten)]
    report: &'r R,
}

/// A file beside the results, opened before the run.
#[derive(Debug)]
pub struct RowsFile(Sink);

impl RowsFile {
    /// Opens the file that `flag` names.
    ///
    /// # Errors
    /// When it cannot be written, is standard output, or is where one of `others` goes.
    pub fn open(flag: &str, path: &Path, others: &OutputArgs) -> Result<Self, LabError> {
        if path == Path::new("-") {
            return Err(LabError::usage(format!("{flag} needs a file: standard output is for the results")));
        }
        if [&others.json, &others.csv].into_iter().flatten().any(|other| place(other) == place(path)) {
            return Err(LabError::usage(format!(
                "{flag} and the results cannot both go to '{}': name another file for one; nothing was run",
                path.display()
            )));
        }
        Sink::open(path).map(Self)
    }

    /// Writes `rows` as CSV, with a heading and the column `interrupted`.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub fn write<R: Serialize>(
        &self,
        interrupted: bool,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), LabError> {
        self.0.rows(interrupted, rows)
    }

    /// Writes `text`.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub fn text(&self, text: &str) -> Result<(), LabError> {
        self.0.write(|out| out.write_all(text.as_bytes()))
    }
}

/// Where a chain of symbolic links ends, whether a file is there or not.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    // As many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = path.read_link() else { return Ok(path) };
        // A relative target is meant from the link's folder; joining an absolute one replaces all.
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

impl Sink {
    /// Writes rows with a heading and a last column `interrupted`. Where no row was measured, that
    /// is the only column of a single row.
    fn rows<R: Serialize>(
        &self,
        interrupted: bool,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), LabError> {
        self.write(|out| {
            let mut first = true;
            for row in rows {
                let line = line_of(&row, false)?;
                if first {
                    let both = line_of(&row, true)?;
                    let heading = both.strip_suffix(line.as_slice()).unwrap_or_default();
                    end(out, heading, "interrupted")?;
                    first = false;
                }
                end(out, &line, if interrupted { "true" } else { "false" })?;
            }
            if first {
                writeln!(out, "schema,interrupted\n{SCHEMA},{interrupted}")?;
            }
            Ok(())
        })
    }

    pub(super) fn open(path: &Path) -> Result<Self, LabError> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        Self::probe(path).map_err(|error| {
            LabError::usage(format!("'{}' cannot be written: {error}; nothing was run", path.display()))
        })
    }

    /// Finds out how `path` can be written, without a trace.
    fn probe(path: &Path) -> io::Result<Self> {
        let place = || OpenOptions::new().write(true).open(path);
        let takes_files = |path: &Path| whole::Draft::beside(path).map(drop);
        match path.metadata() {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => {
                let file = place()?;
                // What a name leads to is replaced, not the name.
                let path = path.canonicalize()?;
                Ok(if takes_files(&path).is_ok() { Self::Whole { path } } else { Self::Place { file, path } })
            }
            Ok(_) => Ok(Self::Place { file: place()?, path: path.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link to a file that does not exist yet: the file is made, the link stays.
                let path = end_of_links(path)?;
                takes_files(&path)?;
                Ok(Self::Whole { path })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), LabError> {
        let (result, path) = match self {
            Self::Stdout => (content(&mut io::stdout().lock()), Path::new("standard output")),
            Self::Place { file, path } => (in_place(file, content), path.as_path()),
            Self::Whole { path } => (whole(path, content), path.as_path()),
        };
        result.map_err(|source| LabError::io(format!("writing {}", path.display()), source))
    }
}

/// A row as CSV, below its heading if that is asked for.
fn line_of(row: &impl Serialize, heading: bool) -> io::Result<Vec<u8>> {
    let mut writer =
        csv::WriterBuilder::new().has_headers(heading).buffer_capacity(256).from_writer(Vec::new());
    writer.serialize(row).map_err(io::Error::other)?;
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// Writes a line with one more field.
fn end(out: &mut dyn Write, line: &[u8], field: &str) -> io::Result<()> {
    out.write_all(line.strip_suffix(b"\n").unwrap_or(line))?;
    writeln!(out, ",{field}")
}

fn in_place(file: &File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // Pipes and devices have no length to cut.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}

fn whole(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let draft = whole::Draft::beside(path)?;
    let mut out = BufWriter::new(draft.file());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    if let Ok(before) = path.metadata() {
        draft.file().set_permissions(before.permissions())?;
    }
    draft.file().sync_data()?;
    draft.publish(path)
}

#[cfg(test)]
mod tests;
