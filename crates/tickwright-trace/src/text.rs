//! Traces as text: CSV both ways, and JSON lines.
//!
//! ```text
//!   time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site
//!   1000,arm,7,5000000,0,worker,0,,server.c:77
//!   90000,cancel,7,,,worker,0,,
//! ```
//! One row per event. Threads, queues and sites are written by name. An unknown value is empty.

use std::io::{BufWriter, Read, Write};

use serde::{Deserialize, Serialize};

use crate::bounded::{Bounded, Limit};
use crate::error::TraceError;
use crate::event::{Event, Ns, What};
use crate::header::{Base, Header, Names};
use crate::reader::Reader;
use crate::writer::Writer;

/// One event in its text form.
#[derive(Debug, Serialize, Deserialize)]
struct Row<'t> {
    time_ns: Ns,
    kind: &'t str,
    timer: u64,
    deadline_ns: Option<Ns>,
    period_ns: Option<u64>,
    #[serde(default)]
    thread: Option<&'t str>,
    #[serde(default)]
    cpu: Option<u16>,
    #[serde(default)]
    base: Option<&'t str>,
    #[serde(default)]
    site: Option<&'t str>,
}

impl<'t> Row<'t> {
    fn of(event: &Event, bases: &'t [Base], sites: &'t Names, threads: &'t Names) -> Self {
        let armed = event.what.armed();
        Self {
            time_ns: event.time,
            kind: event.what.name(),
            timer: event.timer,
            deadline_ns: armed.map(|(deadline, _)| deadline),
            period_ns: armed.map(|(_, period)| period),
            thread: threads.get(event.thread),
            cpu: event.cpu.checked_sub(1),
            base: bases.get(usize::from(event.base)).map(|base| base.name.as_str()),
            site: sites.get(event.site),
        }
    }

    /// What happened. The error says what is wrong.
    fn what(&self) -> Result<What, String> {
        let armed = || {
            let missing = || format!("an event '{}' needs deadline_ns", self.kind);
            Ok::<_, String>((self.deadline_ns.ok_or_else(missing)?, self.period_ns.unwrap_or(0)))
        };
        Ok(match self.kind {
            "arm" => armed().map(|(deadline, period)| What::Arm { deadline, period })?,
            "rearm" => armed().map(|(deadline, period)| What::Rearm { deadline, period })?,
            "cancel" => What::Cancel,
            "fire" => What::Fire,
            other => return Err(format!("kind is '{other}', not arm, rearm, cancel or fire")),
        })
    }
}

/// Calls `put` for each event of a trace.
fn each_row<R: Read>(
    reader: &mut Reader<R>,
    mut put: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
) -> Result<u64, TraceError> {
    // A block borrows the reader, so its events are copied first; then their names can be looked
    // up.
    let mut events = Vec::new();
    loop {
        match reader.next_block()? {
            Some(block) => {
                events.clear();
                events.extend_from_slice(block);
            }
            None => return Ok(reader.events_read()),
        }
        let (bases, sites, threads) = (&reader.header().bases, reader.sites(), reader.threads());
        for event in &events {
            put(&Row::of(event, bases, sites, threads))?;
        }
    }
}

/// Writes a trace as CSV, with a line of column names. Returns the number of events.
///
/// # Errors
/// The errors of [`Reader::next_block`], after the events before the damage were written;
/// [`TraceError::Io`].
pub fn to_csv<R: Read>(reader: &mut Reader<R>, to: impl Write) -> Result<u64, TraceError> {
    let mut to = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    to.write_record(COLUMNS).map_err(io)?;
    let done = each_row(reader, |row| to.serialize(row).map_err(io));
    to.flush()?;
    done
}

/// The columns of a CSV file.
const COLUMNS: [&str; 9] =
    ["time_ns", "kind", "timer", "deadline_ns", "period_ns", "thread", "cpu", "base", "site"];

/// Writes a trace as JSON, one object in a line for each event. Returns the number of events.
///
/// # Errors
/// As [`to_csv`].
pub fn to_json_lines<R: Read>(reader: &mut Reader<R>, to: impl Write) -> Result<u64, TraceError> {
    // An object is written in dozens of pieces.
    let mut to = BufWriter::new(to);
    let done = each_row(reader, |row| {
        serde_json::to_writer(&mut to, row).map_err(std::io::Error::from)?;
        Ok(to.write_all(b"\n")?)
    });
    to.flush()?;
    done
}

/// Reads CSV and writes it as a trace. Columns are found by name and may be in any order. The
/// columns thread, cpu, base and site may be missing. Returns the number of events.
///
/// `header` describes the trace. A queue that the header does not name is added to it.
///
/// # Errors
/// [`TraceError::Line`] with the number of the line; [`TraceError::Io`].
pub fn from_csv<W: Write>(from: impl Read, header: &Header, to: W) -> Result<(W, u64), TraceError> {
    let mut writer = Writer::new(to, header)?;
    let count = each_line(from, |row| {
        let what = row.what()?;
        let cpu = row.cpu.map_or(Some(0), |cpu| cpu.checked_add(1)).ok_or("cpu is beyond 65534")?;
        let mut event = Event { cpu, ..Event::new(row.time_ns, row.timer, what) };
        let mut write = || {
            event.base = row.base.map_or(Ok(0), |name| writer.base(name, 0))?;
            event.thread = row.thread.map_or(Ok(0), |name| writer.thread(name))?;
            event.site = row.site.map_or(Ok(0), |name| writer.site(name))?;
            writer.push(&event)
        };
        Ok(write())
    })?;
    Ok((writer.finish()?, count))
}

/// The longest row.
const LONGEST_RECORD: usize = 1 << 20;

/// Calls `put` for each row. The outer error of `put` says what is wrong with the row.
fn each_line(
    from: impl Read,
    mut put: impl FnMut(&Row<'_>) -> Result<Result<(), TraceError>, String>,
) -> Result<u64, TraceError> {
    let limit = Limit::new(LONGEST_RECORD);
    let from = Bounded { from, limit: limit.clone() };
    let mut from = csv::ReaderBuilder::new().flexible(false).from_reader(from);
    let wrong_at = |error: csv::Error, line: u64| match limit.is_exceeded() {
        true => {
            let what = "the row is longer than 1 MiB: a quote before it may lack its other half";
            TraceError::Line { line, what: what.into() }
        }
        false => wrong(error),
    };
    let names = from.headers().map_err(|error| wrong_at(error, 1))?.clone();
    if let Some(missing) =
        ["time_ns", "kind", "timer"].into_iter().find(|name| !names.iter().any(|n| n == *name))
    {
        return Err(TraceError::Line { line: 1, what: format!("there is no column '{missing}'") });
    }
    let (mut record, mut count) = (csv::StringRecord::new(), 0);
    loop {
        limit.renew();
        let line = from.position().line();
        if !from.read_record(&mut record).map_err(|error| wrong_at(error, line))? {
            break;
        }
        let line = record.position().map_or(0, csv::Position::line);
        let row: Row<'_> = record.deserialize(Some(&names)).map_err(wrong)?;
        put(&row).map_err(|what| TraceError::Line { line, what })??;
        count += 1;
    }
    Ok(count)
}

fn io(error: csv::Error) -> TraceError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => TraceError::Io(error),
        other => TraceError::Line { line: 0, what: format!("{other:?}") },
    }
}

fn wrong(error: csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => TraceError::Io(error),
        csv::ErrorKind::Utf8 { .. } => TraceError::Line { line, what: "it is not UTF-8".into() },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let what = format!("it has {len} fields, the first line has {expected_len}");
            TraceError::Line { line, what }
        }
        csv::ErrorKind::Deserialize { err, .. } => {
            let field = err.field().and_then(|at| usize::try_from(at).ok());
            let what = match field {
                Some(at) => format!("field {}: {}", at + 1, err.kind()),
                None => err.kind().to_string(),
            };
            TraceError::Line { line, what }
        }
        _ => TraceError::Line { line, what: "it cannot be read as CSV".into() },
    }
}
