//! One thing that happened to one timer.

/// Nanoseconds on the clock of a trace, from its start. Negative before it.
pub type Ns = i64;

/// One thing that happened to one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When. Later events may have earlier times, where a source does not order them.
    pub time: Ns,
    /// Which timer. A number names one timer from its first event to the end of the trace.
    pub timer: u64,
    /// What happened.
    pub what: What,
    /// The thread that did it, as an index into [`Names`](crate::Names) of threads. 0: unknown.
    pub thread: u32,
    /// The processor it ran on, plus 1. 0: unknown.
    pub cpu: u16,
    /// The queue, as an index into [`Header::bases`](crate::Header::bases).
    pub base: u8,
    /// Where in the program, as an index into [`Names`](crate::Names) of sites. 0: unknown.
    pub site: u32,
}

impl Event {
    /// An event of an unknown thread, processor and site, in the first queue.
    #[must_use]
    pub const fn new(time: Ns, timer: u64, what: What) -> Self {
        Self { time, timer, what, thread: 0, cpu: 0, base: 0, site: 0 }
    }
}

/// What happened to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// It was not pending, and is from now on.
    Arm {
        /// When it is due.
        deadline: Ns,
        /// Its period in ns; 0: it expires once.
        period: u64,
    },
    /// It was pending, and is due at another time.
    Rearm {
        /// When it is due now.
        deadline: Ns,
        /// Its period in ns; 0: it expires once.
        period: u64,
    },
    /// It was pending, and is so no longer.
    Cancel,
    /// It expired.
    Fire,
}

impl What {
    /// The name in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm { .. } => "arm",
            Self::Rearm { .. } => "rearm",
            Self::Cancel => "cancel",
            Self::Fire => "fire",
        }
    }

    /// Its deadline and its period, if it was armed.
    #[must_use]
    pub const fn armed(self) -> Option<(Ns, u64)> {
        match self {
            Self::Arm { deadline, period } | Self::Rearm { deadline, period } => Some((deadline, period)),
            Self::Cancel | Self::Fire => None,
        }
    }
}
