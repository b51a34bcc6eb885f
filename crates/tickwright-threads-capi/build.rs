//! Names the shared library, so that programs ask the loader for `libtickwright-threads.so.N`
//! whatever the file is called. The number is that of the file `SONAME` in `tickwright-boundary`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        let number = std::env::var("DEP_TICKWRIGHT_ABI_SONAME").unwrap_or_default();
        if number.is_empty() {
            println!("cargo::error=tickwright-boundary gave no number for the SONAME");
        }
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtickwright-threads.so.{number}");
        // Handlers of signals and of forks stay where they are: the library is not unloaded.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
