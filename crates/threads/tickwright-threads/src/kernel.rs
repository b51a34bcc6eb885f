//! The model in which each thread is one of the platform's.

mod one_to_one;
#[cfg(unix)]
mod pthread;
#[cfg(not(unix))]
#[path = "kernel/std_thread.rs"]
mod pthread;
mod runtime;

pub use one_to_one::OneToOne;
#[cfg(unix)]
pub(crate) use pthread::{Joinable, start_worker};
