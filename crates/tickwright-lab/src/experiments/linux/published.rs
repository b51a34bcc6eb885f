//! The published rates (Anna-Maria Gleixner, "timer: Optimization for same expiry time in
//! mod_timer()", patch 4 22/22, July 2016).

use serde::Serialize;

/// Percent of the re-arms of pending timers.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Rates {
    /// The timer stayed in its bucket.
    pub(crate) matched: f64,
    /// It was taken out and put in again.
    pub(crate) requeued: f64,
    /// The bucket was computed twice: less than this. None before the patch, which computed nothing
    /// early.
    pub(crate) recalculated_below: Option<f64>,
}

/// One of the two tests.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Published {
    pub(crate) before: Rates,
    pub(crate) after: Rates,
}

pub(crate) const SIMPLE: Published = Published {
    before: Rates { matched: 5.5, requeued: 94.5, recalculated_below: None },
    after: Rates { matched: 86.6, requeued: 13.4, recalculated_below: Some(0.01) },
};

pub(crate) const NETWORK: Published = Published {
    before: Rates { matched: 97.8, requeued: 2.2, recalculated_below: None },
    after: Rates { matched: 99.7, requeued: 0.3, recalculated_below: Some(0.001) },
};
