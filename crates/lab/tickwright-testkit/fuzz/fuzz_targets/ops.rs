//! Decodes op scripts from the fuzzer's bytes, runs them on every structure, and compares with the
//! oracle.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_testkit::registry::replay;

fuzz_target!(|bytes: &[u8]| {
    if let Err(mismatch) = replay(bytes) {
        panic!("{mismatch}");
    }
});
