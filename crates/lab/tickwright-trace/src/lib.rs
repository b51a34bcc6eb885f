//! Traces of timers: the timers that a program armed, re-armed and cancelled and that expired, with
//! the time and the thread of each event.
//!
//! ```text
//!   program, kernel log, browser -> Event -> Writer -> file.twt -> Reader -> Event
//!                                                              \-> CSV, JSON lines, Parquet
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`event`] | events: what happened to a timer, and when |
//! | [`header`] | what a trace says about itself: source, clock, queues, host, losses |
//! | [`writer`], [`reader`] | `.twt` files as streams, in blocks |
//! | [`import`] | traces from what other programs write |
//! | [`profile`] | what a trace says about a program's timers, as figures |
//! | [`text`] | traces as CSV, both ways, and as JSON lines |
//! | `parquet` | traces as Parquet files, with the feature `parquet` |
//! | [`error`] | what is wrong with a file, where, and what was read before it |
//!
//! If the writing program is killed, the file is read to its last whole block.
//!
//! ```
//! use tickwright_trace::{Event, Header, Reader, What, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), &Header::of("example"))?;
//! let site = writer.site("server.c:77")?;
//! let armed = What::Arm { deadline: 5_000_000, period: 0 };
//! writer.push(&Event { site, ..Event::new(1_000, 7, armed) })?;
//! writer.push(&Event::new(90_000, 7, What::Cancel))?;
//! let file = writer.finish()?;
//!
//! assert_eq!(Reader::new(&file[..])?.read_to_end()?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The format `.twt`
//!
//! This section is enough to write a reader in any language.
//!
//! ## File
//!
//! All fixed-size numbers are little-endian.
//!
//! ```text
//!   89 54 57 54 0d 0a 1a 0a     "\x89TWT\r\n\x1a\n": shows changed line ends or a lost high bit
//!   01 00                       version 1
//!   block, block, block, ...
//! ```
//!
//! A reader refuses a version that it does not know.
//!
//! ## Block
//!
//! ```text
//!   offset  bytes
//!   0       1      kind
//!   1       1      codec of the stored bytes: 0 as they are, 1 LZ4 (one block, no frame)
//!   2       2      0; a reader does not look at them
//!   4       4      number of stored bytes, at most 2^20
//!   8       4      number of bytes after unpacking, at most 2^20
//!   12      4      CRC-32 (IEEE) of bytes 0 to 11 and of the stored bytes
//!   16      ...    stored bytes
//! ```
//!
//! | kind | block | plain bytes |
//! |---|---|---|
//! | 1 | header, the first block and no other | JSON object, UTF-8 |
//! | 2 | name | table (0 sites, 1 threads), then the name in UTF-8, at most 4,096 bytes |
//! | 3 | events | columns, see below; at most 4,096 events |
//! | 4 | loss | time (signed), number of lost events (0: unknown), note in UTF-8 |
//! | 5 | end | number of all events, number of all lost events |
//! | 6 | queue | tick in ns (0: unknown), name in UTF-8. It follows those of the header |
//! | 128 | remark | number (0: none), then the words that follow it, UTF-8, at most 4,096 bytes |
//! | 128 and above | may be skipped | |
//!
//! A file has at most 2^20 names in each table, 2^20 losses and 256 queues. Each name and each note
//! has at most 4,096 bytes, including the names of queues in the header. All names of tables and
//! all notes together have at most 2^26 bytes.
//!
//! The end block counts all lost events: the events that the file's loss blocks report, and the
//! events of losses that these limits kept out of the file. A loss of an unknown number of events
//! counts as 0.
//!
//! A remark holds a count that the writer of the trace made and that a reader of its figures must
//! know, for example `3` with `timer events could not be read and are left out`. A reader that
//! ignores remarks still understands every event. A file has at most 256 remarks, and their words
//! count toward the 2^26 bytes. Older files have no remarks, and older readers skip remarks.
//!
//! Each table of names counts from 1 in the order of its blocks. A name precedes the first event
//! that uses it. A block of an unknown kind below 128 is damage. Nothing follows the end block. A
//! file without an end was not finished: its writer was killed, or is still writing.
//!
//! Numbers in blocks take one to ten bytes (LEB128). Each byte holds seven bits of the number, the
//! lowest bits first, and its high bit says whether more bytes follow. A signed number is doubled,
//! and a negative number is then complemented: 0, -1, 1, -2 become 0, 1, 2, 3.
//!
//! ## Header
//!
//! ```json
//! {"source": "record", "made_by": "tickwright 0.1.0", "of": "memcached -p 0",
//!  "clock": "CLOCK_MONOTONIC", "started": "2026-11-23T08:00:00Z",
//!  "bases": [{"name": "libevent", "tick_ns": 1000}],
//!  "host": {"cpu": "..."}, "unseen": ["timers that the program implements itself"]}
//! ```
//!
//! Each field is optional. A reader ignores fields that it does not know. `bases` are the queues
//! that timers were in.
//!
//! ## Events
//!
//! ```text
//!   count | times | kinds | timers | threads | processors | queues | sites | delays | periods
//! ```
//!
//! | column | one number for | meaning |
//! |---|---|---|
//! | times | each event | signed, ns: from the event before, the first from the trace's start |
//! | kinds | each event | one byte: 0 arm, 1 re-arm, 2 cancel, 3 fire |
//! | timers | each event | which timer; a number names one timer for the whole trace |
//! | threads | each event | number of a name, 0 unknown |
//! | processors | each event | its number plus 1, 0 unknown |
//! | queues | each event | index into the queues |
//! | sites | each event | number of a name, 0 unknown |
//! | delays | each arm and re-arm | signed, ns: the deadline, from the event's time |
//! | periods | each arm and re-arm | ns, 0 for a timer that expires once |
//!
//! A deadline of 2^63 - 1 means that the delay is unknown: the source does not state the deadline,
//! or the timer never expires.
//!
//! Times can go backwards: some sources do not order the events of several processors. Readers add
//! differences modulo 2^64. *Arm*: the timer was not pending; *re-arm*: the timer was pending.
//! *Cancel*: the timer was pending and was removed. *Fire*: the timer expired. A periodic timer
//! stays pending when it fires.
//!
//! ## Damage
//!
//! A reader names a damaged block by the position of its first byte and returns the events before
//! that block. The reader does not search for a later whole block, because the events in such a
//! block can refer to events that were lost, and would mislead.
//!
//! ## Text and tables
//!
//! CSV has the columns
//! `time_ns, kind, timer, deadline_ns, period_ns, thread, cpu, base, site, count, note`. JSON lines
//! have the same fields, one object per line. Threads, queues and sites are written by name; an
//! unknown value, including an unknown deadline, is empty or `null`. A row of the kind `lost` is a
//! loss, and a row of the kind `remark` is a remark. In both kinds of rows, `count` is the number
//! (empty: unknown, or none), and `note` has the words. An import reads both kinds of rows, and
//! also a line between the rows of CSV such as `Lost 7 events`. Parquet files have the columns of
//! CSV up to `site`, and also `event`, which numbers the events from 0. The metadata of these files
//! have the losses and remarks. `docs/fleet.md` has the types of the columns and example queries.
#![forbid(unsafe_code)]

pub mod error;
pub mod event;
pub mod header;
pub mod import;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod profile;
pub mod reader;
pub mod text;
pub mod writer;

mod block;
mod bounded;
mod columns;
mod number;

pub use error::TraceError;
pub use event::{Event, What};
pub use header::{Base, Header, Lost, Names, Remark};
pub use profile::{Describer, Profile};
pub use reader::Reader;
pub use writer::Writer;
