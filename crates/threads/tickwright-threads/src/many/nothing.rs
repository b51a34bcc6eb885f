//! The M:N model on platforms where stacks cannot be switched. A runtime of this model does not
//! start there.

mod settings;
mod testing;

use std::sync::Arc;

use crate::error::RuntimeError;
use crate::threads::Threads;

pub use settings::ManyToMany;
#[cfg(feature = "testing")]
pub use testing::Knobs;

impl ManyToMany {
    pub(crate) fn start(self) -> Result<Arc<dyn Threads>, RuntimeError> {
        Err(RuntimeError::Unsupported { what: "a runtime of M:N threads", instead: "take Model::OneToOne" })
    }
}

pub(crate) fn yield_now() -> bool {
    false
}

pub(crate) fn park() -> bool {
    false
}
