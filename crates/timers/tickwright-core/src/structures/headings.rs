//! Tests that the documentation of each structure has the same headings in the same order.

use std::string::String;
use std::{fs, println};

const HEADINGS: [&str; 6] = ["Choose when", "Avoid when", "Layout", "Costs", "Invariants", "References"];

/// Returns whether a structure's documentation has all headings in order, and its section on
/// invariants names a [`Violation`](crate::Violation).
fn holds(source: &str) -> bool {
    let mut rest = source;
    let mut invariants = "";
    for heading in HEADINGS {
        let line = std::format!("\n/// # {heading}\n");
        let Some((section, after)) = rest.split_once(&line) else { return false };
        if heading == "References" {
            invariants = section;
        }
        rest = after;
    }
    invariants.contains("Violation::")
}

#[test]
fn every_structure_has_its_headings() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/structures");
    let mut structures = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // A file that several structures share contains no `impl Family`, and is skipped.
        let source = if path.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
        let mut heads = source.lines().filter(|line| line.starts_with("impl"));
        if heads.any(|line| line.contains(" Family for ") || line.ends_with(" Family")) {
            structures += 1;
            println!("{}", path.display());
            assert!(holds(&source), "headings: {HEADINGS:?}; invariants name a `Violation`");
            for heading in HEADINGS {
                assert!(!holds(&source.replace(heading, "Other")), "{heading}");
            }
            assert!(!holds(&source.replace("Violation::", "")));
        }
    }
    assert!(structures >= 8, "only {structures} structures were found");
}
