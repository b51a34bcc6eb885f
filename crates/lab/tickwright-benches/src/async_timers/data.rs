//! The measurements of `async`.

use super::lane::Lane;
use super::late::{Late, Resting};
use super::lost::Lost;

/// What was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    /// Each lane with its samples, one per round, in ns per operation.
    pub(super) rows: Vec<(Lane, Vec<f64>)>,
    pub(super) late: Vec<Late>,
    pub(super) lost: Vec<Lost>,
    pub(super) resting: Vec<Resting>,
}
