//! Threads in three models behind one interface, chosen when a [`Runtime`] is made.
//!
//! | model | a thread is |
//! |---|---|
//! | one-to-one | one of the platform's |
//! | M:N | a stack; as many workers as there are cores run all of them |
//! | manager | one of the platform's, started and ended by a manager thread, as `LinuxThreads` did |
//!
//! Ids have a generation, so an old one names nobody. Joins answer as POSIX says: self, circle, detached, stale.
//!
//! ```
//! use core::time::Duration;
//! use tickwright_threads::{Attributes, ManyToMany, Model, Runtime, this_thread};
//!
//! let runtime = Runtime::new(Model::ManyToMany(ManyToMany::new().sleepers("wheel")))?;
//! let napper = runtime.spawn(&Attributes::new().name("napper"), || this_thread::sleep(Duration::from_millis(1)))?;
//! let answer = runtime.create(&Attributes::new(), || 42)?;
//! assert_eq!(runtime.join(answer)?, 42);
//! napper.join()?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! What the standard library keeps for each kernel thread, all M:N threads of a worker share: `std::thread::current`, `thread_local!`, and whether it panics. While
//! one waits in a drop that a panic runs, `std::thread::panicking` is true for the others of its worker, too: locks of the standard library that they let go of are
//! poisoned, and a panic of theirs counts as a second one for the message that is printed. The locks of [`sync`] are never poisoned, and [`Local`] is a thread's own.

mod attributes;
mod clock;
mod error;
mod id;
mod join_word;
mod kernel;
mod local;
mod mail;
mod many;
mod park_word;
mod primitive;
mod process;
mod quiet;
mod record;
mod registry;
mod runtime;
mod stack;
mod waiter;

pub mod io;
pub mod sync;
pub mod this_thread;

pub use attributes::{Attributes, LEAST_STACK, LONGEST_NAME, MOST_GUARD, MOST_STACK, Place};
pub use error::{CreateError, JoinError, RuntimeError};
pub use id::ThreadId;
pub use kernel::{Manager, OneToOne, Stacks};
pub use local::{DROP_ROUNDS, Local};
pub use many::{Knobs, ManyToMany};
pub use registry::Dictionary;
pub use runtime::{Body, Handle, JoinHandle, Model, Runtime, Threads, Wait};
