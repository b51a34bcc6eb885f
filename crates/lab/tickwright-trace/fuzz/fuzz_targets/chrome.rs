//! Imports the fuzzer's bytes as a browser's trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::import::chrome::import;

fuzz_target!(|bytes: &[u8]| {
    let _ = import(bytes, "fuzz", Vec::new());
});
