//! `links` asks for a build script. It has nothing to do.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
