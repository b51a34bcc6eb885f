//! Where results go: tables on the terminal, and files for other programs.

pub(crate) mod file;
pub(crate) mod table;

use std::io::{self, Write};

use crate::error::LabError;

pub(crate) use file::{Files, OutputArgs, SCHEMA};

/// Writes a block to standard output. Unlike `println!` it does not panic when nobody reads any more.
///
/// # Errors
/// When standard output is closed or full.
pub(crate) fn print(text: &str) -> Result<(), LabError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| LabError::io("writing to standard output", source))
}
