//! The models of this project, with the knobs that the experiment changes.

use tickwright_threads::{self as threads, Manager, ManyToMany, OneToOne, Runtime};

/// A model of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Model {
    OneToOne,
    ManyToMany,
    /// M:N with the knobs as in NGPT.
    Ngpt,
    /// One-to-one with a manager thread, as in LinuxThreads.
    Manager,
}

impl Model {
    pub(crate) const ALL: [Self; 4] = [Self::OneToOne, Self::ManyToMany, Self::Ngpt, Self::Manager];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "one-to-one",
            Self::ManyToMany => "m:n",
            Self::Ngpt => "ngpt",
            Self::Manager => "manager",
        }
    }

    /// Description of the model's threads.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OneToOne => "a thread of the platform each",
            Self::ManyToMany => "stackful, on M workers; stack of 64 KiB with a guard; begun threads stay",
            Self::Ngpt => "M:N as NGPT did it: one locked queue, a system call a switch, no recycling",
            Self::Manager => "as LinuxThreads did it: one thread creates and buries all, asked by a pipe",
        }
    }

    /// The design of 2002 that the model represents.
    pub(crate) fn then(self) -> Option<&'static str> {
        match self {
            Self::OneToOne => Some("NPTL"),
            Self::ManyToMany => None,
            Self::Ngpt => Some("NGPT"),
            Self::Manager => Some("LinuxThreads"),
        }
    }
}

/// The settings of a model; `None` keeps the model's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Knobs {
    /// Kernel threads under the M:N threads; `None` is one per core.
    pub(crate) workers: Option<usize>,
    /// NGPT's properties that M:N takes over; `None` is the model's own choice.
    pub(crate) many: Option<threads::Knobs>,
}

impl Knobs {
    pub(crate) fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn many_to_many(&self, own: threads::Knobs) -> ManyToMany {
        let settings = ManyToMany::new().knobs(self.many.unwrap_or(own));
        match self.workers {
            Some(workers) => settings.workers(workers),
            None => settings,
        }
    }
}

/// Starts a runtime of a model.
///
/// # Errors
/// The error of the runtime.
pub(crate) fn start(model: Model, knobs: &Knobs) -> Result<Runtime, String> {
    let settings = match model {
        Model::OneToOne => threads::Model::OneToOne(OneToOne::new()),
        Model::ManyToMany => threads::Model::ManyToMany(knobs.many_to_many(threads::Knobs::ours())),
        Model::Ngpt => threads::Model::ManyToMany(knobs.many_to_many(threads::Knobs::ngpt())),
        Model::Manager => threads::Model::Manager(Manager::new()),
    };
    Runtime::new(settings).map_err(|error| error.to_string())
}
