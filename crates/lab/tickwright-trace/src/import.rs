//! Imports traces from the output of other programs.
//!
//! | module | reads |
//! |---|---|
//! | [`chrome`] | timer events of Chrome, Edge, Electron and Node's inspector, as JSON |
//! | [`kernel`] | the Linux kernel's timer events: text of ftrace, trace-cmd, perf, babeltrace |
//! | [`perfetto`] | the same events in a trace of Perfetto, as on Android |
//!
//! [`from_csv`](crate::text::from_csv) reads CSV. All four importers unpack a source that is packed
//! with gzip. [`Source::guess`] finds out which importer reads a given source. The three modules
//! count the events that they could not read, in [`Imported`] and in the trace itself ([`Remark`]).
//!
//! To add a format, add a module here, a variant of [`Source`] and its recognition in `guess.rs`,
//! and the same variant with its arm in the command's `tickwright-lab/src/traces/import.rs`.

pub mod chrome;
pub mod kernel;
pub mod perfetto;

mod calibration;
mod guess;
mod line;
pub(crate) mod loss;
mod order;
mod source;
mod unpack;

use std::io::Write;

pub use self::guess::Source;
pub use self::unpack::Unpacked;
use crate::error::TraceError;
use crate::header::Remark;
use crate::writer::Writer;

/// The counts of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines of the source; 0 if it has none.
    pub lines: u64,
    /// Timer events that could not be read. These events are lines, or events of a browser.
    pub unreadable: u64,
    /// How and where the source is damaged. The trace holds the events before the damage.
    pub damage: Option<String>,
    /// Events of the trace.
    pub events: u64,
}

impl Imported {
    /// Writes the remarks that a reader of the trace needs.
    fn remark<W: Write>(&self, writer: &mut Writer<W>) -> Result<(), TraceError> {
        if self.unreadable > 0 {
            writer.remark(self.unreadable, Remark::UNREADABLE)?;
        }
        if let Some(damage) = &self.damage {
            writer.remark(0, &format!("the source is damaged: {damage}; what precedes is in the trace"))?;
        }
        Ok(())
    }
}
