//! Result files. They are opened before a run starts, so that a path that cannot be written costs no run.

mod whole;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::error::LabError;

/// The version of the JSON and CSV layouts. Rises when a field changes its meaning or goes; new fields do not raise it.
pub(crate) const SCHEMA: u32 = 1;

/// Where a run writes besides the terminal.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OutputArgs {
    /// Write the results as JSON to FILE; alone, or with '-', to standard output instead of the tables
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Write the run's rows as CSV to FILE; alone, or with '-', to standard output instead of the tables
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) csv: Option<PathBuf>,
}

/// An output that could be opened.
#[derive(Debug)]
enum Sink {
    Stdout,
    /// A pipe or a device, or a file in a folder that takes no other: written in place.
    Place {
        file: File,
        path: PathBuf,
    },
    /// A file that is replaced in one step, so that whoever looks sees the old results or the new ones, also when this program is killed.
    Whole {
        path: PathBuf,
    },
}

/// The opened outputs of a run.
#[derive(Debug, Default)]
pub(crate) struct Files {
    json: Option<Sink>,
    csv: Option<Sink>,
}

impl OutputArgs {
    /// Opens what was asked for. Existing files keep their content until results replace it.
    ///
    /// # Errors
    /// A path that cannot be written, or both outputs in one place.
    pub(crate) fn open(&self) -> Result<Files, LabError> {
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
pub(crate) fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
    })
}

impl Files {
    /// Whether standard output is free for tables.
    pub(crate) fn terminal(&self) -> bool {
        !matches!((&self.json, &self.csv), (Some(Sink::Stdout), _) | (_, Some(Sink::Stdout)))
    }

    /// Writes `report` where `--json` says.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub(crate) fn json(&self, report: &impl Serialize) -> Result<(), LabError> {
        let Some(sink) = &self.json else { return Ok(()) };
        sink.write(|out| {
            serde_json::to_writer_pretty(&mut *out, report).map_err(io::Error::from)?;
            out.write_all(b"\n")
        })
    }

    /// Writes `rows` where `--csv` says, with a heading.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub(crate) fn csv<R: Serialize>(&self, rows: impl IntoIterator<Item = R>) -> Result<(), LabError> {
        let Some(sink) = &self.csv else { return Ok(()) };
        sink.rows(rows)
    }
}

/// A file beside the results, opened before the run.
#[derive(Debug)]
pub(crate) struct RowsFile(Sink);

impl RowsFile {
    /// Opens the file that `flag` names.
    ///
    /// # Errors
    /// When it cannot be written, is standard output, or is where one of `others` goes.
    pub(crate) fn open(flag: &str, path: &Path, others: &OutputArgs) -> Result<Self, LabError> {
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

    /// Writes `rows` as CSV, with a heading.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub(crate) fn write<R: Serialize>(&self, rows: impl IntoIterator<Item = R>) -> Result<(), LabError> {
        self.0.rows(rows)
    }

    /// Writes `text`.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub(crate) fn text(&self, text: &str) -> Result<(), LabError> {
        self.0.write(|out| out.write_all(text.as_bytes()))
    }
}

impl Sink {
    fn rows<R: Serialize>(&self, rows: impl IntoIterator<Item = R>) -> Result<(), LabError> {
        self.write(|out| {
            let mut writer = csv::Writer::from_writer(out);
            for row in rows {
                writer.serialize(row).map_err(io::Error::other)?;
            }
            writer.flush()
        })
    }

    fn open(path: &Path) -> Result<Self, LabError> {
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
                takes_files(path)?;
                Ok(Self::Whole { path: path.to_owned() })
            }
            Err(error) => Err(error),
        }
    }

    fn write(&self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), LabError> {
        let (result, path) = match self {
            Self::Stdout => (content(&mut io::stdout().lock()), Path::new("standard output")),
            Self::Place { file, path } => (in_place(file, content), path.as_path()),
            Self::Whole { path } => (whole(path, content), path.as_path()),
        };
        result.map_err(|source| LabError::io(format!("writing {}", path.display()), source))
    }
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
