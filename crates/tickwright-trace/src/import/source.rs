//! Lines of a source, in bounded memory, and the strings in them.

use std::collections::HashMap;
use std::io::BufRead;

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

    /// Reads a line and keeps at most [`LONGEST`] bytes of it, without its end. `None` at the end
    /// of the source, or where its damage begins.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        self.bytes.clear();
        let mut had = false;
        while self.damage.is_none() {
            let some = match self.from.fill_buf() {
                Ok(some) => some,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.damage = Some(damage_of(&error).ok_or(error)?);
                    break;
                }
            };
            if some.is_empty() {
                break;
            }
            had = true;
            let end = some.iter().position(|&byte| byte == b'\n');
            let line = &some[..end.unwrap_or(some.len())];
            let room = LONGEST.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&line[..line.len().min(room)]);
            let used = end.map_or(some.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !had {
            return Ok(None);
        }
        let mut line = &self.bytes[..];
        while let Some(rest) = line.strip_suffix(b"\r") {
            line = rest;
        }
        Ok(Some(line))
    }
}

/// Strings with numbers from 1 on; 0 means no string.
#[derive(Debug, Default)]
pub(super) struct Strings {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
    /// The number of each string in the file, given at its first use; 0: not used yet.
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

    /// Returns the number of a string in the file. `write` writes the name to the file, at its
    /// first use.
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
