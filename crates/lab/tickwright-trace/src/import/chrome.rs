//! Timer events of Chrome, Edge, Electron and Node's inspector: a JSON object with `traceEvents`,
//! or an array of events, whether packed with gzip or not.
//!
//! # What the events mean
//! - `TimerInstall` arms a timer (`setTimeout`), or a periodic timer (`setInterval`) if
//!   `singleShot` is false.
//! - `TimerFire` means one expiry. A periodic timer stays pending.
//! - `TimerRemove` cancels a timer if it is pending. Programs also clear timers that have already
//!   fired, and timer 0, which never exists. The import skips those events.
//! - `trace_buffer_overflowed` is a loss of an unknown number of events.
//! - A timer is named by process, frame and id. Workers have no frame, so a worker's timer is named
//!   by its thread.
//! - A browser can strip the arguments of events (`"__stripped__"`). An event without arguments
//!   does not show its timer, so it counts as unreadable.
//! - The delay in the trace is the requested delay, at least 1 ms. The browser's actual delays are
//!   longer for nested timers and in hidden pages.

use core::fmt;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::unpack::damage_of;
use super::{Imported, Unpacked};
use crate::bounded::{Bounded, Limit};
use crate::error::TraceError;
use crate::event::{Event, Ns, What};
use crate::header::{Base, Header};
use crate::writer::Writer;

/// What was found in a browser's trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chrome {
    /// The counts are counts of events, because the file has no lines.
    pub count: Imported,
    /// `TimerInstall`.
    pub installs: u64,
    /// `TimerFire`.
    pub fires: u64,
    /// `TimerRemove`.
    pub removes: u64,
    /// Removals of timers that were pending.
    pub cancels: u64,
}

/// Reads a browser's trace and writes it as a `.twt` file. `of` is the name of that trace. Memory
/// grows with the number of timer events, because a browser does not order the events. One value of
/// the trace can take up to 64 MiB.
///
/// # Errors
/// [`TraceError::Line`], with the first damage, if the source has no timer event;
/// [`TraceError::Io`].
pub fn import<R: BufRead, W: Write>(from: R, of: &str, to: W) -> Result<(W, Chrome), TraceError> {
    let mut read = TimerEvents {
        found: Vec::new(),
        lost: Vec::new(),
        count: Imported::default(),
        limit: Limit::new(LONGEST),
    };
    read.count.damage = parse(Unpacked::new(from)?, &mut read)?;
    let TimerEvents { mut found, lost, count, .. } = read;
    if found.is_empty() {
        let what = match (count.unreadable, count.damage) {
            (0, Some(damage)) => damage,
            (0, None) => "it has no event TimerInstall: record the category devtools.timeline".into(),
            (some, _) => format!(
                "it has {some} timer events, but none can be read: record without a filter that strips arguments"
            ),
        };
        return Err(TraceError::Line { line: 1, what });
    }
    found.sort_by_key(|timer| timer.time);
    write(&found, &lost, count, of, to)
}

/// Parses all timer events. Returns the damage that ended the parse, if any.
fn parse(from: Unpacked<'_>, found: &mut TimerEvents) -> Result<Option<String>, TraceError> {
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
            // The events before the damage have been read.
            damage_of(&error).map(Some).ok_or(TraceError::Io(error))
        }
        Err(error) => Ok(Some(error.to_string())),
    }
}

fn write<W: Write>(
    found: &[Found],
    lost: &[Ns],
    count: Imported,
    of: &str,
    to: W,
) -> Result<(W, Chrome), TraceError> {
    let bases = vec![Base { name: "browser".into(), tick_ns: 1_000_000 }];
    let unseen = vec!["how much longer than asked for the browser makes delays".to_owned()];
    let header = Header { of: of.into(), clock: "trace".into(), bases, unseen, ..Header::of("chrome") };
    let mut writer = Writer::new(to, &header)?;
    let mut all = Chrome { count, ..Chrome::default() };
    let start = found.first().map_or(0, |first| first.time);
    // The number of each timer, and its period while it is pending.
    let mut timers: HashMap<Key<'_>, (u64, Option<u64>)> = HashMap::new();
    for one in found {
        let time = one.time - start;
        let known = timers.len() as u64;
        let worker = if one.frame.is_empty() { &*one.thread } else { "" };
        let key = (&*one.process, worker, &*one.frame, one.id);
        let (number, pending) = timers.entry(key).or_insert((known + 1, None));
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
    for time in lost {
        writer.lost(time.saturating_sub(start), 0, "the browser's buffer was full")?;
    }
    all.count.remark(&mut writer)?;
    Ok((writer.finish()?, all))
}

/// The key of a timer: process, thread of a worker or nothing, frame, id.
type Key<'f> = (&'f str, &'f str, &'f str, i64);

/// The timer events of a trace, and what could not be read.
#[derive(Debug)]
struct TimerEvents {
    found: Vec<Found>,
    /// When the browser's buffer overflowed.
    lost: Vec<Ns>,
    count: Imported,
    /// The limit for one value of the trace.
    limit: Limit,
}

/// The longest value in bytes: an event, or another member of the object.
const LONGEST: usize = 1 << 26;

/// A timer event of the trace.
#[derive(Debug)]
struct Found {
    time: Ns,
    process: String,
    thread: String,
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

/// An event of any kind. The arguments are read only if the event is a timer event.
#[derive(Deserialize)]
struct AnyEvent<'j> {
    #[serde(default, borrow)]
    name: Cow<'j, str>,
    #[serde(default, borrow)]
    ph: Cow<'j, str>,
    #[serde(default, deserialize_with = "number")]
    ts: f64,
    /// Usually a number, but some browsers write negative numbers or words.
    #[serde(default, deserialize_with = "word")]
    pid: String,
    #[serde(default, deserialize_with = "word")]
    tid: String,
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
    timer_id: Option<i64>,
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
    /// Adds what the event says about a timer. Returns `None` if the event has the name of a timer
    /// event, but its arguments cannot be read.
    fn told(self, to: &mut TimerEvents) -> Option<()> {
        let install = match &*self.name {
            "TimerInstall" => Some(true),
            "TimerFire" => None,
            "TimerRemove" => Some(false),
            "trace_buffer_overflowed" => {
                to.lost.push(ns(self.overflowed_at() * 1_000.0));
                return Some(());
            }
            _ => return Some(()),
        };
        // This phase ends an event that began with the phase `B`.
        if self.ph == "E" {
            return Some(());
        }
        let args = self.args.as_deref().map(|args| serde_json::from_str(args.get()));
        let Arguments { data } = args?.ok()?;
        let id = match (data.timer_id, install) {
            // Programs clear timer 0, which never exists.
            (Some(0), Some(false)) => 0,
            (None | Some(0), _) => return None,
            (Some(id), _) => id,
        };
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
        to.found.push(Found {
            time: ns(self.ts * 1_000.0),
            process: self.pid,
            thread: self.tid,
            frame: data.frame,
            id,
            site: site.unwrap_or_default(),
            did,
        });
        Some(())
    }

    /// Returns the time in us at which the buffer overflowed, or the event's own time.
    fn overflowed_at(&self) -> f64 {
        let args = self.args.as_deref().and_then(|args| serde_json::from_str(args.get()).ok());
        args.map_or(self.ts, |Overflow { overflowed_at_ts }| overflowed_at_ts)
    }
}

/// The arguments of a `trace_buffer_overflowed`.
#[derive(Deserialize)]
struct Overflow {
    #[serde(deserialize_with = "number")]
    overflowed_at_ts: f64,
}

/// Reads a number. A value of another type becomes 0, so that one event with the time `null` does
/// not end the import of a million other events.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    Ok(raw.get().trim_matches('"').parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(0.0))
}

/// Reads the number of a process or thread as text, because some browsers write words or negative
/// numbers.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    Ok(raw.get().trim_matches('"').chars().take(LONGEST_WORD).collect())
}

/// The most characters that are kept of the number of a process or thread.
const LONGEST_WORD: usize = 64;

/// Converts a time in ns to an integer, limited to half of the range of `Ns`, so that the sum of
/// two times cannot overflow.
fn ns(of: f64) -> Ns {
    (of as Ns).clamp(Ns::MIN / 2, Ns::MAX / 2)
}

/// The outermost value: an array of events, or an object that contains one.
struct Traces<'f>(&'f mut TimerEvents);

impl<'de> Visitor<'de> for Traces<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of trace events, or an object with traceEvents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while let Some(event) = all.next_element::<AnyEvent<'_>>()? {
            self.0.limit.renew();
            self.0.count.unreadable += u64::from(event.told(self.0).is_none());
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
