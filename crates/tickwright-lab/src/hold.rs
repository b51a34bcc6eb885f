//! The hold model: a constant population, from which the earliest timer leaves and comes back later.
//!
//! - [`stream`]: the delays, generated from the seed before any clock starts
//! - [`model`]: the timed loops, generic over the queue, and their answers
//! - [`oracle`]: the queue that says what the answers are, in std alone
//! - [`live`]: many queues alive at once, so that each is filled once and sampled in every round
//! - [`run`]: rounds, interleaving, verification; [`report`]: what comes of it

pub(crate) mod live;
pub(crate) mod model;
pub(crate) mod oracle;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stream;
