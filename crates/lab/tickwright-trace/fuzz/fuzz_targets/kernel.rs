//! Imports the fuzzer's bytes as a trace of the kernel.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::import::kernel::{Options, import};

fuzz_target!(|bytes: &[u8]| {
    let _ = import(bytes, &Options { hz: Some(250), of: String::new() }, Vec::new());
});
