//! The benchmark that was announced next: pairs of threads that echo over pipes or sockets.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
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

/// What a pair talks over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wire {
    /// A pipe there, and one back
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

/// How many pairs, and how much each has under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) wire: Wire,
    pub(crate) connections: usize,
    pub(crate) in_flight: usize,
    /// Messages of each connection.
    pub(crate) messages: u64,
}

impl Load {
    fn name(&self) -> String {
        format!("{} {} x {}", self.wire.name(), self.connections, self.in_flight)
    }

    /// Of all connections.
    fn all(&self) -> f64 {
        (self.messages * self.connections as u64) as f64
    }
}

/// A round of one column under one load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) ns: u64,
    /// Of a message and its echo, ns.
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

/// One column under one load.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) column: Column,
    pub(crate) load: Load,
    pub(crate) samples: Vec<Sample>,
}

/// Sequence number and time of sending.
const MESSAGE: usize = 16;

trait Source: Read + AsFd + Send {}
impl<T: Read + AsFd + Send> Source for T {}
trait Sink: Write + AsFd + Send {}
impl<T: Write + AsFd + Send> Sink for T {}

/// One end of a connection. In models whose workers must not be blocked its descriptors never wait;
/// then their threads do.
struct End {
    from: Box<dyn Source>,
    to: Box<dyn Sink>,
}

impl End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait::readable(&self.from.as_fd())?
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// False at the end.
    fn read_all(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(rest)? {
                0 if filled == 0 => return Ok(false),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => filled += more,
            }
        }
        Ok(true)
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.to.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait::writable(&self.to.as_fd())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => bytes = bytes.get(written?..).unwrap_or_default(),
            }
        }
        Ok(())
    }
}

fn connect(wire: Wire, waits: bool) -> io::Result<(End, End)> {
    let (here, there) = match wire {
        Wire::Pipe => {
            let ((answers, to_client), (requests, to_server)) = (io::pipe()?, io::pipe()?);
            let client = End { from: Box::new(answers), to: Box::new(to_server) };
            (client, End { from: Box::new(requests), to: Box::new(to_client) })
        }
        Wire::Socket => {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let (server, _) = listener.accept()?;
            let end = |stream: TcpStream| -> io::Result<End> {
                stream.set_nodelay(true)?;
                Ok(End { from: Box::new(stream.try_clone()?), to: Box::new(stream) })
            };
            (end(client)?, end(server)?)
        }
    };
    for end in [&here, &there] {
        rustix::io::ioctl_fionbio(end.from.as_fd(), !waits)?;
        rustix::io::ioctl_fionbio(end.to.as_fd(), !waits)?;
    }
    Ok((here, there))
}

/// Echoes until the client has gone. Returns how many messages it was.
fn serve(mut end: End) -> io::Result<u64> {
    let (mut buffer, mut bytes) = ([0; 4096], 0u64);
    loop {
        match end.read(&mut buffer)? {
            0 => return Ok(bytes / MESSAGE as u64),
            read => {
                end.write_all(buffer.get(..read).unwrap_or_default())?;
                bytes += read as u64;
            }
        }
    }
}

/// Keeps `in_flight` messages under way, and returns the ns of each with its echo. Echoes come in
/// the order of their messages.
fn call(mut end: End, load: Load, clock: OsClock) -> io::Result<Vec<u64>> {
    let mut send = {
        let mut next = 0u64;
        move |end: &mut End| {
            if next == load.messages {
                return Ok(());
            }
            let mut message = [0; MESSAGE];
            message[..8].copy_from_slice(&next.to_le_bytes());
            message[8..].copy_from_slice(&clock.now().to_le_bytes());
            next += 1;
            end.write_all(&message)
        }
    };
    for _ in 0..load.in_flight {
        send(&mut end)?;
    }
    let mut took = Vec::with_capacity(usize::try_from(load.messages).unwrap_or(0));
    for expected in 0..load.messages {
        let mut message = [0; MESSAGE];
        if !end.read_all(&mut message)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let number =
            |half: &[u8]| u64::from_le_bytes(core::array::from_fn(|at| half.get(at).copied().unwrap_or(0)));
        let (first, second) = message.split_at(8);
        if number(first) != expected {
            return Err(io::Error::other(format!("message {expected} came back as {}", number(first))));
        }
        took.push(clock.now().saturating_sub(number(second)));
        send(&mut end)?;
    }
    Ok(took)
}

/// What threads leave: times, and the first thing that went wrong.
#[derive(Debug, Default)]
struct Left {
    took: Vec<u64>,
    wrong: Option<String>,
}

fn pairs<M: Maker>(maker: &M, load: Load, waits: bool, clock: OsClock) -> Result<Sample, String> {
    let words = |error: io::Error| {
        format!(
            "{} connections of a {}: {error}; ulimit -n bounds them, at 4 descriptors each",
            load.connections,
            load.wire.name()
        )
    };
    let mut ends = Vec::new();
    for _ in 0..load.connections {
        ends.push(connect(load.wire, waits).map_err(words)?);
    }
    let left = Arc::new(Mutex::new(Left::default()));
    let begun = clock.now();
    let mut threads = Vec::new();
    for (client, server) in ends {
        let (of_client, of_server) = (Arc::clone(&left), Arc::clone(&left));
        threads.push(maker.create(move || {
            let served = serve(server);
            let mut left = of_server.lock().unwrap_or_else(PoisonError::into_inner);
            match served {
                Ok(messages) => usize::try_from(messages).unwrap_or(usize::MAX),
                Err(error) => {
                    left.wrong.get_or_insert(format!("a server: {error}"));
                    0
                }
            }
        })?);
        threads.push(maker.create(move || {
            let called = call(client, load, clock);
            let mut left = of_client.lock().unwrap_or_else(PoisonError::into_inner);
            match called {
                Ok(took) => left.took.extend(took),
                Err(error) => {
                    left.wrong.get_or_insert(format!("a client: {error}"));
                }
            }
            0
        })?);
    }
    let mut echoed = 0u64;
    for thread in threads {
        echoed += maker.join(thread)? as u64;
    }
    let ns = clock.now() - begun;
    let left = left.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = &left.wrong {
        return Err(why.clone());
    }
    let all = load.messages * load.connections as u64;
    if (echoed, left.took.len() as u64) != (all, all) {
        return Err(format!("of {all} messages {echoed} were echoed and {} came back", left.took.len()));
    }
    let mut times = Distribution::new();
    left.took.iter().for_each(|&ns| times.push(ns));
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

/// Runs every load in every column, by turns.
///
/// # Errors
/// An echo that was wrong or missing, or no more connections.
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

/// What a sample holds: name, unit, value.
type Part = (&'static str, fn(&Sample) -> u64);

/// Of a message and its echo.
const PARTS: [Part; 3] = [
    ("round trip, median", |sample| sample.p50),
    ("round trip, 99 %", |sample| sample.p99),
    ("round trip, longest", |sample| sample.max),
];

impl Row {
    /// ns of a message, with those of all connections under way at once.
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

/// M:N beside `std`, under each load.
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
