//! Result files. The outputs are opened before a run starts, so that no run is wasted on a path
//! that cannot be written.

mod whole;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::LabError;

/// An opened output.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout,
    /// A pipe, a device, or a file in a folder where no file can be created. It is written in
    /// place.
    Place {
        file: File,
        path: PathBuf,
    },
    /// A file that is replaced in one step. A reader sees the old results or the new ones, even if
    /// this program is killed.
    Whole {
        path: PathBuf,
    },
}

/// Resolves a path, so that two names of one file compare equal. The file need not exist.
pub(super) fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
    })
}

/// A file that is written beside the report and opened before the run. The file appears complete or
/// not at all.
#[derive(Debug)]
pub struct TextFile(pub(super) Sink);

impl TextFile {
    /// Writes the file.
    ///
    /// # Errors
    /// The file system refuses the write.
    pub fn write(&self, text: &str) -> Result<(), LabError> {
        self.write_with(|out| out.write_all(text.as_bytes()))
    }

    /// Writes the file piece by piece. If `content` returns an error, the file is unchanged, unless
    /// it is a pipe or a device.
    ///
    /// # Errors
    /// The file system refuses the write, or `content` returns an error.
    pub fn write_with(
        &self,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), LabError> {
        self.0.write(content)
    }
}

/// A file that grows while a program runs. Its first part is written beside the final file, and
/// replaces that file in one step; see [`publish`](Self::publish). After that, the file grows in
/// its place.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    /// `None` for a file that is written in place, and after the draft was published.
    draft: Option<(whole::Draft, PathBuf)>,
}

impl GrowingFile {
    /// Begins a file. An existing file keeps its content, unless no file can be created in its
    /// folder.
    ///
    /// # Errors
    /// `path` cannot be written.
    pub fn begin(path: &Path) -> io::Result<Self> {
        match Sink::probe(path)? {
            Sink::Whole { path } => {
                let draft = whole::Draft::beside(&path)?;
                Ok(Self { file: draft.file().try_clone()?, draft: Some((draft, path)) })
            }
            Sink::Place { file, .. } => {
                truncate(&file)?;
                Ok(Self { file, draft: None })
            }
            // `probe` returns it for no path.
            Sink::Stdout => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The file to write to, before and after it is published.
    ///
    /// # Errors
    /// The process has no more descriptors.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the file its name. An existing file is replaced.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn publish(&mut self) -> io::Result<()> {
        self.draft.take().map_or(Ok(()), |(draft, path)| draft.publish(&path))
    }
}

/// Follows a chain of symbolic links to its end. The target need not exist.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    // The limit of Linux.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = path.read_link() else { return Ok(path) };
        // A relative target is relative to the link's folder. Joining an absolute target replaces
        // the whole path.
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

    /// Determines how `path` can be written, and changes nothing.
    fn probe(path: &Path) -> io::Result<Self> {
        let place = || OpenOptions::new().write(true).open(path);
        let takes_files = |path: &Path| whole::Draft::beside(path).map(drop);
        match path.metadata() {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => {
                let file = place()?;
                // The target of a link is replaced, not the link itself.
                let path = path.canonicalize()?;
                Ok(if takes_files(&path).is_ok() { Self::Whole { path } } else { Self::Place { file, path } })
            }
            Ok(_) => Ok(Self::Place { file: place()?, path: path.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The link's target does not exist yet: the file is created, and the link stays.
                let path = end_of_links(path)?;
                takes_files(&path)?;
                Ok(Self::Whole { path })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(
        &self,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), LabError> {
        let (result, path) = match self {
            Self::Stdout => {
                (super::stdout().and_then(|mut out| content(&mut out)), Path::new("standard output"))
            }
            Self::Place { file, path } => (in_place(file, content), path.as_path()),
            Self::Whole { path } => (whole(path, content), path.as_path()),
        };
        result.map_err(|source| LabError::io(format!("writing {}", path.display()), source))
    }
}

fn in_place(file: &File, content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    truncate(file)?;
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}

/// Only regular files can be truncated.
fn truncate(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

fn whole(path: &Path, content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    let draft = whole::Draft::beside(path)?;
    let mut out = BufWriter::new(draft.file());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    draft.publish(path)
}

#[cfg(test)]
mod tests;
