//! Records what a program does with its timers, as a trace that `tickwright recommend` reads.
//!
//! ```text
//!   Recorded<Q>          any queue      ┐
//!   Settings::recorded   scheduler      ├─> QueueRecorder ─> Recorder ─> file.twt
//!   RecordedTimer        shards         ┘
//! ```
//!
//! A [`Recorder`] writes one trace. Each queue has a [`QueueRecorder`]. A queue of another library
//! can have a `QueueRecorder`, too.
//!
//! ```
//! use tickwright::record::{Recorded, Recorder};
//! use tickwright::{DefaultQueue, TimerQueue};
//!
//! let recorder = Recorder::new(Vec::new(), "example")?;
//! let milliseconds = recorder.queue("connections", 1_000_000)?;
//! let mut queue = Recorded::new(DefaultQueue::new(), milliseconds);
//! let idle = queue.insert(60_000, "first").map_err(|rejected| rejected.reason)?;
//! queue.reschedule(idle, 90_000)?;
//! queue.remove(idle)?;
//! assert_eq!(recorder.events(), 3);
//! recorder.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! When a queue or a scheduler is dropped or cleared, the trace gets a cancel for each timer that
//! was pending. The trace also gets these cancels when a queue is taken out of its wrapper. For a
//! pending [`RecordedTimer`], it gets the cancel when the timer's last handle and the shards have
//! been dropped.
//!
//! # Costs
//!
//! Each event costs a lock of the recorder, a reading of its clock, and 2 to 8 bytes in the file.
//! An event takes about 70 ns on one thread (`examples/recorded.rs` prints this time). After every
//! 4,096 events, a block is written to the file under the recorder's lock. A queue or timer without
//! a recorder has no extra cost, because only the wrapper types record.
//!
//! # What is not promised
//!
//! - A recorded shared timer takes the recorder's lock, so even a re-arm inside the timer's bucket
//!   takes a lock. The trace still has the same operations as the program.
//! - A forked child must not use a recorder of its parent.

mod queue;
mod recorder;
mod shard;
#[cfg(test)]
mod tests;

pub use queue::{Identity, Recorded};
pub use recorder::{QueueRecorder, Recorder};
pub use shard::RecordedTimer;
pub use tickwright_trace::{TraceError, What};
