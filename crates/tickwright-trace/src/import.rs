//! Traces from what other programs write.
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

/// What an import found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines of the source.
    pub lines: u64,
    /// Lines, or events of a browser, that are timer events but could not be read.
    pub unreadable: u64,
    /// Where the source is damaged, and how. What precedes it is in the trace.
    pub damage: Option<String>,
    /// Events of the trace.
    pub events: u64,
}
