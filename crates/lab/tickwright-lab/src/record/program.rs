//! Decides from a program's file whether the program can be recorded.
//!
//! The program's loader loads a preloaded library before the program, so a program cannot be
//! recorded if it has no loader, or if its loader ignores the request.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a program cannot be recorded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// There is no such file.
    Missing,
    /// The file exists, but is not executable.
    NotExecutable,
    /// The program would run, but its timers would not be recorded. The text gives the reason.
    Unseen(String),
}

/// How many interpreters in a row are allowed to be scripts themselves.
const MOST_SCRIPTS: usize = 4;

const INTERPRETER: u32 = 3;

/// Checks the program that a shell would start by this name.
///
/// # Errors
/// If the program cannot be recorded. The error is the reason.
pub(super) fn check(program: &OsStr) -> Result<PathBuf, Unfit> {
    let path = find(program).ok_or(Unfit::Missing)?;
    let mut file = path.clone();
    for _ in 0..MOST_SCRIPTS {
        let meta = fs::metadata(&file).map_err(|_| Unfit::Missing)?;
        if !meta.is_file() || meta.mode() & 0o111 == 0 {
            return Err(Unfit::NotExecutable);
        }
        let mut begin = [0; 256];
        // A file that can be executed but not read passes the check, because its loader decides.
        let Ok(read) = File::open(&file).and_then(|mut file| file.read(&mut begin)) else { return Ok(path) };
        if let Some(script) = begin[..read].strip_prefix(b"#!") {
            let line = script.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
            let named = words.next().map(OsStr::from_bytes).ok_or(Unfit::NotExecutable)?;
            // `env` starts another program, and searches for it as a shell does. If an option or a
            // variable comes before the program, `env` itself is checked, because the option or
            // variable could change the search path.
            let is_env = Path::new(named).file_name() == Some(OsStr::new("env"));
            let is_plain = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
            let meant = words.next().filter(|_| is_env).filter(is_plain).map(OsStr::from_bytes);
            file = find(meant.unwrap_or(named)).ok_or(Unfit::Missing)?;
            continue;
        }
        if meta.mode() & 0o4000 != 0 && meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(Unfit::Unseen(format!("'{}' runs as another user (setuid)", file.display())));
        }
        if meta.mode() & 0o2000 != 0 && meta.gid() != rustix::process::getegid().as_raw() {
            return Err(Unfit::Unseen(format!("'{}' runs as another group (setgid)", file.display())));
        }
        return elf(&file).map(|()| path);
    }
    Ok(path)
}

fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Path::new(program).exists().then(|| program.into());
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0);
    env::split_paths(&folders).map(|folder| folder.join(program)).find(is_program)
}

/// Finds the loader that an ELF file names.
fn elf(path: &Path) -> Result<(), Unfit> {
    let shown = path.display();
    let unseen = |why: &str| Err(Unfit::Unseen(format!("'{shown}' {why}")));
    let Ok(file) = File::open(path) else { return Ok(()) };
    let Ok(head) = bytes::<64>(&file, 0) else { return Err(Unfit::NotExecutable) };
    if !head.starts_with(b"\x7fELF") {
        return Err(Unfit::NotExecutable);
    }
    if head[4] != 2 {
        return unseen("is a program of 32 bits");
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let (table, size, count) = (number(&head[32..40]), number(&head[54..56]), number(&head[56..58]));
    for row in 0..count {
        let Ok(row) = bytes::<40>(&file, table + row * size) else { break };
        let [kind, at, length] = [&row[..4], &row[8..16], &row[32..40]].map(number);
        if kind == u64::from(INTERPRETER) {
            let mut name = vec![0; length.min(4096) as usize];
            let is_read = file.read_exact_at(&mut name, at).is_ok();
            let is_musl = is_read && String::from_utf8_lossy(&name).contains("ld-musl");
            return if is_musl { unseen("uses musl and not glibc") } else { Ok(()) };
        }
    }
    unseen("is linked statically")
}

fn bytes<const N: usize>(file: &File, at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, at).map(|()| bytes)
}

#[cfg(test)]
mod tests;
