//! The conformance suite for timer queues. It has an op machine, an oracle that knows nothing of
//! this project, and one named test per clause of the contract. It runs on every family in both
//! storages, and on foreign queues through a small adapter ([`subject::Subject`]).
//!
//! - [`script`]: what a run asks; a decoder that makes a run of any bytes
//! - [`oracle`]: the expected answers, in std alone
//! - [`machine`]: runs a script on a queue and on the oracle, and compares every answer
//! - [`clauses`]: one verdict per clause, computed; [`table`] prints them
//! - [`dictionary`]: the same for ordered dictionaries, in one file
//! - [`ours`], [`foreign`]: adapters; [`registry`]: all of them in two lists
//!
//! The example `your_queue` runs the suite on a queue of your own.
//!
//! # Features
//! - `foreign`: adapters for queues and dictionaries of other crates, tokio's among them. It needs
//!   Rust 1.91.
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
