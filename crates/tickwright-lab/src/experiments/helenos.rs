//! HelenOS's question of 2018: does it matter to a ping-pong over IPC which tree the kernel keeps
//! its tasks in?
//!
//! Jiri Svoboda replaced the kernel's AVL trees by an ordered dictionary on a red-black tree, and
//! timed the one benchmark there was: a client calls a server and waits for the answer. The
//! dictionary looked 1 to 8 % faster, and he doubted that the trees were touched at all. They were
//! not: in HelenOS they hold the tasks and threads, and are asked when one begins, ends, or is
//! looked up by its id.
//!
//! # The experiment here
//!
//! One server serves all tasks of a registry. A **round trip**: the client draws a task, looks its
//! id up in the registry, and calls it over a [`channel`] with what it found there; the server
//! verifies that and answers; the client verifies the answer and its number. So the tree is asked
//! once in each round trip, on the way. All that differs between two dictionaries is the tree: they
//! share the loop, the server and the channel.
//!
//! - [`registry`]: tasks with ids 1 ..= N, registered in ascending order as a kernel's are; targets
//!   uniform over all of them
//! - [`mailbox`], [`channel`], [`link`]: a mailbox with a futex, pipes, a Unix socket; the server a
//!   thread or a process
//! - [`timing`]: both methods of the original, on any meter
//! - [`verdict`]: the answer in words

mod beside;
mod channel;
mod cli;
mod cpu;
mod end;
mod figures;
mod link;
mod mailbox;
mod published;
mod registry;
mod report;
mod run;
mod shared;
mod timing;
mod verdict;

pub(crate) use cli::{HelenosArgs, check, tour};

#[cfg(test)]
mod tests;
