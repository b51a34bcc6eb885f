//! What happened, in order, for the oracle to judge when no clock runs.

/// Something that the driver did or was told by the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The handler was entered and read the clock.
    Woke {
        /// The reading.
        now: u64,
    },
    /// The queue gave out a due timer.
    Ticked {
        /// Which.
        id: u32,
        /// When it was due, as the queue says.
        expiry: u64,
        /// The periods that it missed, as the driver counts them.
        overruns: u64,
    },
    /// A timer was started.
    Started {
        /// Which.
        id: u32,
        /// When it is first due.
        expiry: u64,
    },
    /// A timer was stopped.
    Stopped {
        /// Which.
        id: u32,
    },
    /// The host tick headed the queue while urgent work was at hand: the hardware was set for the
    /// one after it.
    Deferred {
        /// What the queue answered.
        second: Option<u64>,
    },
    /// The handler left; the hardware is set for the head.
    Programmed {
        /// What the queue answered.
        head: Option<u64>,
    },
}

/// A log with room that is reserved before the clock starts.
#[derive(Debug)]
pub(crate) struct Log {
    events: Vec<Event>,
    limit: usize,
}

impl Log {
    /// A log that is full after about `limit` events. One wake-up of `timers` timers fits in beyond
    /// that without an allocation.
    pub(crate) fn new(limit: usize, timers: usize) -> Self {
        // Written once, so that the first slice finds its pages in memory.
        let mut events = vec![Event::Woke { now: 0 }; limit + 2 * timers + 8];
        events.clear();
        Self { events, limit }
    }

    /// Takes down one event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Whether the slice must end for the log to be read.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= self.limit
    }

    /// What was taken down.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Empties it and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}
