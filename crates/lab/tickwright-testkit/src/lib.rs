//! The conformance suite for timer queues. The suite has an op machine, an oracle that knows
//! nothing of this project, and one named test per clause of the contract. The suite runs on every
//! family in both storages, and on other crates' queues through a small adapter
//! ([`subject::Subject`]).
//!
//! - [`script`]: the ops of a run, and a decoder that turns any bytes into a script
//! - [`oracle`]: the expected answers, with only the standard library
//! - [`machine`]: runs a script on a queue and on the oracle, and compares every answer
//! - [`clauses`]: computes one verdict per clause; [`table`] prints the verdicts
//! - [`dictionary`]: the conformance suite for ordered dictionaries, in one file
//! - [`ours`], [`foreign`]: adapters; [`registry`]: all queues in two lists
//!
//! The example `your_queue` runs the suite on a queue of your own.
//!
//! # Features
//! - `foreign`: adapters for other crates' queues and dictionaries, including tokio's. This feature
//!   needs Rust 1.91.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod clauses;
pub mod dictionary;
pub mod foreign;
pub mod machine;
pub mod oracle;
pub mod ours;
pub mod registry;
pub mod script;
pub mod subject;
pub mod table;
