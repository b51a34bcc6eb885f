//! Results: zero or more is what was asked for, less is a negated `errno`.

use core::ffi::{CStr, c_int};

macro_rules! codes {
    ($($(#[$what:meta])+ $name:ident = $number:ident: $text:literal;)+) => {
        $($(#[$what])+ pub const $name: c_int = -libc::$number;)+

        /// What [`text`] says.
        const TEXTS: &[(c_int, &CStr)] = &[(0, c"done"), $(($name, $text)),+];
    };
}

codes! {
    /// A null pointer, an unknown value, or memory that is not what it is passed as.
    INVALID = EINVAL: c"a null pointer, an unknown value, or memory that is not what it is passed as";
    /// A struct of the caller has a field that is not known.
    TOO_NEW = E2BIG: c"a struct has a field that this library does not know, and it is not 0: use a newer library, or leave the field 0";
    /// The timer or element is in no queue or heap.
    ABSENT = ENOENT: c"there is no such timer, element or link (any more): it is done, was taken out, or was never put in";
    /// It is in this one already.
    ALREADY = EALREADY: c"it is so already: in this queue, heap or dictionary (reschedule or update it), run by a thread, or destroyed";
    /// It is in another one, or an element's position is not its own.
    ELSEWHERE = EXDEV: c"it is in another queue, heap or dictionary: take it out there first; or a heap's element was pushed whose position was not 0: tw_heap_forget makes it 0";
    /// A bounded queue is full, or the memory for a queue is too small.
    FULL = ENOSPC: c"the queue is full, or the memory for it is too small: give it more capacity, or remove a timer first";
    /// There is no memory.
    NO_MEMORY = ENOMEM: c"no memory: nothing was changed";
    /// A callback may not call this.
    BUSY = EBUSY: c"not while that runs: a callback of this queue, heap or dictionary, or of the scheduler on another thread; or the thread to be joined";
    /// A callback would wait for itself.
    DEADLOCK = EDEADLK: c"a callback or thread cannot wait for its own end, nor for one that waits for it: do not wait, or return";
    /// There is no such thread.
    STALE = ESRCH: c"there is no such thread (any more): it was joined, or was detached and has ended";
    /// The time was over.
    LATE = ETIMEDOUT: c"the thread ran still when the time had come: join it later";
    /// The scheduler is being destroyed; the runtime has no threads in this process.
    ENDING = ECANCELED: c"the scheduler is being destroyed, or this process is a fork without the runtime's threads: make another";
    /// The clock or the system does not offer that.
    UNSUPPORTED = ENOTSUP: c"the clock or the system does not offer that: create the scheduler with another clock";
    /// The system has no thread to give.
    AGAIN = EAGAIN: c"the system has no thread to give: try again later, or run the queue yourself";
    /// The process has no descriptor left.
    NO_DESCRIPTOR = EMFILE: c"this process has no descriptor left: close one, or raise its limit";
    /// The caller does not hold the lock.
    NOT_YOURS = EPERM: c"the calling thread does not hold the lock: lock it first";
    /// Nothing can be sent or received any more.
    CLOSED = EPIPE: c"the mailbox is closed: no letter can be sent, and none is left";
    /// That is no descriptor.
    NO_FILE = EBADF: c"that is no open descriptor";
    /// All identities of queues are used up.
    EXHAUSTED = EOVERFLOW: c"this process has made 2^31 queues and dictionaries: no identity is left for another";
    /// Something does not belong at that end of a dictionary.
    OUT_OF_ORDER = ERANGE: c"its key does not belong at this end of the dictionary: insert it instead";
    /// A structure is broken.
    BROKEN = EBADMSG: c"the structure is broken: something else has overwritten a timer, an element, a link or the queue, or an order contradicts itself";
}

/// What a result means, in English.
#[must_use]
pub fn text(code: c_int) -> &'static CStr {
    let known = TEXTS.iter().find(|(known, _)| *known == code.min(0));
    known.map_or(c"no code of this library", |(_, text)| text)
}

/// Calls a function of the caller's where functions outside of the header are between it and the
/// program. Those functions would catch what it throws, or clean up for it. Here the process ends,
/// as nothing unwinds out of an `extern "C"` function.
pub extern "C" fn contained<R>(call: impl FnOnce() -> R) -> R {
    call()
}
