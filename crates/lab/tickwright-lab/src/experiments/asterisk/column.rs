//! The compared schedulers: those of 2009, and ours with each structure.

use clap::ValueEnum;
use tickwright::scheduler::{Cancelled, Firing, Next, Plain, Scheduler, Settings, Structure, TimerId};
use tickwright::time::Instant;

use super::then::{Context, Heap, List, Order};
use crate::clock::{Meter, OsClock};

/// How a scheduler is built and driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// As in 2009: an allocation for each entry, a table of ids, and a read of the system's random
    /// source in the timed loop
    Faithful,
    /// This project's scheduler; its delays are drawn before the clock starts
    Ours,
}

impl Mode {
    pub(crate) const ALL: [Self; 2] = [Self::Faithful, Self::Ours];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::Ours => "ours",
        }
    }
}

/// The columns of the faithful mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    List,
    Heap,
}

/// A scheduler under measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Then(Then),
    Ours(Structure),
}

impl Column {
    pub(crate) const THEN: [Self; 2] = [Self::Then(Then::List), Self::Then(Then::Heap)];

    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Then(_) => Mode::Faithful,
            Self::Ours(_) => Mode::Ours,
        }
    }

    /// Returns the title of the scheduler, which is unique among the columns of its mode.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Then(Then::List) => "list",
            Self::Then(Then::Heap) => "heap",
            Self::Ours(structure) => structure.id(),
        }
    }

    /// Returns the name of the scheduler, which is unique among all columns.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Then(_) => format!("{} as in 2009", self.title()),
            Self::Ours(_) => self.title().to_owned(),
        }
    }

    pub(crate) fn is_list(self) -> bool {
        self.title() == "list"
    }

    /// Creates a scheduler on the real clock and passes it to `visitor`.
    pub(crate) fn visit<V: Visitor>(self, visitor: V) -> V::Out {
        let clock = OsClock::start();
        let at = move |ahead: u64| clock.now() / 1000 + ahead;
        match self {
            Self::Then(Then::List) => visitor.visit(Context::<List, _>::new(at)),
            Self::Then(Then::Heap) => visitor.visit(Context::<Heap, _>::new(at)),
            Self::Ours(structure) => {
                visitor.visit(Ours(Scheduler::new(Settings::new().structure(structure))))
            }
        }
    }
}

/// A task for a scheduler whose type only [`Column`] knows.
pub(crate) trait Visitor {
    type Out;
    fn visit<S: Subject>(self, scheduler: S) -> Self::Out;
}

/// The operations of a scheduler that the experiment uses. The scheduler's callbacks do nothing.
pub(crate) trait Subject {
    type Id: Copy;

    /// Schedules a callback in `delay` ms. Returns `None` if the scheduler refuses the add, which
    /// should never happen.
    fn add(&self, delay: u32) -> Option<Self::Id>;
    /// Deletes a timer. Returns whether the timer was pending.
    fn del(&self, id: Self::Id) -> bool;
    /// Returns the due time of a timer in ns on the scheduler's own clock, with a resolution of 1
    /// µs.
    fn when(&self, id: Self::Id) -> Option<u64>;
    /// Returns the time of the scheduler's own clock, in ns.
    fn now(&self) -> u64;
    fn pending(&self) -> usize;
    /// Returns a violated invariant of the scheduler, if there is one.
    fn fault(&self) -> Option<String>;
}

fn nothing(_: usize) -> i32 {
    0
}

impl<O: Order, C: Fn(u64) -> u64> Subject for Context<O, C> {
    type Id = i32;

    #[inline]
    fn add(&self, delay: u32) -> Option<i32> {
        Some(Context::add(self, delay, nothing, 0))
    }

    #[inline]
    fn del(&self, id: i32) -> bool {
        Context::del(self, id)
    }

    fn when(&self, id: i32) -> Option<u64> {
        Context::when(self, id).map(|us| us * 1000)
    }

    fn now(&self) -> u64 {
        self.time() * 1000
    }

    fn pending(&self) -> usize {
        self.len()
    }

    fn fault(&self) -> Option<String> {
        None
    }
}

/// This project's scheduler with plain callbacks.
struct Ours(Scheduler<Plain<usize>>);

fn done(_: &mut usize, _: &Firing<'_, Plain<usize>>) -> Next {
    Next::Done
}

impl Subject for Ours {
    type Id = TimerId;

    #[inline]
    fn add(&self, delay: u32) -> Option<TimerId> {
        let delay = core::time::Duration::from_millis(u64::from(delay));
        self.0.add(delay, Plain::new(0, done)).ok()
    }

    #[inline]
    fn del(&self, id: TimerId) -> bool {
        matches!(self.0.cancel(id), Cancelled::Removed(_))
    }

    fn when(&self, id: TimerId) -> Option<u64> {
        self.0.when(id).map(Instant::as_nanos)
    }

    fn now(&self) -> u64 {
        self.0.now().as_nanos()
    }

    fn pending(&self) -> usize {
        self.0.report().statistics.pending
    }

    fn fault(&self) -> Option<String> {
        self.0.check().err().map(|violation| violation.to_string())
    }
}
