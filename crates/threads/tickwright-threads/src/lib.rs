//! Threads in two models behind one interface, chosen when a [`Runtime`] is made.
//!
//! | model | a thread is | creating and joining one |
//! |---|---|---|
//! | one-to-one | one of the platform's | 13,500 ns |
//! | M:N | a stack; as many workers as there are cores run all of them | 187 ns |
//!
//! The figures are medians of `records/threads`.
//!
//! ```text
//!   one-to-one        M:N
//!   T1 T2 T3          T1 T2 T3 T4 T5   stacks
//!   │  │  │           └──┬──┘ └─┬─┘
//!   K1 K2 K3          worker 1  worker 2
//!                     K1        K2
//! ```
//!
//! Ids have a generation, so the id of a thread that was joined never refers to a later thread.
//! Joins return the errors that POSIX defines for a thread that joins itself, a circle of joins, a
//! detached thread and a stale id.
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
//! `spawn` returns a handle that detaches the thread when it is dropped, and `create` returns an
//! id. Sleeping threads wait in a timer queue whose family you choose by name.
//!
//! # Locks and mailboxes
//!
//! Threads of an M:N worker share one kernel thread, so a thread must not hold a lock of the
//! platform across a wait. It can hold the locks of [`sync`] instead:
//!
//! ```
//! use std::sync::Arc;
//! use tickwright_threads::sync::{Mutex, unbounded};
//! use tickwright_threads::{Attributes, ManyToMany, Model, Runtime, this_thread};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let runtime = Runtime::new(Model::ManyToMany(ManyToMany::new()))?;
//!     let count = Arc::new(Mutex::new(0));
//!     let (done, mailbox) = unbounded();
//!     for _ in 0..100 {
//!         let (count, done) = (Arc::clone(&count), done.clone());
//!         // A handle that is dropped detaches its thread.
//!         drop(runtime.spawn(&Attributes::new(), move || {
//!             let mut guard = count.lock();
//!             this_thread::yield_now();
//!             *guard += 1;
//!             drop(guard);
//!             let _ = done.send(());
//!         })?);
//!     }
//!     drop(done);
//!     // The mailbox closes when the last sender is dropped.
//!     assert_eq!(core::iter::from_fn(|| mailbox.recv().ok()).count(), 100);
//!     assert_eq!(*count.lock(), 100);
//!     Ok(())
//! }
//! ```
//!
//! # What runs where
//!
//! | system | one-to-one | M:N |
//! |---|---|---|
//! | Linux | yes | yes, on each processor that the crate `corosensei` knows |
//! | macOS, FreeBSD | yes, compiled and not yet run | yes, compiled and not yet run |
//! | Windows | yes, except [`Stacks::Fresh`], [`Stacks::Recycled`] and `io` | no |
//!
//! If a system lacks a feature, the start of the runtime returns [`RuntimeError::Unsupported`],
//! which says what to do instead. On Windows each stack has the platform's guard of one page. The
//! standard library starts the threads there. It reports overflows, and ends the process if there
//! is no memory for a thread's handle. Windows runs destructors of `thread_local!` variables under
//! a lock that each thread takes when it begins and ends. Therefore such a destructor can create a
//! thread on Windows, but must not wait for one.
//!
//! # What M:N threads share
//!
//! The M:N threads of one worker run on one kernel thread. They share most of what the platform
//! keeps for a kernel thread: `std::thread::current`, `thread_local!`, the signal mask and the
//! ownership of locks. A value of a [`ThreadLocal`] belongs to one thread.
//!
//! Three things belong to each thread, and are saved while it waits:
//!
//! - `errno`;
//! - the C++ exceptions that it has caught or is throwing, where the program has a C++ runtime;
//! - whether it panics. A thread that unwinds can wait in a drop. Meanwhile other threads of its
//!   worker run. For them `std::thread::panicking` is `false`, and a lock of the standard library
//!   that they release is not poisoned. The first such wait of a process starts a short-lived
//!   kernel thread. If the platform cannot start that kernel thread, the wait blocks the worker,
//!   and a yield returns at once.
//!
//! # Signals and overflows
//!
//! When a thread overflows its stack, every model prints the thread's name to standard error, and
//! the process aborts. For this purpose the first runtime of a process sets handlers of `SIGSEGV`
//! and `SIGBUS`. Each kernel thread has an alternate stack of 64 KiB, which costs two system calls
//! for each kernel thread and none for an M:N thread. If a signal does not report an overflow, the
//! handler that was set before receives it, as if ours did not exist. One difference remains: if
//! the process ignored one of the two signals, a program that it executes does not ignore that
//! signal.
//!
//! Workers block no signals. A child process that an M:N thread starts has the program's signal
//! mask, and `raise` and profilers work as usual. A thread that changes the signal mask changes the
//! mask of its worker.
//!
//! # Threads that never wait
//!
//! Some calls are counted, so that a thread that makes them in a loop and never has to wait does
//! not keep its worker forever. After 64 to 128 counted calls without a switch, the next counted
//! call lets the other threads of the worker run and wakes sleepers. The thread is allowed to hold
//! a lock of [`sync`] during this call. These calls count:
//!
//! - [`create`](RuntimeHandle::create), [`spawn`](RuntimeHandle::spawn), joins,
//!   [`unpark`](RuntimeHandle::unpark), and a park that returns at once;
//! - every lock or `try_lock` of a [`sync::Mutex`], and every notification of a [`sync::Condvar`]
//!   or wait for it;
//! - every send and receive, including `try_send` and `try_recv`.
//!
//! A creation that fails, and a sleep whose time has already passed, always let other threads run.
//! All other calls never do, for example the unlock of a mutex, or a query such as
//! [`live`](RuntimeHandle::live). A thread that only computes or makes queries starves the other
//! threads of its worker: call [`this_thread::yield_now`] in its loop. A thread that unwinds is not
//! interrupted. The platform interrupts the threads of the one-to-one model.
//!
//! # Locks of others
//!
//! A lock of the platform or of the standard library must not be held across a wait or a counted
//! call: release it before you send or create, use a lock of [`sync`], or make counted calls that
//! need not wait in a section [without yields](this_thread::without_yields). Otherwise, another
//! thread of the worker that locks it blocks the worker, and the owner can never run again to
//! unlock it:
//!
//! ```no_run
//! # use tickwright_threads::this_thread;
//! # let lock = std::sync::Mutex::new(0);
//! let guard = lock.lock();
//! this_thread::yield_now(); // Another thread of the worker calls lock.lock(): both wait for ever.
//! drop(guard);
//! ```
//!
//! A recursive or error-checking `pthread_mutex_t` cannot tell the threads of a worker apart. While
//! its owner waits, a recursive mutex therefore lets a second thread in. The locks of [`sync`] can
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
//! A forked child has none of the runtime's threads. The thread that called `fork` continues in the
//! child with its values of [`ThreadLocal`], but it does not belong to a runtime there. When its
//! body ends, the child exits by `exit` with code 0, or with code 101 after a panic. A lock of
//! [`sync`] that another thread holds at the fork stays locked in the child.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems need less"))]

#[cfg(unix)]
mod attr;
mod attributes;
mod clock;
mod countdown;
#[cfg(unix)]
mod errno;
mod error;
mod free_numbers;
mod host;
mod id;
mod join_word;
mod kernel;
mod kernel_thread;
mod limits;
mod local;
#[cfg(unix)]
mod many;
#[cfg(not(unix))]
#[path = "many/nothing.rs"]
mod many;
#[cfg(unix)]
mod mapping;
mod memory;
#[cfg(unix)]
mod overflow;
#[cfg(not(unix))]
#[path = "overflow/nothing.rs"]
mod overflow;
mod park_word;
mod primitive;
mod process;
mod record;
mod registry;
mod roster;
mod runtime;
mod section;
mod stack;
mod threads;
mod waiters;
mod wake;
mod wake_flags;

#[cfg(unix)]
pub mod io;
pub mod sync;
pub mod this_thread;

pub use attributes::{Attributes, Place, Stacks};
pub use error::{CreateError, JoinError, RuntimeError};
pub use id::ThreadId;
pub use kernel::OneToOne;
pub use limits::{LEAST_STACK, LONGEST_NAME, MOST_GUARD, MOST_STACK};
pub use local::{DROP_ROUNDS, ThreadLocal};
#[cfg(feature = "testing")]
pub use many::Knobs;
pub use many::ManyToMany;
pub use registry::RegistryKind;
pub use runtime::{JoinHandle, Model, Runtime, RuntimeHandle};
