//! Checks that each test that `table.txt` names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const TABLE: &str = include_str!("table.txt");

/// Collects the names of the tests and behaviors in a folder and its subfolders.
fn tests(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut is_test = false;
            for line in fs::read_to_string(&path).unwrap().lines() {
                let words = line.trim_start_matches("async ");
                if let Some((name, arguments)) = words.strip_prefix("fn ").and_then(|f| f.split_once('(')) {
                    // A behavior without a test is not a problem here, because clippy reports it as
                    // dead code.
                    if is_test || arguments.starts_with("scene: &Scene)") {
                        names.insert(name.to_string());
                    }
                }
                is_test = line.starts_with("#[test]")
                    || line.starts_with("#[tokio::test")
                    || is_test && line.starts_with("#[");
            }
        }
    }
}

/// Returns the rows of one part of the table as pairs: the test of tokio, and our test.
fn rows(part: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = part.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    rows.map(|row| row.split_once(": ").unwrap_or_else(|| panic!("table.txt: a colon is missing: {row}")))
}

#[test]
fn each_test_that_the_table_names_exists() {
    let mut names = BTreeSet::new();
    tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut names);
    assert!(names.contains("each_test_that_the_table_names_exists"), "{names:?}");
    let mut number = 0;
    for (theirs, ours) in rows(TABLE) {
        number += 1;
        if let Some(why) = ours.strip_prefix("none: ") {
            assert!(!why.is_empty(), "{theirs}: say why it does not apply");
            continue;
        }
        // The text after a semicolon is a remark about tokio's test.
        let ours = ours.split(';').next().unwrap_or_default();
        for name in ours.split(", ") {
            assert!(names.contains(name), "table.txt, {theirs}: there is no test `{name}`");
        }
    }
    assert!(number > 100, "the table has {number} rows");
}

#[test]
fn no_test_has_two_rows() {
    for file in TABLE.split("\n[").skip(1) {
        let mut seen = BTreeSet::new();
        let (file, part) = file.split_once(']').expect("the name of a file");
        for (theirs, _) in rows(part) {
            assert!(seen.insert(theirs), "table.txt: `{theirs}` has two rows");
        }
        assert!(!seen.is_empty(), "table.txt: a file without a row: {file}");
    }
}
