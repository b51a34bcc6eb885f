//! Workloads and their right answers.
//!
//! - [`hold`], [`network`], [`one_shot`], [`expire`], [`idle`]: workloads, that is, which timers
//!   are armed, moved, delivered
//! - [`scenario`]: a model with its parameters, as in a TOML file
//! - [`verify`]: the oracle, and the judge of answers

pub(crate) mod expire;
pub(crate) mod hold;
pub(crate) mod idle;
pub(crate) mod network;
pub(crate) mod one_shot;
pub(crate) mod scenario;
pub(crate) mod verify;
