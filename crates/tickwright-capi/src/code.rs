//! Results: zero or more is what was asked for, less is a negated `errno`.

use core::ffi::{CStr, c_char, c_int};

use tickwright_core::{KeyError, Reject};

/// A null pointer, an unknown value, or memory that is not what it is passed as.
pub const INVALID: c_int = -libc::EINVAL;
/// The timer or element is in no queue or heap.
pub const ABSENT: c_int = -libc::ENOENT;
/// It is in this one already.
pub const ALREADY: c_int = -libc::EALREADY;
/// It is in another one, or an element's position is not its own.
pub const ELSEWHERE: c_int = -libc::EXDEV;
/// A bounded queue is full, or the memory for a queue is too small.
pub const FULL: c_int = -libc::ENOSPC;
/// There is no memory.
pub const NO_MEMORY: c_int = -libc::ENOMEM;
/// A callback may not call this.
pub const BUSY: c_int = -libc::EBUSY;
/// A callback would wait for itself.
pub const DEADLOCK: c_int = -libc::EDEADLK;
/// There is no such thread.
pub const STALE: c_int = -libc::ESRCH;
/// The time was over.
pub const LATE: c_int = -libc::ETIMEDOUT;
/// The scheduler is being destroyed; the runtime has no threads in this process.
pub const ENDING: c_int = -libc::ECANCELED;
/// The clock or the system does not offer that.
pub const UNSUPPORTED: c_int = -libc::ENOTSUP;
/// The system has no thread to give.
pub const AGAIN: c_int = -libc::EAGAIN;
/// All identities of queues are used up.
pub const EXHAUSTED: c_int = -libc::EOVERFLOW;
/// Something does not belong at that end of a dictionary.
pub const OUT_OF_ORDER: c_int = -libc::ERANGE;
/// A structure is broken.
pub const BROKEN: c_int = -libc::EBADMSG;

/// What [`tw_strerror`] says.
const TEXTS: [(c_int, &CStr); 17] = [
    (0, c"done"),
    (INVALID, c"a null pointer, an unknown value, or memory that is not what it is passed as"),
    (ABSENT, c"there is no such timer, element or link (any more): it is done, was taken out, or was never put in"),
    (ALREADY, c"it is so already: in this queue, heap or dictionary (reschedule or update it), run by a thread, or destroyed"),
    (ELSEWHERE, c"it is in another queue, heap or dictionary: take it out there first; or a heap's element was pushed whose position was not 0: tw_heap_forget makes it 0"),
    (FULL, c"the queue is full, or the memory for it is too small: give it more capacity, or remove a timer first"),
    (NO_MEMORY, c"no memory: nothing was changed"),
    (BUSY, c"not while that runs: a callback of this queue, heap or dictionary, or of the scheduler on another thread; or the thread to be joined"),
    (DEADLOCK, c"a callback or thread cannot wait for its own end, nor for one that waits for it: do not wait, or return"),
    (STALE, c"there is no such thread (any more): it was joined, or was detached and has ended"),
    (LATE, c"the thread ran still when the time had come: join it later"),
    (ENDING, c"the scheduler is being destroyed, or this process is a fork without the runtime's threads: make another"),
    (UNSUPPORTED, c"the clock or the system does not offer that: create the scheduler with another clock"),
    (AGAIN, c"the system has no thread to give: try again later, or run the queue yourself"),
    (EXHAUSTED, c"this process has made 2^31 queues and dictionaries: no identity is left for another"),
    (OUT_OF_ORDER, c"its key does not belong at this end of the dictionary: insert it instead"),
    (BROKEN, c"the structure is broken: something else has overwritten a timer, an element, a link or the queue, or an order contradicts itself"),
];

/// What a result means, in English.
#[unsafe(no_mangle)]
pub extern "C" fn tw_strerror(code: c_int) -> *const c_char {
    let known = TEXTS.iter().find(|(known, _)| *known == code.min(0));
    known.map_or(c"no code of this library", |(_, text)| text).as_ptr()
}

/// Why a queue took no timer.
pub(crate) fn rejected(reject: Reject) -> c_int {
    match reject {
        Reject::Full => FULL,
        Reject::AlreadyLinked => ALREADY,
        Reject::WrongQueue => ELSEWHERE,
        Reject::NoIdentity => EXHAUSTED,
        _ => INVALID,
    }
}

/// Why a queue does not know a timer.
pub(crate) fn unknown(error: KeyError) -> c_int {
    match error {
        KeyError::Stale => ABSENT,
        KeyError::WrongQueue => ELSEWHERE,
        _ => INVALID,
    }
}

/// Calls a function of the caller's where others than the functions of the header are between it
/// and the program: they would catch what it throws, or clean up for it. Here the process ends, as
/// nothing unwinds out of an `extern "C"` function.
pub(crate) extern "C" fn contained<R>(call: impl FnOnce() -> R) -> R {
    call()
}
