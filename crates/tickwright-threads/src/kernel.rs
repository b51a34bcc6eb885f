//! Models in which each thread is one of the platform's. Ids, joins and waits are common; how a
//! thread is started and ended differs.

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
