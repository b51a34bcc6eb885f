//! The model in which each thread is one of the platform's.

mod one_to_one;
mod pthread;
mod runtime;

pub use one_to_one::OneToOne;
pub use pthread::Stacks;
pub(crate) use pthread::{Joinable, start_worker};
