//! Asterisk's scheduler experiment of 2009: a sorted list or a heap under a scheduler of callbacks?
//!
//! Russell Bryant's change (Review Board #160) replaced the doubly linked list of the scheduler by
//! a binary heap. Its test module made a new context, timed N adds with delays from 0 to 60 s drawn
//! at random, and then N deletes by id in the order of the adds. The published result: up to about
//! N = 100 the two are alike, at a million the heap takes 0.4 % of the list's time.
//!
//! # Two modes
//!
//! *faithful*: the schedulers of then ([`then`]), with what their times contained: a mutex, an
//! allocation, a hash table, and a read of eight bytes from the system's random source for each
//! delay. *ours*: this project's scheduler over each structure, its delays drawn before.
//!
//! # What the reviewers asked
//!
//! - Can a heap degrade to a list? [`comparisons`] counts.
//! - What of a red-black tree, of a hash and a ring? They are columns: the trees, and the wheel.
//! - How were the calls sequenced? The report says it in its first sentence.
//! - Is the load wavy near saturation, is there a beat? [`beat`] runs thousands of short calls a
//!   second and looks for a period.

mod beat;
mod cli;
mod column;
mod comparisons;
mod crossover;
mod power;
mod published;
mod report;
mod sample;
mod table;
mod then;
mod verify;

pub(crate) use beat::BeatArgs;
pub(crate) use cli::{AsteriskArgs, TestArgs, check, tour};

#[cfg(test)]
mod tests;
