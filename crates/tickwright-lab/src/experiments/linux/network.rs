//! The networking test: a server and its clients over loopback, whose segments re-arm the timers of
//! their connections as in Linux's TCP.
//!
//! # Whose timers
//!
//! Each end of a connection has three timers. The published rates are counts of one kernel, and the
//! clients of a server run elsewhere: so the server's timers are what is compared with them. The
//! clients' are counted apart.
//!
//! - **retransmit**, 200 ms (`TCP_RTO_MIN`) and a tick, as the measured round trip is added and
//!   rounded up: re-armed by what is sent while nothing is in flight (`tcp_event_new_data_sent`),
//!   and by each acknowledgement that leaves something in flight (`tcp_rearm_rto`).
//! - **delayed acknowledgement**, 40 ms (`TCP_ATO_MIN`): armed by a segment
//!   (`tcp_send_delayed_ack`), unless it is the second since the last acknowledgement, which is
//!   acknowledged at once (`__tcp_ack_snd_check`).
//! - **idle**, 60 s: the server's own, as web servers have it; re-armed once in an exchange, when
//!   the request (at the client: the response) is whole.
//!
//! None is taken out when it is not needed any more: Linux only clears a flag
//! (`inet_csk_clear_xmit_timer`), and the timer fires into the void or is re-armed.
//!
//! A receiver that merges segments before TCP sees them (GRO) acknowledges each such lot at once,
//! and arms no delayed acknowledgement; here none are merged.
//!
//! Left out, since they do not arise or not often in this traffic: losses; quick acknowledgements
//! after a pause; and the loss probe, which is not armed while data wait that the window would
//! admit (`tcp_schedule_loss_probe`), that is while the line is what limits.
//!
//! # What the traffic is
//!
//! Loopback has no line rate and moves 64 KiB at once. So the server sends through a **line**: a
//! chunk goes when the one before has had the time that its segments take on an Ethernet, and
//! responses under way take turns. Each chunk is then counted as its segments, one acknowledgement
//! for two, in the tick of its call: on loopback they do come within the sender's call.
//!
//! The defaults are an Ethernet of 1 Gbit/s and 200 clients that fetch 512 KiB with pauses of 2 s
//! on average: viewers of a video of 2 Mbit/s in pieces of 2 s, as Smooth Streaming and DASH over
//! lasting connections have them. That uses four tenths of the line.

use core::fmt;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use tickwright_core::{DaryHeap, SlabQueue};

use super::counts::Counts;
use super::oracle::Model;
use super::outcome::{Column, Outcome, WithSubject};
use super::simple::{SetOnDrop, tick, ticks};
use super::subject::{Rearmed, Subject};
use crate::clock::{Meter, OsClock};
use crate::interrupt;

/// The workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Traffic {
    pub(crate) connections: usize,
    /// Bytes of a response.
    pub(crate) response: usize,
    /// Mean pause of a client between a response and its next request, in ms; exponential.
    pub(crate) pause_ms: u64,
    /// Rate of the server's line, Mbit/s.
    pub(crate) line_mbits: u64,
    /// Ticks a second.
    pub(crate) hz: u64,
    pub(crate) seed: u64,
}

/// Bytes of data in a full segment over Ethernet: 1500 less the headers of IP and of TCP with time
/// stamps.
pub(crate) const SEGMENT: usize = 1448;
/// Bytes that it takes on the line, with preamble, checksum and gap.
const FRAME: u64 = 1538;
/// Bytes of a request. Its number comes first; the response begins with it.
const REQUEST: usize = 128;
const NUMBER: usize = size_of::<u64>();
/// What is read or written at a time: as many full segments as one segmentation offload takes (64
/// KiB).
const CHUNK: usize = 45 * SEGMENT;
/// How long a loop waits at most before it looks whether all is over.
const LOOK_UP: Duration = Duration::from_millis(5);

impl Traffic {
    /// Time that so many segments take on the line, in ns.
    fn on_line_ns(&self, segments: usize) -> u64 {
        segments as u64 * FRAME * 8 * 1000 / self.line_mbits
    }

    /// Acknowledgements that come in a tick while the line is busy: one for two segments.
    pub(crate) fn acknowledgements_per_tick(&self) -> f64 {
        self.line_mbits as f64 * 1e6 / (self.hz * FRAME * 8 * 2) as f64
    }
}

/// The timers of an end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

    /// How far ahead it is armed, in ticks.
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

/// One re-arm, as it was asked for.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Logged {
    /// Since the run began.
    pub(crate) at_ns: u64,
    /// The tick that it was.
    pub(crate) now: u64,
    pub(crate) deadline: u64,
    pub(crate) connection: u32,
    pub(crate) server: bool,
    pub(crate) kind: Kind,
    /// The first of its timer in a call of the system.
    pub(crate) first_of_call: bool,
}

/// Why a run has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Sockets cannot be had, or fail: the test is left out.
    NoSockets(io::Error),
    /// What was counted or received is not what it must be.
    Wrong(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::NoSockets(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSockets(error) => write!(f, "sockets: {error}"),
            Self::Wrong(what) => f.write_str(what),
        }
    }
}

/// A run with one way of re-arming.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Run {
    /// The server's timers, except that `fired` counts those of both ends.
    pub(crate) server: Outcome,
    /// By [`ENDS`] and [`Kind::ALL`].
    pub(crate) kinds: [[Counts; 3]; 2],
    pub(crate) exchanges: u64,
    pub(crate) line: Line,
    /// What was asked for, up to the most that the run was allowed to note.
    #[serde(skip)]
    pub(crate) log: Vec<Logged>,
}

/// How the server's line was used.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Line {
    /// Time that all segments took, ns.
    pub(crate) busy_ns: u64,
    pub(crate) chunks: u64,
    /// Sum over the chunks: responses under way.
    pub(crate) sharers: u64,
    /// When it is free again.
    #[serde(skip)]
    free_at: u64,
}

impl Line {
    /// Takes a chunk. A loop that is late makes up for one chunk, which the card would have had in
    /// store, and for no more.
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

/// Timers of one kind and end each: by [`ENDS`] and [`Kind::ALL`].
type Wheels<S> = [[S; 3]; 2];

/// What both loops share.
struct Scene<'a, S: Subject> {
    wheels: &'a Wheels<S>,
    traffic: &'a Traffic,
    clock: OsClock,
    done: AtomicBool,
    /// How many re-arms each side notes.
    notes: usize,
}

/// One end of a connection.
struct End<S: Subject> {
    stream: TcpStream,
    number: u32,
    timers: [S::Timer; 3],
    /// Bytes that are still to be sent, and to be received.
    to_send: usize,
    to_receive: usize,
    /// Of the exchange under way.
    exchange: u64,
    /// Segments sent and not acknowledged.
    in_flight: usize,
    /// A segment was received and its acknowledgement waits for another.
    owes: bool,
}

/// A loop over the ends on one side.
struct Side<'a, S: Subject> {
    scene: &'a Scene<'a, S>,
    server: bool,
    ends: Vec<End<S>>,
    buffer: Vec<u8>,
    rearms: [u64; 3],
    log: Vec<Logged>,
}

impl<S: Subject> Scene<'_, S> {
    fn over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || interrupt::requested()
    }
}

/// Segments that begin within `bytes` after the first `begins` bytes of a message.
fn segments(begins: usize, bytes: usize) -> usize {
    (begins + bytes).div_ceil(SEGMENT) - begins.div_ceil(SEGMENT)
}

impl<'a, S: Subject> Side<'a, S> {
    fn new(scene: &'a Scene<'a, S>, server: bool, streams: Vec<TcpStream>) -> io::Result<Self> {
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

    /// The tick that it is. What one call of the system has moved, happened in one.
    fn now(&self) -> u64 {
        ticks(&self.scene.clock, self.scene.traffic.hz)
    }

    /// End `at` sent so many segments in a call, and each two of them are acknowledged.
    fn sent(&mut self, at: usize, segments: usize) {
        let now = self.now();
        let end = &mut self.ends[at];
        // Data carry the acknowledgement.
        end.owes = false;
        let mut arms = usize::from(end.in_flight == 0 && segments > 0);
        let flying = end.in_flight + segments;
        end.in_flight = flying % 2;
        arms += flying / 2;
        if flying >= 2 && end.in_flight == 0 {
            // The last one leaves nothing to wait for.
            arms -= 1;
        }
        for nth in 0..arms {
            self.rearm(at, Kind::Retransmit, now, nth == 0);
        }
    }

    /// End `at` received so many segments in a call.
    fn received(&mut self, at: usize, segments: usize) {
        let now = self.now();
        let mut first = true;
        // The other end answers: all that was sent to it is acknowledged.
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
        // Only a timer that is shut down refuses, and none is.
        let _ = end.timers[kind as usize].modify(deadline);
        self.rearms[kind as usize] += 1;
        if self.log.len() < scene.notes {
            let (at_ns, server, connection) = (scene.clock.now(), self.server, end.number);
            self.log.push(Logged { at_ns, now, deadline, connection, server, kind, first_of_call });
        }
    }

    /// Waits until an end can go on, or for `within`; those that send only if they may. Answers
    /// which can.
    fn ready(&self, within: Duration, may_send: bool) -> io::Result<Vec<usize>> {
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
            // Ctrl-C; the caller looks.
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        Ok((0..).zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(at, _)| at).collect())
    }

    /// Sends up to a chunk of what end `at` has to send, as far as the socket takes it. Answers how
    /// many segments.
    fn send(&mut self, at: usize) -> io::Result<usize> {
        let whole = if self.server { self.scene.traffic.response } else { REQUEST };
        let End { stream, to_send, exchange, .. } = &mut self.ends[at];
        let begins = whole - *to_send;
        // The number stands at the beginning; all else is padding.
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
            Err(error) => Err(error),
        }
    }

    /// Receives what is there, but not beyond the message. Whether the message is whole now.
    fn receive(&mut self, at: usize) -> Result<bool, Failure> {
        while self.ends[at].to_receive > 0 {
            let whole = if self.server { REQUEST } else { self.scene.traffic.response };
            let End { stream, to_receive, exchange, .. } = &mut self.ends[at];
            let begins = whole - *to_receive;
            let length = (*to_receive).min(CHUNK);
            match stream.read(&mut self.buffer[..length]) {
                Ok(0) => {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "the other end has closed").into());
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
                            return Err(Failure::Wrong(format!(
                                "response {number} came to request {exchange}"
                            )));
                        }
                    }
                    self.received(at, segments(begins, received));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        self.rearm(at, Kind::Idle, self.now(), true);
        Ok(true)
    }

    /// Answers requests until all is over; responses under way take turns on the line, chunk by
    /// chunk.
    fn serve(&mut self) -> Result<Line, Failure> {
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

    /// Sends requests for as long as it `lasts`, or so many. Answers how many exchanges were made.
    fn request(&mut self, lasts: Duration, most: u64) -> Result<u64, Failure> {
        let (scene, clock) = (self.scene, self.scene.clock);
        let mut random = Pcg64Mcg::seed_from_u64(scene.traffic.seed);
        let mean = scene.traffic.pause_ms as f64 * 1e6;
        let mut pause = move || (-(1.0 - random.random::<f64>()).ln() * mean) as u64;
        let mut pauses: SlabQueue<DaryHeap<4>, usize> = SlabQueue::new();
        for at in 0..self.ends.len() {
            pauses.insert(pause(), at).map_err(|error| Failure::Wrong(error.to_string()))?;
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
                    pauses.insert(next, at).map_err(|error| Failure::Wrong(error.to_string()))?;
                }
            }
        }
        Ok(exchanges)
    }
}

/// Both ends of each connection.
fn connect(connections: usize) -> io::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    // One after the other, so that no backlog is too short. Strangers may knock at the port too.
    let pair = |_| {
        let client = TcpStream::connect(address)?;
        let mine = client.local_addr()?;
        loop {
            let (server, from) = listener.accept()?;
            if from == mine {
                return Ok((client, server));
            }
        }
    };
    (0..connections).map(pair).collect()
}

/// A run over real sockets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Live<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) column: Column,
    pub(crate) lasts: Duration,
    /// Ends after so many exchanges, too.
    pub(crate) most: u64,
    /// How many re-arms of each side are noted.
    pub(crate) notes: usize,
}

impl WithSubject for Live<'_> {
    type Out = Result<Run, Failure>;

    fn with<S: Subject>(self) -> Self::Out {
        let Self { traffic, column, lasts, most, notes } = self;
        let (clients, servers) = connect(traffic.connections)?;
        let wheels: Wheels<S> = [(); 2].map(|()| [(); 3].map(|()| S::new()));
        let scene =
            Scene { wheels: &wheels, traffic, clock: OsClock::start(), done: AtomicBool::new(false), notes };
        let mut client = Side::new(&scene, false, clients)?;
        let mut server = Side::new(&scene, true, servers)?;
        let panicked = |_| Failure::Wrong("a thread of the test panicked".into());
        let (exchanges, served, fired) = std::thread::scope(|scope| {
            let ending = SetOnDrop(&scene.done);
            let all: Vec<&S> = wheels.iter().flatten().collect();
            let (clock, done) = (&scene.clock, &scene.done);
            let ticking = scope.spawn(move || tick(&all, traffic.hz, clock, done));
            let serving = scope.spawn(|| {
                // Without it nobody would answer any more.
                let _ending = SetOnDrop(&scene.done);
                server.serve()
            });
            let exchanges = client.request(lasts, most);
            drop(ending);
            (exchanges, serving.join().map_err(panicked), ticking.join().map_err(panicked))
        });
        let line = served??;
        let (exchanges, fired) = (exchanges?, fired?);
        let elapsed_ns = scene.clock.now();
        let mut kinds = [[Counts::default(); 3]; 2];
        for (end, side) in [&client, &server].into_iter().enumerate() {
            for kind in Kind::ALL {
                let (wheel, asked) = (&wheels[end][kind as usize], side.rearms[kind as usize]);
                let counts = wheel.counts();
                if counts.rearms() + counts.started != asked {
                    return Err(Failure::Wrong(format!(
                        "{asked} re-arms were asked for, counted {counts:?}"
                    )));
                }
                wheel.check().map_err(|violation| Failure::Wrong(violation.to_string()))?;
                kinds[end][kind as usize] = counts;
            }
        }
        let mut counts = Counts::default();
        for of_kind in kinds[1] {
            counts += of_kind;
        }
        let mut log = client.log;
        log.append(&mut server.log);
        log.sort_by_key(|entry| entry.at_ns);
        let server = Outcome { column, counts, elapsed_ns, fired, late: 0 };
        Ok(Run { server, kinds, exchanges, line, log })
    }
}

/// Which re-arms of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Share {
    /// The server's.
    Server,
    /// The server's, but only the first of a timer in each call of the system: as if what a call
    /// moves were acknowledged once.
    ServerCalls,
    /// Those of both ends, as if they ran under one kernel.
    Both,
}

impl Share {
    pub(crate) const ALL: [Self; 3] = [Self::Server, Self::ServerCalls, Self::Both];

    fn has(self, entry: &Logged) -> bool {
        match self {
            Self::Server => entry.server,
            Self::ServerCalls => entry.server && entry.first_of_call,
            Self::Both => true,
        }
    }
}

/// The re-arms of a log once more in virtual time: the same traffic for every way of re-arming,
/// each answer compared with the oracle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replay<'a> {
    pub(crate) log: &'a [Logged],
    pub(crate) column: Column,
    pub(crate) share: Share,
}

impl WithSubject for Replay<'_> {
    type Out = Result<Counts, Failure>;

    fn with<S: Subject>(self) -> Self::Out {
        let Self { log, column, share } = self;
        let wrong = |what: String| Failure::Wrong(format!("replay, {}: {what}", column.title()));
        let shard = S::new();
        let mut timers: HashMap<(bool, u32, usize), (S::Timer, Model)> = HashMap::new();
        let (mut expected, mut now) = (Counts::default(), 0);
        for entry in log.iter().filter(|entry| share.has(entry)) {
            if entry.now > now {
                now = entry.now;
                shard.advance(now).map_err(|error| wrong(error.to_string()))?;
            }
            let (timer, model) = match timers.entry((entry.server, entry.connection, entry.kind as usize)) {
                Slot::Occupied(known) => known.into_mut(),
                Slot::Vacant(new) => {
                    let timer = shard.timer().map_err(|error| wrong(error.to_string()))?;
                    new.insert((timer, Model::default()))
                }
            };
            // Two ends note what they do on two threads: one may be a tick behind the other.
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
