//! Reads traces from files, as streams.

use std::io::Read;

use crate::block::{self, Buffer, MAGIC, OPTIONAL};
use crate::columns;
use crate::error::{TraceError, VERSION};
use crate::event::Event;
use crate::header::{Base, Header, Lost, Names, Remark};
use crate::number::{signed, take};
use crate::writer::{BASES, LONGEST, SITES, THREADS};

/// Reads a trace block by block. Memory is bounded by a block, the names and the losses: at most
/// 2^20 names in each table, 2^20 losses, and 64 MiB of text.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    header: Header,
    names: [Names; 2],
    lost: Vec<Lost>,
    remarks: Vec<Remark>,
    /// Bytes of all names and notes.
    text: usize,
    buffer: Buffer,
    events: Vec<Event>,
    /// Where the next block begins.
    position: u64,
    read: u64,
    ended: bool,
    is_complete: bool,
    lost_total: Option<u64>,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Every [`TraceError`] except [`TraceError::Line`], which only text has.
    pub fn new(mut from: R) -> Result<Self, TraceError> {
        let mut first = Vec::new();
        from.by_ref().take(MAGIC.len() as u64 + 2).read_to_end(&mut first)?;
        let (magic, version) = first.split_at(first.len().min(MAGIC.len()));
        if first.is_empty() {
            return Err(TraceError::Empty);
        }
        if !MAGIC.starts_with(magic) {
            return Err(TraceError::Foreign);
        }
        let &[low, high] = version else { return Err(TraceError::CutOff { position: 0, events: 0 }) };
        let found = u16::from_le_bytes([low, high]);
        if found == 0 || found > VERSION {
            return Err(TraceError::Version { found });
        }
        let mut reader = Self {
            from,
            header: Header::default(),
            names: [Names::default(), Names::default()],
            lost: Vec::new(),
            remarks: Vec::new(),
            text: 0,
            buffer: Buffer::default(),
            events: Vec::new(),
            position: first.len() as u64,
            read: 0,
            ended: false,
            is_complete: false,
            lost_total: None,
        };
        match reader.block()? {
            Some((block::HEADER, length)) => {
                let header = Header::parse(&reader.buffer.plain);
                reader.header = header.map_err(|_| reader.damaged("it is no JSON object of a header"))?;
                if reader.header.bases.len() > BASES {
                    return Err(reader.damaged("it has more than 256 queues"));
                }
                if reader.header.bases.iter().any(|base| base.name.len() > LONGEST) {
                    return Err(reader.damaged("the name of a queue is longer than 4096 bytes"));
                }
                reader.position += length;
                Ok(reader)
            }
            Some(_) => Err(reader.damaged("the first block is no header")),
            None => Err(TraceError::CutOff { position: reader.position, events: 0 }),
        }
    }

    /// Returns the header of the trace. Later queues are added as their blocks are read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the names of sites, from the blocks that were read.
    pub fn sites(&self) -> &Names {
        &self.names[SITES]
    }

    /// Returns the names of threads, from the blocks that were read.
    pub fn threads(&self) -> &Names {
        &self.names[THREADS]
    }

    /// Returns the losses of the source, from the blocks that were read.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Returns the remarks, which a reader of figures must know, from the blocks that were read.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Returns how many events the source lost in all, as the end of the file states. The number
    /// includes losses that [`lost`](Self::lost) does not return because of the format's limits. A
    /// loss of an unknown number of events counts as 0. Returns `None` if the end was not read.
    pub fn lost_total(&self) -> Option<u64> {
        self.lost_total
    }

    /// Returns how many events were read.
    pub fn events_read(&self) -> u64 {
        self.read
    }

    /// Returns whether the end was read. If the end was not read, the writer was stopped or more
    /// blocks follow.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the next events, at most 4,096, or `None` at the end.
    ///
    /// # Errors
    /// [`TraceError::CutOff`] and [`TraceError::Damaged`] name the block; earlier calls have
    /// returned the events before that block. [`TraceError::Io`] if the source cannot be read.
    /// After an error no more events are returned.
    pub fn next_block(&mut self) -> Result<Option<&[Event]>, TraceError> {
        while !self.ended {
            let found = self.block().and_then(|block| match block {
                None => Ok(None),
                Some((kind, length)) => Ok(Some((self.take(kind)?, length))),
            });
            match found {
                Ok(Some((has_events, length))) => {
                    self.position += length;
                    if has_events {
                        self.read += self.events.len() as u64;
                        return Ok(Some(&self.events));
                    }
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Returns the events that the last [`next_block`](Self::next_block) returned. Unlike that
    /// slice, these events can be read while the names are borrowed.
    pub fn events_of_block(&self) -> &[Event] {
        &self.events
    }

    /// Returns all events that [`next_block`](Self::next_block) has not returned yet.
    ///
    /// # Errors
    /// The errors of [`next_block`](Self::next_block).
    pub fn read_to_end(&mut self) -> Result<Vec<Event>, TraceError> {
        let mut all = Vec::new();
        while let Some(block) = self.next_block()? {
            all.extend_from_slice(block);
        }
        Ok(all)
    }

    fn damaged(&self, what: &'static str) -> TraceError {
        TraceError::Damaged { position: self.position, events: self.read, what }
    }

    /// Reads a block into the buffer. Returns the block's kind and its length.
    fn block(&mut self) -> Result<Option<(u8, u64)>, TraceError> {
        self.buffer.read(&mut self.from, self.position, self.read)
    }

    /// Processes the block in the buffer. Returns whether the block has events.
    fn take(&mut self, kind: u8) -> Result<bool, TraceError> {
        if self.is_complete {
            return Err(self.damaged("it comes after the end"));
        }
        let understood = match kind {
            block::NAME | block::BASE | block::LOST | block::REMARK => self.take_text(kind),
            block::EVENTS => columns::decode(&self.buffer.plain, &mut self.events),
            block::END => self.take_end(),
            block::HEADER => return Err(self.damaged("it is a second header")),
            kind if kind >= OPTIONAL => Some(()),
            _ => return Err(self.damaged("its kind is unknown")),
        };
        match understood {
            Some(()) => Ok(kind == block::EVENTS),
            None => Err(self.damaged("it holds something else than it should")),
        }
    }

    /// Processes a block that holds numbers and a text.
    fn take_text(&mut self, kind: u8) -> Option<()> {
        let mut bytes = &self.buffer.plain[..];
        let first = take(&mut bytes)?;
        let second = if kind == block::LOST { take(&mut bytes)? } else { 0 };
        let table = usize::try_from(first).unwrap_or(usize::MAX);
        let (known, most) = match kind {
            block::NAME => (self.names.get(table)?.len(), block::MOST_KEPT),
            block::BASE => (self.header.bases.len(), BASES),
            block::LOST => (self.lost.len(), block::MOST_KEPT),
            _ => (self.remarks.len(), block::MOST_REMARKS),
        };
        if known >= most || bytes.len() > LONGEST {
            return None;
        }
        let text = core::str::from_utf8(bytes).ok()?.to_owned();
        // A file has few queues, so their names do not count toward the limit.
        let counted = if kind == block::BASE { 0 } else { text.len() };
        self.text = self.text.checked_add(counted).filter(|&text| text <= block::MOST_TEXT)?;
        match kind {
            block::NAME => self.names[table].0.push(text),
            block::BASE => self.header.bases.push(Base { name: text, tick_ns: first }),
            block::LOST => self.lost.push(Lost { time: signed(first), count: second, note: text }),
            _ => self.remarks.push(Remark { count: first, words: text }),
        }
        Some(())
    }

    fn take_end(&mut self) -> Option<()> {
        let mut bytes = &self.buffer.plain[..];
        let (events, lost) = (take(&mut bytes)?, take(&mut bytes)?);
        self.is_complete = events == self.read && bytes.is_empty();
        self.lost_total = self.is_complete.then_some(lost);
        self.is_complete.then_some(())
    }
}
