//! Outputs of results: tables on the terminal, and files for other programs.

mod baseline;
mod file;
mod report;

use std::io::{self, Write};

use crate::error::LabError;

pub use crate::{table, text};
pub use baseline::Name;
pub use file::TextFile;
pub use report::{OutputArgs, Outputs};

/// Returns the command line, without the path of the program.
pub fn command_line() -> String {
    // `args()` would panic on an argument that is not UTF-8.
    let typed: Vec<_> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    [&["tickwright".to_owned()], typed.as_slice()].concat().join(" ")
}

/// Writes a block to standard output. Unlike `println!` it does not panic when the reader has gone.
///
/// # Errors
/// Standard output is closed or full.
pub fn print(text: &str) -> Result<(), LabError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| LabError::io("writing to standard output", source))
}
