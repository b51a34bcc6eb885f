//! The data that `mcu` shows.

use super::record::Row;

/// The shown rows: those of one processor at one level, in the order of the file.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The name of the file, for messages and parameters.
    pub(super) name: String,
    pub(super) processor: String,
    pub(super) level: String,
    pub(super) rows: Vec<Row>,
}
