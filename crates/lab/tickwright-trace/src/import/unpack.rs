//! Sources as plain text: unpacked, without a byte-order mark.

use core::fmt;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// The number of bytes at the beginning of a source that are read in advance.
const BEGINNING: usize = 1 << 16;

/// A source, unpacked if it is packed with gzip, and without a UTF-8 byte-order mark. Its first 64
/// KiB are in memory, so that [`Source::guess`](super::Source::guess) can examine them.
pub struct Unpacked<'r> {
    beginning: Cursor<Vec<u8>>,
    /// The error that follows these bytes.
    error: Option<io::Error>,
    from: Box<dyn BufRead + 'r>,
}

impl<'r> Unpacked<'r> {
    /// Reads the beginning of a source. If the source fails after its first bytes, the error is
    /// returned when a reader has consumed these bytes.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn new(from: impl BufRead + 'r) -> io::Result<Self> {
        let plain = Self::peek(Box::new(from));
        if !plain.beginning().starts_with(&[0x1f, 0x8b]) {
            return plain.checked();
        }
        let unpacked = MultiGzDecoder::new(plain);
        Self::peek(Box::new(BufReader::with_capacity(BEGINNING, unpacked))).checked()
    }

    /// Returns the first 64 KiB, or the whole source if it is shorter.
    pub fn beginning(&self) -> &[u8] {
        self.beginning.get_ref()
    }

    fn peek(mut from: Box<dyn BufRead + 'r>) -> Self {
        let mut first = Vec::new();
        let error = from.by_ref().take(BEGINNING as u64).read_to_end(&mut first).err();
        if first.starts_with(b"\xef\xbb\xbf") {
            first.drain(..3);
        }
        Self { beginning: Cursor::new(first), error, from }
    }

    /// Returns an error at once if the source fails before its first byte.
    fn checked(mut self) -> io::Result<Self> {
        match self.error.take() {
            Some(error) if self.beginning().is_empty() => Err(match damage_of(&error) {
                Some(damage) => io::Error::new(error.kind(), damage),
                None => error,
            }),
            error => Ok(Self { error, ..self }),
        }
    }
}

impl BufRead for Unpacked<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let read = usize::try_from(self.beginning.position()).unwrap_or(usize::MAX);
        if read < self.beginning.get_ref().len() {
            return self.beginning.fill_buf();
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.from.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        let read = usize::try_from(self.beginning.position()).unwrap_or(usize::MAX);
        if read < self.beginning.get_ref().len() {
            self.beginning.consume(count);
        } else {
            self.from.consume(count);
        }
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let some = self.fill_buf()?;
        let count = some.len().min(to.len());
        to[..count].copy_from_slice(&some[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl fmt::Debug for Unpacked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacked").field("error", &self.error).finish_non_exhaustive()
    }
}

/// If an error means that packed bytes are damaged or cut off, returns a description of the damage.
/// The bytes before the damage were unpacked.
pub(super) fn damage_of(error: &io::Error) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
            Some(format!("it cannot be unpacked: {error}"))
        }
        _ => None,
    }
}
