//! Names the shared library, so that programs ask the loader for `libtickwright.so.0` whatever the
//! file is called.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtickwright.so.0");
        // Handlers of signals and of forks stay where they are: the library is not unloaded.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
