//! How often the driver thread wakes, and who calls the wakers.
//!
//! A wake-up of the driver costs two switches of threads, whether it fires one timer or a hundred.
//! While few ticks come due, the driver wakes for each. While many do, it rests after each pass,
//! and the next pass fires what has come due meanwhile.
//!
//! ```text
//!   due     |   |  |      | || ||| |||| ||| ||| || |||| |||      |
//!   passes  ^   ^  ^      ^ ^^ ^^^ ^^^^  ^      ^      ^         ^
//!                         64 ticks in a window > <----> rest
//! ```
//!
//! A waker that the driver calls wakes a thread of the executor, which would often run one task,
//! and sleep again, before the driver has called the next waker. A driver that rests therefore
//! calls one waker of a batch, and [hands over](Handed) the others. The poll of that task calls
//! them, on the executor's own thread. What nobody has called is called by the driver in its next
//! pass.

use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, lock};

/// The length of a window in ns: 33.6 ms.
const WINDOW: u64 = 1 << 25;

/// From this many due ticks in a window on, the driver rests: 1,907 ticks in a second. A driver
/// that rests goes on if half of its rests in a window end with a due tick, because tasks that a
/// pass wakes together set their next timers to the same tick.
const BUSY: u64 = 64;

/// How often different ticks came due. The driver counts them whether it rests or not, so that a
/// rest does not hide what made it necessary.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// When the window began.
    begun: u64,
    /// How many ticks came due in the window.
    ticks: u64,
    is_busy: bool,
}

impl Load {
    /// Notes a pass at `now` that found `ticks` due ticks. Returns whether to rest after it.
    fn note(&mut self, now: u64, ticks: u64, rest: u64) -> bool {
        self.ticks += ticks;
        self.is_busy |= self.ticks >= BUSY && now.saturating_sub(self.begun) < WINDOW;
        let enough = if self.is_busy { BUSY.min(WINDOW / 2 / rest.max(1)) } else { BUSY };
        if let Some(length) = now.checked_sub(self.begun).filter(|length| *length >= WINDOW) {
            // A window without a pass is longer: its rate counts.
            self.is_busy = self.ticks >= (length / WINDOW).saturating_mul(enough);
            (self.begun, self.ticks) = (now, 0);
        }
        self.is_busy
    }
}

/// The pace of a driver.
#[derive(Debug)]
pub(crate) struct Pace<T> {
    /// How long a rest is, in ns; 0: there is none.
    rest: u64,
    /// The end of the rest. A thread that reads an old value wakes the driver once more.
    rests_until: AtomicU64,
    /// What a pass hands over.
    pub(crate) handed: Handed<T>,
}

impl<T: Default> Pace<T> {
    pub(crate) fn new(rest: u64) -> Self {
        Self { rest, rests_until: AtomicU64::new(0), handed: Handed::default() }
    }

    /// Whether the wakers of this pass are handed over.
    pub(crate) fn hands_over(&self, load: &Load) -> bool {
        load.is_busy && self.rest > 0
    }

    /// Notes a pass at `now` that found `ticks` due ticks. The next one begins at `next`, or after
    /// the rest. Returns the time.
    pub(crate) fn next(&self, load: &mut Load, now: u64, ticks: u64, next: u64) -> u64 {
        let until = if load.note(now, ticks, self.rest) { now.saturating_add(self.rest) } else { 0 };
        self.rests_until.store(until, Ordering::Relaxed);
        if self.handed.any() { now.saturating_add(self.rest) } else { next.max(until) }
    }

    /// The time, or the end of the rest if that is later.
    pub(crate) fn after_rest(&self, at: u64) -> u64 {
        at.max(self.rests_until.load(Ordering::Relaxed))
    }
}

/// What one thread gives and any thread may take. A look that finds nothing costs one load.
#[derive(Debug, Default)]
pub(crate) struct Handed<T> {
    /// 1 if there may be something. Written under the lock.
    any: AtomicU32,
    all: Mutex<T>,
}

impl<T: Default> Handed<T> {
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: whoever gives calls a waker or looks again, and either comes after the store.
        self.any.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn give(&self, add: impl FnOnce(&mut T)) {
        let mut all = lock(&self.all);
        add(&mut all);
        self.any.store(1, Ordering::Relaxed);
    }

    pub(crate) fn take(&self) -> T {
        if !self.any() {
            return T::default();
        }
        let mut all = lock(&self.all);
        self.any.store(0, Ordering::Relaxed);
        core::mem::take(&mut all)
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
