//! The event log of a slice. The oracle reads it after the slice, when nothing is timed.

/// An action of the driver or a result of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The handler was called and read the clock.
    Woke {
        now: u64,
    },
    /// The queue returned a due timer.
    Ticked {
        id: u32,
        /// The deadline that the queue returned, in ns.
        expiry: u64,
        /// The number of missed periods, as counted by the driver.
        overruns: u64,
    },
    Started {
        id: u32,
        expiry: u64,
    },
    Stopped {
        id: u32,
    },
    /// The host tick was the head while urgent work was pending, so the hardware was set for the
    /// entry after the host tick.
    Deferred {
        second: Option<u64>,
    },
    /// The handler returned, and the hardware is set for the head.
    Programmed {
        head: Option<u64>,
    },
}

/// A log whose room is reserved before the clock starts.
#[derive(Debug)]
pub(crate) struct Log {
    events: Vec<Event>,
    limit: usize,
}

impl Log {
    /// Creates a log that is full after about `limit` events. The events of one more wake-up of
    /// `timers` timers fit without an allocation.
    pub(crate) fn new(limit: usize, timers: usize) -> Self {
        // The memory is written once, so that its pages are present before the first slice.
        let mut events = vec![Event::Woke { now: 0 }; limit + 2 * timers + 8];
        events.clear();
        Self { events, limit }
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Returns whether the log is full, so that the slice must end.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= self.limit
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Removes all events and keeps the allocation.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}
