//! Pairs of threads that echo over pipes or sockets: the benchmark that was announced as the next
//! one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use tickwright_threads::{Attributes, io as wait};

use super::column::{Column, Ours};
use super::model::{self, Knobs, Model};
use super::peers::Std;
use super::rules::Maker;
use super::turns::Turns;
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::limits::Raised;
use crate::render::Format;
use crate::result::{Finding, Label, Section, Series, Table, Unit, labels};
use crate::stats::{self, Distribution};

/// The connection between the threads of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wire {
    /// One pipe in each direction
    Pipe,
    /// A TCP connection over the loopback device
    Socket,
}

impl Wire {
    fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Socket => "socket",
        }
    }
}

/// Number of pairs, and number of messages in flight per pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) wire: Wire,
    pub(crate) connections: usize,
    pub(crate) in_flight: usize,
    /// Messages per connection.
    pub(crate) messages: u64,
}

impl Load {
    fn name(&self) -> String {
        format!("{} {} x {}", self.wire.name(), self.connections, self.in_flight)
    }

    /// Messages of all connections.
    fn all(&self) -> f64 {
        (self.messages * self.connections as u64) as f64
    }
}

/// The result of one round of one column under one load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) ns: u64,
    /// Median round-trip time of a message, in ns.
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

/// Samples of one column under one load.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) column: Column,
    pub(crate) load: Load,
    pub(crate) samples: Vec<Sample>,
}

/// Bytes of a message: sequence number and time of sending.
const MESSAGE: usize = 16;

/// Input and output of one end of a connection. In models whose workers must not block, the
/// descriptors are non-blocking, and the threads wait instead.
struct Input(File);
struct Output(File);

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait::readable(&self.0)?,
                other => return other,
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait::writable(&self.0)?,
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type End = (Input, Output);

fn connect(wire: Wire, waits: bool) -> io::Result<(End, End)> {
    let end = |from: OwnedFd, to: OwnedFd| -> io::Result<End> {
        rustix::io::ioctl_fionbio(&from, !waits)?;
        rustix::io::ioctl_fionbio(&to, !waits)?;
        Ok((Input(from.into()), Output(to.into())))
    };
    match wire {
        Wire::Pipe => {
            let ((answers, to_client), (requests, to_server)) = (io::pipe()?, io::pipe()?);
            Ok((end(answers.into(), to_server.into())?, end(requests.into(), to_client.into())?))
        }
        Wire::Socket => {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let (server, _) = listener.accept()?;
            let end = |stream: TcpStream| {
                stream.set_nodelay(true)?;
                end(stream.try_clone()?.into(), stream.into())
            };
            Ok((end(client)?, end(server)?))
        }
    }
}

/// Echoes until the client closes. Returns the number of messages.
fn serve((mut from, mut to): End) -> io::Result<u64> {
    io::copy(&mut from, &mut to).map(|bytes| bytes / MESSAGE as u64)
}

/// Keeps `in_flight` messages in flight. Returns the round-trip time of each message, in ns. Echoes
/// arrive in the order of their messages.
fn call((mut from, mut to): End, load: Load, clock: OsClock) -> io::Result<Vec<u64>> {
    let mut next = 0u64;
    let mut send = || {
        if next == load.messages {
            return Ok(());
        }
        let mut message = [0; MESSAGE];
        message[..8].copy_from_slice(&next.to_le_bytes());
        message[8..].copy_from_slice(&clock.now().to_le_bytes());
        next += 1;
        to.write_all(&message)
    };
    for _ in 0..load.in_flight {
        send()?;
    }
    let mut took = Vec::with_capacity(usize::try_from(load.messages).unwrap_or(0));
    for expected in 0..load.messages {
        let mut message = [0; MESSAGE];
        from.read_exact(&mut message)?;
        let half = |at: usize| message.as_chunks().0.get(at).map_or(0, |half| u64::from_le_bytes(*half));
        if half(0) != expected {
            return Err(io::Error::other(format!("message {expected} came back as {}", half(0))));
        }
        took.push(clock.now().saturating_sub(half(1)));
        send()?;
    }
    Ok(took)
}

/// Results of the threads: round-trip times, or an error.
type Left = Vec<Result<Vec<u64>, String>>;

fn pairs<M: Maker>(maker: &M, load: Load, waits: bool, clock: OsClock) -> Result<Sample, String> {
    let words = |error: io::Error| {
        let (connections, wire) = (load.connections, load.wire.name());
        format!(
            "{connections} connections of a {wire}: {error}; ulimit -n bounds them, at 4 descriptors each"
        )
    };
    let ends: Result<Vec<(End, End)>, io::Error> =
        (0..load.connections).map(|_| connect(load.wire, waits)).collect();
    let ends = ends.map_err(words)?;
    let left = Arc::new(Mutex::new(Left::new()));
    let leave = |left: &Mutex<Left>, what| left.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    let begun = clock.now();
    let mut threads = Vec::new();
    for (client, server) in ends {
        let (of_client, of_server) = (Arc::clone(&left), Arc::clone(&left));
        threads.push(maker.create(move || {
            let served = serve(server).map_err(|error| leave(&of_server, Err(format!("a server: {error}"))));
            usize::try_from(served.unwrap_or(0)).unwrap_or(usize::MAX)
        })?);
        threads.push(maker.create(move || {
            leave(&of_client, call(client, load, clock).map_err(|error| format!("a client: {error}")));
            0
        })?);
    }
    let mut echoed = 0u64;
    for thread in threads {
        echoed += maker.join(thread)? as u64;
    }
    let ns = clock.now() - begun;
    let left = core::mem::take(&mut *left.lock().unwrap_or_else(PoisonError::into_inner));
    let took = left.into_iter().collect::<Result<Vec<_>, String>>()?.concat();
    let all = load.messages * load.connections as u64;
    if (echoed, took.len() as u64) != (all, all) {
        return Err(format!("of {all} messages {echoed} were echoed and {} came back", took.len()));
    }
    let mut times = Distribution::new();
    took.iter().for_each(|&ns| times.push(ns));
    Ok(Sample { ns, p50: times.percentile(50.0), p99: times.percentile(99.0), max: times.running().max() })
}

/// Whether the column's threads can wait for descriptors.
pub(super) fn fits(column: Column) -> bool {
    matches!(column, Column::Ours(_) | Column::Std)
}

fn once(column: Column, knobs: &Knobs, load: Load, clock: OsClock) -> Result<Sample, String> {
    match column {
        Column::Ours(model) => {
            let runtime = model::start(model, knobs)?;
            let maker = Ours { handle: runtime.handle(), attributes: Attributes::new() };
            let ran = runtime.run(move || pairs(&maker, load, model.may_block(), clock));
            ran.map_err(|error| error.to_string())?
        }
        Column::Std | Column::May | Column::Tokio => pairs(&Std, load, true, clock),
    }
}

/// Runs every load in every column, in turns.
///
/// # Errors
/// A wrong or missing echo, or no more connections.
pub(crate) fn run(
    columns: &[Column],
    knobs: &Knobs,
    loads: &[Load],
    turns: &Turns,
    clock: OsClock,
) -> Result<Vec<Row>, LabError> {
    let fit = columns.iter().copied().filter(|&column| fits(column));
    let mut rows: Vec<Row> = fit
        .flat_map(|column| loads.iter().map(move |&load| Row { column, load, samples: Vec::new() }))
        .collect();
    let names: Vec<String> =
        rows.iter().map(|row| format!("{}, {}", row.column.name(), row.load.name())).collect();
    let _raised = Raised::open_files();
    let samples = turns.run(&names, |at| {
        let row = &rows[at];
        once(row.column, knobs, row.load, clock)
            .map_err(|why| LabError::failed(format!("{}: {why}", names[at])))
    })?;
    for (row, samples) in rows.iter_mut().zip(samples) {
        row.samples = samples;
    }
    Ok(rows)
}

/// A figure of a sample: its name and its value in ns.
type Part = (&'static str, fn(&Sample) -> u64);

/// The figures of the round-trip time of a message.
const PARTS: [Part; 3] = [
    ("round trip, median", |sample| sample.p50),
    ("round trip, 99 %", |sample| sample.p99),
    ("round trip, longest", |sample| sample.max),
];

impl Row {
    /// Mean time per message, in ns, while all connections are active.
    fn each(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().map(|sample| sample.ns as f64 / self.load.all())
    }

    fn series(&self) -> Vec<Series> {
        let of = labels([
            ("model", self.column.name().into()),
            ("wire", self.load.wire.name().into()),
            ("connections", self.load.connections.into()),
            ("in_flight", Label::from(self.load.in_flight)),
        ]);
        let mut all = vec![Series::new("echo", Unit::Ns, of.clone()).per("message").of(self.each())];
        for (name, pick) in PARTS {
            let samples = self.samples.iter().map(|sample| pick(sample) as f64);
            all.push(Series::new(name, Unit::Ns, of.clone()).of(samples));
        }
        all
    }
}

pub(super) fn series(rows: &[Row]) -> Vec<Series> {
    rows.iter().flat_map(Row::series).collect()
}

/// M:N relative to `std`, under each load.
pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let ours = rows.iter().filter(|row| row.column == Column::Ours(Model::ManyToMany));
    let of = |row: &Row| {
        let std = rows.iter().find(|other| other.column == Column::Std && other.load == row.load)?;
        let (ours, std): (Vec<f64>, Vec<f64>) = (row.each().collect(), std.each().collect());
        let ratio = stats::ratios(&ours, &std)?;
        let about = format!("echo over a {}: m:n to std", row.load.name());
        Some(Finding::ratio(about, ratio, Format::Ratio.write(ratio.median)))
    };
    ours.filter_map(of).collect()
}

pub(super) fn section(rows: &[Row]) -> Section {
    let mut table = Table::new().column("echo", Format::Text).column("wire", Format::Text);
    table = table.column("connections", Format::Count).column("in flight", Format::Count);
    table = table.column("messages/s", Format::Thousands).column("median", Format::Span);
    table = table.column("99 %", Format::Span).column("longest", Format::Span);
    for row in rows {
        let Load { wire, connections, in_flight, .. } = row.load;
        let rate = stats::summarise(row.each()).map(|each| 1e9 / each.median);
        let names = [row.column.name().into(), wire.name().into(), connections.into(), in_flight.into()];
        let times = PARTS.map(|(_, pick)| {
            let all = stats::summarise(row.samples.iter().map(|sample| pick(sample) as f64));
            all.map(|all| all.median).into()
        });
        table.row(names.into_iter().chain([rate.into()]).chain(times));
    }
    Section::new("Pairs that echo").table(table).text(
        "A thread at each end; medians of the rounds. tokio and may have sockets of their own, and take no part.",
    )
}
