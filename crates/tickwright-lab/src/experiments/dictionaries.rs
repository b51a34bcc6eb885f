//! `tickwright bench registry`: what a registry of threads or tasks costs over each dictionary.
//!
//! The author of HelenOS's ordered dictionary asked for a benchmark that would touch the trees more
//! than a ping-pong does, such as creating and destroying a thread again and again. This is it, in
//! two parts: the dictionary's own work (destroy one of N live entries and create another, look up,
//! look up in vain, fill in ascending order), and real threads that are registered while they live,
//! for the share of their time that the dictionary takes.
//!
//! - [`subject`]: the dictionaries, and the few calls that are timed; [`shelf`]: all of them alive
//!   at once
//! - [`work`]: the calls of a sample, drawn before any clock starts, and the right answers, from
//!   std alone
//! - [`run`]: rounds in which every dictionary has its turn; [`tables`]: tables, targets, and the
//!   answer in words

mod cli;
mod run;
mod shelf;
mod subject;
mod tables;
mod work;

pub(crate) use cli::RegistryArgs;

#[cfg(test)]
mod tests;
