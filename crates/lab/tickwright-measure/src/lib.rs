//! The measuring part of the `tickwright` command: clocks and counters, statistics, facts about the
//! host, interruptions, progress, and result files. Nothing in this crate depends on timers.
//!
//! | module | holds |
//! |---|---|
//! | [`clock`] | the system's clock, a clock for tests |
//! | [`allocator`] | allocations and bytes of each thread |
//! | [`rounds`], [`turns`] | lanes that are sampled alternately, in random order |
//! | [`stats`] | medians with intervals, quantiles, a test of means |
//! | [`host`] | the machine on which a result was measured |
//! | [`rights`] | what a run asks of the system, given back when it ends |
//! | [`output`] | files that appear either complete or not at all |
//! | [`table`], [`text`] | tables for a terminal; untrusted text, made safe for a terminal |
//! | [`interrupt`], [`progress`] | Ctrl-C, and how far a run is |
//! | [`child`] | another program, which ends when this program's run ends |
//! | [`error`] | why a command failed, and its exit code |
//! | [`duration`], [`number`] | durations and whole numbers as people write them |
//! | [`request`] | arguments as values, and back as words |
//! | [`experiment`] | the shape of every bench and reproduction, and what runs it |
//! | [`result`] | one layout for all results: envelope, series, findings, sections |
//! | [`mod@format`] | how figures are written |
//! | [`render`] | a result as text, Markdown and SVG |
#![deny(unsafe_code)]

pub mod allocator;
pub mod child;
pub mod clock;
pub mod duration;
pub mod error;
pub mod experiment;
pub mod format;
pub mod host;
pub mod interrupt;
pub mod number;
pub mod output;
pub mod progress;
pub mod render;
pub mod request;
pub mod result;
pub mod rights;
pub mod rounds;
pub mod stats;
pub mod table;
pub mod text;
pub mod turns;
