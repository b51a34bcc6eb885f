//! Traces from files, as streams.

use std::io::Read;

use crate::block::{self, Buffer, MAGIC, OPTIONAL, Wrong};
use crate::columns;
use crate::error::{TraceError, VERSION};
use crate::event::Event;
use crate::header::{Base, Header, Lost, Names, Remark};
use crate::number::{take, take_signed};
use crate::writer::{BASES, LONGEST, THREADS};

/// Reads a trace block by block. Memory is bounded by a block, the names and the losses:
/// at most 2^20 names of each table, 2^20 losses, and 64 MiB of text.
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
    /// Every [`TraceError`] except the errors of text.
    pub fn new(mut from: R) -> Result<Self, TraceError> {
        let mut first = [0; MAGIC.len() + 2];
        let have = block::fill(&mut from, &mut first)?;
        if have == 0 {
            return Err(TraceError::Empty);
        }
        let magic = have.min(MAGIC.len());
        if first[..magic] != MAGIC[..magic] {
            return Err(TraceError::Foreign);
        }
        if have < first.len() {
            return Err(TraceError::CutOff { position: 0, events: 0 });
        }
        let found = u16::from_le_bytes([first[MAGIC.len()], first[MAGIC.len() + 1]]);
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
                let header = serde_json::from_slice(&reader.buffer.plain);
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

    /// The header of the trace. Queues that appear later are added as their blocks are read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The names of sites, from the blocks that were read.
    pub fn sites(&self) -> &Names {
        &self.names[0]
    }

    /// The names of threads, from the blocks that were read.
    pub fn threads(&self) -> &Names {
        &self.names[1]
    }

    /// The losses of the source, from the blocks that were read.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// What a reader of the figures must know, from the blocks that were read.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// How many events the source lost in all, as the end of the file states. The number covers the
    /// losses that [`lost`](Self::lost) returns and the losses beyond the limits of the format.
    /// Losses of an unknown number count as 0. `None`: the end was not read.
    pub fn lost_total(&self) -> Option<u64> {
        self.lost_total
    }

    /// How many events were read.
    pub fn events_read(&self) -> u64 {
        self.read
    }

    /// Whether the end was read. If not, the writer was stopped, or more blocks follow.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the next events, some thousands at most. `None` at the end.
    ///
    /// # Errors
    /// [`TraceError::CutOff`] and [`TraceError::Damaged`] name the block; earlier calls have
    /// returned the events before it. [`TraceError::Io`]. After an error no more events are
    /// returned.
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

    /// The events that the last [`next_block`](Self::next_block) returned. Unlike that slice, they
    /// can be read while the names are borrowed.
    pub fn events_of_block(&self) -> &[Event] {
        &self.events
    }

    /// Iterates over the events that [`next_block`](Self::next_block) has not returned yet. An
    /// error is the last item.
    pub fn events(mut self) -> impl Iterator<Item = Result<Event, TraceError>> {
        self.events.clear();
        let mut at = 0;
        core::iter::from_fn(move || {
            loop {
                if let Some(&event) = self.events.get(at) {
                    at += 1;
                    return Some(Ok(event));
                }
                at = 0;
                self.events.clear();
                match self.next_block() {
                    Ok(Some(_)) => {}
                    Ok(None) => return None,
                    Err(error) => {
                        self.events.clear();
                        return Some(Err(error));
                    }
                }
            }
        })
    }

    fn damaged(&self, what: &'static str) -> TraceError {
        TraceError::Damaged { position: self.position, events: self.read, what }
    }

    /// Reads a block into the buffer. Returns the block's kind and its length.
    fn block(&mut self) -> Result<Option<(u8, u64)>, TraceError> {
        self.buffer.read(&mut self.from).map_err(|wrong| match wrong {
            Wrong::Io(error) => TraceError::Io(error),
            Wrong::CutOff => TraceError::CutOff { position: self.position, events: self.read },
            Wrong::Damaged(what) => self.damaged(what),
        })
    }

    /// Takes in the block in the buffer. Returns whether the block has events.
    fn take(&mut self, kind: u8) -> Result<bool, TraceError> {
        if self.is_complete {
            return Err(self.damaged("it comes after the end"));
        }
        let understood = match kind {
            block::NAME => self.take_name(),
            block::EVENTS => columns::decode(&self.buffer.plain, &mut self.events),
            block::LOST => self.take_lost(),
            block::BASE => self.take_base(),
            block::END => self.take_end(),
            block::HEADER => return Err(self.damaged("it is a second header")),
            block::REMARK => self.take_remark(),
            kind if kind >= OPTIONAL => Some(()),
            _ => return Err(self.damaged("its kind is unknown")),
        };
        match understood {
            Some(()) => Ok(kind == block::EVENTS),
            None => Err(self.damaged("it holds something else than it should")),
        }
    }

    fn take_name(&mut self) -> Option<()> {
        let mut bytes = &self.buffer.plain[..];
        let table = take(&mut bytes).filter(|&table| table <= THREADS as u64)?;
        let names = &mut self.names[table as usize].0;
        if names.len() >= block::MOST_KEPT || bytes.len() > LONGEST {
            return None;
        }
        self.text = self.text.checked_add(bytes.len()).filter(|&text| text <= block::MOST_TEXT)?;
        names.push(core::str::from_utf8(bytes).ok()?.to_owned());
        Some(())
    }

    fn take_base(&mut self) -> Option<()> {
        let mut bytes = &self.buffer.plain[..];
        let tick_ns = take(&mut bytes)?;
        if self.header.bases.len() >= BASES || bytes.len() > LONGEST {
            return None;
        }
        self.header.bases.push(Base { name: core::str::from_utf8(bytes).ok()?.to_owned(), tick_ns });
        Some(())
    }

    fn take_lost(&mut self) -> Option<()> {
        let mut bytes = &self.buffer.plain[..];
        let (time, count) = (take_signed(&mut bytes)?, take(&mut bytes)?);
        if self.lost.len() >= block::MOST_KEPT || bytes.len() > LONGEST {
            return None;
        }
        self.text = self.text.checked_add(bytes.len()).filter(|&text| text <= block::MOST_TEXT)?;
        self.lost.push(Lost { time, count, note: core::str::from_utf8(bytes).ok()?.to_owned() });
        Some(())
    }

    fn take_remark(&mut self) -> Option<()> {
        let mut bytes = &self.buffer.plain[..];
        let count = take(&mut bytes)?;
        if self.remarks.len() >= block::MOST_REMARKS || bytes.len() > LONGEST {
            return None;
        }
        self.text = self.text.checked_add(bytes.len()).filter(|&text| text <= block::MOST_TEXT)?;
        self.remarks.push(Remark { count, words: core::str::from_utf8(bytes).ok()?.to_owned() });
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
