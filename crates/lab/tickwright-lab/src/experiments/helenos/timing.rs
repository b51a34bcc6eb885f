//! The two timing methods of the original ping-pong.

use core::time::Duration;

use clap::ValueEnum;
use serde::Deserialize;

use crate::clock::Meter;

/// A timing method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Run 100 round trips, check the clock, and repeat until the duration is over
    V1,
    /// Double the round trips from 1 until they take the duration, then time that count in every
    /// sample; the count is the same for all dictionaries
    V2,
}

/// Round trips between two readings of the clock, in [`Method::V1`].
const BATCH: u64 = 100;

/// The doubling ends at this number at the latest. 2^40 round trips of 1 ns each take 18 minutes,
/// and no clock stands still for that long.
const MOST: u64 = 1 << 40;

/// Takes a sample, in round trips per second. The sample consists of `count` round trips, or of
/// batches until `duration` is over. `run` makes the given number of round trips.
pub(super) fn sample<E>(
    meter: &dyn Meter,
    count: Option<u64>,
    duration: Duration,
    run: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<f64, E> {
    let start = meter.now();
    let mut done = 0;
    loop {
        run(count.unwrap_or(BATCH))?;
        done += count.unwrap_or(BATCH);
        let ns = meter.now().saturating_sub(start);
        if count.is_some() || u128::from(ns) >= duration.as_nanos() {
            return Ok(done as f64 * 1e9 / ns.max(1) as f64);
        }
    }
}

/// The warm-up of [`Method::V2`]. Returns the first of 1, 2, 4 ... round trips that take at least
/// `duration`.
pub(super) fn size<E>(
    meter: &dyn Meter,
    duration: Duration,
    run: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<u64, E> {
    let mut count = 1;
    loop {
        let start = meter.now();
        run(count)?;
        if count >= MOST || u128::from(meter.now().saturating_sub(start)) >= duration.as_nanos() {
            return Ok(count);
        }
        count *= 2;
    }
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use super::*;
    use crate::clock::FakeMeter;

    const SECOND: Duration = Duration::from_secs(1);

    fn counting(runs: &mut Vec<u64>) -> impl FnMut(u64) -> Result<(), Infallible> {
        |count| {
            runs.push(count);
            Ok(())
        }
    }

    #[test]
    fn v1_looks_at_the_clock_every_hundred_round_trips() {
        let mut runs = Vec::new();
        let meter = FakeMeter::steady(10);
        let rate = sample(&meter, None, Duration::from_nanos(35), &mut counting(&mut runs));
        assert_eq!(rate, Ok(400.0 / 40e-9));
        assert_eq!(runs, [100; 4]);
    }

    #[test]
    fn v2_doubles_until_one_run_lasts_the_duration_and_repeats_that() {
        let mut runs = Vec::new();
        // Each run reads the clock twice. The fifth run takes 1000 ns.
        let meter = FakeMeter::scripted([0, 100, 0, 200, 0, 400, 0, 999, 0, 1000, 0, 500]);
        let duration = Duration::from_nanos(1000);
        let found = size(&meter, duration, &mut counting(&mut runs)).unwrap();
        assert_eq!(sample(&meter, Some(found), duration, &mut counting(&mut runs)), Ok(16.0 / 500e-9));
        assert_eq!(runs, [1, 2, 4, 8, 16, 16]);
    }

    #[test]
    fn v2_ends_on_a_clock_that_stands_still() {
        assert_eq!(size::<Infallible>(&FakeMeter::steady(0), SECOND, &mut |_| Ok(())), Ok(MOST));
    }

    #[test]
    fn the_first_error_ends_either() {
        let mut left = 3;
        let mut run = |_| {
            left -= 1;
            if left == 0 { Err("lost") } else { Ok(()) }
        };
        assert_eq!(size(&FakeMeter::steady(0), SECOND, &mut run), Err("lost"));
        assert_eq!(sample(&FakeMeter::steady(0), None, SECOND, &mut |_| Err("lost")), Err("lost"));
    }
}
