//! `tickwright`: benchmarks and experiments on timer queues, with verified answers.
#![deny(unsafe_code)]

mod baseline;
mod candidate;
mod clock;
mod duration;
mod error;
mod hold;
mod host;
mod interrupt;
mod ours;
mod output;
mod progress;
mod registry;
mod scenario;
mod stats;

fn main() {}
