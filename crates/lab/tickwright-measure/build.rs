//! For the host facts of a report, records the compiler and the revision from which a binary is
//! built.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    println!("cargo:rustc-env=TICKWRIGHT_RUSTC={}", output(&rustc, &["--version"]).unwrap_or_default());
    println!("cargo:rustc-env=TICKWRIGHT_PROFILE={}", env::var("PROFILE").unwrap_or_default());
    // A source archive has no repository, so the revision is empty.
    let revision = output("git", &["describe", "--always", "--dirty", "--abbrev=12"]).unwrap_or_default();
    println!("cargo:rustc-env=TICKWRIGHT_REVISION={revision}");
    for watched in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output("git", &["rev-parse", "--git-path", watched]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
