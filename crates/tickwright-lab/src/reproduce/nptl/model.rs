//! The models of this project, with the knobs that the experiment turns.

use serde::Serialize;
use tickwright_threads::{self as threads, OneToOne, Runtime, Stacks};

/// A model of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Model {
    OneToOne,
}

impl Model {
    pub(crate) const ALL: [Self; 1] = [Self::OneToOne];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "one-to-one",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OneToOne => "a thread of the platform each, as NPTL; registered",
        }
    }

    /// The design of then that it stands for.
    pub(crate) fn then(self) -> &'static str {
        match self {
            Self::OneToOne => "NPTL",
        }
    }
}

/// What can be set; none leaves a model its own default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Knobs {
    /// Bytes of a guard; 0 is none.
    pub(crate) guard: Option<usize>,
    /// Bytes of a stack.
    pub(crate) stack: Option<usize>,
    /// Whether stacks of ended threads are used again.
    pub(crate) cache: Option<bool>,
    /// Kernel threads under M:N ones; none is one for each core.
    pub(crate) workers: Option<usize>,
}

impl Knobs {
    pub(crate) fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

/// A runtime of that model.
///
/// # Errors
/// What the runtime says.
pub(crate) fn start(model: Model, knobs: &Knobs) -> Result<Runtime, String> {
    let settings = match model {
        Model::OneToOne => threads::Model::OneToOne(one_to_one(knobs)),
    };
    Runtime::new(settings).map_err(|error| error.to_string())
}

fn one_to_one(knobs: &Knobs) -> OneToOne {
    let mut settings = OneToOne::new();
    if let Some(bytes) = knobs.guard {
        settings = settings.guard(bytes);
    }
    if let Some(bytes) = knobs.stack {
        settings = settings.stack(bytes);
    }
    match knobs.cache {
        Some(false) => settings.stacks(Stacks::Fresh),
        Some(true) | None => settings,
    }
}
