//! The published times (Russell Bryant, Review Board request #160 of Asterisk, February 2009; Core
//! 2 Duo at 2.33 GHz).

use serde::Serialize;

/// One N: seconds for N adds, N deletes and both, as printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) n: usize,
    /// The doubly linked list of the trunk.
    pub(crate) list: Times,
    /// The heap that replaced it.
    pub(crate) heap: Times,
    /// The heap's total as a percentage of the list's.
    pub(crate) percent: f64,
}

/// In seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Times {
    pub(crate) add: f64,
    pub(crate) del: f64,
    pub(crate) total: f64,
}

const fn times(add: f64, del: f64, total: f64) -> Times {
    Times { add, del, total }
}

const fn row(n: usize, list: Times, heap: Times, percent: f64) -> Row {
    Row { n, list, heap, percent }
}

/// From the smallest N.
pub(crate) const ROWS: [Row; 7] = [
    row(100, times(0.3e-3, 0.034e-3, 0.334e-3), times(0.3e-3, 0.040e-3, 0.340e-3), 101.8),
    row(500, times(1.6e-3, 0.19e-3, 1.79e-3), times(1.5e-3, 0.21e-3, 1.71e-3), 95.5),
    row(1000, times(3.9e-3, 0.38e-3, 4.28e-3), times(2.9e-3, 0.44e-3, 3.34e-3), 78.0),
    row(5000, times(47.0e-3, 1.8e-3, 48.8e-3), times(15.0e-3, 2.2e-3, 17.2e-3), 35.2),
    row(10_000, times(149.8e-3, 3.4e-3, 153.2e-3), times(29.9e-3, 4.4e-3, 34.2e-3), 22.3),
    row(100_000, times(53.8, 42.0e-3, 53.8), times(0.278, 60.3e-3, 0.338), 0.6),
    row(1_000_000, times(686.7, 436.3e-3, 686.1), times(2.7, 603.0e-3, 3.3), 0.4),
];

/// The row of an N that was published.
pub(crate) fn row_of(n: usize) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.n == n)
}
