//! The oracle gives the expected results: it is an array that is searched from end to end.

/// A timer of the oracle.
#[derive(Clone, Copy, Debug)]
struct Armed {
    expiry: u64,
    arrival: u32,
}

/// A queue of `N` timers, named by their numbers, that is too simple to be wrong.
#[derive(Debug)]
pub struct Oracle<const N: usize> {
    armed: [Option<Armed>; N],
    arrivals: u32,
    /// Whether the latest of several equal timers leaves first, which is wrong.
    backwards: bool,
    /// The greatest tick that was passed to the oracle so far.
    pub now: u64,
}

impl<const N: usize> Oracle<N> {
    /// Creates an oracle without pending timers.
    #[must_use]
    pub const fn new() -> Self {
        Self { armed: [None; N], arrivals: 0, backwards: false, now: 0 }
    }

    /// Creates an oracle that breaks ties backwards. The machine must find that every exact
    /// structure differs from it.
    #[must_use]
    pub const fn backwards() -> Self {
        Self { backwards: true, ..Self::new() }
    }

    /// Makes a timer pending, after all equal timers. Returns its expiry.
    pub fn arm(&mut self, timer: usize, deadline: u64) -> u64 {
        self.arrivals += 1;
        let expiry = deadline.max(self.now);
        self.armed[timer] = Some(Armed { expiry, arrival: self.arrivals });
        expiry
    }

    /// Replaces the expiry of a pending timer by the expiry that a granular queue chose.
    pub fn settle(&mut self, timer: usize, expiry: u64) {
        if let Some(armed) = &mut self.armed[timer] {
            armed.expiry = expiry;
        }
    }

    /// Removes a timer. Returns whether the timer was pending.
    pub fn disarm(&mut self, timer: usize) -> bool {
        self.armed[timer].take().is_some()
    }

    /// Returns when a timer is due.
    #[must_use]
    pub fn expiry(&self, timer: usize) -> Option<u64> {
        self.armed[timer].map(|armed| armed.expiry)
    }

    /// Returns the number of pending timers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.armed.iter().flatten().count()
    }

    /// Returns whether no timer is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the timer that leaves after `skip` other timers, and its expiry.
    #[must_use]
    pub fn nth(&self, skip: usize) -> Option<(usize, u64)> {
        let mut last = None;
        for _ in 0..=skip {
            let places = self.armed.iter().enumerate().filter_map(|(timer, armed)| {
                let Armed { expiry, arrival } = (*armed)?;
                let arrival = if self.backwards { u32::MAX - arrival } else { arrival };
                Some((expiry, arrival, timer))
            });
            last = places.filter(|place| last.is_none_or(|last| *place > last)).min();
            last?;
        }
        last.map(|(expiry, _, timer)| (timer, expiry))
    }

    /// Removes all timers.
    pub fn clear(&mut self) {
        self.armed = [None; N];
    }
}

impl<const N: usize> Default for Oracle<N> {
    fn default() -> Self {
        Self::new()
    }
}
