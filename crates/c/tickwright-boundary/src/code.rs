//! The error codes of exported functions, and their texts. A result of 0 or more is a success, and
//! a negative result is a negated `errno`. The module `job` of `tickwright-capi` has the positive
//! results, such as `TW_CANCEL_ENDING`.

use core::ffi::{CStr, c_int};

macro_rules! codes {
    ($($(#[$what:meta])+ $name:ident = $number:ident: $text:literal;)+) => {
        $($(#[$what])+ pub const $name: c_int = -libc::$number;)+

        /// The texts that [`text`] returns.
        const TEXTS: &[(c_int, &CStr)] = &[(0, c"done"), $(($name, $text)),+];
    };
}

codes! {
    /// A null pointer, a value without a meaning, or memory that does not hold an object of the
    /// type.
    INVALID = EINVAL: c"a null pointer, a null callback, a delay less than 0, a number that has no meaning here, a size that is too small, memory that is not what it is passed as (any more), or a thread that cannot be joined";
    /// A struct of the caller has a field that this library does not know.
    TOO_NEW = E2BIG: c"a struct has a field that this library does not know, and it is not 0: use a newer library, or leave the field 0";
    /// The timer or element is in no queue or heap, or the scheduler has no such id, thread or
    /// descriptor.
    ABSENT = ENOENT: c"there is no such timer, id, element or link (any more): it is done, was cancelled or taken out, or was never added; or the scheduler has no thread or no descriptor";
    /// The timer or element is already in this queue or heap.
    ALREADY = EALREADY: c"it is so already: in this queue, heap or dictionary (reschedule or update it), run by a thread, or destroyed";
    /// The timer or element is in another queue or heap, or an element's position is wrong.
    ELSEWHERE = EXDEV: c"it is in another queue, heap or dictionary: take it out there first; or a heap's element was pushed whose position was not 0: tw_heap_forget makes it 0";
    /// A bounded queue is full, or the memory for a queue is too small.
    FULL = ENOSPC: c"the queue is full, or the memory for it is too small: give it more capacity, or remove a timer first";
    /// There is no memory.
    NO_MEMORY = ENOMEM: c"no memory: nothing was changed";
    /// The call must wait for something that still runs or is in use.
    BUSY = EBUSY: c"not now: a callback or clean-up function runs (of this queue, heap, dictionary, timer or scheduler), a thread still runs, a lock is held, a call waits in the object, or a mailbox is full or empty: call again when that has changed";
    /// A callback or thread would wait for itself.
    DEADLOCK = EDEADLK: c"a callback or thread cannot wait for its own end, nor for one that waits for it: do not wait, or return";
    /// There is no such thread.
    STALE = ESRCH: c"there is no such thread (any more): it was joined, or was detached and has ended";
    /// The time limit has passed.
    LATE = ETIMEDOUT: c"the time is over, and what the call waited for has not happened: call again later";
    /// The scheduler is being destroyed, or the runtime has no threads in this process.
    ENDING = ECANCELED: c"the scheduler is being destroyed, or this process is a fork without the runtime's threads: make another";
    /// The clock, the system or a scheduler of one thread does not offer the operation.
    UNSUPPORTED = ENOTSUP: c"the clock, the system, a scheduler of one thread or the model of threads does not offer that: create the scheduler with another clock or without TW_SCHED_ONE_THREAD, or the runtime with another model";
    /// The system cannot start another thread.
    AGAIN = EAGAIN: c"the system has no thread or stack left: try again when threads have ended; a scheduler also works without a thread of its own, if you run it yourself";
    /// The process has reached its limit of open descriptors.
    NO_DESCRIPTOR = EMFILE: c"this process has no descriptor left: close one, or raise its limit";
    /// The caller does not hold the lock.
    NOT_YOURS = EPERM: c"the calling thread does not hold the lock: lock it first";
    /// The mailbox is closed: no letter can be sent, and none is left.
    CLOSED = EPIPE: c"the mailbox is closed: no letter can be sent, and none is left";
    /// The number is not an open descriptor.
    NO_FILE = EBADF: c"that is no open descriptor";
    /// The process has used up all identities of queues.
    EXHAUSTED = EOVERFLOW: c"this process has made 2^31 queues and dictionaries: no identity is left for another";
    /// The key is not in order at the given end of the dictionary.
    OUT_OF_ORDER = ERANGE: c"its key does not belong at this end of the dictionary: insert it instead";
    /// A loop on another thread sleeps beyond the timer's due time, and nothing wakes it.
    ASLEEP = ENOTCONN: c"a loop on another thread sleeps for tw_sched_timeout_ms, beyond that time, and the scheduler cannot wake it: let the loop poll tw_sched_fd, or set a function that wakes the loop (tw_sched_set_wake), which may do nothing if the program wakes the loop after each arm, or give the scheduler a thread of its own";
    /// A structure is broken.
    BROKEN = EBADMSG: c"the structure is broken: something else has overwritten a timer, an element, a link or the queue, or an order contradicts itself";
}

/// Describes a result in English.
#[must_use]
pub fn text(code: c_int) -> &'static CStr {
    let known = TEXTS.iter().find(|(known, _)| *known == code.min(0));
    known.map_or(c"no code of this library", |(_, text)| text)
}

/// Calls a function of the caller. If it throws an exception, the process ends here, because
/// nothing unwinds out of an `extern "C"` function. Without this function, code between the
/// callback and the exported function could catch the exception or run clean-up code.
pub extern "C" fn contained<R>(call: impl FnOnce() -> R) -> R {
    call()
}
