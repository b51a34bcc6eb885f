//! How far a long run has come. Drawn on standard error, and only when that is a terminal.

use core::time::Duration;
use std::borrow::Cow;
use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar with an estimate of the time left. Gone from the screen when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar of `steps` steps of equal length.
    pub fn steps(steps: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self::styled(ProgressBar::new(steps), "{prefix} {wide_bar} {pos}/{len}, {eta} left  {msg}", what)
    }

    /// A bar that fills over `duration`; [`at`](Self::at) says where it is.
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

    /// Says what is under way.
    pub fn doing(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }

    /// Writes a line to standard error, above the bar; also where no bar is drawn.
    pub fn say(&self, line: &str) {
        // A run does not fail because nobody reads this.
        self.bar.suspend(|| drop(writeln!(io::stderr(), "{line}")));
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// `elapsed` of a lasting run is over.
    pub fn at(&self, elapsed: Duration) {
        self.bar.set_position(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
