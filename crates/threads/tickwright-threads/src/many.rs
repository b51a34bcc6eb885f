//! The M:N model: workers, which are kernel threads, run many threads, each with its own stack.
//!
//! A thread that has begun stays on its worker, because on another worker its references to
//! thread-local variables would refer to variables of the wrong kernel thread. The switch between
//! stacks (`corosensei`) also requires that everything on a stack is `Send` if the stack moves to
//! another kernel thread. A thread that has not begun can be stolen by another worker. When a
//! thread waits for another thread, a time, a lock or a descriptor, it leaves its stack, so the
//! worker is not blocked.
//!
//! Who owns what:
//!
//! ```text
//!   Runtime, RuntimeHandle ──> WorkerPool      pool.rs: what all workers share
//!                         ├── Roster           ids and records, which are never given back
//!                         │     └── Remote     one a worker, and one for creators from outside
//!                         │           ├── lock { free records, registry, spawn queue }
//!                         │           └── words: remote run queue, sleep state
//!                         ├── clock, settings (settings.rs), counts of stacks and idle workers
//!                         └── kernel threads   runtime.rs starts and ends them
//!   Worker ──> WorkerPool                      worker.rs: lives on its own kernel thread
//!     ├── ready, parked                        threads that have begun: stack and context
//!     ├── spare stacks                         of threads that have ended
//!     └── sleepers, descriptors                threads that wait for a time or a descriptor
//! ```
//!
//! The life of a thread:
//!
//! ```text
//!   created     roster.rs       a free record and its next generation are the id; registered
//!     v
//!   spawned     remote.rs       in the spawn queue of the creator's worker, until that worker
//!     v                         begins it, or an idle worker steals it
//!   begun       worker.rs       on a spare stack; this worker owns the record until the end
//!     v ^
//!   waits       wake_flags.rs   off its stack; notified on its worker or by the remote queue
//!     v
//!   ended       join_word.rs    value in the record, `finish`; unregistered, the stack is spare
//!     v
//!   joined      roster.rs       value taken; the record is free for its next generation
//! ```

mod context;
mod coroutines;
mod descriptors;
mod on_worker;
mod pipe;
mod pool;
mod remote;
mod remote_queue;
mod runtime;
mod saved_state;
mod settings;
mod sleep;
mod sleepers;
mod stack_cache;
mod testing;
mod wake_cost;
mod worker;

pub(crate) use on_worker::{park, yield_now};
pub use settings::ManyToMany;
#[cfg(feature = "testing")]
pub use testing::Knobs;
