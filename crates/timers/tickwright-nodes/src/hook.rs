//! Hooks are nodes that are part of the caller's own structs, so nothing is allocated for them.
//!
//! ```text
//!   caller's struct  .. | Hook { record, owner } | value | ..
//!                         ^ HookPtr: a pointer to the hook, made from a reference to more than
//!                           the hook
//! ```
//! A hook's `owner` word names the structure that owns the node. The word is the structure's
//! identity, or 0 while no structure owns the node. The word's top bit is set if the node was
//! inserted pinned. A structure writes a node's record only while the owner word names the
//! structure and the structure is borrowed mutably. One compare-exchange claims a node and one
//! store releases it, so threads can share nodes.
//!
//! On a target without compare-exchange (Cortex-M0, RISC-V without the A extension), the feature
//! `critical-section` makes structures claim hooks in a critical section. Without that feature,
//! threads cannot share hooks on such a target, and the compiler rejects a program that shares
//! hooks ([`Shareable`]).
//!
//! The documentation of `HookQueue` in `tickwright-core` describes what happens when structures or
//! nodes are dropped, when a structure is forgotten, and when a node is inserted twice.

use core::fmt;
use core::marker::{PhantomData, PhantomPinned};
use core::num::NonZeroU32;
use core::ptr::NonNull;
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
use core::sync::atomic::AtomicU32;

use crate::{Handle, Nodes, Record};

mod shared;

use shared::{OwnerWord, RecordCell};

use core::sync::atomic::Ordering;

/// The bit of an owner word that is set if the node was inserted pinned, so that a drop of the
/// linked node must abort.
pub const PINNED: u32 = 1 << 31;

/// Marks the hooks of one kind of structure.
///
/// # Safety
/// Everything that [`Record`](Self::Record) holds, except handles, is `Send` and `Sync`, so it
/// holds no `Cell` and no other pointer.
pub unsafe trait Hooked: 'static {
    /// The record of a hook.
    type Record<P: Handle>: Record<P>;

    /// The name of the structure.
    const ID: &'static str;

    /// The message that is printed when the process aborts because a pinned node was dropped while
    /// linked.
    const DROPPED: &'static str;
}

/// Marks structures whose hooks can be shared by threads and interrupts. If the target has
/// compare-exchange or the feature `critical-section` is on, all structures implement the trait;
/// otherwise no structure implements it.
#[diagnostic::on_unimplemented(
    message = "hooks cannot be shared or be statics here: this target has no compare-exchange",
    label = "not `Sync` or `Send` on this target",
    note = "enable the feature `critical-section` of `tickwright-core` (or of the crate that this comes from)",
    note = "the program then provides the section, for example by `critical-section-single-core` of `cortex-m`"
)]
pub trait Shareable {}

#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
impl<F> Shareable for F {}

/// The record type of hooks for `F`.
pub type RecordOf<F> = <F as Hooked>::Record<HookPtr<F>>;

/// The part of a node that algorithms access, which is the record and the owner word, without the
/// value.
pub struct Hook<F: Hooked> {
    record: RecordCell<RecordOf<F>>,
    owner: OwnerWord,
    _pinned: PhantomPinned,
}

/// A pointer to the hook of a linked node.
pub struct HookPtr<F: Hooked>(NonNull<Hook<F>>);

impl<F: Hooked> HookPtr<F> {
    /// Creates a handle for the hook at the address `hook`. Creating a handle is safe, because a
    /// structure that follows handles has promised, in the call of [`HookNodes::new`], that they
    /// are valid.
    #[inline]
    #[must_use]
    pub const fn new(hook: NonNull<Hook<F>>) -> Self {
        Self(hook)
    }

    /// Returns the address of the hook.
    #[inline]
    #[must_use]
    pub const fn as_ptr(self) -> NonNull<Hook<F>> {
        self.0
    }
}

impl<F: Hooked> Clone for HookPtr<F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Hooked> Copy for HookPtr<F> {}

impl<F: Hooked> PartialEq for HookPtr<F> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<F: Hooked> Eq for HookPtr<F> {}

impl<F: Hooked> Handle for HookPtr<F> {}

impl<F: Hooked> fmt::Debug for HookPtr<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: 1. A hook's record is reached only through `HookNodes`. Its maker promises that a
// structure lends it out of its own borrow, and only for nodes whose owner word names that
// structure. 2. The owner word names one structure at a time. The word goes from 0 to an identity
// in one step (compare-exchange, or a critical section). The same structure sets it back (`claim`,
// `release`). 3. Access to the record is therefore exclusive wherever the hook is shared;
// acquire/release on the owner word orders it between structures.
unsafe impl<F: Hooked + Shareable> Sync for Hook<F> {}

// SAFETY:
// 1. A hook can be moved between threads only while no structure points at it (a linked hook is
//    borrowed or pinned).
// 2. The hook's record then holds no pointer that anyone follows; the rest of the record is `Send`
//    (promise of `Hooked`).
unsafe impl<F: Hooked> Send for Hook<F> {}

/// Why a claim of a hook failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// This structure already owns the hook.
    Here,
    /// Another structure owns the hook.
    Elsewhere,
}

impl<F: Hooked> Hook<F> {
    crate::const_unless_loom! {
        /// Creates a hook that is not in a structure.
        #[must_use]
        pub const fn new() -> Self {
            Self { record: RecordCell::new(Record::IDLE), owner: OwnerWord::free(), _pinned: PhantomPinned }
        }
    }

    /// Returns whether the hook is in a structure. If that structure was forgotten
    /// (`core::mem::forget`), the result is true forever.
    #[inline]
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.owner.load(Ordering::Acquire) != 0
    }

    /// Returns the identity of the structure that owns the hook, or 0 if no structure owns it. A
    /// caller that compares the result with its own identity needs no memory ordering, because only
    /// the caller itself writes this identity.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> u32 {
        self.owner.load(Ordering::Relaxed) & !PINNED
    }

    /// Claims a free hook for the structure `id`. `pinned` is [`PINNED`] or 0.
    ///
    /// # Errors
    /// [`Claimed`] tells whether this structure or another structure owns the hook.
    ///
    /// # Safety
    /// 1. The caller is the structure with the identity `id`, and links the node or releases it.
    #[inline]
    pub unsafe fn claim(&self, id: u32, pinned: u32) -> Result<(), Claimed> {
        match self.owner.take(id | pinned) {
            Ok(()) => Ok(()),
            Err(owner) if owner & !PINNED == id => Err(Claimed::Here),
            Err(_) => Err(Claimed::Elsewhere),
        }
    }

    /// Releases a claimed hook.
    ///
    /// # Safety
    /// 1. The caller is the structure that owns the hook.
    /// 2. No algorithm and no other record still holds a handle for the hook.
    #[inline]
    pub unsafe fn release(&self) {
        self.owner.store(0, Ordering::Release);
    }

    /// Writes the owner word, and returns the old word. The function is for tests of code that
    /// detects a wrong owner.
    ///
    /// # Safety
    /// 1. Until the word is correct again, the caller does nothing with the structure that owns the
    ///    node except check it.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub unsafe fn set_owner(&self, owner: u32) -> u32 {
        let was = self.owner.load(Ordering::Relaxed);
        self.owner.store(owner, Ordering::Relaxed);
        was
    }
}

impl<F: Hooked> Default for Hook<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Hooked> fmt::Debug for Hook<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("family", &F::ID).finish_non_exhaustive()
    }
}

impl<F: Hooked> Drop for Hook<F> {
    fn drop(&mut self) {
        if self.owner.exclusive() & PINNED != 0 {
            abort(F::DROPPED);
        }
    }
}

/// Aborts the process, even if panics unwind, because a structure still points at memory that is
/// about to be freed.
#[cold]
fn abort(message: &str) -> ! {
    struct PanicAgain;
    impl Drop for PanicAgain {
        fn drop(&mut self) {
            panic!("aborting");
        }
    }
    // `core` has no `abort`, but a second panic while a panic unwinds aborts the process.
    let _second = PanicAgain;
    panic!("{message}");
}

/// Gives access to the records of the nodes that one structure owns.
pub struct HookNodes<F: Hooked> {
    _family: PhantomData<fn() -> F>,
}

impl<F: Hooked> HookNodes<F> {
    /// Creates the value through which one structure accesses its nodes' records.
    ///
    /// # Safety
    /// The structure does not share this value, and lends it only for as long as the structure
    /// itself is borrowed. The structure ensures that each handle that is passed to this value
    /// 1. was made from a live reference to the hook, or to an object that contains the hook;
    /// 2. points at a hook that the structure has claimed and not released since, so the hook stays
    ///    where it is. The hook is either borrowed for as long as the structure lives, or pinned;
    ///    the drop of a linked pinned hook aborts.
    #[inline]
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self { _family: PhantomData }
    }
}

impl<F: Hooked> fmt::Debug for HookNodes<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookNodes")
    }
}

impl<F: Hooked> Nodes<HookPtr<F>, RecordOf<F>> for HookNodes<F> {
    #[inline]
    fn record(&self, p: HookPtr<F>) -> &RecordOf<F> {
        // SAFETY: 1. `p` was made from a live reference (condition 1 of `new`); 2. the hook is
        // still there and where it was (condition 2).
        let hook = unsafe { p.0.as_ref() };
        // SAFETY: 1. The node belongs to the structure that lends `self`. 2. That structure is
        // borrowed, so no `record_mut` reference is alive (it would borrow `self` mutably).
        unsafe { &*hook.record.read() }
    }

    #[inline]
    fn record_mut(&mut self, p: HookPtr<F>) -> &mut RecordOf<F> {
        // SAFETY: 1. and 2. as in `record`.
        let hook = unsafe { p.0.as_ref() };
        // SAFETY: 1. the node belongs to the structure that lends `self`; 2. `self` is borrowed
        // mutably for as long as the result, so no other reference to a record of this structure is
        // alive.
        unsafe { &mut *hook.record.write() }
    }
}

/// Whether [`draw`] can return an identity. On a target without compare-exchange it can do so only
/// with the feature `critical-section`.
pub const IDENTITIES_ARE_DRAWN: bool =
    cfg!(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))));

/// Returns an identity that no structure has had before, or `None` when all 2^31 - 1 identities are
/// used up.
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
#[must_use]
pub fn draw() -> Option<NonZeroU32> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    allot(&LAST)
}

/// Always returns `None`, because without compare-exchange and without a critical section no
/// identity can be drawn.
#[cfg(not(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas)))))]
#[must_use]
pub fn draw() -> Option<NonZeroU32> {
    None
}

/// Returns a new identity at each call, or `None` when all identities are used up.
#[cfg(any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas))))]
fn allot(counter: &AtomicU32) -> Option<NonZeroU32> {
    let next = |last: u32| (last + 1 < PINNED).then_some(last + 1);
    #[cfg(all(target_has_atomic = "32", not(tickwright_no_cas)))]
    let last = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
    #[cfg(not(all(target_has_atomic = "32", not(tickwright_no_cas))))]
    let last = shared::undivided(|| {
        let last = counter.load(Ordering::Relaxed);
        counter.store(next(last)?, Ordering::Relaxed);
        Some(last)
    })?;
    NonZeroU32::new(last + 1)
}

#[cfg(all(test, not(loom)))]
mod tests;
