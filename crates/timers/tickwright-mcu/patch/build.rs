//! Cargo requires a build script because `Cargo.toml` has the key `links`. The script does nothing.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
