//! Models in which each thread is one of the platform's. They share ids, joins and waits, and
//! differ in how a thread is started and ended.

mod manager;
mod one_to_one;
mod pthread;
mod request_pipe;
mod runtime;
mod starter;

pub use manager::Manager;
pub use one_to_one::OneToOne;
pub use pthread::Stacks;
pub(crate) use pthread::{Joinable, start_own};
