//! Command lines of the tests, and what they print.
#![allow(dead_code, reason = "each file of tests uses a part")]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

#[path = "../folder/mod.rs"]
mod folder;

pub(crate) use folder::Folder;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tickwright");

/// Returns the words of a command line. `~` stands for a blank within a word.
pub(crate) fn words(line: &str) -> impl Iterator<Item = String> {
    line.split_ascii_whitespace().map(|word| word.replace('~', " "))
}

pub(crate) fn run(line: &str) -> Output {
    Command::new(PROGRAM).args(words(line)).output().unwrap()
}

/// Runs a command line in a shell, where `$0` is the program.
#[cfg(unix)]
pub(crate) fn shell(line: &str) -> Output {
    Command::new("sh").args(["-c", line, PROGRAM]).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
pub(crate) fn holds(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
}

/// Requires success, and returns standard output.
#[track_caller]
pub(crate) fn passed(line: &str, output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    stdout(output)
}

/// Requires a failure with code 2, with all of `words` on standard error and nothing on standard
/// output.
#[track_caller]
pub(crate) fn failed(line: &str, output: &Output, words: &[&str]) {
    assert_eq!((output.status.code(), stdout(output)), (Some(2), String::new()), "{line}: {output:?}");
    holds(&stderr(output), words);
}

#[track_caller]
pub(crate) fn good(line: &str) -> String {
    passed(line, &run(line))
}

/// Requires that the arguments of each case are refused by `command`, with a message that has the
/// words of the case.
#[track_caller]
pub(crate) fn refused(command: &str, cases: &[(&str, &[&str])]) {
    for (more, words) in cases {
        let line = format!("{command} {more}");
        failed(&line, &run(&line), words);
    }
}

impl Folder {
    pub(crate) fn run(&self, line: &str) -> Output {
        Command::new(PROGRAM).args(words(line)).current_dir(&self.0).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn good(&self, line: &str) -> String {
        passed(line, &self.run(line))
    }

    #[track_caller]
    pub(crate) fn refused(&self, line: &str, words: &[&str]) {
        failed(line, &self.run(line), words);
    }

    /// Requires a failure to read or write, with all of `words` on standard error.
    #[track_caller]
    pub(crate) fn broken(&self, line: &str, words: &[&str]) {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(3), "{line}: {output:?}");
        holds(&stderr(&output), words);
    }

    pub(crate) fn files(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }
}
