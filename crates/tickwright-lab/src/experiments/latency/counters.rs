//! `--counters`: the processor's hardware counters, read before and after each turn.

use crate::hardware::{Counted, EVENTS, Hardware};

/// The counters of a measuring thread, if they are wanted and the system has them.
#[derive(Debug)]
pub(super) struct Counters(Option<Hardware>);

/// The counts of one turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct PerWake {
    /// The counts in the order of [`EVENTS`], divided by the number of wake-ups. An event that was
    /// not counted is NaN.
    pub(super) counts: [f64; EVENTS.len()],
    /// The share of the turn in which the counters counted, from 0 to 1.
    pub(super) share: f64,
}

impl Counters {
    /// Starts the counters of the calling thread, if they are `wanted`. Also returns a note if the
    /// system refuses.
    pub(super) fn start(wanted: bool) -> (Self, Option<String>) {
        match wanted.then(Hardware::start).transpose() {
            Ok(hardware) => (Self(hardware), None),
            Err(why) => (Self(None), Some(why)),
        }
    }

    /// What the counts cover, in words; `None` if nothing is counted.
    pub(super) fn scope(&self) -> Option<&'static str> {
        self.0.as_ref().map(Hardware::scope)
    }

    /// Runs a turn and counts its events.
    pub(super) fn around<R>(&mut self, turn: impl FnOnce() -> R) -> (R, Option<Counted>) {
        let before = self.0.as_mut().map(Hardware::read);
        let done = turn();
        let after = self.0.as_mut().map(Hardware::read);
        let nothing = Counted { counts: [f64::NAN; EVENTS.len()], share: 0.0 };
        let counted = before.zip(after).map(|readings| match readings {
            (Some(before), Some(after)) => after.since(&before),
            _ => nothing,
        });
        (done, counted)
    }
}

impl PerWake {
    /// Divides the counts of a turn by its `wakes`.
    pub(super) fn of(counted: Counted, wakes: u64) -> Self {
        // Without a wake-up, 0 / 0 would be NaN. A count above 0 would be infinite.
        let per_wake = |count: f64| if wakes > 0 { count / wakes as f64 } else { f64::NAN };
        Self { counts: counted.counts.map(per_wake), share: counted.share }
    }
}
