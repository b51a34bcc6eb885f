//! The columns that are compared: this project's models and other libraries' threads.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tickwright_threads::{Attributes, RuntimeHandle, ThreadId};

use super::manager::Manager;
use super::model::{self, Knobs, Model};
use super::peers::Std;
#[cfg(feature = "rivals")]
use super::peers::{May, Tokio};
use super::rules::{Bodies, Maker, Share, shares, whole};
use crate::clock::{Meter, OsClock};
use crate::structures::registry::WITHOUT_RIVALS;

/// An implementation of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Ours(Model),
    Std,
    May,
    Tokio,
}

impl Column {
    /// The columns that need the feature `rivals`.
    const RIVALS: [Self; 2] = [Self::May, Self::Tokio];

    /// Returns all columns of this build, the models first.
    pub(crate) fn all() -> Vec<Self> {
        let ours = Model::ALL.iter().copied().map(Self::Ours);
        ours.chain([Self::Std]).chain(Self::RIVALS.into_iter().filter(|_| cfg!(feature = "rivals"))).collect()
    }

    /// Returns the model, if the column is one of our models.
    pub(crate) fn model(self) -> Option<Model> {
        match self {
            Self::Ours(model) => Some(model),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours(model) => model.name(),
            Self::Std => "std",
            Self::May => "may",
            Self::Tokio => "tokio",
        }
    }

    /// Returns a description of the column's threads.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Ours(model) => model.label(),
            Self::Std => "std::thread: a thread of the platform each, stack of 2 MiB",
            Self::May => "crate may: stackful, on M workers; stack of 32 KiB; they may move",
            Self::Tokio => "tokio tasks: not stackful, no stack of their own",
        }
    }

    /// Parses a value of the command line.
    ///
    /// # Errors
    /// If the name is unknown (the message lists the valid names), or this build leaves out the
    /// library.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let all = Self::all();
        // `mn` is a synonym, because a colon is awkward in a shell.
        let name = if text == "mn" { Model::ManyToMany.name() } else { text };
        all.iter().copied().find(|column| column.name() == name).ok_or_else(|| {
            if Self::RIVALS.iter().any(|column| column.name() == name) {
                return format!("'{text}' is left out: {WITHOUT_RIVALS}");
            }
            if cfg!(not(unix)) && [Model::ManyToMany, Model::Ngpt].iter().any(|model| model.name() == name) {
                return format!("'{text}' needs Unix: one-to-one, manager and std run here");
            }
            let names: Vec<&str> = all.iter().map(|column| column.name()).collect();
            format!("'{text}' is none of {}", names.join(", "))
        })
    }

    /// Creates and joins threads by the original's rules, in a separate runtime. Returns the sum of
    /// the threads' return values, and the duration of the main thread's work in ns.
    ///
    /// # Errors
    /// If a thread fails. The error is the first failure.
    pub(crate) fn run(
        self,
        knobs: &Knobs,
        cell: Cell,
        bodies: &impl Bodies,
        clock: OsClock,
    ) -> Result<(usize, u64), String> {
        let shares = shares(cell.starts, cell.toplevel * cell.children, cell.toplevel);
        match self {
            Self::Ours(model @ Model::Manager) => {
                let manager = Manager::start(model::start(model, knobs)?)?;
                inside(manager.maker(), shares, bodies, clock)
            }
            Self::Ours(model) => {
                let runtime = model::start(model, knobs)?;
                let formats_names =
                    matches!(model, Model::ManyToMany | Model::Ngpt) && knobs.ways(model).formats_names;
                let maker = Ours { handle: runtime.handle(), formats_names };
                let bodies = bodies.clone();
                let outcome = runtime.run(move || timed(&maker, &shares, &bodies, clock));
                outcome.map_err(|error| error.to_string())?
            }
            Self::Std => timed(&Std, &shares, bodies, clock),
            #[cfg(feature = "rivals")]
            Self::May => inside(May::with_workers(knobs.workers()), shares, bodies, clock),
            #[cfg(feature = "rivals")]
            Self::Tokio => Tokio::with_workers(knobs.workers())?.whole(&shares, bodies, clock),
            #[cfg(not(feature = "rivals"))]
            Self::May | Self::Tokio => Err(WITHOUT_RIVALS.into()),
        }
    }
}

/// A cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    /// P: number of threads that create.
    pub(crate) toplevel: usize,
    /// C: number of threads that each creator keeps at once.
    pub(crate) children: usize,
    /// Total number of created threads.
    pub(crate) starts: u64,
}

fn timed<M: Maker>(
    maker: &M,
    shares: &[Share],
    bodies: &impl Bodies,
    clock: OsClock,
) -> Result<(usize, u64), String> {
    let begun = clock.now();
    let sum = whole(maker, shares, bodies)?;
    Ok((sum, clock.now() - begun))
}

/// Like `timed`, but runs in a thread that the maker creates.
fn inside<M: Maker>(
    maker: M,
    shares: Vec<Share>,
    bodies: &impl Bodies,
    clock: OsClock,
) -> Result<(usize, u64), String> {
    let (bodies, inner) = (bodies.clone(), maker.clone());
    let (left, taken) = std::sync::mpsc::channel();
    let main = maker.create(move || {
        // The send fails only if the receiver no longer exists.
        let _ = left.send(timed(&inner, &shares, &bodies, clock));
        0
    })?;
    maker.join(main)?;
    taken.recv().map_err(|error| error.to_string())?
}

/// Creates threads in a runtime of this project.
#[derive(Debug, Clone)]
pub(crate) struct Ours {
    handle: RuntimeHandle,
    formats_names: bool,
}

/// Returns the name that NGPT gave to a thread without a name.
fn unnamed() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("unnamed.{}@{}", NEXT.fetch_add(1, Ordering::Relaxed), since.as_secs())
}

impl Maker for Ours {
    type Thread = ThreadId;

    fn create<B: FnOnce() -> usize + Send + 'static>(&self, body: B) -> Result<ThreadId, String> {
        let mut attributes = Attributes::new();
        if self.formats_names {
            attributes = attributes.name(&unnamed());
        }
        self.handle.create(&attributes, body).map_err(|error| error.to_string())
    }

    fn join(&self, thread: ThreadId) -> Result<usize, String> {
        self.handle.join(thread).map_err(|error| error.to_string())
    }
}
