//! The models of this project, with the settings that the experiment changes.

use tickwright_threads::{self as threads, ManyToMany, OneToOne, Runtime};

/// A model of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Model {
    OneToOne,
    ManyToMany,
    /// M:N with the settings of NGPT.
    Ngpt,
    /// One-to-one with a manager thread, as in LinuxThreads.
    Manager,
}

impl Model {
    /// The models that this system has.
    pub(crate) const ALL: &[Self] = if cfg!(unix) {
        &[Self::OneToOne, Self::ManyToMany, Self::Ngpt, Self::Manager]
    } else {
        &[Self::OneToOne, Self::Manager]
    };

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "one-to-one",
            Self::ManyToMany => "m:n",
            Self::Ngpt => "ngpt",
            Self::Manager => "manager",
        }
    }

    /// Returns a description of the model's threads.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OneToOne => "a thread of the platform each",
            Self::ManyToMany => "stackful, on M workers; stack of 64 KiB with a guard; begun threads stay",
            Self::Ngpt => "M:N as NGPT did it: one locked queue, a system call a switch, no recycling",
            Self::Manager => "as LinuxThreads did it: one thread creates and buries all, asked by a pipe",
        }
    }

    /// Returns the design of 2002 that the model represents.
    pub(crate) fn then(self) -> Option<&'static str> {
        match self {
            Self::OneToOne => Some("NPTL"),
            Self::ManyToMany => None,
            Self::Ngpt => Some("NGPT"),
            Self::Manager => Some("LinuxThreads"),
        }
    }
}

/// NGPT's properties that M:N can adopt, one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) knobs: threads::Knobs,
    /// Whether a thread without a name gets a name that contains the time.
    pub(crate) formats_names: bool,
    /// Whether stacks have a guard page. NGPT's stacks had none.
    pub(crate) guards: bool,
    /// Whether stacks of ended threads are used again.
    pub(crate) reuses_stacks: bool,
}

impl Ways {
    pub(crate) const OURS: Self =
        Self { knobs: threads::Knobs::ours(), formats_names: false, guards: true, reuses_stacks: true };
    /// NGPT 2.2: one queue, a change of the signal mask at every switch, pipes, names, and no guard
    /// pages.
    pub(crate) const NGPT: Self =
        Self { knobs: threads::Knobs::ngpt(), formats_names: true, guards: false, reuses_stacks: false };
}

/// The settings of a model; `None` keeps the model's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Knobs {
    /// The number of kernel threads that run the M:N threads; `None` is one per core.
    pub(crate) workers: Option<usize>,
    /// NGPT's properties that M:N adopts; `None` is the model's own choice.
    pub(crate) many: Option<Ways>,
}

impl Knobs {
    pub(crate) fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Returns the properties of this model's M:N threads.
    pub(crate) fn ways(&self, model: Model) -> Ways {
        self.many.unwrap_or(if model == Model::Ngpt { Ways::NGPT } else { Ways::OURS })
    }

    fn many_to_many(&self, ways: Ways) -> ManyToMany {
        let mut settings = ManyToMany::new().knobs(ways.knobs);
        if !ways.guards {
            settings = settings.guard(0);
        }
        if !ways.reuses_stacks {
            settings = settings.keep(0);
        }
        self.workers.map_or(settings.clone(), |workers| settings.workers(workers))
    }
}

/// Starts a runtime of a model. The manager's threads are one-to-one.
///
/// # Errors
/// If the runtime does not start.
pub(crate) fn start(model: Model, knobs: &Knobs) -> Result<Runtime, String> {
    let settings = match model {
        Model::OneToOne | Model::Manager => threads::Model::OneToOne(OneToOne::new()),
        Model::ManyToMany | Model::Ngpt => threads::Model::ManyToMany(knobs.many_to_many(knobs.ways(model))),
    };
    Runtime::new(settings).map_err(|error| error.to_string())
}
