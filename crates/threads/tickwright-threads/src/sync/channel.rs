//! A mailbox: many threads send letters, and many threads receive them. Letters are received in the
//! order in which they were sent. The receiver that has waited longest is woken first. A receiver
//! that arrives before the woken receiver runs can take its letter, but only once. After that, the
//! next letter is reserved for the waiting receiver.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use tickwright::time::Instant;
use tickwright_nodes::error_texts;

use crate::host;
use crate::primitive::modelled::{Mutex, MutexGuard};
use crate::waiters::{Ticket, Waiters};

#[derive(Debug)]
struct Mailbox<T> {
    letters: Mutex<VecDeque<T>>,
    room: usize,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// The threads that wait for letters. The next field, `full`, has the threads that wait for
    /// room.
    empty: Waiters,
    full: Waiters,
}

/// The sending side of a mailbox. Clones send to the same mailbox. After the last sender is dropped
/// and the last letter is received, receivers get an error.
#[derive(Debug)]
pub struct Sender<T>(Arc<Mailbox<T>>);

/// The receiving side of a mailbox. Clones share the letters. After the last receiver is dropped,
/// senders get an error.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Mailbox<T>>);

/// The error of a send when no receiver is left. It holds the letter.
pub struct SendError<T>(pub T);

/// The error of a send that does not wait. It holds the letter.
pub enum TrySendError<T> {
    /// The mailbox is full.
    Full(T),
    /// No receiver is left.
    Closed(T),
}

/// The error of a receive: the mailbox is empty, and no sender is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

/// The error of a receive that does not wait, or that waits for a limited time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// The mailbox is empty, or still empty at the end of the given time.
    Empty,
    /// The mailbox is empty, and no sender is left.
    Closed,
}

error_texts! { SendError<T>, T: _ => NO_RECEIVER }
error_texts! { TrySendError<T>, T:
    Self::Full(_) => "the mailbox is full: wait with send, or give it more room",
    Self::Closed(_) => NO_RECEIVER,
}
error_texts! { RecvError: Self => NO_SENDER }
error_texts! { TryRecvError: Self::Empty => "the mailbox is empty", Self::Closed => NO_SENDER }

const NO_RECEIVER: &str = "nobody receives: the last receiver was dropped";
const NO_SENDER: &str = "nobody sends: the last sender was dropped, and the mailbox is empty";

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError")
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full",
            Self::Closed(_) => "Closed",
        })
    }
}

/// Creates a mailbox with room for `room` letters. 0 is treated as 1. A thread that sends to a full
/// mailbox waits.
#[must_use]
pub fn bounded<T>(room: usize) -> (Sender<T>, Receiver<T>) {
    let mailbox = Arc::new(Mailbox {
        letters: Mutex::new(VecDeque::new()),
        room: room.max(1),
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
        empty: Waiters::new(),
        full: Waiters::new(),
    });
    (Sender(Arc::clone(&mailbox)), Receiver(mailbox))
}

/// Creates a mailbox for any number of letters, which only memory limits.
#[must_use]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

impl<T> Mailbox<T> {
    fn letters(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, letter: T, caller: Option<Ticket>) -> Result<(), TrySendError<T>> {
        let mut letters = self.letters();
        if self.receivers.load(Ordering::SeqCst) == 0 {
            return Err(TrySendError::Closed(letter));
        }
        let promised = usize::from(self.full.is_promised(caller));
        if letters.len() >= self.room - promised {
            return Err(TrySendError::Full(letter));
        }
        letters.push_back(letter);
        drop(letters);
        self.empty.wake_one();
        Ok(())
    }

    fn take(&self, caller: Option<Ticket>) -> Result<T, TryRecvError> {
        // The number of senders is read before the letters. If it is 0, every letter has already
        // been inserted.
        let closed = self.senders.load(Ordering::SeqCst) == 0;
        let mut letters = self.letters();
        let promised = usize::from(self.empty.is_promised(caller));
        let first = if letters.len() > promised { letters.pop_front() } else { None };
        // If a letter is still in the mailbox, it is reserved for another thread, which has been
        // woken.
        let closed = closed && letters.is_empty();
        drop(letters);
        match first {
            Some(letter) => {
                self.full.wake_one();
                Ok(letter)
            }
            None if closed => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }
}

impl<T> Sender<T> {
    /// Sends a letter. If the mailbox is full, waits for room without a time limit.
    ///
    /// # Errors
    /// [`SendError`], with the letter, if no receiver is left.
    pub fn send(&self, letter: T) -> Result<(), SendError<T>> {
        let put = |ticket, letter| match self.0.put(letter, ticket) {
            Ok(()) => Ok(Ok(())),
            Err(TrySendError::Closed(letter)) => Ok(Err(SendError(letter))),
            Err(TrySendError::Full(letter)) => Err(letter),
        };
        host::count_call();
        self.0.full.acquire(None, true, letter, put).unwrap_or_else(|letter| Err(SendError(letter)))
    }

    /// Sends a letter if there is room now.
    ///
    /// # Errors
    /// [`TrySendError`], with the letter, if the mailbox is full or no receiver is left.
    pub fn try_send(&self, letter: T) -> Result<(), TrySendError<T>> {
        host::count_call();
        self.0.put(letter, None)
    }
}

impl<T> Receiver<T> {
    /// Receives a letter. If there is none, waits for a letter without a time limit.
    ///
    /// # Errors
    /// [`RecvError`]: no sender is left.
    pub fn recv(&self) -> Result<T, RecvError> {
        self.receive(None).map_err(|_| RecvError)
    }

    /// Receives a letter if there is one now.
    ///
    /// # Errors
    /// [`TryRecvError`] if there is no letter, or only a letter that is reserved for another
    /// thread.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        host::count_call();
        self.0.take(None)
    }

    /// Receives a letter. If there is none, waits at most until the clock of the caller's runtime
    /// shows `at`.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if no letter came in time. [`TryRecvError::Closed`] if the mailbox
    /// is empty and no sender is left.
    pub fn recv_until(&self, at: Instant) -> Result<T, TryRecvError> {
        self.receive(Some(at))
    }

    fn receive(&self, until: Option<Instant>) -> Result<T, TryRecvError> {
        let take = |ticket, ()| match self.0.take(ticket) {
            Err(TryRecvError::Empty) => Err(()),
            received => Ok(received),
        };
        host::count_call();
        self.0.empty.acquire(until, true, (), take).unwrap_or(Err(TryRecvError::Empty))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.receivers.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.empty.wake_all();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.0.receivers.fetch_sub(1, Ordering::SeqCst) == 1 {
            let left = core::mem::take(&mut *self.0.letters());
            self.0.full.wake_all();
            drop(left);
        }
    }
}
