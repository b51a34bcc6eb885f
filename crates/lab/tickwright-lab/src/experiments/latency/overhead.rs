//! What the measurement itself adds to a sample.

use core::hint::black_box;
use std::time::Instant;

use super::clock::Host;
use super::grid::Grid;
use super::slice::Seen;

/// Costs of one sample, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    /// The cost of the clock reading by the timer's owner.
    pub(super) clock_ns: f64,
    /// The cost of recording the lateness.
    pub(super) note_ns: f64,
}

/// Samples in a batch. The fastest of a few batches counts, because disturbances only slow a batch
/// down.
const SAMPLES: u32 = 2000;
const BATCHES: u32 = 9;
const PERIOD: u64 = 1000;

impl Overhead {
    /// Measures both costs, which takes some milliseconds.
    pub(super) fn measure(host: &mut impl Host) -> Self {
        let mut seen = Seen::new(SAMPLES.into());
        let mut best = Self { clock_ns: f64::INFINITY, note_ns: f64::INFINITY };
        for _ in 0..BATCHES {
            let began = Instant::now();
            for _ in 0..SAMPLES {
                black_box(host.now());
            }
            best.clock_ns = best.clock_ns.min(began.elapsed().as_nanos() as f64 / f64::from(SAMPLES));
            seen.lateness.clear();
            let mut grid = Grid::new(0, PERIOD);
            let began = Instant::now();
            for at in (0..SAMPLES).map(|point| u64::from(point) * PERIOD + 55) {
                if let Some(due) = grid.take(black_box(at)) {
                    seen.note(&grid, due, at, host.was_stopped());
                }
            }
            best.note_ns = best.note_ns.min(began.elapsed().as_nanos() as f64 / f64::from(SAMPLES));
        }
        best
    }
}
