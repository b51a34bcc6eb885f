//! Threads in three models behind one interface, chosen when a [`Runtime`] is made.
//!
//! | model | a thread is |
//! |---|---|
//! | one-to-one | one of the platform's |
//! | M:N | a stack; as many workers as there are cores run all of them |
//! | manager | one of the platform's; a manager thread starts and ends it, as in `LinuxThreads` |
//!
//! Ids have a generation, so an old one names no thread. Joins answer as POSIX says: self, circle,
//! detached, stale.
//!
//! ```
//! use core::time::Duration;
//! use tickwright_threads::{Attributes, ManyToMany, Model, Runtime, this_thread};
//!
//! let runtime = Runtime::new(Model::ManyToMany(ManyToMany::new().sleepers("wheel")))?;
//! let nap = || this_thread::sleep(Duration::from_millis(1));
//! let napper = runtime.spawn(&Attributes::new().name("napper"), nap)?;
//! let answer = runtime.create(&Attributes::new(), || 42)?;
//! assert_eq!(runtime.join(answer)?, 42);
//! napper.join()?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # What M:N threads share
//!
//! The M:N threads of one worker run on one kernel thread.
//! Most of what the platform keeps for a kernel thread, they share: `std::thread::current`,
//! `thread_local!`, the signal mask, the owner of a lock. [`Local`] is a thread's own.
//!
//! Three things are saved when a thread waits, and are its own:
//!
//! - `errno`;
//! - the C++ exceptions that it has caught or is throwing, where the program has a C++ runtime;
//! - whether it panics. A thread that unwinds may wait in a drop. Others of its worker run
//!   meanwhile, and `std::thread::panicking` is `false` for them. A lock of the standard library
//!   that they let go of is not poisoned. The first such wait of a process starts a kernel thread
//!   for a moment. As long as the platform has no thread to give, the wait keeps the worker, and a
//!   yield returns at once.
//!
//! # Signals and overflows
//!
//! A thread that overflows its stack is named on standard error in every model, and the process
//! aborts. For that, the first runtime of a process sets handlers of `SIGSEGV` and `SIGBUS`, and
//! its threads have alternate stacks of 64 KiB. That costs two system calls for each kernel thread,
//! and none for each M:N thread. What is no overflow goes to the handlers that were there before,
//! as if ours were not. A program that is executed does not inherit that one of the two signals was
//! ignored.
//!
//! Workers block no signals: a child that an M:N thread starts has the program's signal mask, and
//! `raise` and profilers do what they do elsewhere. A thread that changes the mask changes its
//! worker's.
//!
//! # Locks of others
//!
//! A lock of the platform or of the standard library must not be held across a wait. The next
//! thread of the worker that wants it blocks the worker, so the first one can never let go of it:
//!
//! ```no_run
//! # use tickwright_threads::this_thread;
//! # let lock = std::sync::Mutex::new(0);
//! let guard = lock.lock();
//! this_thread::yield_now(); // Another thread of the worker calls lock.lock(): both wait for ever.
//! drop(guard);
//! ```
//!
//! A recursive or error-checking `pthread_mutex_t` takes all threads of a worker for its one owner.
//! Across a wait, a recursive one lets two threads in at the same time. The locks of [`sync`] may
//! be held across every wait, and are never poisoned:
//!
//! ```
//! # use tickwright_threads::{sync, this_thread};
//! # let lock = sync::Mutex::new(0);
//! let guard = lock.lock();
//! this_thread::yield_now(); // Another thread that wants the lock waits without its worker.
//! drop(guard);
//! ```
//!
//! # Forks
//!
//! A forked child has none of a runtime's threads. The thread that has forked goes on there as one
//! that no runtime knows, with its values of [`Local`]. When its body ends, so does the child: by
//! `exit`, with the code 0, or 101 after a panic. A lock of [`sync`] that another thread holds at
//! the fork stays locked in the child.

mod attributes;
mod clock;
mod countdown;
mod errno;
mod error;
mod here;
mod id;
mod join_word;
mod kernel;
mod kernel_thread;
mod limits;
mod local;
mod many;
mod mask;
mod memory;
mod overflow;
mod park_word;
mod poll;
mod primitive;
mod process;
mod quiet;
mod record;
mod registry;
mod roster;
mod runtime;
mod setters;
mod stack;
mod threads;
mod wait;
mod wake;
mod wake_flags;

pub mod io;
pub mod sync;
pub mod this_thread;

pub use attributes::{Attributes, Place};
pub use error::{CreateError, JoinError, RuntimeError};
pub use id::ThreadId;
pub use kernel::{Manager, OneToOne, Stacks};
pub use limits::{LEAST_STACK, LONGEST_NAME, MOST_GUARD, MOST_STACK};
pub use local::{DROP_ROUNDS, Local};
pub use many::{Knobs, ManyToMany};
pub use registry::Dictionary;
pub use runtime::{Handle, JoinHandle, Model, Runtime};
pub use threads::{Body, Threads, Wait};

/// The examples of the book's page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/threads.md")]
pub struct BookPage;
