//! What all timed comparisons share, whatever the work is: rounds in which every structure has its
//! turn, answers [verified](crate::verify) before times count, ratios round by round, tables.
//!
//! - [`work`]: what a sample does, as data, and where samples come from; the loops are those of the
//!   workloads
//! - [`sampler`]: a queue that is sampled again and again
//! - [`live`]: many queues alive at once, so that each is filled once and sampled in every round
//! - [`run`]: rounds; [`cell`], [`report`]: what comes of them

pub(crate) mod cell;
pub(crate) mod live;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod sampler;
pub(crate) mod work;
