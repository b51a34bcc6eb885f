//! What was published (Ulrich Drepper and Ingo Molnar, 22 September 2002; kernel 2.5.37): the
//! ratios. The graphs that went with them are gone.

use serde::Serialize;

use super::model::Model;

/// The creations in each cell.
pub(crate) const STARTS: u64 = 100_000;
/// Threads that create, at most.
pub(crate) const TOPLEVEL: usize = 20;
/// Threads that each of them keeps, at most.
pub(crate) const CHILDREN: usize = 10;

/// One system takes so many times as long as another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) slow: &'static str,
    pub(crate) fast: &'static str,
    pub(crate) times: f64,
}

/// As the mail has them; the last is their product.
pub(crate) const RATIOS: [Ratio; 3] = [
    Ratio { slow: "LinuxThreads", fast: "NGPT", times: 2.0 },
    Ratio { slow: "NGPT", fast: "NPTL", times: 4.0 },
    Ratio { slow: "LinuxThreads", fast: "NPTL", times: 8.0 },
];

/// The model that stands for a system of then.
pub(crate) fn model_of(system: &str) -> Option<Model> {
    Model::ALL.into_iter().find(|model| model.then() == Some(system))
}
