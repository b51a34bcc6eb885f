//! The networking test: a server and its clients over loopback. Their segments re-arm the timers of
//! their connections as in Linux's TCP.
//!
//! # Whose timers
//!
//! Each end of a connection has three timers. The published rates are counts of one kernel, and the
//! clients of a server run on other machines. So only the server's timers are compared with the
//! published rates. The clients' timers are counted separately.
//!
//! - **retransmit**, 200 ms (`TCP_RTO_MIN`) and a tick, because the measured round trip is added
//!   and rounded up. Data that are sent while nothing is in flight re-arm this timer
//!   (`tcp_event_new_data_sent`). Each acknowledgement that leaves data in flight also re-arms this
//!   timer (`tcp_rearm_rto`).
//! - **delayed acknowledgement**, 40 ms (`TCP_ATO_MIN`): armed by the first segment after an
//!   acknowledgement (`tcp_send_delayed_ack`). The second segment is acknowledged at once
//!   (`__tcp_ack_snd_check`).
//! - **idle**, 60 s: a timer of the server itself, as in web servers. An end re-arms it once per
//!   exchange, when the request (at the client: the response) is complete.
//!
//! A timer that is no longer needed is not removed. Linux only clears a flag
//! (`inet_csk_clear_xmit_timer`). The timer is re-armed later, or fires without effect.
//!
//! A receiver that merges segments before TCP sees them (GRO) acknowledges each merged group at
//! once. Such a receiver arms no delayed acknowledgement. Here no segments are merged.
//!
//! Losses, quick acknowledgements after a pause, and the loss probe are left out, because they are
//! absent or rare in this traffic. The probe is not armed while waiting data fit into the window
//! (`tcp_schedule_loss_probe`). This condition holds while the line is the limit.
//!
//! # What the traffic is
//!
//! Loopback has no line rate and moves 64 KiB at once. So the server sends through a **line**: a
//! chunk is sent after the time that the segments of the previous chunk take on an Ethernet. Active
//! responses take turns. The tick in which a chunk is sent counts all segments of the chunk. It
//! also counts one acknowledgement for every two segments. On loopback, acknowledgements do arrive
//! within the sender's call.
//!
//! The defaults are an Ethernet of 1 Gbit/s and 200 clients that fetch 512 KiB with pauses of 2 s
//! on average. This resembles viewers of a 2 Mbit/s video in pieces of 2 s, as in Smooth Streaming
//! and DASH over persistent connections. The traffic uses four tenths of the line.

mod replay;
mod side;
mod traffic;

use core::net::Ipv4Addr;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::io;
use std::net::{TcpListener, TcpStream};

use self::side::{Scene, Side, Wheels};
use super::counts::Counts;
use super::simple::{SetOnDrop, tick};
use super::subject::{Column, Outcome, Subject, WithSubject};
use crate::clock::{Meter, OsClock};
use crate::error::LabError;

pub(crate) use self::replay::{Replayed, Share, replay};
pub(crate) use self::side::Line;
pub(crate) use self::traffic::{ENDS, Kind, Logged, SEGMENT, Traffic};
use self::traffic::{sockets, wrong};

/// A run with one way of re-arming.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// Counts of the server's timers; only `fired` includes both ends.
    pub(crate) server: Outcome,
    /// Counts by end and kind of timer: by [`ENDS`] and [`Kind::ALL`].
    pub(crate) kinds: [[Counts; 3]; 2],
    pub(crate) exchanges: u64,
    pub(crate) line: Line,
    /// Log of the re-arms, up to the limit of the run.
    pub(crate) log: Vec<Logged>,
}

/// Opens the connections. Returns the client ends and the server ends.
fn connect(connections: usize) -> io::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    // Connects one socket at a time, so that the backlog suffices. Other programs may connect to
    // the port too.
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
    /// The run also ends after this number of exchanges.
    pub(crate) most: u64,
    /// Maximum number of logged re-arms per side.
    pub(crate) notes: usize,
}

impl WithSubject for Live<'_> {
    type Out = Result<Run, LabError>;

    fn with<S: Subject>(self) -> Self::Out {
        let Self { traffic, column, lasts, most, notes } = self;
        let (clients, servers) = connect(traffic.connections).map_err(sockets)?;
        let wheels: Wheels<S> = [(); 2].map(|()| [(); 3].map(|()| S::new()));
        let scene =
            Scene { wheels: &wheels, traffic, clock: OsClock::start(), done: AtomicBool::new(false), notes };
        let mut client = Side::new(&scene, false, clients).map_err(sockets)?;
        let mut server = Side::new(&scene, true, servers).map_err(sockets)?;
        let panicked = |_| wrong("a thread of the test panicked");
        let (exchanges, served, fired) = std::thread::scope(|scope| {
            let ending = SetOnDrop(&scene.done);
            let all: Vec<&S> = wheels.iter().flatten().collect();
            let (clock, done) = (&scene.clock, &scene.done);
            let ticking = scope.spawn(move || tick(&all, traffic.hz, clock, done));
            let serving = scope.spawn(|| {
                // The run ends with the server, because clients then get no more responses.
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
                if counts.calls() != asked {
                    return Err(wrong(format!("{asked} re-arms were asked for, counted {counts:?}")));
                }
                wheel.check().map_err(wrong)?;
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
