//! A file that is replaced in one step.

use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use crate::interrupt;

/// A draft of a file, in the folder of the final file. If the draft is dropped before it is
/// published, no file is left.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    name: Name,
}

/// The name of a draft. The file is removed when this value is dropped, and when a signal ends the
/// process.
#[derive(Debug)]
struct Name(PathBuf);

impl Name {
    /// Creates a file with `make`. This function receives a path that no other draft has, in the
    /// same folder as `path`.
    fn make<T>(path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        let mut drafts = interrupt::drafts();
        let name = temporary(path);
        let made = make(&name)?;
        drafts.push(name.clone());
        Ok((Self(name), made))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut drafts = interrupt::drafts();
        let _ = fs::remove_file(&self.0);
        drafts.retain(|draft| *draft != self.0);
    }
}

impl Draft {
    /// Creates a draft in the folder of `path`.
    ///
    /// # Errors
    /// If the folder does not exist, or no file can be created in it.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        let create = |name: &Path| File::options().read(true).write(true).create_new(true).open(name);
        let (name, file) = Name::make(path, create)?;
        Ok(Self { file, name })
    }

    /// Returns the file to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the draft the name `path`. An existing file is replaced, and its permissions stay.
    ///
    /// # Errors
    /// The errors of the file system.
    pub(super) fn rename(&self, path: &Path) -> io::Result<()> {
        if let Ok(before) = path.metadata() {
            self.file.set_permissions(before.permissions())?;
        }
        self.file.sync_data()?;
        fs::rename(&self.name.0, path)
    }

    /// Moves the draft to `path`, or copies it there. A mount point, and a file of another user in
    /// a sticky folder, can be written but not replaced.
    ///
    /// # Errors
    /// The errors of the file system. The message names the draft, which is then not removed.
    pub(super) fn publish(mut self, path: &Path) -> io::Result<()> {
        let Err(error) = self.rename(path) else { return Ok(()) };
        let copied = self.file.rewind().and_then(|()| {
            let mut place = in_place(path)?;
            io::copy(&mut self.file, &mut place)?;
            place.sync_data()
        });
        copied.map_err(|_| {
            self.keep();
            let name = mem::take(&mut self.name.0);
            io::Error::new(error.kind(), format!("{error}; the content is in '{}'", name.display()))
        })
    }

    /// Keeps the file even if a signal ends the process.
    pub(super) fn keep(&self) {
        interrupt::drafts().retain(|draft| *draft != self.name.0);
    }
}

/// Opens an existing file, and empties it.
pub(super) fn in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns a name that no other draft has. The name is short, because `path` can have the longest
/// name that the file system allows.
fn temporary(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder(path).join(format!(".tickwright-{}-{number}.tmp", std::process::id()))
}
