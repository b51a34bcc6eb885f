//! Writes traces to files, as streams.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use crate::block::{self, MAGIC};
use crate::columns;
use crate::error::{TraceError, VERSION};
use crate::event::{Event, Ns};
use crate::header::Header;
use crate::number::{put, unsigned};

/// The most bytes of a name or a note.
pub(crate) const LONGEST: usize = 4096;

/// Writes a trace. Events are collected and written in blocks of some thousands;
/// [`flush`](Self::flush) writes the collected events at once. A file that was never
/// [finished](Self::finish) can be read to its last whole block.
#[derive(Debug)]
pub struct Writer<W: Write> {
    /// `None` once the target was returned.
    to: Option<W>,
    events: Vec<Event>,
    names: [HashMap<String, u32>; 2],
    bases: Vec<String>,
    written: u64,
    lost: u64,
    losses: usize,
    remarks: usize,
    /// Total bytes of all names and notes.
    text: usize,
    plain: Vec<u8>,
    out: Vec<u8>,
    /// How many bytes of `out` are written.
    sent: usize,
}

/// The most queues.
pub(crate) const BASES: usize = 256;

/// The tables of names in a file.
pub(crate) const SITES: usize = 0;
pub(crate) const THREADS: usize = 1;

impl<W: Write> Writer<W> {
    /// Begins a trace. A queue's name that is longer than 4096 bytes is cut.
    ///
    /// # Errors
    /// [`TraceError::Io`]; [`TraceError::Unfit`] for a header of more than a mebibyte, or more than
    /// 256 queues.
    pub fn new(to: W, header: &Header) -> Result<Self, TraceError> {
        let mut header = Cow::Borrowed(header);
        if header.bases.iter().any(|base| base.name.len() > LONGEST) {
            for base in &mut header.to_mut().bases {
                base.name.truncate(cut(&base.name).len());
            }
        }
        let header = header.as_ref();
        let plain = header.json().map_err(|_| TraceError::Unfit("the header is no text"))?;
        if plain.len() > block::MOST {
            return Err(TraceError::Unfit("the header is longer than 1 MiB as JSON: shorten its texts"));
        }
        if header.bases.len() > BASES {
            return Err(TraceError::Unfit("there are more than 256 queues"));
        }
        let mut writer = Self {
            to: Some(to),
            events: Vec::with_capacity(columns::MOST),
            names: [HashMap::new(), HashMap::new()],
            bases: header.bases.iter().map(|base| base.name.clone()).collect(),
            written: 0,
            lost: 0,
            losses: 0,
            remarks: 0,
            text: 0,
            plain,
            out: Vec::new(),
            sent: 0,
        };
        writer.out.extend(MAGIC);
        writer.out.extend(VERSION.to_le_bytes());
        writer.block(block::HEADER)?;
        Ok(writer)
    }

    /// Returns the number of the site with this name. A name longer than 4096 bytes is cut.
    ///
    /// # Errors
    /// [`TraceError::Unfit`] beyond 2^20 names, or 64 MiB of names and notes. [`TraceError::Io`]:
    /// the name is kept, and a second call with it returns its number.
    pub fn site(&mut self, name: &str) -> Result<u32, TraceError> {
        self.name(SITES, name)
    }

    /// Returns the number of the thread with this name. A name longer than 4096 bytes is cut.
    ///
    /// # Errors
    /// [`TraceError::Unfit`] beyond 2^20 names, or 64 MiB of names and notes. [`TraceError::Io`]:
    /// the name is kept, and a second call with it returns its number.
    pub fn thread(&mut self, name: &str) -> Result<u32, TraceError> {
        self.name(THREADS, name)
    }

    /// Returns the number of the queue with this name. A new queue has ticks of `tick_ns` (0:
    /// unknown).
    ///
    /// # Errors
    /// [`TraceError::Unfit`] beyond 256 queues; [`TraceError::Io`].
    pub fn base(&mut self, name: &str, tick_ns: u64) -> Result<u8, TraceError> {
        let name = cut(name);
        if let Some(at) = self.bases.iter().position(|base| base == name) {
            return Ok(at as u8);
        }
        let number = u8::try_from(self.bases.len())
            .map_err(|_| TraceError::Unfit("there are more than 256 queues"))?;
        self.bases.push(name.to_owned());
        self.text(block::BASE, &[tick_ns], name)?;
        Ok(number)
    }

    fn name(&mut self, table: usize, name: &str) -> Result<u32, TraceError> {
        let name = cut(name);
        if let Some(&number) = self.names[table].get(name) {
            return Ok(number);
        }
        let number = self.names[table].len() as u32 + 1;
        if number as usize > block::MOST_KEPT || self.text + name.len() > block::MOST_TEXT {
            return Err(TraceError::Unfit("there are more than 2^20 names, or 64 MiB of them"));
        }
        self.text += name.len();
        self.names[table].insert(name.to_owned(), number);
        // Nothing between here and the append of the block is allowed to fail. Otherwise the name
        // would have a number but no block. Each later name in the file would then have a wrong
        // number.
        self.text(block::NAME, &[table as u64], name)?;
        Ok(number)
    }

    /// Appends an event.
    ///
    /// # Errors
    /// [`TraceError::Io`]: the events of earlier calls are kept, and the next call tries to write
    /// them again. The event of this call is not kept.
    pub fn push(&mut self, event: &Event) -> Result<(), TraceError> {
        if self.events.len() >= columns::MOST {
            self.flush_events()?;
        }
        self.events.push(*event);
        Ok(())
    }

    /// Writes that the source lost `count` events (0: an unknown number). After 2^20 losses or 64
    /// MiB of names and notes, no further loss is written: `count` is only added to the total of
    /// lost events.
    ///
    /// # Errors
    /// [`TraceError::Io`]: the loss is kept, and the next call tries to write it again.
    pub fn lost(&mut self, time: Ns, count: u64, note: &str) -> Result<(), TraceError> {
        self.lost = self.lost.saturating_add(count);
        self.note(block::LOST, &[unsigned(time), count], note)
    }

    /// Writes a remark, which a reader of the figures must know: a number and the words that follow
    /// it. A `count` of 0 is not shown. A remark after the first 256, or beyond 64 MiB of names and
    /// notes, is left out. `words` longer than 4096 bytes are cut.
    ///
    /// # Errors
    /// [`TraceError::Io`]: the remark is kept, and the next call tries to write it again.
    pub fn remark(&mut self, count: u64, words: &str) -> Result<(), TraceError> {
        self.note(block::REMARK, &[count], words)
    }

    /// Writes a loss or a remark, unless the file has reached its limit of losses or remarks.
    fn note(&mut self, kind: u8, numbers: &[u64], text: &str) -> Result<(), TraceError> {
        let text = cut(text);
        let (kept, most) = match kind {
            block::LOST => (&mut self.losses, block::MOST_KEPT),
            _ => (&mut self.remarks, block::MOST_REMARKS),
        };
        if *kept >= most || self.text + text.len() > block::MOST_TEXT {
            return self.flush_events();
        }
        *kept += 1;
        self.text += text.len();
        self.text(kind, numbers, text)
    }

    /// Writes a block of numbers and a text, after the collected events.
    fn text(&mut self, kind: u8, numbers: &[u64], text: &str) -> Result<(), TraceError> {
        self.append_events();
        self.plain.clear();
        numbers.iter().for_each(|number| put(&mut self.plain, *number));
        self.plain.extend(text.as_bytes());
        self.block(kind)
    }

    /// Writes the collected events, so that the file has them even if this program is killed.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.flush_events()?;
        self.send()?;
        if let Some(to) = &mut self.to {
            to.flush()?;
        }
        Ok(())
    }

    /// Returns the target of the trace; `None` once it was returned.
    pub const fn get_ref(&self) -> Option<&W> {
        self.to.as_ref()
    }

    /// Ends the trace. Returns the target.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.append_events();
        self.text(block::END, &[self.written, self.lost], "")?;
        self.flush()?;
        self.to.take().ok_or(TraceError::Unfit("the trace was finished before"))
    }

    fn flush_events(&mut self) -> Result<(), TraceError> {
        self.append_events();
        self.send()
    }

    /// Appends a block of the events to `out`.
    fn append_events(&mut self) {
        if self.events.is_empty() {
            return;
        }
        self.plain.clear();
        columns::encode(&self.events, &mut self.plain);
        self.written += self.events.len() as u64;
        self.events.clear();
        block::append(&mut self.out, block::EVENTS, &self.plain);
    }

    /// Writes `plain` as a block, after the bytes that could not be written before.
    fn block(&mut self, kind: u8) -> Result<(), TraceError> {
        block::append(&mut self.out, kind, &self.plain);
        self.send()
    }

    /// Writes `out`. After an error, exactly the bytes from `sent` on are still to be written.
    fn send(&mut self) -> Result<(), TraceError> {
        let Some(to) = &mut self.to else { return Ok(()) };
        while self.sent < self.out.len() {
            match to.write(&self.out[self.sent..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        if self.to.is_some() {
            let _ = self.flush();
        }
    }
}

/// Returns the longest prefix of a text that the format allows.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
