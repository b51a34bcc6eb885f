//! The traffic of the networking test: connections, their timers, and re-arms.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) connections: usize,
    pub(crate) response: usize,
    /// The mean pause of a client between a response and its next request, in ms. Pauses are
    /// exponentially distributed.
    pub(crate) pause_ms: u64,
    /// Rate of the server's line, in Mbit/s.
    pub(crate) line_mbits: u64,
    pub(crate) hz: u64,
    pub(crate) seed: u64,
}

/// Bytes of data in a full Ethernet segment: 1500 minus the headers of IP and of TCP with time
/// stamps.
pub(crate) const SEGMENT: usize = 1448;
/// Bytes of a full segment on the line, with preamble, checksum and gap.
const FRAME: u64 = 1538;

impl Traffic {
    /// Returns the time of `segments` full segments on the line, in ns.
    pub(super) fn on_line_ns(&self, segments: usize) -> u64 {
        segments as u64 * FRAME * 8 * 1000 / self.line_mbits
    }

    /// Returns the acknowledgements per tick while the line is busy, with one acknowledgement for
    /// two segments.
    pub(crate) fn acknowledgements_per_tick(&self) -> f64 {
        self.line_mbits as f64 * 1e6 / (self.hz * FRAME * 8 * 2) as f64
    }
}

/// The timers of a connection end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Idle,
    Retransmit,
    DelayedAck,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Idle, Self::Retransmit, Self::DelayedAck];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle, 60 s",
            Self::Retransmit => "retransmit, 200 ms",
            Self::DelayedAck => "delayed ack, 40 ms",
        }
    }

    /// Returns the delay for which the timer is armed, in ticks.
    pub(crate) fn delay(self, hz: u64) -> u64 {
        match self {
            Self::Idle => 60 * hz,
            Self::Retransmit => hz / 5 + 1,
            Self::DelayedAck => hz / 25,
        }
    }
}

/// The two ends of a connection.
pub(crate) const ENDS: [&str; 2] = ["client", "server"];

/// One re-arm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rearm {
    /// The tick of the call.
    pub(crate) now: u64,
    pub(crate) deadline: u64,
    pub(crate) connection: usize,
    pub(crate) server: bool,
    pub(crate) kind: Kind,
}
