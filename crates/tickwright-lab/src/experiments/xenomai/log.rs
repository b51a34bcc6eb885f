//! What happened, in order, for the oracle to judge when no clock runs.

/// Something that the driver did or was told by the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The handler was entered and read the clock.
    Woke {
        now: u64,
    },
    /// The queue gave out a due timer.
    Ticked {
        id: u32,
        /// When it was due, as the queue says.
        expiry: u64,
        /// The periods that it missed, as the driver counts them.
        overruns: u64,
    },
    Started {
        id: u32,
        expiry: u64,
    },
    Stopped {
        id: u32,
    },
    /// The host tick headed the queue while urgent work was at hand: the hardware was set for the
    /// one after it.
    Deferred {
        second: Option<u64>,
    },
    /// The handler left; the hardware is set for the head.
    Programmed {
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

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Whether the slice must end for the log to be read.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= self.limit
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Empties it and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}
