//! A file that is replaced in one step.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A draft of a file, in the folder of the final file. If it is dropped before it is published, it
/// leaves nothing.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    /// The draft's name until it is published. `None` while the draft has no name, so that a killed
    /// program leaves no file behind.
    name: Option<PathBuf>,
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
        let name = temporary(path);
        let file = File::options().write(true).create_new(true).open(&name)?;
        Ok(Self { file, name: Some(name) })
    }

    /// The file to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Moves the draft to `path`. An existing file is replaced.
    ///
    /// # Errors
    /// The errors of the file system.
    pub(super) fn publish(mut self, path: &Path) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.name.is_none() {
            let name = temporary(path);
            link(&self.file, &name)?;
            self.name = Some(name);
        }
        // If the program is killed here, it leaves a stray file with complete content.
        if let Some(name) = &self.name {
            fs::rename(name, path)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    folder(path).join(format!(".{name}.{}.tmp", std::process::id()))
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
