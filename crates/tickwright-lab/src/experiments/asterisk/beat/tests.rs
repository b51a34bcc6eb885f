use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::periodicity::search;
use super::*;
use crate::result::Block;

/// 400 values: `wave` and noise between 0 and 1.
fn noisy(seed: u64, wave: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..400).map(|at| wave(f64::from(at)) + random.random::<f64>()).collect()
}

/// Entries that come in waves of 200 ms, and a lateness without a period.
pub(crate) fn made_up() -> Beat {
    let load = Load::usual(Duration::from_secs(5), 1);
    let entries = noisy(1, |at| 80.0 + 30.0 * (at / 20.0 * core::f64::consts::TAU).sin());
    let late = noisy(2, |_| 0.5);
    let counts = Counts { begun: 9966, completed: 7377, given_up: 0, retransmitted: 1411, live: 2589 };
    let mean_late = late.iter().map(|late| late * 1e6).collect();
    Beat { load, counts, entries, mean_late, most_late: late.iter().map(|late| late * 3e6).collect() }
}

#[test]
fn a_wave_in_noise_is_found_with_its_period() {
    for period in [7.0, 20.0, 50.0] {
        let series = noisy(1, |at| (at / period * core::f64::consts::TAU).sin());
        let found = search(&series, 1).period.unwrap();
        // Any multiple of a period is a period.
        let off = found.lag as f64 % period;
        assert!(off.min(period - off) <= 1.0 && found.strength > 0.3, "{period}: {found:?}");
    }
    let bursts = noisy(2, |at| if at % 25.0 == 0.0 { 4.0 } else { 0.0 });
    assert_eq!(search(&bursts, 1).period.unwrap().lag % 25, 0);
}

#[test]
fn noise_a_trend_a_step_and_nothing_have_no_period() {
    for seed in 0..10 {
        assert_eq!(search(&noisy(seed, |_| 0.0), seed).period, None, "noise {seed}");
        assert_eq!(search(&noisy(seed, |at| at / 40.0), seed).period, None, "trend {seed}");
        assert_eq!(search(&noisy(seed, |at| f64::from(at > 200.0)), seed).period, None, "step {seed}");
        let settles = |at: f64| 1.0 - (-at / 60.0).exp();
        assert_eq!(search(&noisy(seed, settles), seed).period, None, "approach {seed}");
    }
    assert_eq!(search(&[3.0; 100], 1).period, None);
    assert_eq!(search(&[], 1).period, None);
    assert_eq!(search(&[1.0], 1).period, None);
}

#[test]
fn runs_are_counted_in_the_interval_that_they_fall_into() {
    let interval = Duration::from_millis(10);
    let load = Load { interval, ..Load::usual(Duration::from_millis(100), 0) };
    let at = |ms: u64, late_ns: u64| Ran { at_ns: ms * 1_000_000, late_ns };
    // The first 20 ms are the warm-up, and the interval of the last run is incomplete.
    let beat = Beat::of(&load, Counts::default(), &[at(5, 9), at(20, 1), at(29, 3), at(41, 5), at(55, 0)]);
    assert_eq!(beat.entries, [2.0, 0.0, 1.0]);
    assert_eq!((beat.mean_late, beat.most_late), (vec![2.0, 0.0, 5.0], vec![3.0, 0.0, 5.0]));
}

/// The test fails if a call or a timer is missing from the counts at the end. On a busy machine the
/// intervals may be too few for a plot.
#[test]
fn a_short_load_runs_over_every_structure() {
    let all = request::list(&Structure::all());
    let words = ["--structures", &all, "--duration", "30ms", "--interval", "1ms", "--calls", "5000"];
    let args: BeatArgs = request::words(&words).unwrap();
    let report = crate::experiment::conduct(&args).unwrap();
    assert_eq!(report.sections.len(), Structure::all().len());
    assert!(report.find("begun", &labels([("structure", "wheel".into())])).unwrap().samples[0] > 0.0);
    assert!(report.findings[0].about.starts_with("a beat under 5000 short calls a second"));
}

#[test]
fn entries_lateness_and_autocorrelation_are_drawn() {
    let beat = made_up();
    let titles: Vec<String> = section(&beat, &findings(&beat))
        .blocks
        .into_iter()
        .filter_map(|block| if let Block::Plot(plot) = block { Some(plot.title) } else { None })
        .collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
}
