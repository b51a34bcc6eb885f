//! Records what a program does with its timers, as a trace that `tickwright recommend` reads.
//!
//! ```text
//!   Recorded<Q>          any queue      ┐
//!   Settings::recorded   scheduler      ├─> QueueRecorder ─> Recorder ─> file.twt
//!   RecordedTimer        shards         ┘
//! ```
//!
//! A [`Recorder`] writes one trace. Each queue has a [`QueueRecorder`]. A queue of another library
//! can have one, too.
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
//! When a queue or a scheduler is dropped or cleared, the trace gets a cancel for each
//! timer that was pending. It gets the same when a queue leaves its recorder. A [`RecordedTimer`]
//! gets it when the last of its handles and the shards are gone.
//!
//! # Costs
//!
//! Each event costs a lock of the recorder, a reading of its clock, and 2 to 8 bytes in the file.
//! That is some 70 ns on one thread (`examples/recorded.rs` prints it). Every 4,096 events a block
//! is written under that lock. A queue or timer without a recorder costs nothing more: the wrappers
//! are types of their own.
//!
//! # What is not promised
//!
//! - A recorded shared timer takes the recorder's lock, so a re-arm in its bucket is no longer free
//!   of locks. Its trace shows the same operations as without that lock.
//! - A child of a fork must not use a recorder of its parent.

mod queue;
mod recorder;
mod shard;
#[cfg(test)]
mod tests;

pub use queue::{Identity, Recorded};
pub use recorder::{QueueRecorder, Recorder};
pub use shard::RecordedTimer;
pub use tickwright_trace::{TraceError, What};
