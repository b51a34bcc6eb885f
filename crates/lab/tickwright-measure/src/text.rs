//! Text from untrusted sources: files that a user names, and words that a terminal shows.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::interrupt;

/// The most bytes of a short file, such as a scenario. The built-in scenarios have about 2,000
/// bytes.
pub const SHORT: u64 = 1 << 20;

/// Reads a text file of at most `most` bytes; `-` is standard input. The limit exists because a
/// device such as /dev/zero has no end. While this function reads, the first signal ends the
/// process, because a pipe can stay without data.
///
/// # Errors
/// The error of the system, or an error if the file is too long or is not text.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    let _at_once = interrupt::at_once();
    let mut text = String::new();
    let from: &mut dyn Read =
        if path == Path::new("-") { &mut io::stdin().lock() } else { &mut File::open(path)? };
    BufReader::new(from).take(most + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => io::Error::new(error.kind(), NO_TEXT),
        _ => error,
    })?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(text)
}

/// The most common file that is no text is a trace.
const NO_TEXT: &str = "it is no text in UTF-8; if it is a trace of timers, `tickwright describe`, `recommend`, \
                       `replay` and `export` read it";

/// Returns `text` with its control characters escaped. An escape sequence would otherwise reach the
/// terminal. Characters that change the writing direction are escaped too, because they reorder the
/// line that a reader sees. Line ends and tabs stay.
///
/// Each form of a result (terminal, Markdown, HTML, SVG) escapes every text by this function or by
/// [`name`], because a file from an untrusted source can contain any text.
pub fn plain(text: &str) -> String {
    escaped(text, |letter| !matches!(letter, '\n' | '\t'))
}

/// Returns a name with its control characters escaped, as [`plain`] does. Line ends and tabs are
/// escaped too, so that a name stays within its line.
pub fn name(text: &str) -> String {
    escaped(text, |_| true)
}

fn escaped(text: &str, also: impl Fn(char) -> bool) -> String {
    // The characters of Unicode's property Bidi_Control, and Unicode's line separators.
    let turns = |letter: char| matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
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

/// Writes text as [`plain`] text, line by line.
#[derive(Debug)]
pub struct Plain<W: Write> {
    to: W,
    /// The beginning of a line that is not complete yet.
    line: Vec<u8>,
}

impl<W: Write> Plain<W> {
    /// Creates a writer to `to`.
    pub fn new(to: W) -> Self {
        Self { to, line: Vec::new() }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        self.line.extend(&bytes[..end]);
        if end > 0 {
            self.flush()?;
        }
        self.line.extend(&bytes[end..]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let lines = core::mem::take(&mut self.line);
        self.to.write_all(plain(&String::from_utf8_lossy(&lines)).as_bytes())?;
        self.to.flush()
    }
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

    /// A result that a terminal shows can be written in pieces of any size.
    #[test]
    fn a_stream_is_plain_in_whatever_pieces_it_comes() {
        let text = "a\u{1b}]0;x\u{7}\u{9b}2J\u{e4}\u{a9},b\r\n\u{200f}c\u{202e}d";
        let mut out = Vec::new();
        let mut to = Plain::new(&mut out);
        text.bytes().for_each(|byte| to.write_all(&[byte]).unwrap());
        to.flush().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), plain(text));
        assert!(plain(text).ends_with(",b\\r\n\\u{200f}c\\u{202e}d"), "{}", plain(text));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read(Path::new("/dev/zero"), SHORT).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
    }
}
