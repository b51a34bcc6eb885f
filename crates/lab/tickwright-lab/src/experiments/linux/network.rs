//! The networking test: a server and its clients, in virtual time. The segments that they exchange
//! re-arm the timers of the connections by the rules of Linux's TCP.
//!
//! # Whose timers
//!
//! Each end of a connection has three timers. The published rates are counts of one kernel, and the
//! clients of a server run on other machines, so only the server's timers are compared with the
//! published rates. The clients' timers are counted separately.
//!
//! - **retransmit**, 200 ms (`TCP_RTO_MIN`) plus a tick, because the kernel adds the measured round
//!   trip and rounds up. Data that are sent while nothing is in flight re-arm this timer
//!   (`tcp_event_new_data_sent`). Each acknowledgement that leaves data in flight also re-arms this
//!   timer (`tcp_rearm_rto`).
//! - **delayed acknowledgement**, 40 ms (`TCP_ATO_MIN`): armed by the first segment after an
//!   acknowledgement (`tcp_send_delayed_ack`). The second segment is acknowledged at once
//!   (`__tcp_ack_snd_check`).
//! - **idle**, 60 s: a timer of the application, as in web servers. The server re-arms its idle
//!   timer once per exchange, when the request is complete. The client re-arms its idle timer when
//!   the response is complete.
//!
//! A timer that is no longer needed stays in the queue, because Linux only clears a flag
//! (`inet_csk_clear_xmit_timer`). The timer is re-armed later, or it fires without effect.
//!
//! A receiver that merges segments before TCP sees them (GRO) acknowledges each merged group at
//! once. Such a receiver never arms the timer for delayed acknowledgements. In this simulation, no
//! segments are merged.
//!
//! Losses, quick acknowledgements after a pause, and the loss probe are left out, because they are
//! absent or rare in this traffic. Linux does not arm the probe while the waiting data fit into the
//! window (`tcp_schedule_loss_probe`), which is the case while the line limits the traffic.
//!
//! # What the traffic is
//!
//! The server sends through a **line**: a chunk is sent after the time that the segments of the
//! previous chunk take on an Ethernet. Active responses alternate. All segments of a chunk, and one
//! acknowledgement for every two segments, count in the tick in which the chunk is sent. The path
//! has no delay, so acknowledgements arrive within the sender's call, as on loopback.
//!
//! The defaults are an Ethernet of 1 Gbit/s and 200 clients that fetch 512 KiB with pauses of 2 s
//! on average. This resembles viewers of a 2 Mbit/s video that fetch pieces of 2 s, as Smooth
//! Streaming and DASH do over persistent connections. The traffic uses four tenths of the line.

mod simulation;
mod traffic;

use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use super::counts::Counts;
use super::oracle::Model;
use super::subject::{Column, Outcome, Subject, Timers};
use crate::error::LabError;

pub(crate) use self::simulation::{Carried, simulate};
pub(crate) use self::traffic::{ENDS, Kind, Rearm, SEGMENT, Traffic};

/// Which re-arms are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// The server's re-arms.
    Server,
    /// The re-arms of both ends, as if they ran under one kernel.
    Both,
}

impl Share {
    pub(crate) const ALL: [Self; 2] = [Self::Server, Self::Both];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Both => "both ends under one kernel",
        }
    }
}

/// The counts of one way of re-arming.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// Counts of the server's timers; only `fired` includes both ends.
    pub(crate) server: Outcome,
    /// Counts by end and kind of timer: by [`ENDS`] and [`Kind::ALL`].
    pub(crate) kinds: [[Counts; 3]; 2],
    pub(crate) carried: Carried,
}

impl Run {
    /// Returns the counts of a share of the re-arms.
    pub(crate) fn counts(&self, share: Share) -> Counts {
        let of = |ends: &[[Counts; 3]]| {
            ends.iter().flatten().fold(Counts::default(), |mut sum, &counts| {
                sum += counts;
                sum
            })
        };
        match share {
            Share::Server => of(&self.kinds[1..]),
            Share::Both => of(&self.kinds),
        }
    }
}

/// The whole traffic, with one way of re-arming. Each timer's counts are compared with the
/// oracle's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) column: Column,
    pub(crate) lasts: Duration,
    /// The run also ends after this number of exchanges.
    pub(crate) most: u64,
}

/// A shard with the timers of one kind, and what the oracle expects of them.
struct Wheel {
    shard: Box<dyn Subject>,
    /// The timers and their models, by connection.
    timers: HashMap<usize, (Box<dyn Timers>, Model)>,
    expected: Counts,
    now: u64,
    fired: u64,
}

impl Wheel {
    fn new(column: Column) -> Self {
        let (shard, timers) = (column.shard(), HashMap::new());
        Self { shard, timers, expected: Counts::default(), now: 0, fired: 0 }
    }

    fn rearm(&mut self, column: Column, rearm: &Rearm) -> Result<(), LabError> {
        if rearm.now > self.now {
            self.now = rearm.now;
            self.fired += self.shard.advance(self.now)?;
        }
        let (timer, model) = match self.timers.entry(rearm.connection) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(new) => new.insert((self.shard.timers(1)?, Model::default())),
        };
        self.expected.note(model.arm(column.way(), rearm.now, rearm.deadline - rearm.now));
        timer.modify(0, rearm.deadline).map(|_| ()).map_err(|error| LabError::failed(error.to_string()))
    }

    fn counts(&self) -> Result<Counts, String> {
        self.shard.check().map_err(|violation| violation.to_string())?;
        let (got, expected) = (self.shard.counts(), self.expected);
        let seen = |counts: &Counts| [counts.matched, counts.requeued, counts.started];
        if seen(&got) == seen(&expected) {
            Ok(got)
        } else {
            Err(format!("counted {got:?}, expected {expected:?}"))
        }
    }
}

impl Network<'_> {
    /// Returns the counts of the re-arms.
    ///
    /// # Errors
    /// If a count differs from the oracle's.
    pub(crate) fn run(self) -> Result<Run, LabError> {
        let Self { traffic, column, lasts, most } = self;
        let mut wheels = [(); 2].map(|()| [(); 3].map(|()| Wheel::new(column)));
        let carried = simulate(traffic, lasts, most, &mut |rearm| {
            wheels[usize::from(rearm.server)][rearm.kind as usize].rearm(column, &rearm)
        })?;
        let wrong = |what: String| LabError::failed(format!("networking, {}: {what}", column.title()));
        let mut kinds = [[Counts::default(); 3]; 2];
        for (of_end, wheels) in kinds.iter_mut().zip(&wheels) {
            for (counts, wheel) in of_end.iter_mut().zip(wheels) {
                *counts = wheel.counts().map_err(wrong)?;
            }
        }
        let fired = wheels.iter().flatten().map(|wheel| wheel.fired).sum();
        let server = Outcome { column, counts: Counts::default(), fired, late: 0 };
        let mut run = Run { server, kinds, carried };
        run.server.counts = run.counts(Share::Server);
        Ok(run)
    }
}
