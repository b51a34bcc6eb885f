//! Reads the number in the file `SONAME`, and passes it to the build scripts of the libraries as
//! `DEP_TICKWRIGHT_ABI_SONAME`.

fn main() {
    println!("cargo::rerun-if-changed=SONAME");
    println!("cargo::rerun-if-changed=build.rs");
    match std::fs::read_to_string("SONAME") {
        Ok(number) => println!("cargo::metadata=SONAME={}", number.trim()),
        Err(error) => println!("cargo::error=the file SONAME: {error}"),
    }
}
