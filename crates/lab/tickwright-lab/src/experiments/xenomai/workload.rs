//! The timers of the experiment without any queue: periods, phases, the drift-free grid, and random
//! starts and stops.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// The parameters of a run. All structures get the same parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Params {
    /// Number of periodic timers; half of them are armed at first.
    pub(crate) timers: u32,
    /// Mean of the periods, in ns.
    pub(crate) period_mean_ns: u64,
    /// Periods are uniform in `mean * (1 - spread) ..= mean * (1 + spread)`.
    pub(crate) period_spread: f64,
    /// The probability that the tick of a timer starts or stops a random timer.
    pub(crate) toggle_probability: f64,
    /// Period of the host's own tick, in ns; `None` for hosts with a separate hardware timer.
    pub(crate) host_tick_ns: Option<u64>,
    /// Seed of all random choices.
    pub(crate) seed: u64,
}

/// One timer. The host tick is one more timer, after the others.
#[derive(Debug, Clone)]
pub(crate) struct Timer {
    /// Distance between two points of the timer's grid, in ns.
    pub(crate) period: u64,
    /// The next point of the grid, in ns; valid while the timer is armed.
    pub(crate) expected: u64,
    pub(crate) armed: bool,
}

/// A start or stop of a random timer, caused by a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toggle {
    /// This timer starts and is first due at the given time, in ns.
    Start(u32, u64),
    Stop(u32),
}

/// All timers of one structure's run.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    timers: Vec<Timer>,
    has_host: bool,
    armed: u32,
    toggle_below: u32,
    random: Pcg64Mcg,
    /// This run's clock, in ns.
    pub(crate) now: u64,
}

impl Workload {
    /// Creates the timers at time 0: a random half of them is armed, each timer at a random phase.
    pub(crate) fn new(params: &Params) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(params.seed);
        let spread = (params.period_mean_ns as f64 * params.period_spread.clamp(0.0, 1.0)) as u64;
        let shortest = params.period_mean_ns.saturating_sub(spread).max(1);
        let longest = params.period_mean_ns.saturating_add(spread).max(shortest);
        let timers = (0..params.timers).map(|_| Timer {
            period: random.random_range(shortest..=longest),
            expected: 0,
            armed: false,
        });
        let mut timers: Vec<_> = timers.collect();
        let mut armed = 0;
        while armed < params.timers / 2 {
            let timer = &mut timers[random.random_range(0..params.timers as usize)];
            if !timer.armed {
                timer.armed = true;
                timer.expected = random.random_range(1..=timer.period);
                armed += 1;
            }
        }
        if let Some(period) = params.host_tick_ns {
            timers.push(Timer { period: period.max(1), expected: period.max(1), armed: true });
        }
        Self {
            timers,
            has_host: params.host_tick_ns.is_some(),
            armed,
            toggle_below: (params.toggle_probability.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32,
            random,
            now: 0,
        }
    }

    /// Returns all timers by number, including the host tick.
    pub(crate) fn timers(&self) -> &[Timer] {
        &self.timers
    }

    /// Returns the number of armed timers, without the host tick.
    pub(crate) fn armed(&self) -> u32 {
        self.armed
    }

    /// Returns whether timer `id` is the host tick.
    pub(crate) fn is_host(&self, id: u32) -> bool {
        self.has_host && id as usize + 1 == self.timers.len()
    }

    /// Returns the deadline of the host tick, if there is one.
    pub(crate) fn host_due(&self) -> Option<u64> {
        self.timers.last().filter(|_| self.has_host).map(|host| host.expected)
    }

    /// Lets timer `id` tick at `now`. Returns the number of missed periods and the next point of
    /// the timer's grid after `now`. Returns `None` if no timer has this id.
    pub(crate) fn tick(&mut self, id: u32, now: u64) -> Option<(u64, u64)> {
        let timer = self.timers.get_mut(id as usize)?;
        let overruns = now.saturating_sub(timer.expected) / timer.period;
        timer.expected =
            timer.expected.saturating_add(timer.period.saturating_mul(overruns.saturating_add(1)));
        Some((overruns, timer.expected))
    }

    /// Starts or stops a random timer at `now`, or does neither.
    pub(crate) fn toggle(&mut self, now: u64) -> Option<Toggle> {
        let draw = self.random.next_u64();
        // The lower half of the random number decides whether a timer is toggled, and the upper
        // half decides which timer.
        if draw as u32 >= self.toggle_below {
            return None;
        }
        let toggled = self.timers.len() - usize::from(self.has_host);
        let id = (((draw >> 32) * toggled as u64) >> 32) as u32;
        let timer = &mut self.timers[id as usize];
        timer.armed = !timer.armed;
        if timer.armed {
            let phase = ((u128::from(self.random.next_u64()) * u128::from(timer.period)) >> 64) as u64;
            timer.expected = now.saturating_add(phase).saturating_add(1);
            self.armed += 1;
            Some(Toggle::Start(id, timer.expected))
        } else {
            self.armed -= 1;
            Some(Toggle::Stop(id))
        }
    }
}
