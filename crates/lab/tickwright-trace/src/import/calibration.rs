//! Converts ticks and times of other clocks to times on the trace's clock.
//!
//! Jiffies: the slope of ticks against times gives the jiffies per second. Clocks of `hrtimer`: the
//! line of an expiry has both the time of the trace and the time of the timer's clock. Clocks drift
//! apart, so the difference between two clocks is determined for each second.

use std::collections::BTreeMap;

use super::line::ClockId;
use crate::event::{Ns, UNKNOWN};

/// The usual rates: a slope near one of these rates is taken for that rate.
const USUAL_HZ: [u64; 8] = [24, 32, 64, 100, 128, 250, 300, 1000];
const HZ_MANY: u64 = 1024;

/// A slope above this bound is not a rate of jiffies: a line is damaged, or a tick wrapped.
const HZ_MOST: i128 = 1_000_000;

/// A span of the trace, in ns, that is long enough to give the rate to a few percent.
const ENOUGH: Ns = 1_000_000_000;

/// What is known of the clocks.
#[derive(Debug, Default)]
pub(super) struct Calibration {
    /// The first and the last tick that were read, each with its time.
    ticks: Option<[(Ns, u64); 2]>,
    hz: Option<u64>,
    clocks: Vec<Clock>,
}

/// One of the kernel's clocks: its time minus the time of the trace, for each second in which the
/// trace shows it.
#[derive(Debug, Default)]
struct Clock {
    /// `None` until an expiry of a timer with a known clock identifies it.
    id: Option<ClockId>,
    ahead: BTreeMap<Ns, i128>,
}

impl Clock {
    /// Returns the difference in the second of `time`, interpolated between the known seconds
    /// before and after it. Outside the known seconds, returns the difference in the nearest known
    /// second.
    fn ahead(&self, time: Ns) -> Option<i128> {
        let second = time.div_euclid(SECOND);
        let before = self.ahead.range(..=second).next_back();
        let after = self.ahead.range(second..).next();
        let (Some((&first, from)), Some((&last, to))) = (before, after) else {
            return before.or(after).map(|(_, &ahead)| ahead);
        };
        let span = i128::from(last - first).max(1);
        Some(from + (to - from) * i128::from(second - first) / span)
    }

    /// Adds a difference that a line shows.
    fn push(&mut self, time: Ns, ahead: i128) {
        // The kernel reads the clock before it writes the line, so the greatest difference is the
        // most precise.
        let known = self.ahead.entry(time.div_euclid(SECOND)).or_insert(ahead);
        *known = ahead.max(*known);
    }
}

/// A second, in ns. The clocks of a computer drift apart by about 20 ppm, which is 20 us in this
/// time.
const SECOND: Ns = 1_000_000_000;

/// Two differences that are closer than this bound, in ns, belong to one clock; otherwise they
/// belong to two clocks.
const ONE_CLOCK: i128 = 50_000_000;

/// No timer runs for longer than a year, in ns. A deadline that is further away has one of two
/// causes. The first cause is a clock that no line shows, because wall clocks and clocks that start
/// with the machine are decades apart; the second cause is that the timer must never expire, so the
/// kernel arms it for 2^63 - 1 ns (`KTIME_MAX`), which is 292 years.
const LONGEST: u128 = 365 * 86_400 * 1_000_000_000;

/// The kernel's timers use five clocks.
const MOST_CLOCKS: usize = 8;

impl Calibration {
    /// Creates a calibration with a known number of jiffies per second. `None` or 0: unknown.
    pub(super) fn with_hz(hz: Option<u64>) -> Self {
        Self { hz: hz.filter(|&hz| hz > 0), ..Self::default() }
    }

    /// Notes the jiffies at a time of the trace.
    pub(super) fn jiffy(&mut self, time: Ns, tick: u64) {
        match &mut self.ticks {
            None => self.ticks = Some([(time, tick); 2]),
            Some([first, last]) => {
                if time > last.0 {
                    *last = (time, tick);
                }
                if time < first.0 {
                    *first = (time, tick);
                }
            }
        }
        if self.hz.is_none() && self.span() >= ENOUGH {
            self.hz = self.slope();
        }
    }

    /// Notes the time of a clock at a time of the trace. `id` is the clock, if it is known.
    pub(super) fn clock(&mut self, time: Ns, now: u64, id: Option<ClockId>) {
        let ahead = i128::from(now) - i128::from(time);
        let is_near = |clock: &&mut Clock| {
            let may_be = id.is_none() || clock.id.is_none() || id == clock.id;
            may_be && clock.ahead(time).is_some_and(|known| (known - ahead).abs() < ONE_CLOCK)
        };
        if let Some(clock) = self.clocks.iter_mut().find(is_near) {
            clock.id = clock.id.or(id);
            clock.push(time, ahead);
        } else if self.clocks.len() < MOST_CLOCKS {
            let mut clock = Clock { id, ..Clock::default() };
            clock.push(time, ahead);
            self.clocks.push(clock);
        }
    }

    fn span(&self) -> Ns {
        self.ticks.map_or(0, |[first, last]| last.0.saturating_sub(first.0))
    }

    /// Returns the jiffies per second that all lines so far show.
    fn slope(&self) -> Option<u64> {
        let [first, last] = self.ticks?;
        // The jiffies of a 32-bit kernel wrap around five minutes after the start.
        let ticks = match last.1.checked_sub(first.1) {
            None if first.1 <= u32::MAX.into() => last.1 + (1 << 32) - first.1,
            ticks => ticks?,
        };
        let time = last.0.checked_sub(first.0)?;
        if time < ENOUGH / 20 || ticks == 0 {
            return None;
        }
        let hz = i128::from(ticks) * 1_000_000_000 / i128::from(time);
        let hz = u64::try_from(hz).ok().filter(|_| hz <= HZ_MOST)?;
        let all = USUAL_HZ.into_iter().chain([HZ_MANY]);
        let near = all.min_by_key(|usual| usual.abs_diff(hz) * 1000 / usual);
        Some(near.filter(|usual| usual.abs_diff(hz) * 20 < *usual).unwrap_or(hz.max(1)))
    }

    /// Returns whether jiffies can be converted, even if the rate has to come from a short span of
    /// lines.
    pub(super) fn knows_jiffies(&mut self) -> bool {
        self.hz = self.hz.or_else(|| self.slope());
        self.hz.is_some()
    }

    pub(super) fn knows_a_clock(&self) -> bool {
        !self.clocks.is_empty()
    }

    /// Returns the length of a jiffy in ns.
    pub(super) fn jiffy_ns(&self) -> u64 {
        self.hz.map_or(0, |hz| 1_000_000_000 / hz)
    }

    /// Returns the time that is `ticks` jiffies after `time`.
    pub(super) fn after(&self, time: Ns, ticks: i64) -> Ns {
        let hz = i128::from(self.hz.unwrap_or(1000));
        let ns = i128::from(time) + i128::from(ticks) * 1_000_000_000 / hz;
        ns.clamp(Ns::MIN.into(), Ns::MAX.into()) as Ns
    }

    /// Returns the time of the trace at which the clock `id` shows `expires`, using the difference
    /// of the clocks at `time`. Thus the delay is the delay on the timer's clock. If `id` is
    /// unknown, or no line shows that clock by its name, this function uses the clock whose time is
    /// nearest to `time`. Returns [`UNKNOWN`] if the deadline is more than a year away on each
    /// clock, or if the timer never expires.
    pub(super) fn at(&self, time: Ns, expires: u64, id: Option<ClockId>) -> Ns {
        let is_named = id.is_some() && self.clocks.iter().any(|clock| clock.id == id);
        let clocks = self.clocks.iter().filter(|clock| match id {
            Some(_) if is_named => clock.id == id,
            Some(_) => clock.id.is_none(),
            None => true,
        });
        let distance = |at: &i128| at.abs_diff(time.into());
        let times = clocks.filter_map(|clock| Some(i128::from(expires) - clock.ahead(time)?));
        let nearest = times.min_by_key(distance).filter(|at| distance(at) <= LONGEST);
        nearest.and_then(|at| Ns::try_from(at).ok()).unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_jiffies_is_found() {
        for hz in [100, 250, 300, 1000, 1024, 77] {
            let mut calibration = Calibration::default();
            for tick in 0..hz + hz / 10 {
                calibration.jiffy((tick * 1_000_000_000 / hz) as Ns + 200_000, 4_294_000_000 + tick);
            }
            assert!(calibration.hz.is_some(), "{hz}");
            assert_eq!(calibration.hz.unwrap().abs_diff(hz) * 50 / hz, 0, "{hz}: {:?}", calibration.hz);
            assert_eq!(calibration.after(0, hz as i64) / 1_030_000_000, 0);
        }
        let mut wrapped = Calibration::default();
        wrapped.jiffy(0, (1 << 32) - 100);
        wrapped.jiffy(2_000_000_000, 400);
        assert_eq!(wrapped.hz, Some(250));
        let mut damaged = Calibration::default();
        damaged.jiffy(0, 0);
        damaged.jiffy(2_000_000_000, u64::MAX);
        assert_eq!((damaged.hz, damaged.knows_jiffies()), (None, false));
        assert!(!Calibration::with_hz(Some(0)).knows_jiffies());
        let mut short = Calibration::default();
        short.jiffy(0, 5);
        short.jiffy(100, 6);
        assert!(!short.knows_jiffies());
        assert!(Calibration::with_hz(Some(250)).knows_jiffies());
    }

    #[test]
    fn the_clock_of_a_timer_is_the_one_that_makes_its_delay_short() {
        let mut calibration = Calibration::default();
        let (monotonic, real) = (10_000_000_000, 1_700_000_000_000_000_000);
        calibration.clock(5_000_000_000, monotonic - 400, None);
        calibration.clock(5_000_000_000, monotonic, None);
        calibration.clock(5_000_000_000, real, None);
        assert_eq!(calibration.at(5_000_000_000, monotonic + 70, None), 5_000_000_070);
        assert_eq!(calibration.at(5_000_000_000, real + 70, None), 5_000_000_070);
    }

    /// Clocks that drift apart by 17 ppm, which is 60 ms in an hour.
    #[test]
    fn a_clock_that_drifts_stays_one_clock() {
        let mut calibration = Calibration::default();
        let clock = |time: Ns| (time - 1_000_000_000 - time / 60_000) as u64;
        let times = (0..40).map(|at| 500_000_000_000 + at * 100_000_000_000);
        times.clone().rev().for_each(|time| {
            calibration.clock(time, clock(time) - 300, None);
            calibration.clock(time + 10_000, clock(time + 10_000), None);
        });
        assert_eq!(calibration.clocks.len(), 1);
        for time in times {
            let delay = calibration.at(time, clock(time) + 10_000_000, None) - time;
            assert!((delay - 10_000_000).abs() < 10, "{delay} at {time}");
            // Between two seconds that show the clock, the difference is interpolated.
            let between = time + 30_000_000_000;
            let delay = calibration.at(between, clock(between), None) - between;
            assert!(time == 4_400_000_000_000 || delay.abs() < 100, "{delay} at {time}");
        }
    }
}
