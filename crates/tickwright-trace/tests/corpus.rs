//! What the fuzz targets were given, replayed: each input ends with a trace or an error.

use std::fs;
use std::path::Path;

use tickwright_trace::import::{chrome, kernel, strace};
use tickwright_trace::text::from_csv;
use tickwright_trace::{Header, Reader, TraceError};

/// Every file of a corpus. A trace that comes of it can be read to its end.
fn replay(target: &str, import: impl Fn(&[u8]) -> Result<Vec<u8>, TraceError>) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    if !fuzz.exists() {
        eprintln!("skipped: the inputs are in the repository, not in the package");
        return;
    }
    let corpus = fuzz.join("corpus").join(target);
    let mut files = 0;
    for entry in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = entry.expect("the corpus can be read").path();
        let bytes = fs::read(&path).expect("the corpus can be read");
        if let Ok(file) = import(&bytes) {
            let mut reader = Reader::new(&file[..]).expect("what was written can be read");
            while reader.next_block().expect("what was written can be read").is_some() {}
            assert!(reader.is_complete(), "{}", path.display());
        }
        files += 1;
    }
    assert!(files > 0, "{} is empty", corpus.display());
}

#[test]
fn importers() {
    replay("strace", |bytes| Ok(strace::import(bytes, "corpus", Vec::new())?.0));
    replay("chrome", |bytes| Ok(chrome::import(bytes, "corpus", Vec::new())?.0));
    let options = kernel::Options { hz: Some(250), of: String::new() };
    replay("kernel", |bytes| Ok(kernel::import(bytes, &options, Vec::new())?.0));
    replay("csv", |bytes| Ok(from_csv(bytes, &Header::of("corpus"), Vec::new())?.0));
}

#[test]
fn the_reader() {
    replay("reader", |bytes| {
        // The trace may be damaged. The events before the damage are read.
        if let Ok(reader) = Reader::new(bytes) {
            reader.events().for_each(drop);
        }
        Err(TraceError::Empty)
    });
}
