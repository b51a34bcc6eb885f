//! The progress of a long run. The bar is drawn on standard error, and only if standard error is a
//! terminal.

use core::time::Duration;
use std::borrow::Cow;
use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar with an estimate of the remaining time. Dropping the bar removes it from the screen.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Creates a bar of `steps` steps of equal length.
    pub fn steps(steps: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self::styled(ProgressBar::new(steps), "{prefix} {wide_bar} {pos}/{len}, {eta} left  {msg}", what)
    }

    /// Creates a bar that fills over `duration`; [`at`](Self::at) sets its position.
    pub fn lasting(duration: Duration, what: impl Into<Cow<'static, str>>) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self::styled(ProgressBar::new(millis), "{prefix} {wide_bar} {percent} %, {eta} left  {msg}", what)
    }

    fn styled(bar: ProgressBar, template: &str, what: impl Into<Cow<'static, str>>) -> Self {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Self { bar }
    }

    /// Sets the text that names the current work.
    pub fn doing(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }

    /// Writes a line to standard error, above the bar. The line is also written if no bar is drawn.
    pub fn say(&self, line: &str) {
        // An error is ignored: a run must not fail because nobody reads the line.
        self.bar.suspend(|| drop(writeln!(io::stderr(), "{line}")));
    }

    /// Advances the bar by one step.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Sets the elapsed time of a bar that [`lasting`](Self::lasting) created.
    pub fn at(&self, elapsed: Duration) {
        self.bar.set_position(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
