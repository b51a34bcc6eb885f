//! Result files. They are opened before a run starts, so that a path that cannot be written costs
//! no run.

mod whole;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::LabError;

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

/// Where a path leads, by whatever name; also for a file that does not exist yet.
pub(super) fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
    })
}

/// A file beside the report, opened before the run. It appears whole or not at all.
#[derive(Debug)]
pub struct TextFile(pub(super) Sink);

impl TextFile {
    /// Writes the file.
    ///
    /// # Errors
    /// When the file system refuses after all.
    pub fn write(&self, text: &str) -> Result<(), LabError> {
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
