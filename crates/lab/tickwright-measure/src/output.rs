//! Outputs of results: tables on the terminal, and files for other programs.

mod closed;
mod file;
#[cfg(test)]
mod folder;
mod report;

use std::io::{self, Stdout, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::error::LabError;

pub use crate::{table, text};
pub use file::{GrowingFile, TextFile, is_stdout, keep_inputs};
pub use report::{OutputArgs, Outputs};

/// Returns the command line, without the path of the program.
pub fn command_line() -> String {
    // `args()` would panic on an argument that is not UTF-8.
    let mut typed = std::env::args_os();
    let program = typed.next().unwrap_or_default();
    let name = Path::new(&program).file_stem().map(|name| name.to_string_lossy().into_owned());
    let rest = typed.map(|argument| argument.to_string_lossy().into_owned());
    name.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
}

/// Returns standard output.
///
/// # Errors
/// If the program was started with standard output closed. In that case the standard library opens
/// /dev/null instead, which accepts every write.
pub fn stdout() -> io::Result<Stdout> {
    if closed::stdout_was_closed() { Err(closed::error()) } else { Ok(io::stdout()) }
}

/// Writes a block to standard output. Unlike `println!`, this function does not panic if the reader
/// has closed standard output.
///
/// # Errors
/// If standard output is closed or full.
pub fn print(text: &str) -> Result<(), LabError> {
    stdout()
        .and_then(|out| {
            let mut out = out.lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        })
        .map_err(|source| LabError::io("writing to standard output", source))
}

/// Returns the exit code of a program. Writes the error to standard error first, after the name of
/// the program.
pub fn ended(program: &str, result: Result<(), LabError>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    match &error {
        LabError::Command(said) => message(&format!("{said}\n")),
        error if error.is_broken_pipe() => {}
        error => message(&format!("{program}: {error}\n")),
    }
    error.exit_code()
}

/// Writes a message to standard error, as [`plain`](text::plain) text. Unlike `eprintln!`, this
/// function does not panic if standard error is closed or full, because the exit code of the
/// process still says how the command ended.
pub fn message(said: &str) {
    let _ = io::stderr().lock().write_all(text::plain(said).as_bytes());
}
