//! Imports traces from the output of other programs.
//!
//! | module | reads |
//! |---|---|
//! | [`chrome`] | timer events of Chrome, Edge, Electron and Node's inspector, as JSON |
//! | [`kernel`] | the Linux kernel's timer events: text of ftrace, trace-cmd, perf, babeltrace |
//! | [`perfetto`] | the same events in a trace of Perfetto, as on Android |
//!
//! Each of them, and [`from_csv`](crate::text::from_csv), reads a source that is packed with gzip
//! too. [`Source::guess`] finds out which of them a source is for. What they could not read is
//! counted, in [`Imported`] and in the trace itself ([`Remark`]).

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
    /// Timer events that could not be read; they are lines, or events of a browser.
    pub unreadable: u64,
    /// Where the source is damaged, and how. The trace holds the events before the damage.
    pub damage: Option<String>,
    /// Events of the trace.
    pub events: u64,
}

impl Imported {
    /// Writes into the trace what its readers must know.
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
