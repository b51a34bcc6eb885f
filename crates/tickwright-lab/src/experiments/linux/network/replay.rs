//! Repeats the re-arms of a run in virtual time.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use super::super::counts::Counts;
use super::super::oracle::Model;
use super::super::subject::{Column, Rearmed, Subject, WithSubject};
use super::traffic::Logged;
use crate::error::LabError;

/// The part of a log that is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// The server's re-arms.
    Server,
    /// The server's re-arms, but only the first one of each timer in a system call. The re-arms are
    /// counted as if one acknowledgement covered all data of a call.
    ServerCalls,
    /// The re-arms of both ends, as if they ran under one kernel.
    Both,
}

impl Share {
    pub(crate) const ALL: [Self; 3] = [Self::Server, Self::ServerCalls, Self::Both];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::ServerCalls => "server, each system call acknowledged once",
            Self::Both => "both ends under one kernel",
        }
    }

    fn has(self, entry: &Logged) -> bool {
        match self {
            Self::Server => entry.server,
            Self::ServerCalls => entry.server && entry.first_of_call,
            Self::Both => true,
        }
    }
}

/// Counts of one way of re-arming on the traffic of a log, by [`Share::ALL`].
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    pub(crate) column: Column,
    pub(crate) counts: [Counts; 3],
}

/// Replays the traffic with every way of re-arming, and compares each result with the oracle.
///
/// # Errors
/// A count that differs from the oracle's.
pub(crate) fn replay(log: &[Logged]) -> Result<Vec<Replayed>, LabError> {
    let all = |column: Column| {
        let on = |share| column.run(Replay { log, column, share });
        let [server, calls, both] = Share::ALL.map(on);
        Ok(Replayed { column, counts: [server?, calls?, both?] })
    };
    Column::ALL.into_iter().map(all).collect()
}

struct Replay<'a> {
    log: &'a [Logged],
    column: Column,
    share: Share,
}

impl WithSubject for Replay<'_> {
    type Out = Result<Counts, LabError>;

    fn with<S: Subject>(self) -> Self::Out {
        let Self { log, column, share } = self;
        let wrong = |what: String| LabError::failed(format!("replay, {}: {what}", column.title()));
        let shard = S::new();
        let mut timers: HashMap<(bool, u32, usize), (S::Timer, Model)> = HashMap::new();
        let (mut expected, mut now) = (Counts::default(), 0);
        for entry in log.iter().filter(|entry| share.has(entry)) {
            if entry.now > now {
                now = entry.now;
                shard.advance(now)?;
            }
            let (timer, model) = match timers.entry((entry.server, entry.connection, entry.kind as usize)) {
                Slot::Occupied(known) => known.into_mut(),
                Slot::Vacant(new) => new.insert((shard.timer()?, Model::default())),
            };
            // The two ends log on two threads, so one of them may be a tick behind.
            let delay = entry.deadline.saturating_sub(now);
            expected.note(model.arm(column.way(), now, delay));
            let _ = timer.modify(now + delay).map_err(|error| wrong(error.to_string()))?;
        }
        let got = shard.counts();
        let same = [got.matched, got.requeued, got.started]
            == [expected.matched, expected.requeued, expected.started];
        if same { Ok(got) } else { Err(wrong(format!("counted {got:?}, expected {expected:?}"))) }
    }
}
