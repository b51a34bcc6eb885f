//! Runs the blocks ` ```console,run ` of the book, and requires that they print what the page
//! shows.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// A command of a page and the output that the page shows below it.
#[derive(Debug, Default)]
struct Shown {
    line: usize,
    command: String,
    output: String,
}

#[test]
fn the_commands_of_the_book_print_what_it_shows() {
    let mut number = 0;
    for page in pages(&Path::new(ROOT).join("docs")) {
        for shown in blocks(&fs::read_to_string(&page).unwrap()) {
            number += 1;
            assert_eq!(run(&shown.command), shown.output, "{}:{}", page.display(), shown.line);
        }
    }
    assert!(number >= 2, "only {number} commands were found: are the pages where they were?");
}

#[test]
fn a_difference_is_seen() {
    let page = "# A page\n\n```console,run\n$ printf 'a\\nb\\n'\na\nb\n$ echo c\nd\n```\n\n```console\n$ false\n```\n";
    let shown = blocks(page);
    assert_eq!(shown.len(), 2, "the second block is not run");
    assert_eq!((run(&shown[0].command), shown[0].line), (shown[0].output.clone(), 4));
    assert_ne!(run(&shown[1].command), shown[1].output);
}

/// Returns the pages in a folder and its subfolders.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn blocks(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut runs = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            runs = line == "```console,run";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| runs) {
            found.push(Shown { line: index + 1, command: command.to_owned(), output: String::new() });
        } else if let Some(last) = found.last_mut().filter(|_| runs) {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    found
}

/// Returns the output of a command that a shell runs with `tickwright` in its path.
fn run(command: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_tickwright")).parent().unwrap();
    let mut path = OsString::from(folder);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output =
        Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(ROOT).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
