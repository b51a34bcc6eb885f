//! The networking test: a server and its clients over loopback, whose segments re-arm the timers of their connections.
//!
//! Each end of a connection has three timers, with TCP's values (Linux `net/tcp.h`): **idle** (60 s, re-armed by every segment), **retransmit**
//! (200 ms, the least time-out; by every segment sent, since on loopback its acknowledgement is there at once) and **delayed
//! acknowledgement** (40 ms, by every segment received). None is taken out when it is not needed any more: it is re-armed or fires into the void.
//! That is a simplified TCP: Linux re-arms the retransmission by acknowledgements, and looks at the idle time only when its timer fires.
//!
//! Loopback moves up to 64 KiB at once; it is this test that counts them as segments of an Ethernet. So the share of equal deadlines follows from
//! the size of the responses: of 46 segments in one tick, 45 ask for what the one before asked for. The same traffic is therefore also counted
//! with one re-arm for each call of the system.

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
use tickwright::shard::{Firing, Shards, SharedTimer, Statistics, Variant};
use tickwright_core::{DaryHeap, SlabQueue, TimerQueue};

use super::oracle::Model;
use super::outcome::{Column, Counts, Outcome, WithVariant};
use super::simple::{SetOnDrop, tick, ticks};
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
    /// Ticks a second.
    pub(crate) hz: u64,
    pub(crate) seed: u64,
}

/// Bytes of data in a full segment over Ethernet.
const SEGMENT: usize = 1448;
/// Bytes of a request. Its number comes first; the response begins with it.
const REQUEST: usize = 128;
const NUMBER: usize = size_of::<u64>();
/// What is read or written at a time: as much as one segmentation offload takes.
const CHUNK: usize = 64 * 1024;
/// How long a loop waits at most before it looks whether all is over.
const LOOK_UP: Duration = Duration::from_millis(5);

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

    fn millis(self) -> u64 {
        match self {
            Self::Idle => 60_000,
            Self::Retransmit => 200,
            Self::DelayedAck => 40,
        }
    }
}

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
    pub(crate) total: Outcome,
    /// In the order of [`Kind::ALL`].
    pub(crate) kinds: [Counts; 3],
    pub(crate) exchanges: u64,
    /// What was asked for, up to the most that the run was allowed to note.
    #[serde(skip)]
    pub(crate) log: Vec<Logged>,
}

/// Timers of one kind, the clients' on shard 0 and the servers' on shard 1.
type Wheels<V> = [Shards<V>; 3];

/// What both loops share.
struct Scene<'a, V: Variant> {
    wheels: &'a Wheels<V>,
    traffic: &'a Traffic,
    clock: OsClock,
    done: AtomicBool,
    /// How many re-arms each side notes.
    notes: usize,
}

/// One end of a connection.
struct End<V: Variant> {
    stream: TcpStream,
    number: u32,
    timers: [SharedTimer<V>; 3],
    /// Bytes that are still to be sent, and to be received.
    to_send: usize,
    to_receive: usize,
    /// Of the exchange under way.
    exchange: u64,
}

/// A loop over the ends on one side.
struct Side<'a, V: Variant> {
    scene: &'a Scene<'a, V>,
    server: bool,
    ends: Vec<End<V>>,
    buffer: Vec<u8>,
    rearms: [u64; 3],
    log: Vec<Logged>,
}

impl<V: Variant> Scene<'_, V> {
    fn over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || interrupt::requested()
    }
}

fn timers<V: Variant>(wheels: &Wheels<V>, shard: usize) -> io::Result<[SharedTimer<V>; 3]> {
    let timer = |kind: usize| wheels[kind].timer(shard, |_: &Firing<'_, V>| {}).map_err(io::Error::other);
    Ok([timer(0)?, timer(1)?, timer(2)?])
}

impl<'a, V: Variant> Side<'a, V> {
    fn new(scene: &'a Scene<'a, V>, server: bool, streams: Vec<TcpStream>) -> io::Result<Self> {
        let end = |(number, stream): (u32, TcpStream)| {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let timers = timers(scene.wheels, usize::from(server))?;
            let to_receive = if server { REQUEST } else { 0 };
            Ok(End { stream, number, timers, to_send: 0, to_receive, exchange: 0 })
        };
        let ends = (0..).zip(streams).map(end).collect::<io::Result<_>>()?;
        Ok(Self { scene, server, ends, buffer: vec![0; CHUNK], rearms: [0; 3], log: Vec::new() })
    }

    /// `bytes` were sent or received on end `at`: each segment re-arms the idle timer and another one.
    fn segments(&mut self, at: usize, bytes: usize, other: Kind) {
        // What one call of the system has moved, happened in one tick.
        let now = ticks(&self.scene.clock, self.scene.traffic.hz);
        for segment in 0..bytes.div_ceil(SEGMENT) {
            for kind in [other, Kind::Idle] {
                self.rearm(at, kind, now, segment == 0);
            }
        }
    }

    fn rearm(&mut self, at: usize, kind: Kind, now: u64, first_of_call: bool) {
        let (scene, end) = (self.scene, &self.ends[at]);
        let deadline = now + (kind.millis() * scene.traffic.hz).div_ceil(1000);
        // Only a timer that is shut down refuses, and none is.
        let _ = end.timers[kind as usize].modify(deadline);
        self.rearms[kind as usize] += 1;
        if self.log.len() < scene.notes {
            let (at_ns, server, connection) = (scene.clock.now(), self.server, end.number);
            self.log.push(Logged { at_ns, now, deadline, connection, server, kind, first_of_call });
        }
    }

    /// Waits until an end can go on, or for `within`.
    fn ready(&self, within: Duration) -> io::Result<Vec<usize>> {
        let wanted = |end: &End<V>| match end.to_send {
            0 => PollFlags::IN,
            _ => PollFlags::IN | PollFlags::OUT,
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

    /// Sends what end `at` has to send, as far as the socket takes it.
    fn send(&mut self, at: usize) -> io::Result<()> {
        while self.ends[at].to_send > 0 {
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
                    self.segments(at, sent, Kind::Retransmit);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
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
                    self.segments(at, received, Kind::DelayedAck);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Answers requests until all is over.
    fn serve(&mut self) -> Result<(), Failure> {
        while !self.scene.over() {
            for at in self.ready(LOOK_UP)? {
                if self.ends[at].to_send == 0 && self.receive(at)? {
                    self.ends[at].to_receive = REQUEST;
                    self.ends[at].to_send = self.scene.traffic.response;
                }
                self.send(at)?;
            }
        }
        Ok(())
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
            for at in self.ready(sleep.min(LOOK_UP))? {
                self.send(at)?;
                if self.ends[at].to_receive > 0 && self.receive(at)? {
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

impl WithVariant for Live<'_> {
    type Out = Result<Run, Failure>;

    fn with<V: Variant>(self) -> Self::Out {
        let Self { traffic, column, lasts, most, notes } = self;
        let (clients, servers) = connect(traffic.connections)?;
        let wheels: Wheels<V> = [Shards::new(2), Shards::new(2), Shards::new(2)];
        let scene =
            Scene { wheels: &wheels, traffic, clock: OsClock::start(), done: AtomicBool::new(false), notes };
        let mut client = Side::new(&scene, false, clients)?;
        let mut server = Side::new(&scene, true, servers)?;
        let panicked = |_| Failure::Wrong("a thread of the test panicked".into());
        let (exchanges, served, fired) = std::thread::scope(|scope| {
            let ending = SetOnDrop(&scene.done);
            let ticking = scope.spawn(|| tick(&wheels.each_ref(), traffic.hz, &scene.clock, &scene.done));
            let serving = scope.spawn(|| {
                // Without it nobody would answer any more.
                let _ending = SetOnDrop(&scene.done);
                server.serve()
            });
            let exchanges = client.request(lasts, most);
            drop(ending);
            (exchanges, serving.join().map_err(panicked), ticking.join().map_err(panicked))
        });
        served??;
        let (exchanges, fired) = (exchanges?, fired?);
        let elapsed_ns = scene.clock.now();
        let mut kinds = [Counts::default(); 3];
        let mut total = Counts::default();
        for (kind, wheel) in Kind::ALL.into_iter().zip(&wheels) {
            let counts = Counts::between(&Statistics::default(), &wheel.statistics());
            let asked = client.rearms[kind as usize] + server.rearms[kind as usize];
            if counts.rearms() + counts.started != asked {
                return Err(Failure::Wrong(format!("{asked} re-arms were asked for, counted {counts:?}")));
            }
            wheel.check().map_err(|violation| Failure::Wrong(violation.to_string()))?;
            total += counts;
            kinds[kind as usize] = counts;
        }
        let mut log = client.log;
        log.append(&mut server.log);
        log.sort_by_key(|entry| entry.at_ns);
        Ok(Run {
            total: Outcome { column, counts: total, elapsed_ns, fired, late: 0 },
            kinds,
            exchanges,
            log,
        })
    }
}

/// The re-arms of a log once more in virtual time: the same traffic for every way of re-arming, each answer compared with the oracle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replay<'a> {
    pub(crate) log: &'a [Logged],
    pub(crate) column: Column,
    /// Only the first re-arm of a timer in each call of the system.
    pub(crate) per_call: bool,
}

impl WithVariant for Replay<'_> {
    type Out = Result<Counts, Failure>;

    fn with<V: Variant>(self) -> Self::Out {
        let Self { log, column, per_call } = self;
        let wrong = |what: String| Failure::Wrong(format!("replay, {}: {what}", column.title()));
        let shards: Shards<V> = Shards::new(1);
        let mut timers: HashMap<(bool, u32, usize), (SharedTimer<V>, Model)> = HashMap::new();
        let (mut expected, mut now) = (Counts::default(), 0);
        for entry in log.iter().filter(|entry| entry.first_of_call || !per_call) {
            if entry.now > now {
                now = entry.now;
                let _ = shards.advance(0, now, usize::MAX).map_err(|error| wrong(error.to_string()))?;
            }
            let (timer, model) = match timers.entry((entry.server, entry.connection, entry.kind as usize)) {
                Slot::Occupied(known) => known.into_mut(),
                Slot::Vacant(new) => {
                    let timer =
                        shards.timer(0, |_: &Firing<'_, V>| {}).map_err(|error| wrong(error.to_string()))?;
                    new.insert((timer, Model::default()))
                }
            };
            // Two ends note what they do on two threads: one may be a tick behind the other.
            let delay = entry.deadline.saturating_sub(now);
            expected.note(model.arm(column.way(), now, delay));
            let _ = timer.modify(now + delay).map_err(|error| wrong(error.to_string()))?;
        }
        let got = Counts::between(&Statistics::default(), &shards.statistics());
        let same = [got.matched, got.requeued, got.started]
            == [expected.matched, expected.requeued, expected.started];
        if same { Ok(got) } else { Err(wrong(format!("counted {got:?}, expected {expected:?}"))) }
    }
}
