//! The clock of a scheduler: a clock of the machine, or a clock that the caller implements.

use core::any::Any;
use core::fmt;

use super::{Clock, Instant, SystemClock};
use crate::sync::Arc;

/// The clock of a scheduler. A clock of the machine needs no allocation and no indirect call.
#[derive(Clone)]
pub(crate) enum Source {
    System(SystemClock),
    Other(Arc<dyn Clock>),
}

impl Default for Source {
    fn default() -> Self {
        Self::System(SystemClock::default())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(clock) => clock.fmt(f),
            Self::Other(_) => f.write_str("a clock of the caller"),
        }
    }
}

impl Source {
    pub(crate) fn of(clock: impl Clock + 'static) -> Self {
        match (&clock as &dyn Any).downcast_ref::<SystemClock>() {
            Some(system) => Self::System(*system),
            None => Self::Other(Arc::new(clock)),
        }
    }

    pub(crate) fn get(&self) -> &dyn Clock {
        match self {
            Self::System(clock) => clock,
            Self::Other(clock) => &**clock,
        }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Clock> {
        match self {
            Self::System(clock) => Arc::new(*clock),
            Self::Other(clock) => Arc::clone(clock),
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::System(clock) => clock.now(),
            Self::Other(clock) => clock.now(),
        }
    }
}
