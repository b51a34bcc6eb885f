//! Blocks: after its first bytes, a file is a sequence of blocks.
//!
//! ```text
//!   kind 1 | codec 1 | 0 0 | stored 4 | plain 4 | crc 4 | stored bytes ...
//! ```
//! Numbers are little-endian. The checksum (CRC-32, IEEE) covers the twelve bytes before it and the
//! stored bytes. Codec 0 stores bytes as they are, and codec 1 compresses them (LZ4, one block).

use std::io::Read;

use crate::error::TraceError;

/// The first bytes of a file. Like the first bytes of PNG, they reveal a transfer that changed line
/// ends or high bits.
pub(crate) const MAGIC: [u8; 8] = *b"\x89TWT\r\n\x1a\n";

pub(crate) const HEADER: u8 = 1;
pub(crate) const NAME: u8 = 2;
pub(crate) const EVENTS: u8 = 3;
pub(crate) const LOST: u8 = 4;
pub(crate) const END: u8 = 5;
pub(crate) const BASE: u8 = 6;

/// The first kind that a reader may skip, because the events have the same meaning without such a
/// block.
pub(crate) const REMARK: u8 = OPTIONAL;

/// A reader may skip a block whose kind is this number or more, if it does not know the kind.
pub(crate) const OPTIONAL: u8 = 0x80;

/// The most bytes of a block, both as stored and after decompression.
pub(crate) const MOST: usize = 1 << 20;

/// The maximum number of names in a table, and the maximum number of losses.
pub(crate) const MOST_KEPT: usize = 1 << 20;

/// The maximum number of remarks.
pub(crate) const MOST_REMARKS: usize = 256;

/// The most bytes of all names and notes of a file. Names can compress a hundredfold, so without
/// this bound a small file could make a reader allocate gigabytes.
pub(crate) const MOST_TEXT: usize = 1 << 26;

/// The bytes of a block before its stored bytes.
const HEAD: usize = 16;

/// Appends a block to `out`. `plain` must not be longer than [`MOST`].
pub(crate) fn append(out: &mut Vec<u8>, kind: u8, plain: &[u8]) {
    let packed = lz4_flex::block::compress(plain);
    let (codec, stored) = if packed.len() < plain.len() { (1, &packed[..]) } else { (0, plain) };
    let start = out.len();
    out.extend([kind, codec, 0, 0]);
    out.extend((stored.len() as u32).to_le_bytes());
    out.extend((plain.len() as u32).to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&out[start..]);
    crc.update(stored);
    out.extend(crc.finalize().to_le_bytes());
    out.extend(stored);
}

/// The memory for a block that is being read.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    stored: Vec<u8>,
    pub(crate) plain: Vec<u8>,
}

impl Buffer {
    /// Reads a block that begins at `position`, after `events`. Returns its kind and its length in
    /// the file, or `None` at the end of the source.
    pub(crate) fn read(
        &mut self,
        from: &mut impl Read,
        position: u64,
        events: u64,
    ) -> Result<Option<(u8, u64)>, TraceError> {
        let damaged = |what| TraceError::Damaged { position, events, what };
        let mut head = Vec::with_capacity(HEAD);
        match from.by_ref().take(HEAD as u64).read_to_end(&mut head)? {
            0 => return Ok(None),
            HEAD => {}
            _ => return Err(TraceError::CutOff { position, events }),
        }
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (stored, plain) = (number(4) as usize, number(8) as usize);
        if stored > MOST || plain > MOST {
            return Err(damaged("it is longer than a block may be"));
        }
        self.stored.clear();
        if from.by_ref().take(stored as u64).read_to_end(&mut self.stored)? < stored {
            return Err(TraceError::CutOff { position, events });
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head[..12]);
        crc.update(&self.stored);
        if crc.finalize() != number(12) {
            return Err(damaged(
                "its checksum is not that of its bytes: they changed after they were written",
            ));
        }
        match head[1] {
            0 if stored == plain => core::mem::swap(&mut self.stored, &mut self.plain),
            1 => {
                self.plain.resize(plain, 0);
                let unpacked = lz4_flex::block::decompress_into(&self.stored, &mut self.plain);
                if unpacked.ok() != Some(plain) {
                    return Err(damaged("it does not unpack to its length"));
                }
            }
            0 => return Err(damaged("its two lengths differ")),
            _ => return Err(damaged("its codec is unknown")),
        }
        Ok(Some((head[0], (HEAD + stored) as u64)))
    }
}
