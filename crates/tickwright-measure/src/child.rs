//! Runs another program as a child process.
//!
//! A child ends when the parent's run ends: an interruption reaches it, and dropping a [`Running`]
//! kills it.

use std::io;
use std::process::{Child, Command, Output, Stdio};

use crate::interrupt;

/// A child process that is killed on drop.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts the child. [`output`](Self::output) reads its outputs.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map(Self)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits until the child ends and returns its output. An interruption is passed on to the
    /// child.
    ///
    /// # Errors
    /// A pipe cannot be read.
    pub fn output(mut self) -> io::Result<Output> {
        interrupt::collect(&mut self.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both calls fail if the child has already ended and was waited for. Nothing remains to be
        // done then.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command to its end and returns its output. An interruption ends the command.
///
/// # Errors
/// The command cannot be started.
pub fn output(command: &mut Command) -> io::Result<Output> {
    Running::start(command)?.output()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn both_outputs_of_a_child_are_returned() {
        let output = output(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_dropped_child_is_gone() {
        let child = Running::start(Command::new("sleep").arg("1000")).unwrap();
        let place = format!("/proc/{}", child.id());
        assert!(Path::new(&place).exists());
        drop(child);
        assert!(!Path::new(&place).exists());
    }
}
