//! A mailbox for one call at a time. A waiter can first spin, and then sleeps on a futex. A post
//! wakes a sleeping waiter, and makes no system call if no thread sleeps.
//!
//! ```text
//!           post: write the words, swap to FULL          take: FULL -> EMPTY, read the words
//!   EMPTY -------------------------------------> FULL --------------------------------> EMPTY
//!     | take finds nothing                         ^
//!     v                                            |  post swaps, finds ASLEEP, wakes one
//!   ASLEEP ----------------------------------------+       any -> CLOSED: for ever, wakes all
//! ```
//! One side only posts and the other side only takes, and they alternate, so a post never finds the
//! state FULL.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::io;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

const EMPTY: u32 = 0;
const FULL: u32 = 1;
const ASLEEP: u32 = 2;
const CLOSED: u32 = 3;

/// One direction, on its own cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU32,
    words: [AtomicU64; 3],
}

/// Both directions.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    pub(super) requests: Slot,
    pub(super) replies: Slot,
}

impl Slot {
    #[inline]
    pub(super) fn post(&self, words: [u64; 3]) -> io::Result<()> {
        for (to, word) in self.words.iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
        // Release: a taker that acquires FULL also sees the words.
        match self.state.swap(FULL, Ordering::AcqRel) {
            ASLEEP => futex::wake(&self.state, Flags::PRIVATE, 1).map(|_| ()).map_err(io::Error::from),
            CLOSED => {
                // The swap has overwritten CLOSED. Restore it, and wake a waiter that has fallen
                // asleep.
                self.close();
                Err(io::ErrorKind::BrokenPipe.into())
            }
            _ => Ok(()),
        }
    }

    /// Checks the state `spins` times before it sleeps. Returns the words, or `None` if the mailbox
    /// was closed.
    #[inline]
    pub(super) fn take(&self, mut spins: u32) -> io::Result<Option<[u64; 3]>> {
        loop {
            match self.state.load(Ordering::Acquire) {
                FULL => break,
                CLOSED => return Ok(None),
                EMPTY if spins > 0 => {
                    spins -= 1;
                    spin_loop();
                }
                EMPTY => {
                    // If the state is no longer EMPTY, the exchange fails and the next iteration
                    // reads the new state.
                    let _ = self.state.compare_exchange(EMPTY, ASLEEP, Ordering::Relaxed, Ordering::Relaxed);
                }
                _ => match futex::wait(&self.state, Flags::PRIVATE, ASLEEP, None) {
                    Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
        let words = [0, 1, 2].map(|at: usize| self.words[at].load(Ordering::Relaxed));
        let _ = self.state.compare_exchange(FULL, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
        Ok(Some(words))
    }

    fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
        // The result is ignored: waking cannot fail for a mapped address.
        let _ = futex::wake(&self.state, Flags::PRIVATE, u32::MAX >> 1);
    }
}

impl Mailbox {
    /// Hangs up, from either side, and wakes all waiters. Every later call fails.
    pub(crate) fn close(&self) {
        self.requests.close();
        self.replies.close();
    }
}
