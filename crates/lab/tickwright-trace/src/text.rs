//! Traces as text: CSV both ways, and JSON lines.
//!
//! ```text
//!   time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site,count,note
//!   1000,arm,7,5000000,0,worker,0,,server.c:77,,
//!   90000,cancel,7,,,worker,0,,,,
//!   95000,lost,,,,,,,,12,the buffer was full
//!   95000,remark,,,,,,,,3,timer events could not be read and are left out
//! ```
//! Each event is a row. Threads, queues and sites are written by name. An unknown value, including
//! an unknown deadline, is empty. A row `lost` is a [loss](crate::Lost) of the source, and a row
//! `remark` is a [remark](Remark); these rows have a number and words instead of a timer.

use std::io::{BufReader, BufWriter, Read, Write};

use serde::{Deserialize, Serialize};

use crate::bounded::{Bounded, Limit};
use crate::error::TraceError;
use crate::event::{Event, Ns, UNKNOWN, What};
use crate::header::{Base, Header, Names, Remark};
use crate::import::Unpacked;
use crate::import::loss::loss;
use crate::reader::Reader;
use crate::writer::Writer;

/// One event in its text form.
#[derive(Debug, Serialize, Deserialize)]
struct Row<'t> {
    time_ns: Ns,
    kind: &'t str,
    timer: Option<u64>,
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
    /// Present only for a loss or a remark. Such a row is written as [`Told`].
    #[serde(default, skip_serializing)]
    count: Option<u64>,
    #[serde(default, skip_serializing)]
    note: Option<&'t str>,
}

/// A loss or a remark: what a trace states in addition to its events.
#[derive(Debug, Serialize)]
struct Told<'t> {
    /// The time of the loss. For a remark, the time of the event before it.
    time_ns: Ns,
    kind: &'static str,
    count: Option<u64>,
    note: &'t str,
}

const LOST: &str = "lost";
const REMARK: &str = "remark";

impl<'t> Told<'t> {
    fn new(kind: &'static str, time_ns: Ns, count: u64, note: &'t str) -> Self {
        Self { time_ns, kind, count: Some(count).filter(|&count| count > 0), note }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Line<'t> {
    Event(Row<'t>),
    Told(Told<'t>),
}

impl<'t> Row<'t> {
    fn of(event: &Event, bases: &'t [Base], sites: &'t Names, threads: &'t Names) -> Self {
        let armed = event.what.armed();
        Self {
            time_ns: event.time,
            kind: event.what.name(),
            timer: Some(event.timer),
            deadline_ns: event.what.deadline(),
            period_ns: armed.map(|(_, period)| period),
            thread: threads.get(event.thread),
            cpu: event.cpu.checked_sub(1),
            base: bases.get(usize::from(event.base)).map(|base| base.name.as_str()),
            site: sites.get(event.site),
            count: None,
            note: None,
        }
    }

    /// Returns what happened, or what is wrong with the row. An empty deadline is unknown.
    /// `has_deadlines` says whether the file has a column of deadlines.
    fn what(&self, has_deadlines: bool) -> Result<What, String> {
        let armed = || {
            let deadline = self.deadline_ns.or(has_deadlines.then_some(UNKNOWN));
            let missing = || format!("an event '{}' needs deadline_ns", self.kind);
            Ok::<_, String>((deadline.ok_or_else(missing)?, self.period_ns.unwrap_or(0)))
        };
        Ok(match self.kind {
            "arm" => armed().map(|(deadline, period)| What::Arm { deadline, period })?,
            "rearm" => armed().map(|(deadline, period)| What::Rearm { deadline, period })?,
            "cancel" => What::Cancel,
            "fire" => What::Fire,
            other => return Err(format!("kind is '{other}', not arm, rearm, cancel, fire, lost or remark")),
        })
    }
}

/// Calls `put` for each event of a trace, each loss and each remark. If the end of the trace is
/// damaged or missing, a last remark says so.
fn each_row<R: Read>(
    reader: &mut Reader<R>,
    mut put: impl FnMut(Line<'_>) -> Result<(), TraceError>,
) -> Result<u64, TraceError> {
    let (mut losses, mut remarks, mut counted, mut now) = (0, 0, 0_u64, 0);
    loop {
        let ended = match reader.next_block() {
            Ok(Some(_)) => None,
            Ok(None) => Some(Ok(reader.events_read())),
            Err(error) => Some(Err(error)),
        };
        for lost in &reader.lost()[losses..] {
            counted = counted.saturating_add(lost.count);
            put(Line::Told(Told::new(LOST, lost.time, lost.count, &lost.note)))?;
        }
        losses = reader.lost().len();
        for remark in &reader.remarks()[remarks..] {
            put(Line::Told(Told::new(REMARK, now, remark.count, &remark.words)))?;
        }
        remarks = reader.remarks().len();
        if let Some(ended) = ended {
            let more = reader.lost_total().unwrap_or(0).saturating_sub(counted);
            if more > 0 {
                put(Line::Told(Told::new(LOST, now, more, "losses beyond the limit of the format")))?;
            }
            let damage = match &ended {
                Err(damage) => Some(damage.to_string()),
                Ok(_) => (!reader.is_complete()).then(|| NO_END.into()),
            };
            if let Some(damage) = damage {
                put(Line::Told(Told::new(REMARK, now, 0, &damage)))?;
            }
            return ended;
        }
        let (bases, sites, threads) = (&reader.header().bases, reader.sites(), reader.threads());
        let events = reader.events_of_block();
        for event in events {
            put(Line::Event(Row::of(event, bases, sites, threads)))?;
        }
        now = events.last().map_or(now, |last| last.time);
    }
}

/// The remark that an export adds to a trace whose writer was stopped.
pub(crate) const NO_END: &str = "the trace has no end";

/// Writes a trace as CSV, with a line of column names. Returns the number of events.
///
/// # Errors
/// The errors of [`Reader::next_block`]; the events before the damage have then been written.
/// [`TraceError::Io`] if the target cannot be written.
pub fn to_csv<R: Read>(reader: &mut Reader<R>, to: impl Write) -> Result<u64, TraceError> {
    let mut to = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    to.write_record(COLUMNS.split(',')).map_err(wrong)?;
    let done = each_row(reader, |line| {
        match line {
            Line::Event(row) => to.serialize((row, "", "")),
            Line::Told(told) => to.serialize((told.time_ns, told.kind, [""; 7], told.count, told.note)),
        }
        .map_err(wrong)
    });
    to.flush()?;
    done
}

/// The columns of a CSV file.
const COLUMNS: &str = "time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site,count,note";

/// Writes a trace as JSON, with one line per event, loss and remark, and one object per line.
/// Returns the number of events.
///
/// # Errors
/// The errors of [`to_csv`].
pub fn to_json_lines<R: Read>(reader: &mut Reader<R>, to: impl Write) -> Result<u64, TraceError> {
    // The writer is buffered, because an object is written in dozens of pieces.
    let mut to = BufWriter::new(to);
    let done = each_row(reader, |line| {
        serde_json::to_writer(&mut to, &line).map_err(std::io::Error::from)?;
        Ok(to.write_all(b"\n")?)
    });
    to.flush()?;
    done
}

/// Reads CSV and writes it as a trace. Columns are found by name and can be in any order. The
/// columns thread, cpu, base, site, count and note are optional. Returns the number of events.
///
/// An arm without a deadline gets the deadline [`UNKNOWN`]. A row `lost` is written as a loss. A
/// line between the rows that reports lost events, as bpftrace writes it, is also written as a
/// loss. Text that is packed with gzip is unpacked. `header` describes the trace. A queue that the
/// header does not name is added to it.
///
/// # Errors
/// [`TraceError::Line`] with the number of the line that cannot be read; [`TraceError::Io`].
pub fn from_csv<W: Write>(from: impl Read, header: &Header, to: W) -> Result<(W, u64), TraceError> {
    let mut writer = Writer::new(to, header)?;
    let (mut count, mut unknown, mut back, mut last) = (0, 0, 0, Ns::MIN);
    each_line(Unpacked::new(BufReader::new(from))?, &mut |found| {
        let (row, has_deadlines) = match found {
            Found::Row(row, has_deadlines) => (row, has_deadlines),
            Found::Lost(count) => {
                return Ok(writer.lost(last.max(0), count, "the recorder's buffer was full"));
            }
        };
        let (number, note) = (row.count.unwrap_or(0), row.note.unwrap_or_default());
        match row.kind {
            LOST => return Ok(writer.lost(row.time_ns, number, note)),
            // The import of the CSV counts the events of these two remarks again.
            REMARK if [Remark::UNKNOWN_DELAYS, OUT_OF_ORDER].contains(&note) => return Ok(Ok(())),
            REMARK => return Ok(writer.remark(number, note)),
            _ => {}
        }
        let what = row.what(has_deadlines)?;
        let timer = row.timer.ok_or_else(|| format!("an event '{}' needs a timer", row.kind))?;
        let cpu = row.cpu.map_or(Some(0), |cpu| cpu.checked_add(1)).ok_or("cpu is beyond 65534")?;
        let mut event = Event { cpu, ..Event::new(row.time_ns, timer, what) };
        let mut write = || {
            event.base = row.base.map_or(Ok(0), |name| writer.base(name, 0))?;
            event.thread = row.thread.map_or(Ok(0), |name| writer.thread(name))?;
            event.site = row.site.map_or(Ok(0), |name| writer.site(name))?;
            writer.push(&event)
        };
        count += 1;
        unknown += u64::from(what.armed().is_some() && what.deadline().is_none());
        back += u64::from(row.time_ns < last);
        last = last.max(row.time_ns);
        Ok(write())
    })?;
    for (count, words) in [(unknown, Remark::UNKNOWN_DELAYS), (back, OUT_OF_ORDER)] {
        if count > 0 {
            writer.remark(count, words)?;
        }
    }
    Ok((writer.finish()?, count))
}

const OUT_OF_ORDER: &str = "rows have an earlier time than a row before them: sort the rows by time";

/// The longest row.
const LONGEST_RECORD: usize = 1 << 20;

/// What a line of CSV holds.
enum Found<'r> {
    /// An event, and whether the file has a column of deadlines.
    Row(Row<'r>, bool),
    /// The number of lost events (0: unknown).
    Lost(u64),
}

/// Receives what a line holds. The outer error says what is wrong with the line.
type Put<'p> = dyn FnMut(Found<'_>) -> Result<Result<(), TraceError>, String> + 'p;

/// Calls `put` for each line.
fn each_line(from: Unpacked<'_>, put: &mut Put<'_>) -> Result<(), TraceError> {
    let limit = Limit::new(LONGEST_RECORD);
    let from = Bounded { from, limit: limit.clone() };
    // A line with a single field can be a message between the rows, so this function checks the
    // number of fields itself.
    let mut from = csv::ReaderBuilder::new().flexible(true).from_reader(from);
    let wrong_at = |error: csv::Error, line: u64| match limit.is_exceeded() {
        true => {
            let what = "the row is longer than 1 MiB: a quote before it may lack its other half";
            TraceError::Line { line, what: what.into() }
        }
        false => wrong(error),
    };
    let names = from.headers().map_err(|error| wrong_at(error, 1))?.clone();
    let has = |name: &str| names.iter().any(|known| known == name);
    if let Some(missing) = ["time_ns", "kind", "timer"].into_iter().find(|name| !has(name)) {
        let own = cut(&names.iter().take(20).collect::<Vec<_>>().join(","));
        let what = format!("there is no column '{missing}': it has {own}, and the columns are {COLUMNS}");
        return Err(TraceError::Line { line: 1, what });
    }
    let has_deadlines = has("deadline_ns");
    let mut record = csv::StringRecord::new();
    loop {
        limit.renew();
        let line = from.position().line();
        if !from.read_record(&mut record).map_err(|error| wrong_at(error, line))? {
            return Ok(());
        }
        let line = record.position().map_or(0, csv::Position::line);
        let lost = if record.len() == 1 { loss(&record[0]) } else { None };
        let found = match lost {
            Some(count) => Found::Lost(count),
            None if record.len() != names.len() => {
                let what = format!("it has {} fields, the first line has {}", record.len(), names.len());
                return Err(TraceError::Line { line, what });
            }
            None => {
                let row = record.deserialize(Some(&names));
                Found::Row(row.map_err(|error| wrong_value(error, &names, &record))?, has_deadlines)
            }
        };
        put(found).map_err(|what| TraceError::Line { line, what })??;
    }
}

/// The maximum number of characters that an error repeats of a name or a value in a file.
const MOST_SHOWN: usize = 120;

fn cut(text: &str) -> String {
    text.chars().take(MOST_SHOWN).collect()
}

/// Returns the error for a value that cannot be read, with the name of the value's column.
fn wrong_value(error: csv::Error, names: &csv::StringRecord, row: &csv::StringRecord) -> TraceError {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else { return wrong(error) };
    let at = err.field().and_then(|at| usize::try_from(at).ok());
    let Some((name, value)) = at.and_then(|at| names.get(at).zip(row.get(at))) else { return wrong(error) };
    let what = format!("{} is '{}': {}", cut(name), cut(value), err.kind());
    TraceError::Line { line: error.position().map_or(0, csv::Position::line), what }
}

fn wrong(error: csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => TraceError::Io(error),
        csv::ErrorKind::Utf8 { .. } => TraceError::Line { line, what: "it is not UTF-8".into() },
        csv::ErrorKind::Deserialize { err, .. } => TraceError::Line { line, what: err.kind().to_string() },
        _ => TraceError::Line { line, what: "it cannot be read as CSV".into() },
    }
}
