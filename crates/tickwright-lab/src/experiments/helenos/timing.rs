//! Both ways in which the original timed its ping-pong.

use core::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::clock::Meter;

/// A way to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// 100 round trips, then a look at the clock, until the duration is over
    V1,
    /// As many round trips, a power of two, as take the duration at least; then that count again
    /// and again, the same for all dictionaries
    V2,
}

impl Method {
    pub(crate) const ALL: [Self; 2] = [Self::V1, Self::V2];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// Round trips between two looks at the clock, in [`Method::V1`].
pub(crate) const BATCH: u64 = 100;

/// Doubling ends here at the latest: 2^40 round trips of a nanosecond are 18 minutes, and no clock
/// stands still so long.
const MOST: u64 = 1 << 40;

/// What was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) round_trips: u64,
    pub(crate) ns: u64,
}

impl Timed {
    /// Round trips per second.
    pub(crate) fn rate(self) -> f64 {
        self.round_trips as f64 * 1e9 / self.ns.max(1) as f64
    }
}

/// A sample of [`Method::V1`].
///
/// # Errors
/// Those of `run`, which does as many round trips as it is told.
pub(crate) fn by_the_clock<E>(
    meter: &dyn Meter,
    duration: Duration,
    run: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<Timed, E> {
    let start = meter.now();
    let mut round_trips = 0;
    loop {
        run(BATCH)?;
        round_trips += BATCH;
        let ns = meter.now().saturating_sub(start);
        if u128::from(ns) >= duration.as_nanos() {
            return Ok(Timed { round_trips, ns });
        }
    }
}

/// A sample of [`Method::V2`].
///
/// # Errors
/// Those of `run`.
pub(crate) fn by_count<E>(
    meter: &dyn Meter,
    round_trips: u64,
    run: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<Timed, E> {
    let start = meter.now();
    run(round_trips)?;
    Ok(Timed { round_trips, ns: meter.now().saturating_sub(start) })
}

/// The warm-up of [`Method::V2`]: the first of 1, 2, 4 ... that takes `duration` at least.
///
/// # Errors
/// Those of `run`.
pub(crate) fn size<E>(
    meter: &dyn Meter,
    duration: Duration,
    run: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<u64, E> {
    let mut count = 1;
    while count < MOST && u128::from(by_count(meter, count, run)?.ns) < duration.as_nanos() {
        count *= 2;
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
