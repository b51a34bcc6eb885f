//! This build script does nothing. Cargo requires it, because `Cargo.toml` has the key `links`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
