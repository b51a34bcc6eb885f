//! The published figures (Jiri Svoboda's blog, 2 November 2018): ten samples each, QEMU with KVM
//! and without.

use serde::Serialize;

use super::timing::Method;

/// A row as it was printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) method: Method,
    /// "KVM" or "softmmu".
    pub(crate) machine: &'static str,
    /// Mean and standard deviation: round trips in ten seconds with the first method, in one with
    /// the second.
    pub(crate) odict: (f64, f64),
    pub(crate) avl: (f64, f64),
}

impl Row {
    /// Seconds that a printed count is of.
    pub(crate) fn seconds(&self) -> f64 {
        match self.method {
            Method::V1 => 10.0,
            Method::V2 => 1.0,
        }
    }

    /// By how many percent the dictionary did more.
    pub(crate) fn gain(&self) -> f64 {
        (self.odict.0 / self.avl.0 - 1.0) * 100.0
    }
}

const fn row(method: Method, machine: &'static str, odict: (f64, f64), avl: (f64, f64)) -> Row {
    Row { method, machine, odict, avl }
}

pub(crate) const ROWS: [Row; 4] = [
    row(Method::V1, "KVM", (403_320.0, 4210.0), (388_700.0, 4962.0)),
    row(Method::V1, "softmmu", (25_300.0, 249.0), (23_520.0, 434.0)),
    row(Method::V2, "KVM", (38_988.0, 241.0), (38_601.0, 285.0)),
    row(Method::V2, "softmmu", (2452.0, 44.0), (2290.0, 27.0)),
];
