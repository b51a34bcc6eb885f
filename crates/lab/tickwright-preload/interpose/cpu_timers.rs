//! POSIX timers that count processor time, which is not the time of the trace.
//!
//! `timer_settime` does not say which clock a timer has, so `timer_create` notes the timers of such
//! clocks in a lock-free table. A program has few such timers: a profiler has one per thread.

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The ids, each plus 1, of timers that count processor time. 0 is a free entry.
static IDS: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

/// The number of entries of [`IDS`], counted from the first entry, that have been in use.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a clock counts the processor time of this process, of this thread or of another
/// process or thread. A clock of another process or thread has a negative number. A negative number
/// whose lowest two bits are 3 is a clock of a device.
pub(crate) fn is_cpu_clock(clock: c_int) -> bool {
    const OF_PROCESS: c_int = 2;
    const OF_THREAD: c_int = 3;
    const KIND: c_int = 3;
    const DEVICE: c_int = 3;
    matches!(clock, OF_PROCESS | OF_THREAD) || (clock < 0 && clock & KIND != DEVICE)
}

/// Notes a timer. If the table is full, the timer is not noted, and is then recorded like a timer
/// of wall time.
pub(crate) fn insert(id: usize) {
    for (at, place) in IDS.iter().enumerate() {
        if place.compare_exchange(0, id.wrapping_add(1), AcqRel, Relaxed).is_ok() {
            USED.fetch_max(at + 1, Release);
            return;
        }
    }
}

/// Returns whether the table holds a timer. In a program without such timers the call costs one
/// load.
pub(crate) fn holds(id: usize) -> bool {
    place(id).is_some()
}

/// Forgets a timer. Returns whether the table held it.
pub(crate) fn remove(id: usize) -> bool {
    let taken = |place: &AtomicUsize| place.compare_exchange(id.wrapping_add(1), 0, AcqRel, Relaxed).is_ok();
    place(id).is_some_and(taken)
}

fn place(id: usize) -> Option<&'static AtomicUsize> {
    let used = USED.load(Acquire).min(IDS.len());
    IDS[..used].iter().find(|place| place.load(Acquire) == id.wrapping_add(1))
}
