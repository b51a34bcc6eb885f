//! Lines of a kernel's trace from the fuzzer's bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::import::kernel::{Options, import};

fuzz_target!(|bytes: &[u8]| {
    let _ = import(bytes, &Options { hz: Some(250), of: String::new() }, Vec::new());
});
