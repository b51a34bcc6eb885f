//! The model in which each thread is a thread of the platform.

mod one_to_one;
#[cfg(unix)]
mod pthread;
#[cfg(not(unix))]
#[path = "kernel/std_thread.rs"]
mod pthread;
mod runtime;

use crate::error::CreateError;
pub use one_to_one::OneToOne;
#[cfg(unix)]
pub(crate) use pthread::{Joinable, start_worker};

/// The function that a thread of the platform runs.
type Run = Box<dyn FnOnce() + Send>;

/// The reason why a thread was not started, and the function that it would have run. The function
/// owns values of the user, so the caller must drop it where no lock is held.
type Refused = (CreateError, Run);
