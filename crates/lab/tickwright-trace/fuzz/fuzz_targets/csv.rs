//! Reads the fuzzer's bytes as CSV.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::Header;
use tickwright_trace::text::from_csv;

fuzz_target!(|bytes: &[u8]| {
    let _ = from_csv(bytes, &Header::of("fuzz"), Vec::new());
});
