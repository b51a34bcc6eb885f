//! Imports the fuzzer's bytes as lines of strace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::import::strace::import;

fuzz_target!(|bytes: &[u8]| {
    let _ = import(bytes, "fuzz", Vec::new());
});
