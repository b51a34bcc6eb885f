//! Text from outside: files that a user names, and words that a terminal shows.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::interrupt;

/// The most bytes of a scenario file. The built-in files have some 2,000.
const MOST: u64 = 1 << 20;

/// Reads a text file of at most a mebibyte. The limit exists because a device such as /dev/zero has
/// no end.
///
/// # Errors
/// The error of the system, or an error if the file is too long or is not text.
pub fn read(path: &Path) -> io::Result<String> {
    // The path may be a pipe, and a signal must end the wait for it.
    let _at_once = interrupt::at_once();
    let mut text = String::new();
    File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(io::Error::other(format!("it has more than {MOST} bytes")));
    }
    Ok(text)
}

/// Returns `text` with its control characters escaped. An escape sequence would otherwise reach the
/// terminal. Characters that turn the direction of writing are escaped too, because they reorder
/// the line that a reader sees. Line ends and tabs stay.
pub fn plain(text: &str) -> String {
    escaped(text, |letter| !matches!(letter, '\n' | '\t'))
}

/// Returns a name with its control characters escaped, as [`plain`] does. Line ends and tabs are
/// escaped too, so that a name stays within its line. A file from a stranger may hold any name.
pub fn name(text: &str) -> String {
    escaped(text, |_| true)
}

fn escaped(text: &str, also: impl Fn(char) -> bool) -> String {
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if turns(letter) || letter.is_control() && also(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

/// Deserializes a text that a terminal will show; see [`plain`].
///
/// # Errors
/// The errors of the format.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| plain(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(plain("a\u{1b}[31mb\r\u{9b}c\td\n"), "a\\u{1b}[31mb\\r\\u{9b}c\td\n");
    }

    #[test]
    fn a_name_is_one_line_and_keeps_its_direction() {
        assert_eq!(name("a\nb\tc\u{1b}[2J\u{202e}d \u{e4}"), "a\\nb\\tc\\u{1b}[2J\\u{202e}d \u{e4}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
    }
}
