//! A loop over all connection ends of one side: the server's or the clients'.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tickwright_core::{DaryHeap, SlabQueue};

use super::super::simple::ticks;
use super::super::subject::{Rearmed, Subject};
use super::traffic::{Kind, Logged, SEGMENT, Traffic, sockets, wrong};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;

/// Bytes of a request. A request begins with its number, and so does its response.
const REQUEST: usize = 128;
const NUMBER: usize = size_of::<u64>();
/// Bytes per read or write: the full segments of one segmentation offload (64 KiB).
const CHUNK: usize = 45 * SEGMENT;
/// Longest wait of a loop before it checks whether the run is over.
const LOOK_UP: Duration = Duration::from_millis(5);

/// Use of the server's line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Line {
    /// Total time of all segments on the line, in ns.
    pub(crate) busy_ns: u64,
    chunks: u64,
    /// Sum over the chunks of the number of active responses.
    sharers: u64,
    /// Time at which the line is free again, in ns.
    free_at: u64,
}

impl Line {
    /// Occupies the line for one chunk. A late loop may catch up by one chunk, which a network card
    /// would have queued, but by no more than that.
    fn take(&mut self, now: u64, takes: u64, sharers: u64) {
        self.free_at = self.free_at.max(now.saturating_sub(takes)) + takes;
        self.busy_ns += takes;
        self.chunks += 1;
        self.sharers += sharers;
    }

    /// Mean number of responses that shared the line while it was busy.
    pub(crate) fn shared_by(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.sharers as f64 / self.chunks as f64)
    }
}

/// The shards, indexed by end and kind of timer: by [`ENDS`](super::ENDS) and [`Kind::ALL`].
pub(super) type Wheels<S> = [[S; 3]; 2];

/// State that both loops share.
pub(super) struct Scene<'a, S: Subject> {
    pub(super) wheels: &'a Wheels<S>,
    pub(super) traffic: &'a Traffic,
    pub(super) clock: OsClock,
    pub(super) done: AtomicBool,
    /// Maximum number of logged re-arms per side.
    pub(super) notes: usize,
}

/// One end of a connection.
struct End<S: Subject> {
    stream: TcpStream,
    number: u32,
    timers: [S::Timer; 3],
    /// Bytes that remain to be sent, and bytes that remain to be received.
    to_send: usize,
    to_receive: usize,
    /// Number of the current exchange.
    exchange: u64,
    /// Number of segments that are sent but not acknowledged.
    in_flight: usize,
    /// Whether a segment was received whose acknowledgement waits for the next segment.
    owes: bool,
}

/// A loop over the ends on one side.
pub(super) struct Side<'a, S: Subject> {
    scene: &'a Scene<'a, S>,
    server: bool,
    ends: Vec<End<S>>,
    buffer: Vec<u8>,
    /// Number of re-arms so far, by [`Kind::ALL`].
    pub(super) rearms: [u64; 3],
    pub(super) log: Vec<Logged>,
}

impl<S: Subject> Scene<'_, S> {
    fn over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || interrupt::requested()
    }
}

/// Number of segments that begin within `bytes` after the first `begins` bytes of a message.
fn segments(begins: usize, bytes: usize) -> usize {
    (begins + bytes).div_ceil(SEGMENT) - begins.div_ceil(SEGMENT)
}

impl<'a, S: Subject> Side<'a, S> {
    pub(super) fn new(scene: &'a Scene<'a, S>, server: bool, streams: Vec<TcpStream>) -> io::Result<Self> {
        let end = |(number, stream): (u32, TcpStream)| {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let wheels = &scene.wheels[usize::from(server)];
            let timer =
                |kind: usize| wheels[kind].timer().map_err(|error| io::Error::other(error.to_string()));
            let timers = [timer(0)?, timer(1)?, timer(2)?];
            let to_receive = if server { REQUEST } else { 0 };
            Ok(End { stream, number, timers, to_send: 0, to_receive, exchange: 0, in_flight: 0, owes: false })
        };
        let ends = (0..).zip(streams).map(end).collect::<io::Result<_>>()?;
        Ok(Self { scene, server, ends, buffer: vec![0; CHUNK], rearms: [0; 3], log: Vec::new() })
    }

    /// The current tick. All segments of one system call get the same tick.
    fn now(&self) -> u64 {
        ticks(&self.scene.clock, self.scene.traffic.hz)
    }

    /// Records that end `at` sent `segments` segments in one call. One acknowledgement covers two
    /// segments.
    fn sent(&mut self, at: usize, segments: usize) {
        let now = self.now();
        let end = &mut self.ends[at];
        // Data segments carry the acknowledgement.
        end.owes = false;
        let mut arms = usize::from(end.in_flight == 0 && segments > 0);
        let flying = end.in_flight + segments;
        end.in_flight = flying % 2;
        arms += flying / 2;
        if flying >= 2 && end.in_flight == 0 {
            // The last acknowledgement leaves nothing in flight, so it arms nothing.
            arms -= 1;
        }
        for nth in 0..arms {
            self.rearm(at, Kind::Retransmit, now, nth == 0);
        }
    }

    /// Records that end `at` received `segments` segments in one call.
    fn received(&mut self, at: usize, segments: usize) {
        let now = self.now();
        let mut first = true;
        // The other end responds, so all data sent to it are acknowledged.
        self.ends[at].in_flight = 0;
        for _ in 0..segments {
            let end = &mut self.ends[at];
            end.owes = !end.owes;
            if end.owes {
                self.rearm(at, Kind::DelayedAck, now, first);
                first = false;
            }
        }
    }

    fn rearm(&mut self, at: usize, kind: Kind, now: u64, first_of_call: bool) {
        let (scene, end) = (self.scene, &self.ends[at]);
        let deadline = now + kind.delay(scene.traffic.hz);
        // This fails only for a timer that is shut down, and no timer is.
        let _ = end.timers[kind as usize].modify(deadline);
        self.rearms[kind as usize] += 1;
        if self.log.len() < scene.notes {
            let (at_ns, server, connection) = (scene.clock.now(), self.server, end.number);
            self.log.push(Logged { at_ns, now, deadline, connection, server, kind, first_of_call });
        }
    }

    /// Waits until an end is ready, or for `within`. Returns the ends that are ready. If an end has
    /// data to send, it is ready only if `may_send`.
    fn ready(&self, within: Duration, may_send: bool) -> Result<Vec<usize>, LabError> {
        let wanted = |end: &End<S>| match end.to_send {
            0 => PollFlags::IN,
            _ if may_send => PollFlags::OUT,
            _ => PollFlags::empty(),
        };
        let mut fds: Vec<PollFd<'_>> =
            self.ends.iter().map(|end| PollFd::new(&end.stream, wanted(end))).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            // A signal came, perhaps Ctrl-C; the caller checks for it.
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(sockets(error.into())),
        }
        Ok((0..).zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(at, _)| at).collect())
    }

    /// Sends up to one chunk from end `at`, as much as the socket accepts. Returns the number of
    /// segments.
    fn send(&mut self, at: usize) -> Result<usize, LabError> {
        let whole = if self.server { self.scene.traffic.response } else { REQUEST };
        let End { stream, to_send, exchange, .. } = &mut self.ends[at];
        let begins = whole - *to_send;
        // The message begins with its number; the rest is padding.
        let number = exchange.to_le_bytes();
        self.buffer[..NUMBER].fill(0);
        if let Some(rest) = number.get(begins..) {
            self.buffer[..rest.len()].copy_from_slice(rest);
        }
        let length = (*to_send).min(CHUNK);
        match stream.write(&self.buffer[..length]) {
            Ok(sent) => {
                *to_send -= sent;
                let segments = segments(begins, sent);
                self.sent(at, segments);
                Ok(segments)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(sockets(error)),
        }
    }

    /// Receives the available bytes of the current message. Returns whether the message is
    /// complete.
    fn receive(&mut self, at: usize) -> Result<bool, LabError> {
        while self.ends[at].to_receive > 0 {
            let whole = if self.server { REQUEST } else { self.scene.traffic.response };
            let End { stream, to_receive, exchange, .. } = &mut self.ends[at];
            let begins = whole - *to_receive;
            let length = (*to_receive).min(CHUNK);
            match stream.read(&mut self.buffer[..length]) {
                Ok(0) => {
                    let closed = io::Error::new(ErrorKind::UnexpectedEof, "the other end has closed");
                    return Err(sockets(closed));
                }
                Ok(received) => {
                    *to_receive -= received;
                    if begins == 0 && received >= NUMBER {
                        let mut number = [0; NUMBER];
                        number.copy_from_slice(&self.buffer[..NUMBER]);
                        let number = u64::from_le_bytes(number);
                        if self.server {
                            *exchange = number;
                        } else if number != *exchange {
                            return Err(wrong(format!("response {number} came to request {exchange}")));
                        }
                    }
                    self.received(at, segments(begins, received));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(sockets(error)),
            }
        }
        self.rearm(at, Kind::Idle, self.now(), true);
        Ok(true)
    }

    /// Responds to requests until the run is over. Active responses take turns on the line, chunk
    /// by chunk.
    pub(super) fn serve(&mut self) -> Result<Line, LabError> {
        let (mut line, mut last) = (Line::default(), 0);
        while !self.scene.over() {
            let now = self.scene.clock.now();
            let busy = Duration::from_nanos(line.free_at.saturating_sub(now));
            let free = busy.is_zero();
            let ready = self.ready(if free { LOOK_UP } else { busy.min(LOOK_UP) }, free)?;
            let (sending, asked): (Vec<usize>, Vec<usize>) =
                ready.into_iter().partition(|&at| self.ends[at].to_send > 0);
            for at in asked {
                if self.receive(at)? {
                    self.ends[at].to_receive = REQUEST;
                    self.ends[at].to_send = self.scene.traffic.response;
                }
            }
            let next = sending.iter().find(|&&at| at > last).or(sending.first());
            if let Some(&at) = next.filter(|_| free) {
                let sharers = self.ends.iter().filter(|end| end.to_send > 0).count();
                let segments = self.send(at)?;
                if segments > 0 {
                    line.take(now, self.scene.traffic.on_line_ns(segments), sharers as u64);
                }
                last = at;
            }
        }
        Ok(line)
    }

    /// Sends requests for `lasts`, or until `most` exchanges are complete. Returns the number of
    /// exchanges.
    pub(super) fn request(&mut self, lasts: Duration, most: u64) -> Result<u64, LabError> {
        let (scene, clock) = (self.scene, self.scene.clock);
        let mut random = Pcg64Mcg::seed_from_u64(scene.traffic.seed);
        let mean = scene.traffic.pause_ms as f64 * 1e6;
        let mut pause = move || (-(1.0 - random.random::<f64>()).ln() * mean) as u64;
        let mut pauses: SlabQueue<DaryHeap<4>, usize> = SlabQueue::new();
        for at in 0..self.ends.len() {
            pauses.insert(pause(), at).map_err(wrong)?;
        }
        let (mut exchanges, ends) = (0, lasts.as_nanos() as u64);
        while exchanges < most && !scene.over() {
            let now = clock.now();
            if now >= ends {
                break;
            }
            while let Some(paused) = pauses.pop_expired(now) {
                let end = &mut self.ends[paused.value];
                end.exchange += 1;
                (end.to_send, end.to_receive) = (REQUEST, scene.traffic.response);
                self.send(paused.value)?;
            }
            let sleep =
                pauses.next_wake().map_or(LOOK_UP, |wake| Duration::from_nanos(wake.saturating_sub(now)));
            for at in self.ready(sleep.min(LOOK_UP), true)? {
                if self.ends[at].to_send > 0 {
                    self.send(at)?;
                } else if self.ends[at].to_receive > 0 && self.receive(at)? {
                    exchanges += 1;
                    let next = clock.now().saturating_add(pause());
                    pauses.insert(next, at).map_err(wrong)?;
                }
            }
        }
        Ok(exchanges)
    }
}
