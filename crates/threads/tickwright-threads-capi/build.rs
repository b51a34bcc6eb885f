//! Sets the SONAME of the shared library, so that programs load `libtickwright-threads.so.N`,
//! whatever the name of the file was at link time. N is the number in the file `SONAME` of
//! `tickwright-boundary`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        let number = std::env::var("DEP_TICKWRIGHT_ABI_SONAME").unwrap_or_default();
        if number.is_empty() {
            println!("cargo::error=tickwright-boundary gave no number for the SONAME");
        }
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtickwright-threads.so.{number}");
        // The library is never unloaded, because its handlers of signals and forks must stay in
        // memory.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
