//! Merges the figures of two streams into those of one: threads measure separately, and a report
//! shows their sum.

use super::{Distribution, Running};

impl Running {
    /// Adds the samples of `other` (Chan, Golub and LeVeque 1979).
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let (all, shift) = (mine + theirs, other.mean - self.mean);
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.mean += shift * theirs / all;
        self.squares += other.squares + shift * shift * mine * theirs / all;
    }
}

impl Distribution {
    /// Adds the samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.running.merge(&other.running);
        // The histograms have equal bounds, so every sample of one fits into the other.
        let _ = self.histogram.add(&other.histogram);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: &[u64]) -> Distribution {
        let mut all = Distribution::new();
        samples.iter().for_each(|ns| all.push(*ns));
        all
    }

    #[track_caller]
    fn same(one: &Distribution, other: &Distribution) {
        let figures = |all: &Distribution| {
            let Running { count, min, max, .. } = *all.running();
            (count, min, max, [50.0, 99.0, 100.0].map(|percent| all.percentile(percent)))
        };
        assert_eq!(figures(one), figures(other));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        assert!(near(one.running().avg(), other.running().avg()), "{one:?}, {other:?}");
        assert!(near(one.running().stddev(), other.running().stddev()), "{one:?}, {other:?}");
    }

    #[test]
    fn merged_figures_are_those_of_all_samples() {
        let all: Vec<u64> = (0..1000u64).map(|at| 700 + at * at % 977 * 13).collect();
        for cut in [0, 1, 300, 999, 1000] {
            let mut merged = of(&all[..cut]);
            merged.merge(&of(&all[cut..]));
            same(&merged, &of(&all));
        }
    }

    #[test]
    fn nothing_and_nothing_is_nothing() {
        let mut merged = Running::default();
        merged.merge(&Running::default());
        assert_eq!(merged, Running::default());
    }
}
