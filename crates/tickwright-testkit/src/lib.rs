//! The conformance suite for timer queues: an op machine, an oracle that knows nothing of this project, and one named test per
//! clause of the contract. It runs on every family in both storages, and on foreign queues through a
//! small adapter ([`subject::Subject`]).

pub mod subject;
