//! The entry that a timer set keeps for each timer. The queue's structure keeps a record of its own
//! in addition.

use tickwright_nodes::arena::SlotState;

use super::timing::{Missed, Timing};

/// The states of a timer.
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
    /// Not armed. Only kept timers are ever idle.
    Idle,
    /// Armed, and not run yet.
    Pending,
    /// Its callback is running.
    Running,
}

/// The data that a set keeps for a timer, without the payload. It has 28 bytes, because the struct
/// is packed, and fills 32 bytes together with the generation of its slot.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Entry {
    /// The due time in ns. It is a wall time if the flag [`Wall`](Flag::Wall) is set, otherwise a
    /// time on the steady timeline.
    pub(super) due: u64,
    /// The period in ns.
    pub(super) period: u64,
    /// The `int` id, or 0 if the set issues none.
    pub(super) int: i32,
    pub(super) site: u16,
    /// The number of the pass in which the timer was armed.
    pub(super) pass: u16,
    pub(super) slack: Slack,
    pub(super) state: State,
    pub(super) missed: Missed,
    flags: u8,
}

const _: () = assert!(size_of::<SlotState<Entry>>() == 32);

/// Yes-or-no properties of a timer.
#[derive(Clone, Copy)]
pub(super) enum Flag {
    /// The timer is kept when it is done or cancelled, until it is shut down.
    Kept = 1,
    /// The timer is due by the wall clock.
    Wall = 2,
    /// The timer has a period, and not only the delay with which it was armed.
    Periodic = 4,
    /// The timer has run since its timing was set.
    Started = 8,
    /// The timer is running, and the result of its callback must not arm it again.
    Suppressed = 16,
    /// The timer is running, and was started again during this run.
    Restarted = 32,
}

/// When a timer is due: the due time in ns, whether it is a wall time, and the delay until then.
pub(super) struct Aim {
    pub(super) wall: bool,
    pub(super) due: u64,
    pub(super) delay: u64,
}

impl Entry {
    /// Creates the entry of a timer that is not armed.
    #[inline]
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

    /// Stores when the timer is due, and that it has not run since then.
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

    /// Notes that the timer is armed.
    #[inline]
    pub(super) fn arm(&mut self, pass: u16) {
        self.pass = pass;
        self.state = State::Pending;
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

    /// Clears a flag, and returns whether it was set.
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

    /// Returns the greatest representable slack that is at most `ns`.
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
