//! Lines of a source, in bounded memory, and the strings in them.

use std::collections::HashMap;
use std::io::BufRead;

use crate::error::TraceError;

/// The longest line in bytes. A longer line is cut to this length.
pub(super) const LONGEST: usize = 1 << 16;

/// Reads a line and keeps at most [`LONGEST`] bytes of it. Returns whether there was a line.
pub(super) fn next_line(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> Result<bool, TraceError> {
    bytes.clear();
    let mut had = false;
    loop {
        let some = match from.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            some => some?,
        };
        if some.is_empty() {
            return Ok(had);
        }
        had = true;
        let end = some.iter().position(|&byte| byte == b'\n');
        let line = &some[..end.unwrap_or(some.len())];
        let room = LONGEST.saturating_sub(bytes.len());
        bytes.extend_from_slice(&line[..line.len().min(room)]);
        let used = end.map_or(some.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(true);
        }
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
