//! Reads the fuzzer's bytes as a `.twt` file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::Reader;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(reader) = Reader::new(bytes) {
        reader.events().for_each(drop);
    }
});
