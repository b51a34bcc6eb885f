//! Builds the library that `tickwright record` loads into a program. The library is a separate
//! crate without dependencies, because its symbols must not be linked into the program that embeds
//! it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=interpose");
    println!("cargo::rerun-if-changed=src/ring.rs");
    println!("cargo::rustc-check-cfg=cfg(recordable)");
    let variable = |name| env::var(name).unwrap_or_default();
    let is_known = matches!(variable("CARGO_CFG_TARGET_ARCH").as_str(), "x86_64" | "aarch64");
    let is_gnu = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !(is_known && is_gnu) {
        return;
    }
    println!("cargo::rustc-cfg=recordable");
    let library = PathBuf::from(variable("OUT_DIR")).join("libtickwright_preload.so");
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "tickwright_preload"])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "strip=symbols"])
        .args(["-C", "force-unwind-tables=yes", "--cap-lints", "warn"])
        .args(["--target", &variable("TARGET")])
        .arg("-o")
        .arg(&library)
        .arg("interpose/main.rs");
    // Uses the linker of the target, if the environment names one.
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={linker}"));
    }
    let is_built = compiler.status().is_ok_and(|status| status.success());
    assert!(is_built, "the library for recorded programs was not built; the compiler's message is above");
}
