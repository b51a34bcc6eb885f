//! `tickwright latency`: how late one periodic timer wakes up, with each structure in turn.
//!
//! The second half of Xenomai's timer list experiment (2016): a system with at most two timers,
//! where the structure with the best asymptotic cost need not be the best. One periodic timer and
//! an emulated host tick are pending; the driver sleeps until the head is due, the periodic timer
//! is taken and armed anew, and its lateness is the clock then, less where its grid says it is due.
//!
//! # What counts
//!
//! - A period that passed unseen is an overrun **and** a sample: it was as late as it was noticed.
//!   So a slow structure or host cannot hide behind the wake-ups that it left out (coordinated
//!   omission).
//! - A process that was stopped (SIGCONT says so), or noticed nothing for a second and for a
//!   hundred periods, was not late but away: the periods of the gap are overruns, told in a line of
//!   their own, and none of them is a sample.
//! - Structures take turns in slices of a fraction of a second, in random order, so that what the
//!   host does meets all alike. The first slice of each is thrown away.

mod check;
mod cli;
mod clock;
mod compare;
mod grid;
mod hdr;
mod histogram;
mod lane;
mod lines;
mod load;
mod order;
mod overhead;
mod plan;
mod platform;
mod plot;
mod report;
mod rights;
mod run;
mod slice;
mod span;
mod stop;
mod timer_path;

pub(crate) use check::check;
pub(crate) use cli::{LatencyArgs, tour};
pub(crate) use load::WorkerArgs;
pub(crate) use timer_path::check as check_timer_path;

#[cfg(test)]
mod tests;
