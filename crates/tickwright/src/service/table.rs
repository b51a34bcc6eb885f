//! The timers of a service: one entry each, named by an id that is stale for ever once its timer is
//! gone.
//!
//! An id is a slot and the slot's generation. Each service begins its generations elsewhere, so
//! that the id of one service is most likely stale in another. A slot that has gone through all its
//! generations is retired.

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, Ordering};

use tickwright_core::Key;

use super::timing::{Missed, Timing};

/// Names one timer of a service or scheduler: 64 bits, never 0. Stale for ever once the timer is
/// gone.
///
/// It means nothing to another service than its own; there it is almost certainly not found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(NonZeroU64);

impl TimerId {
    fn new(slot: u32, generation: u32) -> Self {
        // Slots end before `u32::MAX`, so the lower half is not 0.
        Self(NonZeroU64::MIN.saturating_add(u64::from(generation) << 32 | u64::from(slot)))
    }

    fn slot(self) -> Option<usize> {
        let low = self.0.get() & u64::from(u32::MAX);
        usize::try_from(low.checked_sub(1)?).ok()
    }

    fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// As a number that is never 0.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The id of [`to_bits`](Self::to_bits); `None` for 0. Whether it names a timer is for the
    /// service to say.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }
}

impl fmt::Debug for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimerId({:#x})", self.0)
    }
}

impl fmt::Display for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Where a timer is in its life.
///
/// ```text
///                 start                     take
///   ┌──────┐ ───────────────> ┌─────────┐ ───────> ┌─────────┐  finish: again, or started meanwhile
///   │ idle │ <─────────────── │ pending │ <─────── │ running │
///   └──────┘   cancel, kept   └─────────┘          └─────────┘
///      ^           cancel, not kept │                   │  finish: done
///      └────────────────────────────│──── kept ─────────┤
///                                   v                   v
///                                 gone (free; its id is stale)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not armed. Only timers that are kept are ever idle.
    Idle,
    /// Armed, and not yet run.
    Pending,
    /// In its callback.
    Running,
}

/// What is noted of a timer: 48 bytes and its payload, so that a plain callback and its data fill a
/// cache line.
pub(super) struct Entry<P> {
    /// `None` while it runs, and in a free slot.
    pub(super) payload: Option<P>,
    /// In ns: by the wall if [`WALL`](Flag::Wall) is set, else by the steady timeline.
    pub(super) due: u64,
    /// In ns.
    pub(super) period: u64,
    /// The user's, to find timers by.
    pub(super) token: usize,
    /// While it is in the queue. Pending without a key: taken from the queue already, and next.
    pub(super) key: Option<Key>,
    /// In steps of [`SLACK_STEP`]. In a free slot: the next free one, plus 1.
    slack: u32,
    generation: u32,
    pub(super) site: u16,
    /// In which pass it was armed.
    pub(super) pass: u16,
    /// `None`: the slot is free.
    pub(super) state: Option<State>,
    pub(super) missed: Missed,
    flags: u8,
}

/// What is true of a timer or not.
#[derive(Clone, Copy)]
pub(super) enum Flag {
    /// Kept when it is done or cancelled, until it is shut down.
    Kept = 1,
    /// Due by the wall.
    Wall = 2,
    /// It has a period of its own, and not only the delay that it was armed with.
    Periodic = 4,
    /// It was run before.
    Started = 8,
    /// Running, and not to be armed again by what its callback answers.
    Suppressed = 16,
    /// Running, and started again meanwhile.
    Restarted = 32,
}

/// In which slack is kept, in ns: about a microsecond. So the most is 73 minutes.
const SLACK_STEP: u64 = 1024;

const _: () = assert!(size_of::<Entry<(fn(), usize)>>() <= 64);

/// What a timer is armed for: when, by which clock, and how far that is from now.
pub(super) struct Aim {
    pub(super) wall: bool,
    pub(super) due: u64,
    pub(super) delay: u64,
}

impl<P> Entry<P> {
    /// Notes what it is armed for. It was not run since.
    pub(super) fn aim(&mut self, aim: &Aim, timing: &Timing) {
        self.due = aim.due;
        self.missed = timing.missed;
        self.period = timing.period.unwrap_or(aim.delay);
        self.set_slack(timing.slack);
        self.set(Flag::Wall, aim.wall);
        self.set(Flag::Periodic, timing.period.is_some());
        self.set(Flag::Started, false);
    }

    /// An idle timer, for [`Table::occupy`].
    pub(super) fn idle(site: u16, token: usize) -> Self {
        Self { token, site, ..Self::free(0) }
    }

    fn free(generation: u32) -> Self {
        Self {
            payload: None,
            due: 0,
            period: 0,
            token: 0,
            key: None,
            slack: 0,
            generation,
            site: 0,
            pass: 0,
            state: None,
            missed: Missed::Collapse,
            flags: 0,
        }
    }

    pub(super) fn is(&self, flag: Flag) -> bool {
        self.flags & flag as u8 != 0
    }

    pub(super) fn set(&mut self, flag: Flag, on: bool) {
        if on {
            self.flags |= flag as u8;
        } else {
            self.flags &= !(flag as u8);
        }
    }

    /// Clears a flag, and says whether it was set.
    pub(super) fn take(&mut self, flag: Flag) -> bool {
        let was = self.is(flag);
        self.set(flag, false);
        was
    }

    /// The slack in ns.
    pub(super) fn slack(&self) -> u64 {
        u64::from(self.slack) * SLACK_STEP
    }

    /// Rounds down to whole steps.
    pub(super) fn set_slack(&mut self, ns: u64) {
        self.slack = u32::try_from(ns / SLACK_STEP).unwrap_or(u32::MAX);
    }
}

/// The entries, and which of them are free.
pub(super) struct Table<P> {
    pub(super) entries: Vec<Entry<P>>,
    /// The first free slot, plus 1.
    free: u32,
    first_generation: u32,
    live: usize,
}

/// Far apart from service to service (the golden ratio of 2^32).
fn first_generation() -> u32 {
    static SERVICES: AtomicU32 = AtomicU32::new(1);
    SERVICES.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9).max(1)
}

impl<P> Table<P> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), free: 0, first_generation: first_generation(), live: 0 }
    }

    /// Room for `additional` more, if there is memory.
    #[must_use]
    pub(super) fn reserve(&mut self, additional: usize) -> bool {
        let free = self.entries.len() - self.live;
        self.entries.try_reserve(additional.saturating_sub(free)).is_ok()
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<P>>()
    }

    /// Takes a slot for an idle timer, and answers its id too. When memory or slot numbers are used
    /// up, nothing is changed, and the payload comes back.
    pub(super) fn occupy(&mut self, mut timer: Entry<P>, payload: P) -> Result<(TimerId, u32), P> {
        timer.state = Some(State::Idle);
        let (slot, generation) = match self.free.checked_sub(1) {
            Some(slot) => {
                let entry = &mut self.entries[slot as usize];
                (self.free, timer.generation) = (entry.slack, entry.generation);
                let generation = entry.generation;
                *entry = Entry { payload: Some(payload), ..timer };
                (slot, generation)
            }
            None => {
                let slot = self.entries.len();
                if slot >= u32::MAX as usize - 1 || self.entries.try_reserve(1).is_err() {
                    return Err(payload);
                }
                timer.generation = self.first_generation;
                self.entries.push(Entry { payload: Some(payload), ..timer });
                (slot as u32, self.first_generation)
            }
        };
        self.live += 1;
        Ok((TimerId::new(slot, generation), slot))
    }

    /// Gives a slot back; its id is stale from now on.
    pub(super) fn vacate(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        let generation = entry.generation.checked_add(1).unwrap_or(1);
        *entry = Entry::free(generation);
        self.live -= 1;
        // When the generations have come round, the slot is not used again.
        if generation != self.first_generation {
            entry.slack = self.free;
            self.free = slot + 1;
        }
    }

    pub(super) fn id(&self, slot: u32) -> Option<TimerId> {
        let entry = self.entries.get(slot as usize)?;
        Some(TimerId::new(slot, entry.generation))
    }

    /// The slot of a live timer.
    pub(super) fn find(&self, id: TimerId) -> Option<u32> {
        let slot = id.slot()?;
        let entry = self.entries.get(slot)?;
        (entry.generation == id.generation() && entry.state.is_some()).then_some(slot as u32)
    }

    /// All live slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u32, &Entry<P>)> + '_ {
        (0..).zip(&self.entries).filter(|(_, entry)| entry.state.is_some())
    }

    /// Sets the generation from which slots not yet used begin, and that of the used ones to the
    /// last: for tests of retirement.
    #[cfg(test)]
    pub(super) fn age(&mut self) {
        for entry in &mut self.entries {
            let last = self.first_generation.wrapping_sub(1);
            entry.generation = if last == 0 { u32::MAX } else { last };
        }
    }
}
