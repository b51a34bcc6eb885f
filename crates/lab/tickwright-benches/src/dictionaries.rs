//! `benches registry`: the cost of a registry of threads or tasks, with each dictionary.
//!
//! The author of HelenOS's ordered dictionary asked for a benchmark that uses the trees more than a
//! ping-pong does, and suggested creating and destroying a thread repeatedly. This benchmark has
//! two parts:
//!
//! - the dictionary's own work: destroying one of N live entries and creating another, looking up a
//!   key, looking up a missing key, and filling in ascending order
//! - real threads that are registered while they live: the dictionary's work is a share of each
//!   thread's life
//!
//! The modules:
//!
//! - [`subject`]: the dictionaries and the few calls that are timed; [`shelf`]: all dictionaries,
//!   alive at the same time
//! - [`work`]: the calls of a sample, which are drawn before any clock starts, and the expected
//!   results, which are computed with only the standard library
//! - [`run`]: rounds in which every dictionary is measured once; [`tables`]: tables, targets, and
//!   the answer in words

mod cli;
mod intrusive;
mod run;
mod shelf;
mod subject;
mod tables;
mod work;

pub(crate) use cli::RegistryArgs;

#[cfg(test)]
mod tests;
