//! Lines of a source, in bounded memory, and the strings in them.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use super::unpack::{Unpacked, damage_of};
use crate::error::TraceError;

/// The longest line in bytes. A longer line is cut to this length.
pub(super) const LONGEST: usize = 1 << 16;

/// The lines of a source, packed with gzip or not, with the line ends of any system.
#[derive(Debug)]
pub(super) struct LineReader<'r> {
    from: Unpacked<'r>,
    bytes: Vec<u8>,
    /// Why a packed source cannot be unpacked any further.
    pub(super) damage: Option<String>,
}

impl<'r> LineReader<'r> {
    pub(super) fn new(from: impl BufRead + 'r) -> Result<Self, TraceError> {
        Ok(Self { from: Unpacked::new(from)?, bytes: Vec::new(), damage: None })
    }

    /// Reads a line and keeps at most [`LONGEST`] bytes of it, without its end. Returns `None` at
    /// the end of the source or at the start of its damage.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        if self.damage.is_some() {
            return Ok(None);
        }
        self.bytes.clear();
        let mut read = self.from.by_ref().take(LONGEST as u64).read_until(b'\n', &mut self.bytes);
        if self.bytes.len() == LONGEST && !self.bytes.ends_with(b"\n") {
            read = read.and_then(|_| self.from.skip_until(b'\n'));
        }
        if let Err(error) = read {
            self.damage = Some(damage_of(&error).ok_or(error)?);
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
        Ok(Some(&line[..end]))
    }
}

/// Strings that are numbered from 1 on; the number 0 means no string.
#[derive(Debug, Default)]
pub(super) struct Strings {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
    /// The number of each string in the file, assigned at the string's first use; 0: not used yet.
    written: Vec<u32>,
}

impl Strings {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.texts.push(text.to_owned());
        self.written.push(0);
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// Returns the number of a string in the file. At the string's first use, `write` writes it to
    /// the file.
    pub(super) fn written(
        &mut self,
        number: u32,
        write: impl FnOnce(&str) -> Result<u32, TraceError>,
    ) -> Result<u32, TraceError> {
        let Some(at) = (number as usize).checked_sub(1) else { return Ok(0) };
        if self.written[at] == 0 {
            self.written[at] = write(&self.texts[at])?;
        }
        Ok(self.written[at])
    }
}
