//! Each row has a file that can be read, arguments that the parser accepts, and a page.

use std::path::Path;

use crate::experiments::ROWS;

#[test]
fn each_file_parses_and_its_arguments_are_accepted() {
    for row in ROWS.iter() {
        let file = &row.file;
        let lines =
            [&file.check, &file.tour.arguments].into_iter().chain(file.examples.iter().map(|of| &of.0));
        for line in lines {
            let words = line.split_ascii_whitespace();
            let asked = row.command().no_binary_name(true).try_get_matches_from(words);
            assert!(asked.is_ok(), "{}: {line}: {}", row.name, asked.unwrap_err());
        }
        assert!(file.question.ends_with('?') && file.about.ends_with('?'), "{}", row.name);
        assert!(!file.examples.is_empty() && file.seconds >= file.tour.seconds, "{}", row.name);
    }
}

#[test]
fn each_row_has_a_page() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."));
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    for row in ROWS.iter() {
        let page = format!("experiments/{}.md", row.name);
        assert!(root.join("docs").join(&page).exists() && summary.contains(&page), "{page}");
    }
}
