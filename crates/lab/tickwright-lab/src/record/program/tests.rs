//! Tests with programs that can be recorded, and files that cannot.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn file(name: &str, contents: &[u8], mode: u32) -> PathBuf {
    let path = env::temp_dir().join(format!("tickwright-{}-{name}", std::process::id()));
    fs::write(&path, contents).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn judged(name: &str, contents: &[u8], mode: u32) -> Result<(), Unfit> {
    let path = file(name, contents, mode);
    let result = check(path.as_os_str()).map(drop);
    fs::remove_file(path).unwrap();
    result
}

/// Returns an ELF file with one program header of this type, which names a loader.
fn elf_file(class: u8, kind: u8, loader: &str) -> Vec<u8> {
    let mut bytes = vec![0; 64 + 56];
    bytes[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
    (bytes[32], bytes[54], bytes[56]) = (64, 56, 1);
    (bytes[64], bytes[64 + 8], bytes[64 + 32]) = (kind, 120, loader.len() as u8);
    bytes.extend(loader.as_bytes());
    bytes
}

const INTERP: u8 = 3;
const LOAD: u8 = 1;

#[test]
fn a_program_with_a_loader_can_be_recorded() {
    assert_eq!(judged("dynamic", &elf_file(2, INTERP, "/lib64/ld-linux-x86-64.so.2"), 0o755), Ok(()));
    assert!(check(OsStr::new("sh")).is_ok(), "found as a shell finds it");
}

#[test]
fn what_would_run_unseen_is_named() {
    let why = |result| match result {
        Err(Unfit::Unseen(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(judged("static", &elf_file(2, LOAD, ""), 0o755)).contains("linked statically"));
    assert!(why(judged("small", &elf_file(1, INTERP, "x"), 0o755)).contains("32 bits"));
    assert!(why(judged("musl", &elf_file(2, INTERP, "/lib/ld-musl-x86_64.so.1"), 0o755)).contains("musl"));
}

#[test]
fn what_cannot_be_started_is_told_apart() {
    assert_eq!(check(OsStr::new("/nowhere/at/all")), Err(Unfit::Missing));
    assert_eq!(check(OsStr::new("no-such-program-anywhere")), Err(Unfit::Missing));
    assert_eq!(judged("plain", &elf_file(2, INTERP, "x"), 0o644), Err(Unfit::NotExecutable));
    assert_eq!(judged("empty", b"", 0o755), Err(Unfit::NotExecutable));
    assert_eq!(judged("text", &[b'x'; 100], 0o755), Err(Unfit::NotExecutable));
    assert_eq!(check(OsStr::new("/")), Err(Unfit::NotExecutable));
}

#[test]
fn a_script_is_as_its_interpreter() {
    assert_eq!(judged("script", b"#!/bin/sh -e\n", 0o755), Ok(()));
    assert_eq!(judged("by-env", b"#!/usr/bin/env sh\n", 0o755), Ok(()));
    for words in ["-S sh -e", "-S PATH=/bin sh", "-i sh", "VAR=x sh", "-", ""] {
        let script = format!("#!/usr/bin/env {words}\n");
        assert_eq!(judged("by-env-with-more", script.as_bytes(), 0o755), Ok(()), "{words}");
    }
    let lost = judged("by-env-lost", b"#!/usr/bin/env no-such-program-anywhere\n", 0o755);
    assert_eq!(lost, Err(Unfit::Missing));
    assert_eq!(judged("lost", b"#!/nowhere/at/all\n", 0o755), Err(Unfit::Missing));
    let static_program = file("interpreter", &elf_file(2, LOAD, ""), 0o755);
    let script = format!("#! {}\n", static_program.display());
    assert!(matches!(judged("unseen", script.as_bytes(), 0o755), Err(Unfit::Unseen(_))));
    fs::remove_file(static_program).unwrap();
}
