//! Workloads, and what their right answers are.
//!
//! - [`hold`], [`network`], [`expire`]: which timers are armed, moved and delivered
//! - [`scenario`]: a model with its parameters, as a TOML file says them
//! - [`verify`]: the oracle, and how an answer is judged

pub(crate) mod expire;
pub(crate) mod hold;
pub(crate) mod network;
pub(crate) mod scenario;
pub(crate) mod verify;
