//! A `.twt` file from the fuzzer's bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tickwright_trace::Reader;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(reader) = Reader::new(bytes) {
        reader.events().for_each(drop);
    }
});
