//! Timers that follow the wall clock. They are inserted with the clock's offset from the steady
//! clock, and are inserted again when that offset changes by a step.

use super::timer::{Flag, State};
use super::timer_set::TimerSet;

/// If the offset of the wall clock changes by more than this many ns, all timers that follow it are
/// inserted again. The limit is half of the 1 ms by which such timers can be late, because the
/// error can occur twice: a timer can be inserted with an offset that is this much below the
/// recorded offset, and later run with an offset that is this much above it. Such timers are never
/// early.
const STEP: u64 = 500_000;

impl<P> TimerSet<P> {
    /// If the wall clock was stepped, reinserts all timers that follow it.
    #[inline]
    pub(super) fn look_at_wall(&mut self, now: u64) {
        if self.walls > 0 {
            self.follow_wall(now);
        }
    }

    #[cold]
    fn follow_wall(&mut self, now: u64) {
        let Some(offset) = self.clock.get().wall_offset() else { return };
        if offset.abs_diff(self.wall_offset) < STEP {
            return;
        }
        (self.wall_offset, self.stepped_at) = (offset, now);
        self.statistics.steps += 1;
        let wall_now = shifted(now, offset);
        let mut from = 0;
        while let Some((key, entry)) = self.table.next(&mut from) {
            if !entry.is(Flag::Wall) || entry.state != State::Pending {
                continue;
            }
            let entry = self.table.entry(key);
            let before = entry.due.saturating_sub(wall_now);
            let on_a_grid = entry.is(Flag::Periodic) && entry.is(Flag::Started) && entry.period > 0;
            if on_a_grid && before > entry.period {
                // The wall clock was set back, so the grid continues from the new time.
                entry.due -= (before - 1) / entry.period * entry.period;
            }
            let due = unshifted(entry.due, offset);
            self.walls -= 1;
            self.drop_aside(key);
            self.file_at(key, due, now);
        }
    }
}

/// Converts a time on the steady timeline to a wall time.
pub(super) fn shifted(steady: u64, offset: i64) -> u64 {
    steady.saturating_add_signed(offset)
}

/// Converts a wall time to a time on the steady timeline.
pub(super) fn unshifted(wall: u64, offset: i64) -> u64 {
    match offset.checked_neg() {
        Some(back) => wall.saturating_add_signed(back),
        // The offset is -2^63, and an `i64` cannot hold the negation of -2^63.
        None => wall.saturating_add(1 << 63),
    }
}
