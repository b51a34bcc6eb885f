//! Replays the inputs of the fuzz targets: each input ends with a trace or an error.

use std::fs;
use std::path::Path;

use tickwright_trace::import::{chrome, kernel};
use tickwright_trace::text::from_csv;
use tickwright_trace::{Header, Reader, TraceError};

/// Returns the inputs of a target with their names, in order.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    if !fuzz.exists() {
        eprintln!("skipped: the inputs are in the repository, not in the package");
        return Vec::new();
    }
    let folder = fuzz.join("corpus").join(target);
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&folder).expect("the corpus is part of the repository") {
        let entry = entry.expect("the corpus can be read");
        let bytes = fs::read(entry.path()).expect("the corpus can be read");
        inputs.push((entry.file_name().to_string_lossy().into_owned(), bytes));
    }
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    inputs.sort();
    inputs
}

/// The expected result for an input's name: the number of events, or `None` for an error.
type Expected<'a> = &'a [(&'a str, Option<usize>)];

/// Imports every file of a corpus. Requires that each resulting trace can be read to its end, and
/// that the named files exist and give the expected results.
fn replay(target: &str, expected: Expected<'_>, import: impl Fn(&[u8]) -> Result<Vec<u8>, TraceError>) {
    let inputs = corpus(target);
    let mut found = Vec::new();
    for (name, bytes) in &inputs {
        let events = import(bytes).ok().map(|file| {
            let mut reader = Reader::new(&file[..]).expect("what was written can be read");
            let events = reader.read_to_end().expect("what was written can be read").len();
            assert!(reader.is_complete(), "{target}/{name}");
            events
        });
        found.push((name.as_str(), events));
    }
    check(target, expected, &found);
}

fn check(target: &str, expected: Expected<'_>, found: &[(&str, Option<usize>)]) {
    for one in expected.iter().filter(|_| !found.is_empty()) {
        assert!(found.contains(one), "{target}: {one:?} is not among {found:?}");
    }
}

#[test]
fn importers() {
    let chrome = [("cut-gzip", None), ("extremes", Some(2))];
    replay("chrome", &chrome, |bytes| Ok(chrome::import(bytes, "corpus", Vec::new())?.0));
    let options = kernel::Options { hz: Some(250), of: String::new() };
    let kernel = [("extremes", Some(3))];
    replay("kernel", &kernel, |bytes| Ok(kernel::import(bytes, &options, Vec::new())?.0));
    let csv = [("extremes", Some(3))];
    replay("csv", &csv, |bytes| Ok(from_csv(bytes, &Header::of("corpus"), Vec::new())?.0));
}

#[test]
fn the_reader() {
    // The events before the damage have been read.
    let expected = [("cut", Some(17)), ("damaged", Some(17)), ("whole", Some(25))];
    let inputs = corpus("reader");
    let mut found = Vec::new();
    for (name, bytes) in &inputs {
        let read = Reader::new(&bytes[..]).ok().map(|mut reader| {
            let _ = reader.read_to_end();
            reader.events_read() as usize
        });
        found.push((name.as_str(), read));
    }
    check("reader", &expected, &found);
}
