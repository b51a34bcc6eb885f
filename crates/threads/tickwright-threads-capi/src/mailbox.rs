//! A mailbox of pointers: many threads send, and many threads receive. It is built on the lock and
//! condition variables of `tickwright-threads` and not on its mailbox, because here the caller must
//! get an error if there is no memory for a letter.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::collections::VecDeque;

use tickwright::time::Instant;
use tickwright_boundary::state::{Shared, begin, create, destroy, end, state};
use tickwright_boundary::{answer, code, exported};
use tickwright_threads::sync::{Condvar, Mutex, MutexGuard};
use tickwright_threads::this_thread;

use crate::contract::shared;
use crate::waits::Waits;

/// A pointer that one thread sends to another thread.
#[derive(Debug)]
struct Letter(*mut c_void);

// SAFETY: by the header's contract another thread may have the pointers that are sent to it.
unsafe impl Send for Letter {}

#[derive(Debug, Default)]
struct Letters {
    waiting: VecDeque<Letter>,
    closed: bool,
}

/// A mailbox, in the library's own memory.
#[repr(C)]
#[derive(Debug)]
pub struct tw_mailbox {
    state: AtomicU64,
    /// The largest number of letters at one time.
    room: usize,
    letters: Mutex<Letters>,
    /// Notified when there is a letter, or when no more letters will come.
    arrived: Condvar,
    /// Notified when there is room, or when no more letters can be sent.
    left: Condvar,
    waits: Waits,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows it mutably.
unsafe impl Shared for tw_mailbox {
    const READY: u64 = 0x7469_636b_6d61_696c;
    const ENDING: u64 = 0x7469_636b_6d61_656e;
}

/// How long a call waits for a letter or for room.
#[derive(Clone, Copy)]
enum Until {
    Now,
    Time(Instant),
    Forever,
}

impl Until {
    fn after(ns: u64) -> Self {
        Self::Time(this_thread::now() + Duration::from_nanos(ns))
    }

    /// Waits on a condition variable of the mailbox.
    ///
    /// # Errors
    /// [`code::BUSY`] for a call that does not wait, [`code::LATE`] if the time limit has passed.
    fn wait<'m>(
        self,
        condition: &Condvar,
        guard: MutexGuard<'m, Letters>,
    ) -> Result<MutexGuard<'m, Letters>, c_int> {
        match self {
            Self::Now => Err(code::BUSY),
            Self::Time(at) if this_thread::now() >= at => Err(code::LATE),
            Self::Time(at) => Ok(condition.wait_until(guard, at).0),
            Self::Forever => Ok(condition.wait(guard)),
        }
    }
}

fn send(mailbox: *const tw_mailbox, letter: *mut c_void, until: Until) -> Result<c_int, c_int> {
    let mailbox = shared(mailbox)?;
    // Dropped last, because the call uses the mailbox until it returns.
    let mut waits = None;
    let mut letters = mailbox.letters.lock();
    loop {
        if letters.closed {
            return Err(code::CLOSED);
        }
        if letters.waiting.len() < mailbox.room {
            letters.waiting.try_reserve(1).map_err(|_| code::NO_MEMORY)?;
            letters.waiting.push_back(Letter(letter));
            drop(letters);
            mailbox.arrived.notify_one();
            return Ok(0);
        }
        waits.get_or_insert_with(|| mailbox.waits.begin());
        letters = until.wait(&mailbox.left, letters)?;
    }
}

fn receive(mailbox: *const tw_mailbox, until: Until) -> Result<*mut c_void, c_int> {
    let mailbox = shared(mailbox)?;
    // Dropped last, because the call uses the mailbox until it returns.
    let mut waits = None;
    let mut letters = mailbox.letters.lock();
    loop {
        if let Some(Letter(letter)) = letters.waiting.pop_front() {
            drop(letters);
            mailbox.left.notify_one();
            return Ok(letter);
        }
        if letters.closed {
            return Err(code::CLOSED);
        }
        waits.get_or_insert_with(|| mailbox.waits.begin());
        letters = until.wait(&mailbox.arrived, letters)?;
    }
}

exported!(
    /// Creates a mailbox.
    fn tw_mailbox_create(mailbox: *mut *mut tw_mailbox, capacity: usize) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(mailbox) }?;
            if capacity == 0 {
                return Err(code::INVALID);
            }
            let make = |at| tw_mailbox {
                state: AtomicU64::new(state(tw_mailbox::READY, at)),
                room: capacity,
                letters: Mutex::new(Letters::default()),
                arrived: Condvar::new(),
                left: Condvar::new(),
                waits: Waits::none(),
            };
            // SAFETY: `begin` has written to `mailbox`.
            unsafe { create(mailbox, make) }
        })
    }

    /// Destroys a mailbox.
    fn tw_mailbox_destroy(mailbox: *mut tw_mailbox) -> c_int {
        answer::code(|| {
            if mailbox.is_null() {
                return Ok(0);
            }
            let ending: &tw_mailbox = shared(mailbox.cast_const())?;
            if ending.waits.any() {
                return Err(code::BUSY);
            }
            end(ending)?;
            // SAFETY: 1. the object is from `create`; 2. it is no longer used, by the header's
            // contract.
            unsafe { destroy(mailbox) };
            Ok(0)
        })
    }

    /// Refuses all further letters.
    fn tw_mailbox_close(mailbox: *mut tw_mailbox) -> c_int {
        answer::code(|| {
            let mailbox: &tw_mailbox = shared(mailbox.cast_const())?;
            // A notification can yield to other threads, and without this count a receiver could
            // destroy the mailbox before the call continues.
            let _call = mailbox.waits.begin();
            mailbox.letters.lock().closed = true;
            mailbox.arrived.notify_all();
            mailbox.left.notify_all();
            Ok(0)
        })
    }

    /// Sends a letter. Waits if there is no room.
    fn tw_mailbox_send(mailbox: *mut tw_mailbox, letter: *mut c_void) -> c_int {
        answer::code(|| send(mailbox, letter, Until::Forever))
    }

    /// Sends a letter if there is room.
    fn tw_mailbox_trysend(mailbox: *mut tw_mailbox, letter: *mut c_void) -> c_int {
        answer::code(|| send(mailbox, letter, Until::Now))
    }

    /// Receives a letter. Waits if there is none.
    fn tw_mailbox_receive(mailbox: *mut tw_mailbox, letter: *mut *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::value(letter, || receive(mailbox, Until::Forever)) }
    }

    /// Receives a letter if there is one.
    fn tw_mailbox_tryreceive(mailbox: *mut tw_mailbox, letter: *mut *mut c_void) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::value(letter, || receive(mailbox, Until::Now)) }
    }

    /// Receives a letter. If there is none, waits at most for the given time.
    fn tw_mailbox_receive_for(mailbox: *mut tw_mailbox, letter: *mut *mut c_void, ns: u64) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::value(letter, || receive(mailbox, Until::after(ns))) }
    }

    /// Returns the number of letters in the mailbox.
    fn tw_mailbox_len(mailbox: *const tw_mailbox) -> isize {
        answer::count(|| Ok(shared(mailbox)?.letters.lock().waiting.len()))
    }
);
