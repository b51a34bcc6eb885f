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

    /// Returns its name: `list`, `heap4`, `wheel`, ... Several structures can share a name if they
    /// differ only by parameters. A parsed name gives the structure in the library's list.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Returns whether timers are due on the exact tick, and run in the order of (due tick,
    /// arrival). Timers of other structures can be late, and are never early.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.lateness.is_none()
    }

    /// Returns how late a timer can be, in ticks, if it is armed for `delay` ticks from now.
    #[must_use]
    pub fn lateness(&self, delay: Span) -> Span {
        self.lateness.map_or(0, |bound| bound(delay))
    }

    /// Returns the length of a tick if the settings do not set it:
    /// [`DEFAULT_TICK_NS`](Family::DEFAULT_TICK_NS) of its family, which is 1 ns, or 1 ms for the
    /// wheels.
    #[must_use]
    pub fn default_tick(&self) -> Ticks {
        self.default_tick
    }

    /// `None` without memory.
    pub(super) fn build(&self) -> Option<Box<dyn Queue>> {
        (self.build)()
    }

    /// `None` without memory.
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

/// Structures are equal if their families are equal. A wheel of 32 buckets and a wheel of 64
/// buckets differ, although both are called `wheel`.
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
