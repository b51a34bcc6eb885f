//! The structure in which a scheduler keeps its timers. The caller chooses it when the scheduler is
//! created.

use core::any::TypeId;
use core::fmt;
use core::str::FromStr;

use tickwright_core::structure::Discipline;
use tickwright_core::{Family, Order, Span, for_each_family};
use tickwright_nodes::arena::Idx;

use super::queue::{Entries, Queue, boxed};
#[cfg(feature = "record")]
use super::recorded::Recording;
use crate::time::Ticks;

/// A structure for the timers of a scheduler.
///
/// ```
/// use tickwright::scheduler::Structure;
///
/// let wheel: Structure = "wheel".parse()?;
/// assert_eq!(wheel, Structure::of::<tickwright::Wheel>());
/// # Ok::<(), tickwright::scheduler::UnknownStructure>(())
/// ```
#[derive(Clone, Copy)]
pub struct Structure {
    id: &'static str,
    family: TypeId,
    build: fn() -> Option<Box<dyn Queue>>,
    #[cfg(feature = "record")]
    build_recorded: fn(Recording) -> Option<Box<dyn Queue>>,
    lateness: Option<fn(Span) -> Span>,
    default_tick: Ticks,
}

impl Structure {
    /// Returns the structure of family `F`.
    #[must_use]
    pub fn of<F: Family>() -> Self
    where
        Entries<F>: Send,
    {
        let lateness = match <F::Of<Idx> as Discipline<Idx>>::ORDER {
            Order::Granular { lateness } => Some(lateness),
            _ => None,
        };
        let default_tick = Ticks::of(F::DEFAULT_TICK_NS);
        Self {
            id: F::ID,
            family: TypeId::of::<F>(),
            build: || boxed::<F, _>(Entries::new(), ()),
            #[cfg(feature = "record")]
            build_recorded: |recording| boxed::<F, _>(Entries::new(), recording),
            lateness,
            default_tick,
        }
    }

    /// Returns every structure, in the order of the library's list.
    #[must_use]
    pub fn all() -> Vec<Self> {
        macro_rules! rows {
            ([] $($id:literal => $family:ty;)+) => { vec![$(Self::of::<$family>()),+] };
        }
        for_each_family!(rows [])
    }

    /// Returns the structure's name: `list`, `heap4`, `wheel`, ... Structures that differ only in
    /// their parameters can share a name. Parsing such a name returns the structure that is in the
    /// library's list.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Returns whether each timer runs at exactly its tick, and timers of one tick run in the order
    /// in which they were armed. With other structures, timers can be late, but are never early.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.lateness.is_none()
    }

    /// Returns how many ticks late a timer can be if it is armed with a delay of `delay` ticks.
    #[must_use]
    pub fn lateness(&self, delay: Span) -> Span {
        self.lateness.map_or(0, |bound| bound(delay))
    }

    /// Returns the length of a tick if the settings do not set one:
    /// [`DEFAULT_TICK_NS`](Family::DEFAULT_TICK_NS) of the structure's family, which is 1 ms for
    /// the wheels and 1 ns for all others.
    #[must_use]
    pub fn default_tick(&self) -> Ticks {
        self.default_tick
    }

    /// Creates an empty queue. Returns `None` if there is no memory.
    pub(super) fn build(&self) -> Option<Box<dyn Queue>> {
        (self.build)()
    }

    /// Creates an empty queue whose changes are recorded. Returns `None` if there is no memory.
    #[cfg(feature = "record")]
    pub(super) fn build_recorded(&self, recording: Recording) -> Option<Box<dyn Queue>> {
        (self.build_recorded)(recording)
    }
}

impl Default for Structure {
    /// Returns the structure of [`SchedulerFamily`](tickwright_core::SchedulerFamily), which is the
    /// 4-ary heap. It is exact to the nanosecond, and never much slower than the fastest structure.
    fn default() -> Self {
        Self::of::<tickwright_core::SchedulerFamily>()
    }
}

/// Two structures are equal if their families are equal. A wheel of 32 buckets and a wheel of 64
/// buckets are not equal, although both are called `wheel`.
impl PartialEq for Structure {
    fn eq(&self, other: &Self) -> bool {
        self.family == other.family
    }
}

impl Eq for Structure {}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Structure").field(&self.id).finish()
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// The error for a name that no structure has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownStructure(String);

impl fmt::Display for UnknownStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = Structure::all().iter().map(Structure::id).collect();
        write!(f, "there is no structure \"{}\": take one of {}", self.0, known.join(", "))
    }
}

impl core::error::Error for UnknownStructure {}

impl FromStr for Structure {
    type Err = UnknownStructure;

    fn from_str(id: &str) -> Result<Self, UnknownStructure> {
        Self::all().into_iter().find(|known| known.id == id).ok_or_else(|| UnknownStructure(id.to_owned()))
    }
}
