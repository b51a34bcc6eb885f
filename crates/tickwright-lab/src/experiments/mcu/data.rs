//! What `bench mcu` shows.

use super::record::Row;

/// What is shown: the rows of one processor at one level, in the order of the file.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The file, for messages and parameters.
    pub(super) name: String,
    pub(super) processor: String,
    pub(super) level: String,
    pub(super) rows: Vec<Row>,
}
