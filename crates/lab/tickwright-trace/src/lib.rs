//! Traces of timers: which timers a program armed, moved, cancelled and delivered, when, and on
//! which thread.
//!
//! ```text
//!   program, kernel log, browser -> Event -> Writer -> file.twt -> Reader -> Event
//!                                                              \-> CSV, JSON lines, Parquet
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`event`] | one thing that happened to one timer |
//! | [`header`] | what a trace says about itself: source, clock, queues, host, losses |
//! | [`writer`], [`reader`] | `.twt` files as streams, in blocks |
//! | [`import`] | traces from what other programs write |
//! | [`profile`] | what a trace says about a program's timers, as figures |
//! | [`text`] | traces as CSV, both ways, and as JSON lines |
//! | `parquet` | traces as Parquet files, with the feature `parquet` |
//! | [`error`] | what is wrong with a file, where, and what was read before it |
//!
//! `docs/trace-format.md` defines the format. If the writing program is killed, the file is read to
//! its last whole block. An error names a damaged block by its position; the blocks before it are
//! read.
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
