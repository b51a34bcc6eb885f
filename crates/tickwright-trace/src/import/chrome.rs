//! Timer events of Chrome, Edge, Electron and Node's inspector: a JSON object with `traceEvents`,
//! or an array of events, packed with gzip or not.
//!
//! # What the events mean
//! - `TimerInstall` arms a timer (`setTimeout`), or a periodic one (`setInterval`: `singleShot` is
//!   false).
//! - `TimerFire` means one expiry. A periodic timer stays pending.
//! - `TimerRemove` cancels a timer if it is pending. Programs also clear timers that have fired
//!   already, and timer 0, which never exists. The import skips such lines.
//! - A timer is named by process, frame and id. Workers have no frame, so a worker's timer is named
//!   by its thread.
//! - A delay is the requested delay, at least 1 ms. A browser makes the delays of nested timers and
//!   of hidden pages longer.

use core::fmt;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Imported;
use crate::bounded::{Bounded, Limit};
use crate::error::TraceError;
use crate::event::{Event, Ns, What};
use crate::header::{Base, Header};
use crate::writer::Writer;

/// What was found in a browser's trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chrome {
    /// This counts events, because the file has no lines.
    pub count: Imported,
    /// `TimerInstall`.
    pub installs: u64,
    /// `TimerFire`.
    pub fires: u64,
    /// `TimerRemove`.
    pub removes: u64,
    /// The removals of a timer that was pending.
    pub cancels: u64,
}

/// Reads a browser's trace and writes it as a `.twt` file. `of` is the name of that trace. Memory
/// grows with the number of timer events, because a browser does not order them. One value of the
/// trace may take up to 64 MiB.
///
/// # Errors
/// [`TraceError::Line`] with the first damage, if there is no timer event; [`TraceError::Io`].
pub fn import<R: BufRead, W: Write>(mut from: R, of: &str, to: W) -> Result<(W, Chrome), TraceError> {
    let packed = from.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let mut read = TimerEvents { found: Vec::new(), unreadable: 0, limit: Limit::new(LONGEST) };
    let damage = match packed {
        true => parse(MultiGzDecoder::new(from), &mut read)?,
        false => parse(from, &mut read)?,
    };
    let TimerEvents { mut found, unreadable, .. } = read;
    if found.is_empty() {
        let what = damage
            .unwrap_or_else(|| "it has no event TimerInstall: record the category devtools.timeline".into());
        return Err(TraceError::Line { line: 1, what });
    }
    found.sort_by_key(|timer| timer.time);
    let (to, mut all) = write(&found, of, to)?;
    (all.count.damage, all.count.unreadable) = (damage, unreadable);
    Ok((to, all))
}

/// Parses all timer events. Returns the damage that ended the parse, if any.
fn parse(from: impl Read, found: &mut TimerEvents) -> Result<Option<String>, TraceError> {
    let limit = found.limit.clone();
    let from = BufReader::new(Bounded { from, limit: limit.clone() });
    let mut json = serde_json::Deserializer::from_reader(from);
    match json.deserialize_any(Traces(found)).and_then(|()| json.end()) {
        Ok(()) => Ok(None),
        Err(error) if error.is_io() && limit.is_exceeded() => {
            Ok(Some("an event, or another value, is longer than 64 MiB: it is no trace of a browser".into()))
        }
        Err(error) if error.is_io() => {
            let error = std::io::Error::from(error);
            match error.kind() {
                // The compressed data is damaged or cut off: the events before that point are read.
                ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                    Ok(Some(format!("it cannot be unpacked: {error}")))
                }
                _ => Err(TraceError::Io(error)),
            }
        }
        Err(error) => Ok(Some(error.to_string())),
    }
}

fn write<W: Write>(found: &[Found], of: &str, to: W) -> Result<(W, Chrome), TraceError> {
    let bases = vec![Base { name: "browser".into(), tick_ns: 1_000_000 }];
    let unseen = vec!["how much longer than asked for the browser makes delays".to_owned()];
    let header = Header { of: of.into(), clock: "trace".into(), bases, unseen, ..Header::of("chrome") };
    let mut writer = Writer::new(to, &header)?;
    let mut all = Chrome::default();
    let start = found.first().map_or(0, |first| first.time);
    // The number of each timer, and its period while it is pending.
    let mut timers: HashMap<Key<'_>, (u64, Option<u64>)> = HashMap::new();
    for one in found {
        let time = one.time - start;
        let known = timers.len() as u64;
        let worker = if one.frame.is_empty() { one.thread } else { 0 };
        let (number, pending) =
            timers.entry((one.process, worker, one.frame.as_str(), one.id)).or_insert((known + 1, None));
        let what = match one.did {
            Did::Install { delay, repeats } => {
                all.installs += 1;
                let period = if repeats { delay.unsigned_abs() } else { 0 };
                let deadline = time.saturating_add(delay);
                match pending.replace(period) {
                    Some(_) => What::Rearm { deadline, period },
                    None => What::Arm { deadline, period },
                }
            }
            Did::Fire => {
                all.fires += 1;
                *pending = pending.filter(|&period| period > 0);
                What::Fire
            }
            Did::Remove => {
                all.removes += 1;
                if pending.take().is_none() {
                    continue;
                }
                all.cancels += 1;
                What::Cancel
            }
        };
        let mut event = Event::new(time, *number, what);
        event.thread = writer.thread(&format!("{}/{}", one.process, one.thread))?;
        if !one.site.is_empty() {
            event.site = writer.site(&one.site)?;
        }
        writer.push(&event)?;
        all.count.events += 1;
    }
    Ok((writer.finish()?, all))
}

/// The key of a timer: process, thread of a worker or 0, frame, id.
type Key<'f> = (u64, u64, &'f str, i64);

/// The timer events of a trace, and the number of those that could not be read.
#[derive(Debug)]
struct TimerEvents {
    found: Vec<Found>,
    unreadable: u64,
    /// The limit for one value of the trace.
    limit: Limit,
}

/// The longest value in bytes: an event, or another member of the object.
const LONGEST: usize = 1 << 26;

/// A timer event of the trace.
#[derive(Debug)]
struct Found {
    time: Ns,
    process: u64,
    thread: u64,
    frame: String,
    id: i64,
    site: String,
    did: Did,
}

#[derive(Clone, Copy, Debug)]
enum Did {
    Install { delay: Ns, repeats: bool },
    Fire,
    Remove,
}

/// An event of any kind. Its arguments are read only if it is a timer event.
#[derive(Deserialize)]
struct AnyEvent<'j> {
    #[serde(default, borrow)]
    name: Cow<'j, str>,
    #[serde(default, borrow)]
    ph: Cow<'j, str>,
    #[serde(default, deserialize_with = "number")]
    ts: f64,
    #[serde(default, deserialize_with = "number")]
    pid: f64,
    #[serde(default, deserialize_with = "number")]
    tid: f64,
    args: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data {
    timer_id: i64,
    timeout: f64,
    single_shot: bool,
    frame: String,
    stack_trace: Vec<Place>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Place {
    function_name: String,
    url: String,
    line_number: i64,
}

impl AnyEvent<'_> {
    /// Returns the timer event, if this is one. An error means that its arguments do not fit a
    /// timer event.
    fn timer(&self) -> Option<Result<Found, serde_json::Error>> {
        let install = match &*self.name {
            "TimerInstall" => Some(true),
            "TimerFire" => None,
            "TimerRemove" => Some(false),
            _ => return None,
        };
        // The phase that ends an event with a begin.
        if self.ph == "E" {
            return None;
        }
        let data = match serde_json::from_str(self.args.as_deref()?.get()) {
            Ok(Arguments { data }) => data,
            Err(error) => return Some(Err(error)),
        };
        if data.timer_id == 0 && install != Some(false) {
            return None;
        }
        let did = match install {
            Some(true) => {
                Did::Install { delay: ns(data.timeout.max(1.0) * 1_000_000.0), repeats: !data.single_shot }
            }
            Some(false) => Did::Remove,
            None => Did::Fire,
        };
        let site = data.stack_trace.first().map(|place| {
            let Place { function_name, url, line_number } = place;
            format!("{function_name} {url}:{line_number}").trim().to_owned()
        });
        Some(Ok(Found {
            time: ns(self.ts * 1_000.0),
            process: self.pid as u64,
            thread: self.tid as u64,
            frame: data.frame,
            id: data.timer_id,
            site: site.unwrap_or_default(),
            did,
        }))
    }
}

/// A number, 0 for a value of another type. So one event with a process "GPU" or a time `null` does
/// not end the import of a million others.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    Ok(raw.get().trim_matches('"').parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(0.0))
}

/// Converts to ns within half of the range, so that a sum of two cannot overflow.
fn ns(of: f64) -> Ns {
    (of as Ns).clamp(Ns::MIN / 2, Ns::MAX / 2)
}

/// The outermost value: an array of events, or an object that has one.
struct Traces<'f>(&'f mut TimerEvents);

impl<'de> Visitor<'de> for Traces<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of trace events, or an object with traceEvents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while let Some(event) = all.next_element::<AnyEvent<'_>>()? {
            self.0.limit.renew();
            match event.timer() {
                Some(Ok(timer)) => self.0.found.push(timer),
                Some(Err(_)) => self.0.unreadable += 1,
                None => {}
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while let Some(key) = all.next_key::<Cow<'_, str>>()? {
            self.0.limit.renew();
            if key == "traceEvents" {
                all.next_value_seed(Seed(self.0))?;
            } else {
                all.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Seed<'f>(&'f mut TimerEvents);

impl<'de> serde::de::DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(Traces(self.0))
    }
}
