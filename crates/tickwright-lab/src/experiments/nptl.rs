//! The experiment that settled Linux's threads in 2002: one kernel thread for each, M:N, or a
//! manager?
//!
//! Ulrich Drepper and Ingo Molnar timed the creation of 100,000 threads that return at once, for 1
//! to 20 threads that create and 1 to 10 that each of them keeps at once, and published the least
//! times over either dimension: NGPT (M:N) twice as fast as LinuxThreads (a manager thread), NPTL
//! (one-to-one) four times as fast as NGPT. Here the same rules ([`rules`]) drive the models of
//! `tickwright-threads`, and other people's threads beside them.
//!
//! # What was asked in the replies
//!
//! Whether M:N lost by something else than being M:N: guard pages, no recycling of stacks.
//! [`knobs`] prices each knob in each model; [`ladder`] turns M:N from NGPT's way to this
//! project's, one knob at a time, until the published order is the other way round.

mod alive;
mod brief;
mod child;
mod cli;
mod column;
mod echo;
mod figures;
mod knobs;
mod ladder;
mod limits;
mod model;
mod peers;
mod plot;
mod published;
mod report;
mod rules;
mod run;
mod syscalls;
mod table;
mod targets;
mod turns;
mod verify;
mod work;

pub(crate) use brief::{check, tour};
pub(crate) use cli::NptlArgs;
pub(crate) use column::{Cell, Column};
pub(crate) use model::{Knobs, Model, start};
pub(crate) use table::create;
pub(crate) use turns::Turns;
pub(crate) use verify::run as verify;

#[cfg(test)]
mod tests;
