//! Result files. The outputs are opened before a run starts, so that a path that cannot be written
//! does not waste a run.

mod whole;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use self::whole::{Draft, in_place};
use crate::error::LabError;
use crate::interrupt;
use crate::text::{self, Plain};

/// An opened output.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout,
    /// A pipe, a device, or a descriptor that the caller of this program opened. Output is appended
    /// to its present content.
    Through {
        file: File,
        path: PathBuf,
    },
    /// A file that is replaced in one step. A reader sees the old results or the new results, even
    /// if this program is killed. A file that cannot be replaced is written in place.
    Whole {
        path: PathBuf,
    },
}

/// Resolves a path, so that two names of one file compare equal. The file does not have to exist.
pub(super) fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
    })
}

/// Returns whether a path names standard output: `-`, `/dev/stdout`, `/dev/fd/1`,
/// `/proc/self/fd/1`.
pub fn is_stdout(path: &Path) -> bool {
    let is_one = |path: PathBuf| is_descriptor(&path) && path.ends_with("1") && is_own(&path);
    path == Path::new("-") || end_of_links(path).is_ok_and(is_one)
}

/// Checks that an output replaces no file that the command reads. Symbolic links are followed. An
/// input `-` is standard input.
///
/// # Errors
/// A usage error that names `flag`, the option of the output, and the file.
pub fn keep_inputs(flag: &str, out: &Path, inputs: &[&Path]) -> Result<(), LabError> {
    let end = |path: &Path| path.canonicalize().ok().filter(|end| end.is_file());
    let dash = Path::new("-");
    let Some(to) = end(out).filter(|_| out != dash) else { return Ok(()) };
    let is_read = |from: &&Path| {
        let from = if *from == dash { Path::new("/dev/stdin") } else { *from };
        end(from).is_some_and(|from| from == to)
    };
    if !inputs.iter().any(is_read) {
        return Ok(());
    }
    let file = text::name(&out.display().to_string());
    Err(LabError::usage(format!(
        "{flag} names '{file}', which the command reads: name another file; nothing was run"
    )))
}

/// A file that is written beside the report and opened before the run. The file appears complete or
/// not at all.
#[derive(Debug)]
pub struct TextFile(pub(super) Sink);

impl TextFile {
    /// Opens a file, or standard output if the path [names it](is_stdout).
    ///
    /// # Errors
    /// If the path cannot be written.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        Sink::open(path).map(Self)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the file system refuses the write.
    pub fn write(&self, text: &str) -> Result<(), LabError> {
        self.write_with(|out| out.write_all(text.as_bytes()))
    }

    /// Writes the file piece by piece. If `content` returns an error, the file is unchanged, unless
    /// it is a pipe or a device.
    ///
    /// # Errors
    /// If the file system refuses the write, or `content` returns an error.
    pub fn write_with(
        &self,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), LabError> {
        self.0.write(content)
    }
}

/// A file that grows while a program runs. Its first part is written as a draft in the same folder,
/// and the draft replaces the final file in one step: see [`publish`](Self::publish). After that
/// step, the final file itself grows.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    /// `None` if the file is written in place, or after the draft was renamed.
    draft: Option<(Draft, PathBuf)>,
}

impl GrowingFile {
    /// Begins a file. An existing file keeps its content, unless no file can be created in its
    /// folder.
    ///
    /// # Errors
    /// If `path` cannot be written.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let path = match Sink::probe(path)? {
            Sink::Whole { path } => path,
            Sink::Through { file, .. } => return Ok(Self { file, draft: None }),
            // `probe` never returns this variant.
            Sink::Stdout => return Err(io::ErrorKind::Unsupported.into()),
        };
        match Draft::beside(&path) {
            Ok(draft) => Ok(Self { file: draft.file().try_clone()?, draft: Some((draft, path)) }),
            Err(_) => Ok(Self { file: in_place(&path)?, draft: None }),
        }
    }

    /// Returns the file to write to, which is the same before and after `publish`.
    ///
    /// # Errors
    /// If the process has no more descriptors.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the file its name. An existing file is replaced. If the existing file cannot be
    /// replaced, the draft grows in the same folder until [`finish`](Self::finish), and stays there
    /// if a signal ends the process.
    pub fn publish(&mut self) {
        if let Some((draft, path)) = self.draft.take()
            && draft.rename(&path).is_err()
        {
            draft.keep();
            self.draft = Some((draft, path));
        }
    }

    /// Ends the file. If `publish` could not rename the draft, its content is copied into the file.
    ///
    /// # Errors
    /// The errors of the file system. The message names the file that holds the content.
    pub fn finish(mut self) -> io::Result<()> {
        self.draft.take().map_or(Ok(()), |(draft, path)| draft.publish(&path))
    }
}

/// Follows a chain of symbolic links to its end: a descriptor, or a file that does not have to
/// exist.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    // The maximum number of links that Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Some(target) = path.read_link().ok().filter(|_| !is_descriptor(&path)) else { return Ok(path) };
        // A relative target is relative to the link's folder. Joining an absolute target replaces
        // the whole path.
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the folder of a path, without symbolic links.
fn folder(path: &Path) -> PathBuf {
    path.parent().and_then(|folder| folder.canonicalize().ok()).unwrap_or_default()
}

/// Returns whether a path is the name of a descriptor, such as `/proc/self/fd/1`. Such a path looks
/// like a link to the descriptor's file, but opening the path opens the descriptor.
fn is_descriptor(path: &Path) -> bool {
    let folder = folder(path);
    folder.ends_with("fd") && (folder.starts_with("/proc") || folder.starts_with("/dev"))
}

/// Returns whether the descriptor belongs to this process.
fn is_own(path: &Path) -> bool {
    let own = Path::new("/proc/self").canonicalize();
    own.map_or(true, |own| folder(path).starts_with(own))
}

/// Opens a descriptor by its name.
fn descriptor(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
        // The permissions of the name are the permissions of the descriptor.
        if path.symlink_metadata()?.permissions().readonly() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let own = pidfd_open(getpid(), PidfdFlags::empty());
        // A duplicate of the descriptor shares its file position with the descriptor's other
        // holders.
        if is_own(path)
            && let Some(number) = path.file_name().and_then(|name| name.to_str()?.parse().ok())
            && let Ok(file) = own.and_then(|own| pidfd_getfd(own, number, PidfdGetfdFlags::empty()))
        {
            return Ok(file.into());
        }
    }
    OpenOptions::new().append(true).open(path)
}

impl Sink {
    pub(super) fn open(path: &Path) -> Result<Self, LabError> {
        if is_stdout(path) {
            return Ok(Self::Stdout);
        }
        Self::probe(path).map_err(|error| {
            LabError::usage(format!("'{}' cannot be written: {error}; nothing was run", path.display()))
        })
    }

    /// Determines how `path` can be written, and changes nothing.
    fn probe(path: &Path) -> io::Result<Self> {
        let end = end_of_links(path)?;
        let writes = || OpenOptions::new().write(true).open(&end);
        let through = |open: &dyn Fn() -> io::Result<File>| {
            // Opening a pipe waits for a reader, and a signal must end that wait.
            let _at_once = interrupt::at_once();
            Ok(Self::Through { file: open()?, path: path.to_owned() })
        };
        match end.metadata() {
            _ if is_descriptor(&end) => through(&|| descriptor(&end)),
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => writes().map(|_| Self::Whole { path: end.clone() }),
            Ok(_) => through(&writes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // `folder/` and `folder/.` also have a last component, so the text of the path is
                // checked.
                let written = end.as_os_str().as_encoded_bytes();
                if !end.file_name().is_some_and(|name| written.ends_with(name.as_encoded_bytes())) {
                    return Err(io::Error::other("it names a folder, not a file"));
                }
                Draft::beside(&end)?;
                Ok(Self::Whole { path: end.clone() })
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
                let result = super::stdout().and_then(|out| fill(&out, out.is_terminal(), content));
                (result, Path::new("standard output"))
            }
            Self::Through { file, path } => (fill(file, file.is_terminal(), content), path.as_path()),
            Self::Whole { path } => (whole(path, content), path.as_path()),
        };
        result.map_err(|source| LabError::io(format!("writing {}", path.display()), source))
    }
}

/// Writes content to a file or a terminal. A terminal gets plain text, because the names in a
/// result can contain escape sequences.
fn fill(
    to: impl Write + Send,
    is_terminal: bool,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(to);
    if is_terminal {
        let mut out = Plain::new(out);
        content(&mut out)?;
        return out.flush();
    }
    content(&mut out)?;
    out.flush()
}

fn whole(path: &Path, content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    match Draft::beside(path) {
        Ok(draft) => {
            fill(draft.file(), false, content)?;
            draft.publish(path)
        }
        // If no file can be created in this folder, the file is written in place.
        Err(error) => fill(in_place(path).map_err(|_| error)?, false, content),
    }
}

#[cfg(test)]
mod tests;
