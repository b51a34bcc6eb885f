//! One timer of a service: what is noted of it beside the record that the structure keeps.

use tickwright_nodes::arena::Slot;

use super::timing::{Missed, Timing};

/// Where a timer is in its life.
///
/// ```text
///                 start                     take
///   ┌──────┐ ───────────────> ┌─────────┐ ───────> ┌─────────┐  finish: again, or started
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

/// What is noted of a timer, but for its payload: 28 bytes. Packed, so that the generation of its
/// slot fills 32 with it.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub(super) struct Entry {
    /// In ns: by the wall if [`WALL`](Flag::Wall) is set, else by the steady timeline.
    pub(super) due: u64,
    /// In ns.
    pub(super) period: u64,
    /// The `int` id, or 0 where none are issued.
    pub(super) int: i32,
    pub(super) site: u16,
    /// In which pass it was armed.
    pub(super) pass: u16,
    pub(super) slack: Slack,
    pub(super) state: State,
    pub(super) missed: Missed,
    flags: u8,
}

const _: () = assert!(size_of::<Slot<Entry>>() == 32);

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
    /// Running, and not to be armed again by what its callback returns.
    Suppressed = 16,
    /// Running, and started again meanwhile.
    Restarted = 32,
    /// Linked into the queue. Pending and not linked: taken from the queue already, and next.
    Linked = 64,
}

/// What a timer is armed for, in ns: when, by which clock, and how far that is from now.
pub(super) struct Aim {
    pub(super) wall: bool,
    pub(super) due: u64,
    pub(super) delay: u64,
}

impl Entry {
    /// A timer that is not armed.
    pub(super) fn idle(site: u16) -> Self {
        Self {
            due: 0,
            period: 0,
            int: 0,
            site,
            pass: 0,
            slack: Slack::NONE,
            state: State::Idle,
            missed: Missed::Collapse,
            flags: 0,
        }
    }

    /// Notes what it is armed for. It was not run since.
    #[inline]
    pub(super) fn aim(&mut self, aim: &Aim, timing: &Timing) {
        self.due = aim.due;
        self.missed = timing.missed;
        self.period = timing.period_ns.unwrap_or(aim.delay);
        self.slack = Slack::at_most(timing.slack_ns);
        let kept = self.flags & !(Flag::Wall as u8 | Flag::Periodic as u8 | Flag::Started as u8);
        let periodic = timing.period_ns.is_some();
        let wall = u8::from(aim.wall) * Flag::Wall as u8;
        self.flags = kept | wall | (u8::from(periodic) * Flag::Periodic as u8);
    }

    /// Notes that it is armed, and in the queue from now on.
    #[inline]
    pub(super) fn arm(&mut self, pass: u16) {
        self.pass = pass;
        self.state = State::Pending;
        self.set(Flag::Linked, true);
    }

    #[inline]
    pub(super) fn is(&self, flag: Flag) -> bool {
        self.flags & flag as u8 != 0
    }

    #[inline]
    pub(super) fn set(&mut self, flag: Flag, on: bool) {
        let bit = flag as u8;
        self.flags = if on { self.flags | bit } else { self.flags & !bit };
    }

    /// Clears a flag, and says whether it was set.
    #[inline]
    pub(super) fn take(&mut self, flag: Flag) -> bool {
        let was = self.is(flag);
        self.set(flag, false);
        was
    }
}

/// A slack in one byte: four significant bits, in units of 1024 ns.
///
/// ```text
///   code   0 ..= 15      units = code
///          16 ..= 255    units = (8 + code % 8) << (code / 8 - 1)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slack(u8);

impl Slack {
    pub(super) const NONE: Self = Self(0);
    const UNIT: u64 = 1024;

    /// The greatest span that is not above `ns`.
    #[inline]
    pub(super) fn at_most(ns: u64) -> Self {
        let units = ns / Self::UNIT;
        if units < 8 {
            return Self(units as u8);
        }
        let shift = units.ilog2() - 3;
        // The shift is at most 50, and the shifted units are 8 to 15.
        let code = (u64::from(shift) + 1) * 8 + (units >> shift) - 8;
        Self(u8::try_from(code).unwrap_or(u8::MAX))
    }

    pub(super) fn ns(self) -> u64 {
        let code = u64::from(self.0);
        let units = if code < 8 { code } else { (8 + code % 8) << (code / 8 - 1) };
        units * Self::UNIT
    }
}
