//! Reads the fuzzer's bytes as a `.twt` file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::Reader;

fuzz_target!(|bytes: &[u8]| {
    let _ = Reader::new(bytes).and_then(|mut reader| reader.read_to_end());
});
