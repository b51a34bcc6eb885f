//! `tickwright latency --timer-path` and `--crossover`: what the queue alone adds to the lateness
//! of a timer.
//!
//! End-to-end lateness is the host's for the most part. Here nothing is waited for: time jumps from
//! expiry to expiry, and a tick is the queue's operations, in the order of Xenomai's handler: read
//! the head, take it, callback, re-arm it, read the head.
//!
//! - [`mod@slice`]: the path, and what may look at a clock in it
//! - [`sample`]: slices of all structures in turns, by the cycle counter
//! - [`counted`]: the same slices by instruction counts, in a process of its own under callgrind
//! - [`report`], [`args`]: what is printed, and what is asked

mod args;
mod counted;
mod report;
mod sample;
mod slice;

pub(crate) use args::{PathArgs, check};

#[cfg(test)]
mod tests;
