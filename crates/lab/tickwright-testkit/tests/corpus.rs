//! As a plain test, replays the seed inputs of the fuzz target, and the inputs on which it once
//! failed.

use std::fs;
use std::path::Path;

use tickwright_testkit::registry::replay;

#[test]
fn the_corpus_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/ops");
    let mut files = 0;
    for entry in fs::read_dir(&corpus).expect("the corpus is part of the repository") {
        let path = entry.expect("a readable folder").path();
        let bytes = fs::read(&path).expect("a readable file");
        if let Err(mismatch) = replay(&bytes) {
            panic!("{}: {mismatch}", path.display());
        }
        files += 1;
    }
    assert!(files > 0, "{} is empty", corpus.display());
}
