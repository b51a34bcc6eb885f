//! Runs another program as a child process, which ends when this program's run ends.

use std::io;
use std::process::{Command, Output, Stdio};

use crate::interrupt;

/// Runs a command to its end and returns its output. An interruption ends the command.
///
/// # Errors
/// If the command cannot be started, or a pipe cannot be read.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = interrupt::collect(&mut child);
    if output.is_err() {
        // Both calls fail if the child has already ended.
        let _ = child.kill();
        let _ = child.wait();
    }
    output
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_of_a_child_are_returned() {
        let output = output(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }
}
