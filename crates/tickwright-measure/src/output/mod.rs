//! Where results go: tables on the terminal, and files for other programs.

mod baseline;
mod file;
mod report;

use std::io::{self, Write};

use crate::error::LabError;

pub use crate::{table, text};
pub use baseline::Name;
pub use file::TextFile;
pub use report::{OutputArgs, Outputs};

/// What was typed, without where the program lies.
pub fn command_line() -> String {
    // Not `args()`, which panics where an argument is not UTF-8.
    let typed: Vec<_> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    [&["tickwright".to_owned()], typed.as_slice()].concat().join(" ")
}

/// Writes a block to standard output. Unlike `println!` it does not panic when nobody reads any
/// more.
///
/// # Errors
/// When standard output is closed or full.
pub fn print(text: &str) -> Result<(), LabError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| LabError::io("writing to standard output", source))
}
