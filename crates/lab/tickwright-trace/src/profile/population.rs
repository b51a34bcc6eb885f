//! How many timers were pending, over time.

use super::numbers::Numbers;

/// How many timers were pending. Shares are shares of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Population {
    /// The mean over time.
    pub mean: f64,
    /// The median: for half of the time, at most this many timers were pending.
    pub p50: u64,
    /// For 1 % of the time more timers than this were pending.
    pub p99: u64,
    /// The most timers that were pending at once.
    pub max: u64,
    /// The population over time, in at most 64 parts of equal length.
    pub course: Vec<Moment>,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// When the part begins, in ns from the first event.
    pub from_ns: u64,
    /// The mean number of pending timers.
    pub mean: f64,
    /// The most timers that were pending at once.
    pub max: u64,
}

/// The maximum number of parts into which the time is divided.
const PARTS: usize = 64;

/// Follows the number of pending timers over time, in parts of equal length. When there are too
/// many parts, the length of a part doubles.
#[derive(Debug)]
pub(super) struct OverTime {
    now: u64,
    population: u64,
    by_time: Numbers,
    max: u64,
    /// The sum of (pending timers) × (duration in ns).
    area: f64,
    part_ns: u64,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    area: f64,
    max: u64,
}

impl Default for OverTime {
    fn default() -> Self {
        let by_time = Numbers::default();
        Self { now: 0, population: 0, by_time, max: 0, area: 0.0, part_ns: 1000, parts: Vec::new() }
    }
}

impl OverTime {
    /// Sets the number of pending timers from the time `now` on. Cost: O(1) amortized, at most 64
    /// steps.
    pub(super) fn set(&mut self, now: u64, population: u64) {
        self.pass(now.max(self.now));
        self.population = population;
        self.max = self.max.max(population);
        if let Some(part) = self.parts.last_mut() {
            part.max = part.max.max(population);
        }
    }

    fn pass(&mut self, now: u64) {
        let elapsed = now - self.now;
        if elapsed > 0 {
            self.by_time.push_times(self.population, elapsed);
            self.area += self.population as f64 * elapsed as f64;
        }
        while now / self.part_ns >= PARTS as u64 {
            self.halve();
        }
        // Advances through the parts that end before `now`.
        loop {
            let at = usize::try_from(self.now / self.part_ns).unwrap_or(PARTS - 1);
            self.parts.resize(self.parts.len().max(at + 1), Part::default());
            let part = &mut self.parts[at];
            part.max = part.max.max(self.population);
            let end = (self.now / self.part_ns + 1).saturating_mul(self.part_ns);
            let until = now.min(end);
            part.area += self.population as f64 * (until - self.now) as f64;
            self.now = until;
            if until == now && (until < end || end == u64::MAX) {
                return;
            }
        }
    }

    /// Merges each pair of adjacent parts into one.
    fn halve(&mut self) {
        self.part_ns *= 2;
        let both = |pair: &[Part]| Part {
            area: pair.iter().map(|part| part.area).sum(),
            max: pair.iter().map(|part| part.max).max().unwrap_or(0),
        };
        self.parts = self.parts.chunks(2).map(both).collect();
    }

    pub(super) fn finish(self, span_ns: u64) -> Population {
        if self.by_time.is_empty() {
            // No time passed, so the only known value is the population at the end.
            let now = self.population;
            let (mean, most) = (now as f64, self.max);
            return Population { mean, p50: now, p99: most, max: most, course: Vec::new() };
        }
        let moment = |(at, part): (usize, &Part)| {
            let from_ns = at as u64 * self.part_ns;
            let length = span_ns.saturating_sub(from_ns).min(self.part_ns).max(1);
            Moment { from_ns, mean: part.area / length as f64, max: part.max }
        };
        Population {
            mean: self.area / span_ns.max(1) as f64,
            p50: self.by_time.at(0.5),
            p99: self.by_time.at(0.99),
            max: self.max,
            course: self.parts.iter().enumerate().map(moment).collect(),
        }
    }
}
