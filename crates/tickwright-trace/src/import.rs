//! Imports traces from the output of other programs.
//!
//! | module | reads |
//! |---|---|
//! | [`chrome`] | timer events of Chrome, Edge, Electron and Node's inspector, as JSON or gzip |
//! | [`kernel`] | the Linux kernel's timer events: text of ftrace, trace-cmd, perf, babeltrace |
//! | [`strace`] | calls that set timers or wait, of `strace -f -ttt -T` |

pub mod chrome;
pub mod kernel;
pub mod strace;

mod calibration;
mod line;
mod order;
mod source;

/// The counts of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines of the source.
    pub lines: u64,
    /// Timer events that could not be read; they are lines, or events of a browser.
    pub unreadable: u64,
    /// Where the source is damaged, and how. The trace holds the events before the damage.
    pub damage: Option<String>,
    /// Events of the trace.
    pub events: u64,
}
