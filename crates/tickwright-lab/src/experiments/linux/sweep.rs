//! The simple test over the whole range of delays, steps and clock rates, in virtual time.

use super::published::Test;
use super::simple::{STEP_MS, Virtual, Workload};
use super::subject::Column;
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;

/// Delays in ms, including those of an acknowledgement (40), a retransmission (200), a second and a
/// keep-alive (7,200,000).
pub(crate) const DELAYS_MS: [u64; 9] = [40, 100, 200, 500, 1000, 5000, 30_000, 60_000, 7_200_000];

/// Mean gaps between re-arms of a timer, in ms.
pub(crate) const STEPS_MS: [f64; 9] = [0.1, 0.5, 1.0, 2.0, 4.0, STEP_MS, 16.0, 32.0, 64.0];

/// The clock rates with which kernels are built, in Hz.
pub(crate) const HZ: [u64; 4] = [100, 250, 300, 1000];

/// Timers and re-arms per point.
const TIMERS: usize = 100;
const REARMS: u64 = 20_000;

/// One combination of clock rate, delay and gap.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) hz: u64,
    pub(crate) delay_ms: u64,
    pub(crate) step_ms: f64,
    /// Wheel level of the delay.
    pub(crate) level: u32,
    /// Match rate before the patch, in percent.
    pub(crate) before: f64,
    /// Match rate of ours, in percent. The posted patch has the same rate if the clock does not
    /// advance during a call.
    pub(crate) ours: f64,
}

impl Point {
    /// Whether both rates are within one point of the published figures.
    pub(crate) fn is_published(&self, test: &Test) -> bool {
        (self.before - test.before.matched).abs() <= 1.0 && (self.ours - test.after.matched).abs() <= 1.0
    }
}

/// Measures every point; an interrupt leaves out the rest.
///
/// # Errors
/// A count that differs from the oracle's.
pub(crate) fn run(seed: u64) -> Result<Vec<Point>, LabError> {
    let all = HZ.len() * DELAYS_MS.len() * STEPS_MS.len();
    let progress = Progress::steps(all as u64, "sweep");
    let mut points = Vec::with_capacity(all);
    for hz in HZ {
        for delay_ms in DELAYS_MS {
            for step_ms in STEPS_MS {
                if interrupt::requested() {
                    return Ok(points);
                }
                points.push(point(&Workload { timers: TIMERS, hz, delay_ms, step_ms, seed })?);
                progress.step();
            }
        }
    }
    Ok(points)
}

fn point(work: &Workload) -> Result<Point, LabError> {
    let matched = |column: Column| -> Result<f64, LabError> {
        let counts = column.run(Virtual { work, column, rearms: REARMS })?;
        Ok(counts.match_percent().unwrap_or(0.0))
    };
    Ok(Point {
        hz: work.hz,
        delay_ms: work.delay_ms,
        step_ms: work.step_ms,
        level: super::oracle::level(work.delay()),
        before: matched(Column::Before)?,
        ours: matched(Column::Ours)?,
    })
}
