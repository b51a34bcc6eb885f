//! Workloads and their right answers.
//!
//! - [`scenario`]: a model with its parameters, as in a TOML file
//! - [`source`]: the models, which determine which timers are armed, moved and delivered; each
//!   model writes tapes
//! - [`tape`]: the steps of a workload, and the loop that runs them on any queue
//! - [`live`]: queues of all types at once, each queue [erased] and owned by a [`sampler`] that
//!   runs tapes
//! - [`witness`]: the answers of a queue; [`verify`]: the oracle, and the judge of answers

mod draw;
pub(crate) mod erased;
pub(crate) mod live;
mod network;
mod one_shot;
pub(crate) mod sampler;
pub(crate) mod scenario;
pub(crate) mod source;
pub(crate) mod tape;
pub(crate) mod verify;
pub(crate) mod witness;
