//! Which structure a service keeps its timers in, chosen when it is made.

use core::any::TypeId;
use core::fmt;
use core::str::FromStr;

use tickwright_core::{
    Family, HeadChange, Inserted, Key, Pending, Reject, SlabQueue, Span, Tick, TimerQueue, Violation,
    for_each_family,
};

use crate::clock::Ticks;

/// A timer queue over slot numbers, whatever its family. The object form of [`TimerQueue`], for the
/// service alone.
pub(super) trait Queue: Send {
    fn insert(&mut self, deadline: Tick, slot: u32) -> Result<Inserted<Key>, Reject>;
    /// Whether it was pending.
    fn remove(&mut self, key: Key) -> bool;
    fn reschedule(&mut self, key: Key, deadline: Tick) -> HeadChange;
    /// The first that is due, with its expiry. Moves at most `moves` timers inside; with none of
    /// them left it may answer `None` too early.
    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(u32, Tick)>;
    /// Moves the queue's clock, and delivers nothing.
    fn touch(&mut self, now: Tick);
    fn next_expiry(&self) -> Option<Tick>;
    /// Not later than that, without a look at each timer of a bucket.
    fn next_wake(&self) -> Option<Tick>;
    fn peek(&self) -> Option<Pending<Key>>;
    fn second(&self) -> Option<Pending<Key>>;
    fn expiry(&self, key: Key) -> Option<Tick>;
    fn len(&self) -> usize;
    fn clear(&mut self);
    fn reserve(&mut self, additional: usize) -> Result<(), Reject>;
    fn heap_bytes(&self) -> usize;
    fn check(&self) -> Result<(), Violation>;
}

/// An array of one, since a vector of one becomes a box of that, and a vector's allocation may be
/// refused.
impl<F: Family> Queue for [SlabQueue<F, u32>; 1]
where
    SlabQueue<F, u32>: Send,
{
    fn insert(&mut self, deadline: Tick, slot: u32) -> Result<Inserted<Key>, Reject> {
        TimerQueue::insert(&mut self[0], deadline, slot).map_err(|rejected| rejected.reason)
    }

    fn remove(&mut self, key: Key) -> bool {
        TimerQueue::remove(&mut self[0], key).is_ok()
    }

    fn reschedule(&mut self, key: Key, deadline: Tick) -> HeadChange {
        // A stale key changes nothing.
        TimerQueue::reschedule(&mut self[0], key, deadline).unwrap_or(HeadChange::Same)
    }

    fn pop(&mut self, now: Tick, moves: &mut usize) -> Option<(u32, Tick)> {
        self[0].pop_expired_within(now, moves).map(|expired| (expired.value, expired.expiry))
    }

    fn touch(&mut self, now: Tick) {
        let _ = self[0].advance_within(now, 0, |_| {});
    }

    fn next_expiry(&self) -> Option<Tick> {
        TimerQueue::next_expiry(&self[0])
    }

    fn next_wake(&self) -> Option<Tick> {
        TimerQueue::next_wake(&self[0])
    }

    fn peek(&self) -> Option<Pending<Key>> {
        TimerQueue::peek(&self[0])
    }

    fn second(&self) -> Option<Pending<Key>> {
        TimerQueue::second(&self[0])
    }

    fn expiry(&self, key: Key) -> Option<Tick> {
        SlabQueue::expiry(&self[0], key)
    }

    fn len(&self) -> usize {
        TimerQueue::len(&self[0])
    }

    fn clear(&mut self) {
        TimerQueue::clear(&mut self[0]);
    }

    fn reserve(&mut self, additional: usize) -> Result<(), Reject> {
        SlabQueue::reserve(&mut self[0], additional)
    }

    fn heap_bytes(&self) -> usize {
        SlabQueue::heap_bytes(&self[0])
    }

    fn check(&self) -> Result<(), Violation> {
        TimerQueue::check(&self[0])
    }
}

fn boxed<F: Family>() -> Option<Box<dyn Queue>>
where
    SlabQueue<F, u32>: Send,
{
    let mut one = Vec::new();
    one.try_reserve_exact(1).ok()?;
    one.push(SlabQueue::<F, u32>::new());
    let one: Box<[_; 1]> = one.into_boxed_slice().try_into().ok()?;
    Some(one)
}

/// A structure for the timers of a service.
///
/// ```
/// use tickwright::service::Structure;
///
/// let wheel: Structure = "wheel".parse()?;
/// assert_eq!(wheel, Structure::of::<tickwright::Wheel>());
/// # Ok::<(), tickwright::service::UnknownStructure>(())
/// ```
#[derive(Clone, Copy)]
pub struct Structure {
    id: &'static str,
    family: TypeId,
    build: fn() -> Option<Box<dyn Queue>>,
    lateness: Option<fn(Span) -> Span>,
    default_tick: Ticks,
}

impl Structure {
    /// The structure of family `F` in a slab.
    #[must_use]
    pub fn of<F: Family>() -> Self
    where
        SlabQueue<F, u32>: Send,
    {
        use tickwright_core::Order;
        let lateness = match <SlabQueue<F, u32> as TimerQueue>::ORDER {
            Order::Granular { lateness } => Some(lateness),
            _ => None,
        };
        let default_tick = Ticks::of(F::DEFAULT_TICK_NS);
        Self { id: F::ID, family: TypeId::of::<F>(), build: boxed::<F>, lateness, default_tick }
    }

    /// Every structure, in the order of the library's list.
    #[must_use]
    pub fn all() -> Vec<Self> {
        macro_rules! rows {
            ([] $($id:literal => $family:ty;)+) => { vec![$(Self::of::<$family>()),+] };
        }
        for_each_family!(rows [])
    }

    /// Its name: `list`, `heap4`, `wheel`, ... One family may have several structures of one name,
    /// which differ by parameters; a name is parsed as the one in the library's list.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Whether timers are due to the tick, and run in the order of (due tick, arrival). Else they
    /// may be late, and never early.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.lateness.is_none()
    }

    /// How late a timer may be that is armed for `delay` ticks from now, in ticks.
    #[must_use]
    pub fn lateness(&self, delay: Span) -> Span {
        self.lateness.map_or(0, |bound| bound(delay))
    }

    /// The tick that it is given if nobody says: what its
    /// [family declares](Family::DEFAULT_TICK_NS), 1 ns, or 1 ms for the wheels.
    #[must_use]
    pub fn default_tick(&self) -> Ticks {
        self.default_tick
    }

    /// `None` without memory.
    pub(super) fn build(&self) -> Option<Box<dyn Queue>> {
        (self.build)()
    }
}

impl Default for Structure {
    /// [`DefaultFamily`](tickwright_core::DefaultFamily): the 4-ary heap, exact to the nanosecond,
    /// and never far behind the best.
    fn default() -> Self {
        Self::of::<tickwright_core::DefaultFamily>()
    }
}

/// Structures are equal when their families are: a wheel of 32 buckets is not one of 64, though
/// both are called `wheel`.
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

/// A name that no structure has.
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
