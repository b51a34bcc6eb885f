//! `tickwright`: benchmarks and experiments on timer queues, with verified answers.
#![deny(unsafe_code)]

mod baseline;
mod candidate;
mod clock;
mod duration;
mod error;
mod host;
mod interrupt;
mod ours;
mod output;
mod progress;
mod registry;
mod stats;

fn main() {}
