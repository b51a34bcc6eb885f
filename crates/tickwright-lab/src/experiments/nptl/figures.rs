//! Figures as text.

use crate::stats::{CONFIDENCE, Summary};

/// ns of one creation, in µs.
pub(super) fn micros(ns: f64) -> String {
    match ns / 1000.0 {
        us if us < 1.0 => format!("{us:.3}"),
        us if us < 10.0 => format!("{us:.2}"),
        us => format!("{us:.1}"),
    }
}

/// A ratio with its interval, if there are rounds enough for one.
pub(super) fn times(ratio: &Summary) -> String {
    if ratio.interval.coverage < CONFIDENCE {
        return format!("{:.2}x (range {:.2} to {:.2})", ratio.median, ratio.min, ratio.max);
    }
    format!("{:.2}x ({:.2} to {:.2})", ratio.median, ratio.interval.low, ratio.interval.high)
}
