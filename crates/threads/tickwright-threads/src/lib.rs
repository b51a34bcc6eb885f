//! Threads in two models with one interface. The program chooses the model when it creates a
//! [`Runtime`].
//!
//! | model | a thread is | time to create and join a thread |
//! |---|---|---|
//! | one-to-one | a thread of the platform | 13,500 ns |
//! | M:N | a stack; one worker for each core runs the stacks | 187 ns |
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
//! An id contains a generation, so the id of a joined thread never refers to a later thread. A join
//! of the caller itself, a circle of joins, a join of a detached thread, and a stale id cause the
//! errors that POSIX defines.
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
//! id. Sleeping M:N threads wait in a timer queue, whose family you choose by name.
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
//! which says what to do instead. On Windows each stack has the platform's guard of one page. On
//! Windows the standard library starts the threads and reports overflows. It ends the process if
//! there is no memory for a thread's handle. Windows runs destructors of `thread_local!` variables
//! under a lock that each thread takes when it begins and ends. Therefore such a destructor must
//! not wait for another thread on Windows, although it can create one.
//!
//! # What M:N threads share
//!
//! The M:N threads of one worker run on one kernel thread. They share most of the state that the
//! platform keeps for a kernel thread: `std::thread::current`, `thread_local!`, the signal mask and
//! the ownership of locks. A value of a [`ThreadLocal`] belongs to one thread.
//!
//! Each thread has its own copy of three things, which is saved while the thread waits:
//!
//! - `errno`;
//! - the C++ exceptions that it has caught or is throwing, if the program has a C++ runtime;
//! - whether it is panicking. If a thread waits in a drop while it unwinds, other threads of its
//!   worker run. In these threads `std::thread::panicking` is `false`, and a lock of the standard
//!   library that they release is not poisoned. The first such wait of a process starts a
//!   short-lived kernel thread. If the platform cannot start this kernel thread, the wait blocks
//!   the worker, and a yield returns at once.
//!
//! # Signals and overflows
//!
//! When a thread overflows its stack, every model prints the thread's name to standard error, and
//! the process aborts. For this purpose the first runtime of a process sets handlers of `SIGSEGV`
//! and `SIGBUS`. Each kernel thread gets an alternate stack of 64 KiB. This costs two system calls
//! for each kernel thread, and none for an M:N thread. If a signal does not report an overflow, the
//! previous handler receives it, as if our handler did not exist. There is one difference: if the
//! process ignored one of the two signals, a program that it starts with `exec` does not ignore
//! that signal.
//!
//! Workers block no signals. A child process that an M:N thread starts therefore has the program's
//! signal mask, and `raise` and profilers work as usual. A thread that changes the signal mask
//! changes the mask of its worker.
//!
//! # Threads that never wait
//!
//! A thread can make calls in a loop without ever having to wait. So that it does not occupy its
//! worker forever, some calls are counted. After 64 to 128 counted calls without a switch, the next
//! counted call lets the other threads of the worker run and wakes sleepers. The thread is allowed
//! to hold a lock of [`sync`] during this call. These calls are counted:
//!
//! - [`create`](RuntimeHandle::create), [`spawn`](RuntimeHandle::spawn), joins,
//!   [`unpark`](RuntimeHandle::unpark), and a park that returns at once;
//! - every lock or `try_lock` of a [`sync::Mutex`], and every notification of a [`sync::Condvar`]
//!   or wait for it;
//! - every send and receive, including `try_send` and `try_recv`.
//!
//! A creation that fails, and a sleep whose time has already passed, always let other threads run.
//! No other call lets other threads run, for example the unlock of a mutex or a query such as
//! [`live`](RuntimeHandle::live). A thread that only computes or makes queries must therefore call
//! [`this_thread::yield_now`] in its loop, because otherwise the other threads of its worker
//! starve. A thread that unwinds is not interrupted. In the one-to-one model, the platform
//! interrupts the threads.
//!
//! # Locks of others
//!
//! A thread must not hold a lock of the platform or of the standard library across a wait or a
//! counted call. If it does, another thread of the worker that takes the lock blocks the worker,
//! and the owner can never run again to unlock it. Therefore release the lock before you send or
//! create, or use a lock of [`sync`], or make the counted calls in a section [without
//! yields](this_thread::without_yields) if they need not wait:
//!
//! ```no_run
//! # use tickwright_threads::this_thread;
//! # let lock = std::sync::Mutex::new(0);
//! let guard = lock.lock();
//! this_thread::yield_now(); // Another thread of the worker calls lock.lock(): both wait for ever.
//! drop(guard);
//! ```
//!
//! A recursive or error-checking `pthread_mutex_t` cannot distinguish the threads of a worker.
//! While the owner of a recursive mutex waits, a second thread of its worker can therefore also
//! lock the mutex. The locks of [`sync`] can be held across every wait, and are never poisoned:
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
//! child with its values of [`ThreadLocal`], but it does not belong to a runtime there. When the
//! thread's body ends, the child process calls `exit` with code 0, or with code 101 after a panic.
//! A lock of [`sync`] that another thread holds at the fork stays locked in the child.

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
