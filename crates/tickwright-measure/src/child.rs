//! Runs this program again as a child process. A limit may end that child, or a tool may watch it
//! from outside.
//!
//! ```text
//! parent                                  child
//! own("hidden", &errand) ── arguments ──▶ errand(text) reads it back, tie()
//! output(&mut command)   ◀── pipes ────── prints what came of it
//! ```
//!
//! In every case, a child ends when the parent's run ends. The parent passes an interruption on to
//! the child. Dropping a [`Running`] kills the child. The kernel kills a tied child when the
//! child's parent has ended.

use std::env;
use std::io;
use std::process::{Child, Command, Output, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::LabError;
use crate::interrupt;

/// Returns a command that runs this program with a hidden subcommand and its argument as JSON. The
/// child's standard input is empty.
///
/// # Errors
/// The system does not know the path of this program.
pub fn own(command: &str, errand: &impl Serialize) -> Result<Command, LabError> {
    let program = env::current_exe()
        .map_err(|source| LabError::io("finding this program, to run it as a child", source))?;
    let errand = serde_json::to_string(errand)
        .map_err(|error| LabError::failed(format!("an errand is no JSON: {error}")))?;
    let mut own = Command::new(program);
    own.args([command, &errand]).stdin(Stdio::null());
    Ok(own)
}

/// Reads the JSON that [`own`] wrote; a value parser for the command line.
///
/// # Errors
/// The reason why the text is invalid.
pub fn errand<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("'{text}' is no errand: {error}"))
}

/// Asks the kernel to kill this process when the thread that started it ends.
///
/// # Errors
/// The kernel refuses the request.
#[cfg(target_os = "linux")]
pub fn tie() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Does nothing: only Linux can kill a child when its parent ends.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn tie() -> io::Result<()> {
    Ok(())
}

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
    fn an_errand_is_read_as_it_was_written() {
        let own = own("hidden", &("create", 7, None::<u8>)).unwrap();
        let words: Vec<&str> = own.get_args().filter_map(|word| word.to_str()).collect();
        assert_eq!(words, ["hidden", r#"["create",7,null]"#]);
        assert_eq!(errand(words[1]), Ok(("create".to_owned(), 7, None::<u8>)));
        assert!(errand::<(String, u8)>("[1]").unwrap_err().starts_with("'[1]' is no errand"));
    }

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
