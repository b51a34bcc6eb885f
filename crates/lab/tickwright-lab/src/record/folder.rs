//! The folders that contain the library and the rings while a recording runs.

use core::hash::BuildHasher;
use std::env;
use std::fs::{self, DirBuilder, File, Permissions};
use std::hash::RandomState;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "tickwright-record-";

/// Two folders that are removed on drop. The rings are in a memory file system, if the host has
/// one. Such file systems often forbid execution, so the library has a separate folder.
#[derive(Debug)]
pub(super) struct Folders {
    pub(super) rings: PathBuf,
    library: PathBuf,
    /// The locks show that the folders are in use.
    _locks: [File; 2],
}

impl Folders {
    /// Creates the folders, and removes folders of recorders that were killed.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn new() -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let (rings, first) = make(memory).or_else(|_| make(&temporary()))?;
        let (library, second) = make(&temporary()).inspect_err(|_| drop(fs::remove_dir(&rings)))?;
        let folders = Self { rings, library, _locks: [first, second] };
        fs::write(folders.library(), tickwright_preload::LIBRARY)?;
        Ok(folders)
    }

    /// Returns the path of the library.
    pub(super) fn library(&self) -> PathBuf {
        self.library.join("libtickwright_preload.so")
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.rings);
        let _ = fs::remove_dir_all(&self.library);
    }
}

/// Returns the folder for temporary files. Its path must not contain blanks or colons, because the
/// loader splits `LD_PRELOAD` at them.
fn temporary() -> PathBuf {
    let named = env::temp_dir();
    let is_plain = named.is_absolute() && !named.to_string_lossy().contains([' ', ':']);
    if is_plain { named } else { "/tmp".into() }
}

/// Creates a folder for the rings of the recorded processes.
///
/// A recorded program can give up the rights of root, so that its later processes create rings as
/// another user. Every user is allowed to write to the folder but not to list it, and other users
/// cannot guess its name.
fn make(under: &Path) -> io::Result<(PathBuf, File)> {
    sweep(under);
    // The hash is unpredictable, because its keys are the system's random numbers.
    let secret = RandomState::new().hash_one(under);
    let name = format!("{PREFIX}{}-{secret:016x}", process::id());
    let mode = if rustix::process::geteuid().is_root() { 0o1733 } else { 0o700 };
    let path = under.join(name);
    DirBuilder::new().mode(0o700).create(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(mode))?;
    let lock = lock(&path)?;
    Ok((path, lock))
}

/// Removes the folders of killed recorders. A folder is removed if its process has ended and its
/// lock is free. A process in another container is invisible here, but its lock is visible.
fn sweep(under: &Path) {
    for entry in fs::read_dir(under).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let pid: Option<u32> = of.and_then(|pid| pid.parse().ok());
        let is_gone = pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_gone && lock(&entry.path()).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks a folder until the file is dropped or the process ends.
fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

#[cfg(test)]
mod tests;
