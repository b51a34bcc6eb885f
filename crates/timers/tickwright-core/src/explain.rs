//! What a queue can tell about one pending timer: where it is in the structure, and when it moves
//! or leaves.

use core::fmt;

use crate::contract::{Span, Tick};

/// Where a pending timer is in the structure, and when it moves next. The information is valid
/// until the queue changes.
///
/// ```
/// use tickwright_core::{SlabQueue, Wheel};
///
/// let mut queue: SlabQueue<Wheel, &str> = SlabQueue::new();
/// queue.insert(69_700, "egg")?;
/// let tea = queue.insert(70_000, "tea")?;
/// assert_eq!(
///     queue.explain(tea)?.to_string(),
///     "due at 70000; level 2, bucket 17 [69632, 73728); moves down at 69700"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Display`](fmt::Display) writes one line for human readers and allocates nothing. The text of
/// the line can change between versions, so programs should read the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// `max(deadline, now)` of the last insert or reschedule, in ticks.
    pub deadline: Tick,
    /// The tick at which the timer is due. In a granular structure the expiry is later than
    /// `deadline`.
    pub expiry: Tick,
    /// Where the timer is.
    pub whereabouts: Whereabouts,
}

impl Explanation {
    /// Creates the explanation of a timer with this deadline and expiry. This function is for
    /// implementers of structures.
    #[must_use]
    pub const fn new(deadline: Tick, expiry: Tick, whereabouts: Whereabouts) -> Self {
        Self { deadline, expiry, whereabouts }
    }

    /// Returns the number of ticks by which the timer's expiry is after its deadline, which is 0 in
    /// an exact structure.
    #[must_use]
    pub const fn lateness(&self) -> Span {
        self.expiry.saturating_sub(self.deadline)
    }
}

/// Where a timer is in its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whereabouts {
    /// In a list or tree that is in order of expiry. The timer does not move unless it is
    /// rescheduled.
    InOrder,
    /// In the array of a heap.
    Heap {
        /// The number of children of an entry: 2 or 4.
        arity: usize,
        /// The entry's position; the root is 1.
        position: usize,
        /// The number of positions in use.
        positions: usize,
    },
    /// In the list of one delay, after another timer with that delay.
    DelayList {
        /// The delay of the timers that are appended to this list, in ticks.
        delay: Span,
    },
    /// In a bucket of the exact wheel.
    Bucket {
        /// The level, from 0.
        level: usize,
        /// The index of the bucket in the level, from 0.
        bucket: usize,
        /// The first tick that the bucket covers.
        first: Tick,
        /// The last tick that the bucket covers.
        last: Tick,
        /// The tick at which the bucket's timers move to lower levels. `None` when the timer leaves
        /// directly from this bucket, because the bucket is at level 0 or holds no other timer.
        moves_at: Option<Tick>,
    },
    /// In a bucket of the coarse wheel. All timers of the bucket are due when the bucket ends.
    EndingBucket {
        /// The level, from 0.
        level: usize,
        /// The index of the bucket in the level, from 0.
        bucket: usize,
        /// The first deadline that the bucket covers.
        first: Tick,
        /// The last deadline that the bucket covers.
        last: Tick,
    },
    /// In a far bucket of the coarse wheel, because the timer's delay was too long for every level.
    FarBucket {
        /// The far bucket's power of two, from 0 to 63.
        power: usize,
        /// The tick at which the wheel inserts the timer again. The remaining delay is then
        /// shorter.
        reinserted_at: Tick,
    },
    /// Rescheduled to a later tick, but not yet moved: the timer's entry is still among the entries
    /// for an earlier tick. The queue moves the timer to its new place when it reads this entry, at
    /// the entry's tick at the latest.
    Deferred {
        /// The tick of the entry, which is before the expiry.
        placed: Tick,
    },
    /// In the list of timers that are due, which leave at the next advance.
    DueList,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lateness() > 0 {
            write!(f, "deadline {}, ", self.deadline)?;
        }
        write!(f, "due at {}", self.expiry)?;
        match self.lateness() {
            0 => f.write_str("; "),
            1 => f.write_str(" (1 tick late); "),
            late => write!(f, " ({late} ticks late); "),
        }?;
        self.whereabouts.fmt(f)
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The end of a bucket can be 2^64.
        let end = |last: Tick| u128::from(last) + 1;
        match *self {
            Self::InOrder => f.write_str("fires as soon as the clock reaches it"),
            Self::Heap { arity, position, positions } => {
                write!(f, "in a {arity}-ary heap at position {position} of {positions}")
            }
            Self::DelayList { delay } => {
                write!(f, "in the list of delay {delay}, behind another timer")
            }
            Self::Bucket { level, bucket, first, last, moves_at } => {
                write!(f, "level {level}, bucket {bucket} [{first}, {}); ", end(last))?;
                match moves_at {
                    Some(tick) => write!(f, "moves down at {tick}"),
                    None if level == 0 => f.write_str("leaves from there"),
                    None => f.write_str("alone there, so it leaves from there"),
                }
            }
            Self::EndingBucket { level, bucket, first, last } => {
                write!(f, "level {level}, bucket {bucket} [{first}, {}); leaves at its end", end(last))
            }
            Self::FarBucket { power, reinserted_at } => {
                write!(f, "far bucket {power}; inserted again at {reinserted_at}")
            }
            Self::Deferred { placed } => {
                write!(f, "was moved to a later tick; its entry for {placed} is placed again by then")
            }
            Self::DueList => f.write_str("in the due list; leaves at the next advance"),
        }
    }
}
