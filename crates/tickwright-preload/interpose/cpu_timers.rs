//! POSIX timers that count processor time, which is no time of the trace.
//!
//! `timer_settime` does not say which clock a timer has. So `timer_create` notes the timers of such
//! clocks in a table without a lock. A program has few of them: a profiler has one a thread.

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The ids of timers of processor time, each plus 1; 0: none.
static IDS: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

/// How many places of [`IDS`], from the first on, were ever in use.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Whether a clock counts processor time: of this process, of this thread, or of another one, whose
/// clock has a negative number. A negative number that ends in 3 is a clock of a device.
pub(crate) fn is_cpu_clock(clock: c_int) -> bool {
    const OF_PROCESS: c_int = 2;
    const OF_THREAD: c_int = 3;
    const KIND: c_int = 3;
    const DEVICE: c_int = 3;
    matches!(clock, OF_PROCESS | OF_THREAD) || (clock < 0 && clock & KIND != DEVICE)
}

/// Notes a timer. A table that is full leaves it out: it is then taken for a timer of wall time.
pub(crate) fn insert(id: usize) {
    for (at, place) in IDS.iter().enumerate() {
        if place.compare_exchange(0, id.wrapping_add(1), AcqRel, Relaxed).is_ok() {
            USED.fetch_max(at + 1, Release);
            return;
        }
    }
}

/// Whether a timer is noted. Costs one load in a program without such timers.
pub(crate) fn holds(id: usize) -> bool {
    place(id).is_some()
}

/// Forgets a timer. Returns whether it was noted.
pub(crate) fn remove(id: usize) -> bool {
    let taken = |place: &AtomicUsize| place.compare_exchange(id.wrapping_add(1), 0, AcqRel, Relaxed).is_ok();
    place(id).is_some_and(taken)
}

fn place(id: usize) -> Option<&'static AtomicUsize> {
    let used = USED.load(Acquire).min(IDS.len());
    IDS[..used].iter().find(|place| place.load(Acquire) == id.wrapping_add(1))
}
