//! The M:N model: workers, which are kernel threads, run many stacks.
//!
//! A creator registers a thread and queues its body with a worker; the worker, or another one that has nothing to do, begins it on a stack to spare. From
//! then on it stays: a thread that went on elsewhere would find the thread-local variables of another kernel thread behind references
//! that it holds to its first one's, and the switch (`corosensei`) asks that all on a stack be `Send` before it may move.
//! Waiting leaves the stack: for threads, times, locks and descriptors no worker is blocked.

mod asleep;
mod context;
mod coroutines;
mod descriptors;
mod inbox;
mod on_worker;
mod own;
mod pipe;
mod pool;
mod post;
mod runtime;
mod settings;
mod shelves;
mod sleepers;
mod worker;

pub(crate) use on_worker::{park, yield_now};
pub use settings::{Knobs, ManyToMany};
