//! The traffic in virtual time. Each segment re-arms the timers of its connection.

use core::fmt::Display;
use core::time::Duration;
use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tickwright_core::{DaryHeap, SlabQueue};

use super::traffic::{Kind, Rearm, SEGMENT, Traffic};
use crate::error::LabError;
use crate::interrupt;

/// Bytes of a request.
const REQUEST: usize = 128;
/// Bytes that the server sends at once: the full segments of one segmentation offload (64 KiB).
const CHUNK: usize = 45 * SEGMENT;

/// Figures of the traffic that a simulation has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) exchanges: u64,
    /// The time of the last event, in ns.
    pub(crate) elapsed_ns: u64,
    /// The total time that all segments occupied the line, in ns.
    pub(crate) busy_ns: u64,
    pub(crate) chunks: u64,
    /// The sum, over all chunks, of the number of active responses.
    pub(crate) sharers: u64,
}

impl Carried {
    /// Returns the mean number of responses that shared the line while it was busy.
    pub(crate) fn shared_by(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.sharers as f64 / self.chunks as f64)
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The pause of this client is over.
    Request(usize),
    /// The line is free.
    Free,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    /// Number of segments that are sent but not acknowledged.
    in_flight: usize,
    /// Whether a segment was received whose acknowledgement waits for the next segment.
    owes: bool,
}

/// Receives a re-arm. An error ends the simulation.
type Take<'t> = dyn FnMut(Rearm) -> Result<(), LabError> + 't;

/// The ends of all connections at one point in time.
struct Ends<'a> {
    traffic: &'a Traffic,
    /// For each connection, the client's end and then the server's end.
    ends: Vec<[End; 2]>,
    now_ns: u64,
    rearm: &'a mut Take<'a>,
}

/// Returns the number of segments of a message that begin in the `bytes` bytes after the first
/// `begins` bytes.
fn segments(begins: usize, bytes: usize) -> usize {
    (begins + bytes).div_ceil(SEGMENT) - begins.div_ceil(SEGMENT)
}

impl Ends<'_> {
    fn rearm(&mut self, at: usize, server: bool, kind: Kind) -> Result<(), LabError> {
        let now = (u128::from(self.now_ns) * u128::from(self.traffic.hz) / 1_000_000_000) as u64;
        let deadline = now + kind.delay(self.traffic.hz);
        (self.rearm)(Rearm { now, deadline, connection: at, server, kind })
    }

    /// Lets one end send `segments` segments in one call, and the other end receive them. One
    /// acknowledgement covers two segments.
    fn send(&mut self, at: usize, server: bool, segments: usize) -> Result<(), LabError> {
        let end = &mut self.ends[at][usize::from(server)];
        // Data segments carry the acknowledgement.
        end.owes = false;
        let mut arms = usize::from(end.in_flight == 0 && segments > 0);
        let flying = end.in_flight + segments;
        end.in_flight = flying % 2;
        arms += flying / 2;
        if flying >= 2 && end.in_flight == 0 {
            // After the last acknowledgement nothing is in flight, so the last acknowledgement arms
            // no timer.
            arms -= 1;
        }
        for _ in 0..arms {
            self.rearm(at, server, Kind::Retransmit)?;
        }
        // The other end responds, so all data that it has sent are acknowledged.
        self.ends[at][usize::from(!server)].in_flight = 0;
        for _ in 0..segments {
            let end = &mut self.ends[at][usize::from(!server)];
            end.owes = !end.owes;
            if end.owes {
                self.rearm(at, !server, Kind::DelayedAck)?;
            }
        }
        Ok(())
    }
}

fn wrong(error: impl Display) -> LabError {
    LabError::failed(error.to_string())
}

/// Carries the traffic for `lasts` of virtual time, or until `most` exchanges are complete. Calls
/// `rearm` for each re-arm, in time order. Active responses alternate on the line, chunk by chunk.
/// The same traffic always causes the same re-arms.
///
/// # Errors
/// The first error of `rearm`.
pub(crate) fn simulate<'a>(
    traffic: &'a Traffic,
    lasts: Duration,
    most: u64,
    rearm: &'a mut Take<'a>,
) -> Result<Carried, LabError> {
    let mut random = Pcg64Mcg::seed_from_u64(traffic.seed);
    let mean = traffic.pause_ms as f64 * 1e6;
    let mut pause = move || (-(1.0 - random.random::<f64>()).ln() * mean) as u64;
    let mut ends = Ends { traffic, ends: vec![<[End; 2]>::default(); traffic.connections], now_ns: 0, rearm };
    let mut events: SlabQueue<DaryHeap<4>, Event> = SlabQueue::new();
    for at in 0..traffic.connections {
        events.insert(pause(), Event::Request(at)).map_err(wrong)?;
    }
    // Bytes that the server still has to send, and the connections for which it still has bytes to
    // send.
    let (mut to_send, mut active) = (vec![0; traffic.connections], BTreeSet::new());
    let (mut carried, mut line_is_free, mut last) = (Carried::default(), true, 0);
    let until = u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX);
    while carried.exchanges < most && !interrupt::requested() {
        let next = events.next_wake().filter(|&at| at <= until);
        let Some(event) = next.and_then(|at| events.pop_expired(at)) else { break };
        ends.now_ns = event.deadline;
        match event.value {
            Event::Request(at) => {
                ends.send(at, false, segments(0, REQUEST))?;
                ends.rearm(at, true, Kind::Idle)?;
                to_send[at] = traffic.response;
                active.insert(at);
            }
            Event::Free => line_is_free = true,
        }
        let turn = active.range(last + 1..).next().or(active.first());
        if let Some(&at) = turn.filter(|_| line_is_free) {
            let length = to_send[at].min(CHUNK);
            let sent = segments(traffic.response - to_send[at], length);
            ends.send(at, true, sent)?;
            let takes = traffic.on_line_ns(sent);
            carried.busy_ns += takes;
            carried.chunks += 1;
            carried.sharers += active.len() as u64;
            (line_is_free, last) = (false, at);
            events.insert(ends.now_ns.saturating_add(takes), Event::Free).map_err(wrong)?;
            to_send[at] -= length;
            if to_send[at] == 0 {
                active.remove(&at);
                ends.rearm(at, false, Kind::Idle)?;
                carried.exchanges += 1;
                events.insert(ends.now_ns.saturating_add(pause()), Event::Request(at)).map_err(wrong)?;
            }
        }
        carried.elapsed_ns = ends.now_ns;
    }
    Ok(carried)
}
