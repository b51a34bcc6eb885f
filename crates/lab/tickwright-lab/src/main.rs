//! The command `tickwright`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tickwright_lab::run()
}
