//! Timer events of the Linux kernel in a trace of Perfetto, as on Android: a protobuf message
//! `Trace`. The events have the same meaning as in [`kernel`](super::kernel), which reads them as
//! text.
//!
//! ```text
//!   Trace -> TracePacket -> FtraceEventBundle (one processor) -> FtraceEvent
//!                        -> InternedData (names of functions)
//! ```
//!
//! - The numbers of the fields are from `protos/perfetto/trace/` of Perfetto v51
//!   (<https://perfetto.dev/docs/reference/trace-packet-proto>). Any other field is skipped, so the
//!   same trace can have data of other sources.
//! - `hrtimer_setup` and `timer_init` have no message of their own. These events appear as generic
//!   events; in older traces, all timer events do. The encoding `denser_generic_event_encoding` is
//!   not read.
//! - `hrtimer_start` has no field `was_armed`, so a start within 10 ms after a cancel is a re-arm.
//! - Functions have names if the trace was recorded with `symbolize_ksyms`, otherwise they have
//!   addresses.
//! - A bundle can state that events before it were lost, but not how many. Packets can be lost too;
//!   the next packet of the same sequence then states the loss.
//! - The clocks of `hrtimer` are taken from the lines of expiries, because they show the clocks
//!   more precisely than a `ClockSnapshot` does.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::read::ZlibDecoder;
use prost::Message;
use prost::bytes::Bytes;

use super::Unpacked;
use super::kernel::{Import, Kernel, Options};
use super::line::{self, ClockId, Line, Queue, Said};
use super::unpack::damage_of;
use crate::error::TraceError;
use crate::event::Ns;
use crate::number;

/// `Trace.packet`: field 1, with a length. A trace consists of this field only.
const PACKET: u8 = 1 << 3 | 2;

/// The longest packet that is read, in bytes. A longer packet is skipped, because Perfetto writes a
/// bundle after at most 1 MiB of the kernel's buffer.
const LONGEST: u64 = 1 << 23;

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(message, optional, tag = "1")]
    ftrace_events: Option<Bundle>,
    #[prost(uint32, tag = "10")]
    sequence: u32,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(bool, tag = "42")]
    previous_packet_dropped: bool,
    /// Further packets, packed with zlib.
    #[prost(bytes = "bytes", optional, tag = "50")]
    compressed: Option<Bytes>,
}

/// `TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED`.
const CLEARED: u32 = 1;

#[derive(Clone, PartialEq, Message)]
struct Bundle {
    #[prost(uint32, optional, tag = "1")]
    cpu: Option<u32>,
    /// Each item is an [`FtraceEvent`], decoded one at a time so that memory stays bounded.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    events: Vec<Bytes>,
    #[prost(bool, tag = "3")]
    lost_events: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(message, repeated, tag = "26")]
    kernel_symbols: Vec<Symbol>,
}

#[derive(Clone, PartialEq, Message)]
struct Symbol {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(bytes = "bytes", tag = "2")]
    name: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "2")]
    pid: u32,
    #[prost(message, optional, tag = "327")]
    generic: Option<Generic>,
    #[prost(message, optional, tag = "551")]
    hrtimer_start: Option<Values>,
    #[prost(message, optional, tag = "552")]
    hrtimer_cancel: Option<Values>,
    #[prost(message, optional, tag = "553")]
    hrtimer_expire_entry: Option<Values>,
    #[prost(message, optional, tag = "555")]
    timer_start: Option<Values>,
    #[prost(message, optional, tag = "556")]
    timer_cancel: Option<Values>,
    #[prost(message, optional, tag = "557")]
    timer_expire_entry: Option<Values>,
}

/// Fields 1 to 4 of an event, whose meanings are in [`fields`].
#[derive(Clone, PartialEq, Message)]
struct Values {
    #[prost(uint64, optional, tag = "1")]
    first: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    second: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    third: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    fourth: Option<u64>,
}

/// An event for which the recording version of Perfetto had no message.
#[derive(Clone, PartialEq, Message)]
struct Generic {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    fields: Vec<Field>,
}

#[derive(Clone, PartialEq, Message)]
struct Field {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint64, optional, tag = "4")]
    signed: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    unsigned: Option<u64>,
}

/// What is known of a sequence of packets.
#[derive(Debug, Default)]
struct Sequence {
    has_begun: bool,
    has_lost: bool,
    /// The names of functions by the numbers that events have.
    symbols: HashMap<u64, String>,
}

/// Reads a trace of Perfetto and writes it as a `.twt` file. Memory grows as in
/// [`kernel::import`](super::kernel::import), plus at most 512 MiB for a packet. As in that import,
/// the events of all processors are sorted by their times. [`Imported::lines`] stays 0.
///
/// [`Imported::lines`]: super::Imported::lines
///
/// # Errors
/// [`TraceError::Line`] with line 0 if no packet has a timer event, or if the length of a jiffy is
/// needed but unknown; [`TraceError::Io`].
pub fn import<R: BufRead, W: Write>(from: R, options: &Options, to: W) -> Result<(W, Kernel), TraceError> {
    let import = Import::new(options, to);
    let mut packets = Packets { import, sequences: HashMap::new(), count: 0 };
    packets.import.nothing =
        "it has no timer events: record with ftrace_events: \"timer/*\" in the FtraceConfig";
    packets.import.count.damage = packets.read(&mut Unpacked::new(from)?, false)?;
    packets.import.finish()
}

/// Returns whether a source begins like a trace of Perfetto. A text can begin with an empty line,
/// which has the same byte, but text has no other low control characters.
pub(super) fn is_perfetto(beginning: &[u8]) -> bool {
    let Some((&PACKET, mut rest)) = beginning.split_first() else { return false };
    let Some(length) = number::take(&mut rest).and_then(|length| usize::try_from(length).ok()) else {
        return false;
    };
    let is_binary = rest.iter().any(|&byte| byte <= 8);
    match rest.split_at_checked(length) {
        Some((packet, next)) => {
            is_binary && Packet::decode(packet).is_ok() && next.first().is_none_or(|&byte| byte == PACKET)
        }
        None => is_binary,
    }
}

struct Packets<'o, W: Write> {
    import: Import<'o, W>,
    sequences: HashMap<u32, Sequence>,
    /// The packets so far.
    count: u64,
}

impl<W: Write> Packets<'_, W> {
    /// Reads packets to the end of the source. Returns the damage before the end, if there is one.
    fn read(&mut self, from: &mut dyn BufRead, is_inner: bool) -> Result<Option<String>, TraceError> {
        loop {
            match next(from) {
                Ok(Next::Packet(bytes)) => {
                    self.count += 1;
                    let packet = match Packet::decode(bytes) {
                        Ok(packet) => packet,
                        Err(error) => return Ok(Some(format!("packet {}: {error}", self.count))),
                    };
                    if let Some(packed) = packet.compressed.as_ref().filter(|_| !is_inner) {
                        let mut inner = BufReader::new(ZlibDecoder::new(&packed[..]));
                        if let Some(damage) = self.read(&mut inner, true)? {
                            return Ok(Some(damage));
                        }
                    }
                    self.packet(&packet)?;
                }
                Ok(Next::Long) => self.count += 1,
                Ok(Next::End) => return Ok(None),
                Ok(Next::Damage(damage)) => {
                    return Ok(Some(format!("after packet {}, {damage}", self.count)));
                }
                Err(error) => return damage_of(&error).map(Some).ok_or(TraceError::Io(error)),
            }
        }
    }

    fn packet(&mut self, packet: &Packet) -> Result<(), TraceError> {
        let sequence = self.sequences.entry(packet.sequence).or_default();
        // The first packet of a sequence also has this flag, but nothing was lost before the
        // sequence began.
        sequence.has_lost |= packet.previous_packet_dropped && sequence.has_begun;
        sequence.has_begun = true;
        if packet.previous_packet_dropped || packet.sequence_flags & CLEARED != 0 {
            sequence.symbols.clear();
        }
        // A packet's names can come after its events.
        for symbol in packet.interned.iter().flat_map(|interned| &interned.kernel_symbols) {
            let name = String::from_utf8_lossy(&symbol.name[..symbol.name.len().min(4096)]);
            sequence.symbols.insert(symbol.id, name.into_owned());
        }
        let Some(bundle) = &packet.ftrace_events else { return Ok(()) };
        let mut has_lost = core::mem::take(&mut sequence.has_lost) || bundle.lost_events;
        for bytes in &bundle.events {
            let event = FtraceEvent::decode(&bytes[..]).ok();
            let time = event.as_ref().and_then(|event| Ns::try_from(event.timestamp?).ok());
            let (Some(event), Some(time)) = (event, time) else {
                self.import.count.unreadable += 1;
                continue;
            };
            if core::mem::take(&mut has_lost) {
                self.import.lost(time)?;
            }
            let Some((name, fields)) = fields(&event) else { continue };
            let Some((queue, event_said)) = line::named(name) else { continue };
            let field = |name: &str| fields.iter().find(|field| field.0 == name).map(|field| field.1);
            let address = field(if queue == Queue::Wheel { "timer" } else { "hrtimer" });
            // If the kernel hides addresses, every timer has address 0.
            let address = address.filter(|&address| address != 0);
            let (Some(address), Some(said)) = (address, said(event_said, field)) else {
                self.import.count.unreadable += 1;
                continue;
            };
            let function = match field("function") {
                None | Some(0) => String::new(),
                Some(number) => {
                    sequence.symbols.get(&number).cloned().unwrap_or_else(|| format!("{number:#x}"))
                }
            };
            self.import.line(&Line {
                time,
                cpu: bundle.cpu.and_then(|cpu| u16::try_from(cpu).ok()),
                thread: &format!("pid {}", event.pid),
                queue,
                address,
                function: &function,
                clock: field("clockid").and_then(ClockId::new),
                said,
            })?;
        }
        // No event shows the time of the loss, so the loss gets the time of the last event before
        // it.
        if has_lost { self.import.line(&Line::lost(0)) } else { Ok(()) }
    }
}

/// Returns the name of an event that might be a timer event, and its numbers with their names.
fn fields(event: &FtraceEvent) -> Option<(&str, Vec<(&str, u64)>)> {
    let known: [(&str, &Option<Values>, &[&str]); 6] = [
        ("hrtimer_start", &event.hrtimer_start, &["hrtimer", "function", "expires"]),
        ("hrtimer_cancel", &event.hrtimer_cancel, &["hrtimer"]),
        ("hrtimer_expire_entry", &event.hrtimer_expire_entry, &["hrtimer", "now", "function"]),
        ("timer_start", &event.timer_start, &["timer", "function", "expires", "now"]),
        ("timer_cancel", &event.timer_cancel, &["timer"]),
        ("timer_expire_entry", &event.timer_expire_entry, &["timer", "now", "function"]),
    ];
    for (name, values, keys) in known {
        let Some(values) = values else { continue };
        let values = [values.first, values.second, values.third, values.fourth];
        let numbers = keys.iter().copied().zip(values);
        return Some((name, numbers.filter_map(|(key, value)| Some((key, value?))).collect()));
    }
    let Generic { name, fields } = event.generic.as_ref()?;
    let number = |field: &'_ Field| field.signed.or(field.unsigned);
    Some((name, fields.iter().filter_map(|field| Some((field.name.as_str(), number(field)?))).collect()))
}

/// Adds the values to the meaning of an event. Returns `None` if the event lacks a value.
fn said(event: Said, field: impl Fn(&str) -> Option<u64>) -> Option<Said> {
    Some(match event {
        Said::Start { .. } => {
            let was_armed = field("was_armed").map(|armed| armed != 0);
            Said::Start { expires: field("expires")?, now: field("now"), was_armed }
        }
        Said::Expire { .. } => Said::Expire { now: Some(field("now")?) },
        other => other,
    })
}

/// What comes next in a source.
enum Next {
    Packet(Bytes),
    /// A packet was skipped because it is longer than any bundle.
    Long,
    End,
    Damage(&'static str),
}

/// Reads the next packet. The length is checked before memory for the packet is allocated.
fn next(from: &mut dyn BufRead) -> io::Result<Next> {
    const CUT: Next = Next::Damage("the file ends within a packet");
    let Some(key) = byte(from)? else { return Ok(Next::End) };
    if key != PACKET {
        return Ok(Next::Damage("something begins that is no packet"));
    }
    let mut length = Vec::new();
    while length.last().is_none_or(|&last| last >= 0x80) && length.len() < 10 {
        let Some(byte) = byte(from)? else { return Ok(CUT) };
        length.push(byte);
    }
    let Some(length) = number::take(&mut &length[..]) else {
        return Ok(Next::Damage("a length is no number"));
    };
    let mut packet = from.take(length);
    if length > LONGEST {
        let skipped = io::copy(&mut packet, &mut io::sink())?;
        return Ok(if skipped == length { Next::Long } else { CUT });
    }
    let mut bytes = Vec::new();
    let read = packet.read_to_end(&mut bytes)?;
    Ok(if read as u64 == length { Next::Packet(bytes.into()) } else { CUT })
}

fn byte(from: &mut dyn BufRead) -> io::Result<Option<u8>> {
    let first = from.fill_buf()?.first().copied();
    from.consume(usize::from(first.is_some()));
    Ok(first)
}

#[cfg(test)]
mod tests;
