//! `benches registry`: the cost of a registry of threads or tasks, over each dictionary.
//!
//! The author of HelenOS's ordered dictionary asked for a benchmark that uses the trees more than a
//! ping-pong does. The suggestion was to create and destroy a thread again and again. This
//! benchmark has two parts:
//!
//! - the dictionary's own work: destroy one of N live entries and create another, look up a key,
//!   look up a missing key, fill in ascending order
//! - real threads, which are registered while they live: the share of their time that the
//!   dictionary takes
//!
//! The modules:
//!
//! - [`subject`]: the dictionaries and the few calls that are timed; [`shelf`]: all of them, alive
//!   at the same time
//! - [`work`]: the calls of a sample, drawn before any clock starts, and the right results, from
//!   std alone
//! - [`run`]: rounds in which every dictionary has its turn; [`tables`]: tables, targets, and the
//!   answer in words

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
