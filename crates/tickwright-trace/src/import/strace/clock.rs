//! The offsets between the clocks of deadlines and the clock of the stamps.
//!
//! A deadline on the calendar's clock is a stamp. A deadline on another clock is `ahead` of its
//! stamp: `stamp = deadline - ahead`. If a wait returned at `end` because its time was over, then
//! `deadline - ahead <= end`, and the two are close. So the greatest `deadline - end` is the best
//! estimate of `ahead`. Before the first such wait, the smallest `deadline - start` of all calls is
//! the guess: it takes the shortest delay for 0.

use super::args::pair;
use crate::event::Ns;

/// A clock that a deadline may be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Realtime,
    Monotonic,
    Boottime,
    Tai,
}

impl Clock {
    /// By its name. `None`: it stands still while no thread computes, or is unknown.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"CLOCK_REALTIME" | b"CLOCK_REALTIME_ALARM" => Some(Self::Realtime),
            b"CLOCK_MONOTONIC" => Some(Self::Monotonic),
            b"CLOCK_BOOTTIME" | b"CLOCK_BOOTTIME_ALARM" => Some(Self::Boottime),
            b"CLOCK_TAI" => Some(Self::Tai),
            _ => None,
        }
    }
}

/// When a timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A time on the clock of the stamps.
    At(Ns),
    On(Clock, Ns),
}

/// The estimates of the clocks' offsets.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The stamps come from `strace -r`. Then the offset of the calendar's clock is unknown too.
    pub(super) is_relative: bool,
    shown: [Option<Ns>; 4],
    guessed: [Option<Ns>; 4],
}

impl Clocks {
    /// Notes that a timer of this deadline was armed at `start`.
    pub(super) fn armed(&mut self, due: Due, start: Ns) {
        if let Due::On(clock, deadline) = due {
            let ahead = deadline.saturating_sub(start);
            let guessed = &mut self.guessed[clock as usize];
            *guessed = Some(guessed.map_or(ahead, |known| known.min(ahead)));
        }
    }

    /// Notes that a timer of this deadline had expired at `end`.
    pub(super) fn over(&mut self, due: Due, end: Ns) {
        if let Due::On(clock, deadline) = due {
            let ahead = deadline.saturating_sub(end);
            let shown = &mut self.shown[clock as usize];
            *shown = Some(shown.map_or(ahead, |known| known.max(ahead)));
        }
    }

    /// Notes that the program read the clock, for example as `{tv_sec=1, tv_nsec=2}`, at `end`.
    pub(super) fn read(&mut self, name: &[u8], value: &[u8], end: Ns) {
        if let (Some(clock), Some(now)) = (Clock::of(name), pair(value, 1)) {
            self.over(Due::On(clock, now), end);
        }
    }

    /// The stamp at which a timer is due, if it is known.
    pub(super) fn stamp(&self, due: Due) -> Option<Ns> {
        match due {
            Due::At(at) => Some(at),
            Due::On(Clock::Realtime, at) if !self.is_relative => Some(at),
            Due::On(clock, at) => self.shown[clock as usize].map(|ahead| at.saturating_sub(ahead)),
        }
    }

    /// A guess of the stamp. `time` is the time at which the timer was armed.
    pub(super) fn guess(&self, due: Due, time: Ns) -> Ns {
        match due {
            Due::On(clock, at) => self.guessed[clock as usize].map_or(time, |ahead| at.saturating_sub(ahead)),
            Due::At(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_shows_a_clock() {
        let mut clocks = Clocks::default();
        let due = |deadline| Due::On(Clock::Monotonic, deadline);
        assert_eq!(clocks.stamp(Due::On(Clock::Realtime, 7)), Some(7));
        clocks.armed(due(500), 1_400);
        clocks.armed(due(900), 1_500);
        assert_eq!((clocks.stamp(due(500)), clocks.guess(due(700), 0)), (None, 1_600));
        clocks.over(due(500), 1_520);
        clocks.over(due(900), 1_901);
        clocks.over(due(900), 2_901);
        assert_eq!(clocks.stamp(due(700)), Some(1_701));
        clocks.read(b"CLOCK_BOOTTIME", b"{tv_sec=0, tv_nsec=5}", 105);
        assert_eq!(clocks.stamp(Due::On(Clock::Boottime, 6)), Some(106));
        clocks.is_relative = true;
        assert_eq!(clocks.stamp(Due::On(Clock::Realtime, 7)), None);
    }
}
