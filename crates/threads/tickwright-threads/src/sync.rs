//! Locks, condition variables and mailboxes for threads of every model, and for threads that belong
//! to no runtime. While an M:N thread waits, its worker runs other threads.

mod channel;
mod condvar;
mod mutex;

pub use channel::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError, bounded, unbounded};
pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};

#[cfg(all(test, loom))]
mod models;
