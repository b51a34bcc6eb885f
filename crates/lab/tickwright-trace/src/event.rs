//! One thing that happened to one timer.

/// Nanoseconds on the clock of a trace, from its start. Times before the start are negative.
pub type Ns = i64;

/// A deadline that the source does not state, or that never comes. Such an arm has no delay.
///
/// For example, the kernel arms timers that must never fire, and timers on clocks that a trace does
/// not show. A replay treats such a deadline as later than the end of the trace.
pub const UNKNOWN: Ns = Ns::MAX;

/// One thing that happened to one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When the event happened. A later event can have an earlier time if the source does not order
    /// its events.
    pub time: Ns,
    /// The timer's number, which names one timer from its first event to the end of the trace.
    pub timer: u64,
    /// What happened.
    pub what: What,
    /// The thread that caused the event, as an index into [`Names`](crate::Names) of threads. 0:
    /// unknown.
    pub thread: u32,
    /// The processor on which the thread ran, plus 1. 0: unknown.
    pub cpu: u16,
    /// The queue, as an index into [`Header::bases`](crate::Header::bases).
    pub base: u8,
    /// The place in the program, as an index into [`Names`](crate::Names) of sites. 0: unknown.
    pub site: u32,
}

impl Event {
    /// Creates an event of an unknown thread, processor and site, in the first queue.
    #[must_use]
    pub const fn new(time: Ns, timer: u64, what: What) -> Self {
        Self { time, timer, what, thread: 0, cpu: 0, base: 0, site: 0 }
    }
}

/// What happened to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The timer was not pending, and is pending from now on.
    Arm {
        /// When the timer is due; [`UNKNOWN`] if the trace does not say.
        deadline: Ns,
        /// The timer's period in ns; 0: it expires once.
        period: u64,
    },
    /// The timer was pending, and now has another deadline.
    Rearm {
        /// The new deadline; [`UNKNOWN`] if the trace does not say.
        deadline: Ns,
        /// The timer's period in ns; 0: it expires once.
        period: u64,
    },
    /// The timer was pending, and was cancelled.
    Cancel,
    /// The timer expired.
    Fire,
}

impl What {
    /// Returns the name that text formats use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm { .. } => "arm",
            Self::Rearm { .. } => "rearm",
            Self::Cancel => "cancel",
            Self::Fire => "fire",
        }
    }

    /// Returns the deadline, if the event armed the timer and the deadline is not [`UNKNOWN`].
    #[must_use]
    pub fn deadline(self) -> Option<Ns> {
        self.armed().map(|(deadline, _)| deadline).filter(|&deadline| deadline != UNKNOWN)
    }

    /// Returns the deadline and the period, if the event armed the timer.
    #[must_use]
    pub const fn armed(self) -> Option<(Ns, u64)> {
        match self {
            Self::Arm { deadline, period } | Self::Rearm { deadline, period } => Some((deadline, period)),
            Self::Cancel | Self::Fire => None,
        }
    }
}
