//! A file that is replaced in one step.

use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::interrupt;

/// A draft of a file, in the folder of the final file. If it is dropped before it is published, it
/// leaves nothing.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    /// The draft's name until it is published. `None` while the draft has no name, so that a killed
    /// program leaves no file behind.
    name: Option<Name>,
}

/// The name of a draft. A signal that ends the process removes the file, and so does a drop.
#[derive(Debug)]
struct Name(PathBuf);

impl Name {
    /// Creates a file with `make`, which gets a name beside `path` that no other draft has.
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
    /// The folder does not exist, or no file can be created in it.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Ok(file) = nameless(folder(path)) {
            return Ok(Self { file, name: None });
        }
        let create = |name: &Path| File::options().write(true).create_new(true).open(name);
        let (name, file) = Name::make(path, create)?;
        Ok(Self { file, name: Some(name) })
    }

    /// The file to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Moves the draft to `path`. An existing file is replaced, and its permissions stay.
    ///
    /// # Errors
    /// The errors of the file system.
    pub(super) fn publish(mut self, path: &Path) -> io::Result<()> {
        if let Ok(before) = path.metadata() {
            self.file.set_permissions(before.permissions())?;
        }
        self.file.sync_data()?;
        #[cfg(target_os = "linux")]
        if self.name.is_none() {
            let (name, ()) = Name::make(path, |name| link(&self.file, name))?;
            self.name = Some(name);
        }
        // If the program is killed here, it leaves a stray file with complete content.
        if let Some(name) = &self.name {
            fs::rename(&name.0, path)?;
        }
        Ok(())
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name that no other draft has. It is short, because `path` may have the longest name that the
/// file system takes.
fn temporary(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder(path).join(format!(".tickwright-{}-{number}.tmp", std::process::id()))
}

#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666))?.into())
}

/// Gives the draft a name through its descriptor in /proc, which needs no privilege.
#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    use std::os::fd::AsRawFd;
    let number = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, number, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}
