//! The cells of a heap: groups of entries in a vector that grows, in the queue itself, or in lent
//! memory.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::contract::{Reject, Tick};
use crate::structure::Handle;
#[cfg(feature = "alloc")]
use tickwright_nodes::hint;

/// The greatest number of timers that a heap can hold: cells are numbered in 32 bits, and the last
/// sequence number marks unused cells.
pub const MOST: usize = u32::MAX as usize - 4;

/// The number of children per entry, as a type. The type implements [`Arity`] for each allowed
/// number.
#[derive(Clone, Copy, Debug)]
pub struct Degree<const D: usize>;

/// The properties that depend on the number of children per entry.
pub trait Arity {
    /// A type of size 0 that is aligned to the size of a group of 16-byte siblings, so that
    /// siblings share one cache line. On 32-bit targets the type requires no alignment, because
    /// most of these targets have no cache.
    type Line: Copy + Debug;
    /// An empty array of lines, which gives a struct the alignment of a line and takes no space.
    const ALIGNED: [Self::Line; 0] = [];
    /// Whether a pop leaves a hole at the root for the next insert to fill. The pop of a 2-heap
    /// fills the root at once, because the 2-heap is the textbook heap with which we compare
    /// others.
    const LEAVES_HOLE: bool;
    /// The name of the growing heap.
    const ID: &'static str;
    /// The name of the bounded heap.
    const BOUNDED_ID: &'static str;
    /// The name of the heap in the caller's memory.
    const LENT_ID: &'static str;
}

/// Is aligned to the size of two siblings of 16 bytes each.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(target_pointer_width = "64", repr(align(32)))]
pub struct HalfLine;

/// Is aligned to the size of four siblings of 16 bytes each.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(target_pointer_width = "64", repr(align(64)))]
pub struct WholeLine;

impl Arity for Degree<2> {
    type Line = HalfLine;
    const LEAVES_HOLE: bool = false;
    const ID: &'static str = "heap2";
    const BOUNDED_ID: &'static str = "heap2-bounded";
    const LENT_ID: &'static str = "heap2-lent";
}

impl Arity for Degree<4> {
    type Line = WholeLine;
    const LEAVES_HOLE: bool = true;
    const ID: &'static str = "heap4";
    const BOUNDED_ID: &'static str = "heap4-bounded";
    const LENT_ID: &'static str = "heap4-lent";
}

/// One cell of the heap, which holds an expiry, a sequence number and a node. The sequence number
/// orders entries of equal expiry.
///
/// Expiry and sequence number are stored as the distance to their greatest value, so that an unused
/// cell is all zeros. A static heap therefore takes no space in the image of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<P> {
    /// [`Tick::MAX`] minus the expiry.
    pub(super) ticks_to_end: Tick,
    /// [`u32::MAX`] minus the sequence number.
    pub(super) numbers_to_end: u32,
    pub(in crate::structures) node: Option<P>,
}

/// Returns the number that orders entries. An entry with a greater key leaves earlier.
#[inline]
pub(in crate::structures) fn key(expiry: Tick, sequence: u32) -> u128 {
    u128::from(!expiry) << 64 | u128::from(!sequence)
}

impl<P: Handle> Entry<P> {
    /// An unused cell. An unused cell is later than every entry, because no entry has the last
    /// sequence number. The search for the earliest sibling can therefore compare all cells of a
    /// group without a bound.
    pub(super) const EMPTY: Self = Self { ticks_to_end: 0, numbers_to_end: 0, node: None };

    #[inline]
    pub(in crate::structures) fn expiry(&self) -> Tick {
        !self.ticks_to_end
    }

    #[inline]
    pub(in crate::structures) fn sequence(&self) -> u32 {
        !self.numbers_to_end
    }

    /// Returns whether this entry leaves before `other`.
    #[inline]
    pub(super) fn precedes(&self, other: &Self) -> bool {
        self.key() > other.key()
    }

    /// Returns expiry and sequence number as one number, as [`key`] does. Comparing two such
    /// numbers needs no branch for equal expiries.
    #[inline]
    pub(in crate::structures) fn key(&self) -> u128 {
        u128::from(self.ticks_to_end) << 64 | u128::from(self.numbers_to_end)
    }

    /// Sets this cell to the entry of `p` whose [`key`](Self::key) is `key`.
    #[inline]
    pub(super) fn set(&mut self, key: u128, p: P) {
        *self = Self { ticks_to_end: (key >> 64) as Tick, numbers_to_end: key as u32, node: Some(p) };
    }
}

/// A group of cells: all children of one entry.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Group<P, const D: usize>
where
    Degree<D>: Arity,
{
    line: [<Degree<D> as Arity>::Line; 0],
    pub(super) cells: [Entry<P>; D],
}

impl<P: Handle, const D: usize> Group<P, D>
where
    Degree<D>: Arity,
{
    /// A group of unused cells.
    pub const EMPTY: Self = Self { line: Degree::<D>::ALIGNED, cells: [Entry::EMPTY; D] };
}

/// The memory that holds the groups. The groups in use are `0..groups()`; all cells of other groups
/// are empty. Over hooks a wrong implementation would lead to dangling pointers, so no code outside
/// this crate can name the trait.
pub trait Buffer<P: Handle, const D: usize>: Sized {
    /// A buffer without groups, which has allocated nothing.
    const NEW: Self;
    /// The value of [`Arity::LEAVES_HOLE`] for this buffer's groups.
    const LEAVES_HOLE: bool;

    /// Makes room for `additional` more entries beyond `len`.
    ///
    /// # Errors
    /// [`Reject::Full`] when there is no room. The buffer is then unchanged.
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject>;

    /// Returns the number of groups in use.
    fn groups(&self) -> usize;

    /// Sets the number of groups in use. New groups are empty. The caller must have emptied the
    /// groups that are dropped.
    fn set_groups(&mut self, groups: usize);

    /// Returns the group at `at`, or `None` if it is not in use.
    fn group(&self, at: usize) -> Option<&[Entry<P>; D]>;

    /// Returns the group at `first + at`. The caller knows `first` earlier than `at`. An
    /// implementation therefore adds `first` to the address beforehand, so that only one addition
    /// has to wait for `at`.
    #[inline(always)]
    fn group_at_sum(&self, first: usize, at: usize) -> Option<&[Entry<P>; D]> {
        self.group(first + at)
    }

    /// Returns a mutable reference to the group at `at`, which must be in use.
    fn group_mut(&mut self, at: usize) -> &mut [Entry<P>; D];

    /// Prefetches `D` adjacent groups from `first` on, if the heap is big enough for prefetching to
    /// pay off.
    #[inline]
    fn prefetch(&self, first: usize) {
        let _ = first;
    }

    /// Returns whether all cells of the buffer after the groups in use are empty.
    fn rest_is_empty(&self) -> bool;

    /// Sets the number of groups in use to 0, whatever the cells hold.
    fn clear(&mut self);

    /// Returns the number of bytes that the buffer has allocated.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Returns the number of groups that `len` entries take, where the root is the only entry in the
/// first group.
#[must_use]
pub const fn groups_for<const D: usize>(len: usize) -> usize {
    if len == 0 { 0 } else { (len - 1).div_ceil(D) + 1 }
}

/// Groups in a vector.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct Growing<P, const D: usize>
where
    Degree<D>: Arity,
{
    pub(super) groups: Vec<Group<P, D>>,
}

/// The heap prefetches if it has at least this many groups. In a slab, this many groups of four
/// take half a mebibyte.
#[cfg(feature = "alloc")]
const BIG: usize = 1 << 13;

#[cfg(feature = "alloc")]
impl<P: Handle, const D: usize> Buffer<P, D> for Growing<P, D>
where
    Degree<D>: Arity,
{
    const NEW: Self = Self { groups: Vec::new() };
    const LEAVES_HOLE: bool = Degree::<D>::LEAVES_HOLE;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        let total = len.checked_add(additional).ok_or(Reject::Full)?;
        // The root is the only entry in its group, which has as many cells as every other group.
        if total <= MOST && total + D - 1 <= self.groups.capacity() * D {
            return Ok(());
        }
        grow(&mut self.groups, total, additional == 1)
    }

    #[inline]
    fn groups(&self) -> usize {
        self.groups.len()
    }

    #[inline]
    fn set_groups(&mut self, groups: usize) {
        if groups > self.groups.len() {
            self.groups.resize(groups, Group::EMPTY);
        } else {
            self.groups.truncate(groups);
        }
    }

    #[inline]
    fn group(&self, at: usize) -> Option<&[Entry<P>; D]> {
        Some(&self.groups.get(at)?.cells)
    }

    #[inline(always)]
    fn group_at_sum(&self, first: usize, at: usize) -> Option<&[Entry<P>; D]> {
        Some(&self.groups.get(first..)?.get(at)?.cells)
    }

    #[inline]
    fn group_mut(&mut self, at: usize) -> &mut [Entry<P>; D] {
        &mut self.groups[at].cells
    }

    #[inline]
    fn prefetch(&self, first: usize) {
        if self.groups.len() >= BIG
            && let Some(groups) = self.groups.get(first..first + D)
        {
            for group in groups {
                hint::prefetch(group);
            }
        }
    }

    fn rest_is_empty(&self) -> bool {
        true
    }

    fn clear(&mut self) {
        self.groups.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group<P, D>>()
    }
}

/// Doubles the vector if room for a single entry is requested; otherwise allocates exactly the
/// requested room.
#[cfg(feature = "alloc")]
#[cold]
fn grow<P: Handle, const D: usize>(
    groups: &mut Vec<Group<P, D>>,
    entries: usize,
    doubling: bool,
) -> Result<(), Reject>
where
    Degree<D>: Arity,
{
    // Cell numbers and sequence numbers have 32 bits.
    if entries > MOST {
        return Err(Reject::Full);
    }
    let missing = groups_for::<D>(entries).saturating_sub(groups.len());
    if doubling { groups.try_reserve(missing) } else { groups.try_reserve_exact(missing) }
        .map_err(|_| Reject::Full)
}

/// Groups for `CAP` entries in the queue itself. The array has `CAP` cells, because Rust cannot
/// compute an array length from `CAP`. Separate fields therefore hold the root's group, and the
/// last group when `D` does not divide `CAP` evenly.
#[derive(Debug)]
#[repr(C)]
pub struct Inline<P, const D: usize, const CAP: usize>
where
    Degree<D>: Arity,
{
    root: Group<P, D>,
    line: [<Degree<D> as Arity>::Line; 0],
    pub(super) cells: [Entry<P>; CAP],
    pub(super) last: Group<P, D>,
    groups: usize,
}

impl<P: Handle, const D: usize, const CAP: usize> Buffer<P, D> for Inline<P, D, CAP>
where
    Degree<D>: Arity,
{
    const NEW: Self = {
        assert!(CAP <= MOST, "a heap holds less than 2^32 - 4 timers");
        Self {
            root: Group::EMPTY,
            line: Degree::<D>::ALIGNED,
            cells: [Entry::EMPTY; CAP],
            last: Group::EMPTY,
            groups: 0,
        }
    };
    const LEAVES_HOLE: bool = Degree::<D>::LEAVES_HOLE;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        if additional <= CAP.saturating_sub(len) { Ok(()) } else { Err(Reject::Full) }
    }

    #[inline]
    fn groups(&self) -> usize {
        self.groups
    }

    #[inline]
    fn set_groups(&mut self, groups: usize) {
        self.groups = groups;
    }

    #[inline]
    fn group(&self, at: usize) -> Option<&[Entry<P>; D]> {
        if at >= self.groups {
            return None;
        }
        let (whole, _) = self.cells.as_chunks();
        // For the root's group, `at` is 0, and the subtraction wraps around to an index that no
        // array has.
        match whole.get(at.wrapping_sub(1)) {
            Some(group) => Some(group),
            None if at == 0 => Some(&self.root.cells),
            None => Some(&self.last.cells),
        }
    }

    #[inline]
    fn group_mut(&mut self, at: usize) -> &mut [Entry<P>; D] {
        let (whole, _) = self.cells.as_chunks_mut();
        match whole.get_mut(at.wrapping_sub(1)) {
            Some(group) => group,
            None if at == 0 => &mut self.root.cells,
            None => &mut self.last.cells,
        }
    }

    fn rest_is_empty(&self) -> bool {
        let (whole, spare) = self.cells.as_chunks::<D>();
        let unused = |cells: &[Entry<P>]| cells.iter().all(|entry| *entry == Entry::EMPTY);
        (self.groups > 0 || unused(&self.root.cells))
            && unused(whole.get(self.groups.max(1) - 1..).unwrap_or(&[]).as_flattened())
            && unused(spare)
            && (self.groups > whole.len() + 1 || unused(&self.last.cells))
    }

    fn clear(&mut self) {
        for at in 0..self.groups {
            *self.group_mut(at) = [Entry::EMPTY; D];
        }
        self.groups = 0;
    }
}

/// Groups that the caller lends.
#[derive(Debug)]
pub struct Lent<P: 'static, const D: usize>
where
    Degree<D>: Arity,
{
    pub(super) groups: &'static mut [Group<P, D>],
    used: usize,
    capacity: usize,
}

impl<P: Handle, const D: usize> Lent<P, D>
where
    Degree<D>: Arity,
{
    /// Makes room for `capacity` entries.
    ///
    /// # Errors
    /// [`Reject::Full`] when there are too few groups for `capacity`.
    pub(super) fn new(capacity: usize, groups: &'static mut [Group<P, D>]) -> Result<Self, Reject> {
        if capacity > MOST || groups_for::<D>(capacity) > groups.len() {
            return Err(Reject::Full);
        }
        Ok(Self { groups, used: 0, capacity })
    }
}

/// Returns an empty slice. A constant cannot borrow an empty array mutably, but a function can.
const fn nothing<T>() -> &'static mut [T] {
    &mut []
}

impl<P: Handle, const D: usize> Buffer<P, D> for Lent<P, D>
where
    Degree<D>: Arity,
{
    const NEW: Self = Self { groups: nothing(), used: 0, capacity: 0 };
    const LEAVES_HOLE: bool = Degree::<D>::LEAVES_HOLE;

    #[inline]
    fn reserve(&mut self, len: usize, additional: usize) -> Result<(), Reject> {
        if additional <= self.capacity.saturating_sub(len) { Ok(()) } else { Err(Reject::Full) }
    }

    #[inline]
    fn groups(&self) -> usize {
        self.used
    }

    #[inline]
    fn set_groups(&mut self, groups: usize) {
        self.used = groups;
    }

    #[inline]
    fn group(&self, at: usize) -> Option<&[Entry<P>; D]> {
        Some(&self.groups[..self.used].get(at)?.cells)
    }

    #[inline]
    fn group_mut(&mut self, at: usize) -> &mut [Entry<P>; D] {
        &mut self.groups[at].cells
    }

    fn rest_is_empty(&self) -> bool {
        self.groups[self.used..].iter().all(|group| group.cells == [Entry::EMPTY; D])
    }

    fn clear(&mut self) {
        self.groups[..self.used].fill(Group::EMPTY);
        self.used = 0;
    }
}
