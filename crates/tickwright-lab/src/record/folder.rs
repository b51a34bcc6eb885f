//! Where the library and the rings lie while a program is recorded.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use rustix::time::{ClockId, clock_gettime};

const PREFIX: &str = "tickwright-record-";

/// Two folders that are removed on drop. The rings are in memory where the host has such a folder;
/// those often allow no programs, so the library has one of its own.
#[derive(Debug)]
pub(super) struct Folders {
    pub(super) rings: PathBuf,
    library: PathBuf,
}

impl Folders {
    /// Makes the folders, and removes those of recorders that were killed.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn new() -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let rings = make(memory).or_else(|_| make(&temporary()))?;
        let library = make(&temporary()).inspect_err(|_| drop(fs::remove_dir(&rings)))?;
        let folders = Self { rings, library };
        fs::write(folders.library(), tickwright_preload::LIBRARY)?;
        Ok(folders)
    }

    /// The file of the library.
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

/// The folder for temporary files. The loader splits its list at blanks and colons.
fn temporary() -> PathBuf {
    let named = env::temp_dir();
    let is_plain = named.is_absolute() && !named.to_string_lossy().contains([' ', ':']);
    if is_plain { named } else { "/tmp".into() }
}

/// A recorded program may give up the rights of root. Its later processes then make rings as
/// another user, who may write to the folder but not list it, and cannot guess its name.
fn make(under: &Path) -> io::Result<PathBuf> {
    sweep(under);
    let now = clock_gettime(ClockId::Monotonic);
    let secret = process::id() as u64 ^ random()?;
    let name = format!("{PREFIX}{}-{:x}{secret:016x}", process::id(), now.tv_nsec);
    let mode = if rustix::process::geteuid().is_root() { 0o1733 } else { 0o700 };
    let path = under.join(name);
    DirBuilder::new().mode(0o700).create(&path)?;
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    Ok(path)
}

fn random() -> io::Result<u64> {
    use std::io::Read;
    let mut bytes = [0; 8];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Removes what recorders left that were killed. Folders of others are refused by the system.
fn sweep(under: &Path) {
    for entry in fs::read_dir(under).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let is_left = of.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if is_left {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
