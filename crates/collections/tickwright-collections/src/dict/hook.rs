//! `HookDict`: the dictionary over hooks. The [`Link`]s are fields of the caller's objects, which
//! can be anywhere in memory.
//!
//! An object can have several links, each for one dictionary at a time. At its first insert, a
//! dictionary stores the offset of the link in the object. After that, the dictionary refuses
//! objects whose link is at another offset. The dictionary can therefore compute the object's
//! address from the link's address, and the link needs no pointer to its object. The user describes
//! where the link is without unsafe code.
//!
//! When a link is dropped, inserted twice, offered to another dictionary or forgotten, the same
//! happens as with a timer of a `HookQueue`.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::pin::Pin;
use core::ptr::{self, NonNull};

use tickwright_nodes::hook::{self, Hook, HookNodes, HookPtr, Hooked, PINNED, Shareable, draw};
use tickwright_nodes::{ByRef, Handle, Nodes, Violation, const_unless_loom, hint};

pub use crate::dict::sorted::Position;

use crate::dict::shell::dictionary;
use crate::dict::{
    Balance, DictError, DictRecord, Dictionary, KeyOf, KeyOrder, NotInserted, Objects, RedBlack, Seek, Sorted,
};

/// The kind of hook in a link for dictionaries with balance `B`.
#[derive(Debug)]
pub struct InDict<B>(PhantomData<fn() -> B>);

// SAFETY: apart from handles, links hold a mark, and `Balance::Mark` is `Send` and `Sync`.
unsafe impl<B: Balance> Hooked for InDict<B> {
    type Record<P: Handle> = DictRecord<P, B>;
    const ID: &'static str = "odict";
    const DROPPED: &'static str =
        "a pinned object was dropped while it was in a dictionary: remove it from there first";
}

#[cfg(all(target_pointer_width = "64", not(loom)))]
const _: () = assert!(size_of::<Link>() == 56);

/// A link is a field of your own struct, through which a dictionary links the struct. A link can be
/// in one dictionary at a time.
///
/// A link, and therefore also your struct, is `!Unpin`, because a dictionary holds a pointer to the
/// link while it is linked.
pub struct Link<B: Balance = RedBlack>(Hook<InDict<B>>);

impl<B: Balance> Link<B> {
    const_unless_loom! {
        /// Creates a link that is not in a dictionary.
        #[must_use]
        pub const fn new() -> Self {
            Self(Hook::new())
        }
    }

    /// Returns whether the link is in a dictionary. If that dictionary was forgotten
    /// (`core::mem::forget`), the result is true forever.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.0.is_linked()
    }
}

impl<B: Balance> Default for Link<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Balance> fmt::Debug for Link<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("linked", &self.is_linked()).finish()
    }
}

/// A trait that returns the link of an object. Dictionaries with this order use that link.
pub trait Membership<T, B: Balance = RedBlack>: KeyOrder<T> {
    /// Returns the link of `object`, which must be the same field for all objects. If the link is
    /// another field, the dictionary refuses the object with [`DictError::WrongLink`].
    fn link<'t>(&self, object: &'t T) -> &'t Link<B>;
}

/// A reference to a caller-owned object, used as the entry of a [`HookDict`]. Two references are
/// equal when they refer to the same object.
pub type ObjectRef<'a, T> = ByRef<'a, T>;

type Ptr<B> = HookPtr<InDict<B>>;

/// The value of `offset` before the first insert.
const UNKNOWN: usize = usize::MAX;

/// Access to the links and objects of one dictionary. Only [`HookDict`] creates this value.
struct HookObjects<'a, T, B: Balance> {
    nodes: HookNodes<InDict<B>>,
    /// The offset of the link in each object, in bytes.
    offset: usize,
    _objects: PhantomData<&'a T>,
}

impl<T, B: Balance> Nodes<Ptr<B>, DictRecord<Ptr<B>, B>> for HookObjects<'_, T, B> {
    #[inline]
    fn record(&self, p: Ptr<B>) -> &DictRecord<Ptr<B>, B> {
        self.nodes.record(p)
    }

    #[inline]
    fn record_mut(&mut self, p: Ptr<B>) -> &mut DictRecord<Ptr<B>, B> {
        self.nodes.record_mut(p)
    }

    #[inline]
    fn prefetch(&self, p: Option<Ptr<B>>) {
        hint::prefetch(p.map_or(ptr::null(), |p| p.as_ptr().as_ptr().cast_const()));
    }
}

impl<'a, T, B: Balance> HookObjects<'a, T, B> {
    /// Returns the object of a linked node.
    #[inline]
    fn reference(&self, p: Ptr<B>) -> &'a T {
        let object = p.as_ptr().as_ptr().wrapping_byte_sub(self.offset).cast::<T>();
        // SAFETY: 1. `p` was made by `HookDict::locate` from a reference to a whole `T`; `p` is at
        // `offset` from its start. The offset never changes after the first insert. 2. The node `p`
        // is linked (promise 1 of `Discipline`, which `Tree` keeps). The reference to the object
        // was valid for 'a (scoped by type, pinned by the conditions of `insert_pinned`).
        unsafe { &*object }
    }

    #[inline]
    fn entry(&self, p: Option<Ptr<B>>) -> Option<ObjectRef<'a, T>> {
        p.map(|p| ByRef::from(self.reference(p)))
    }
}

impl<T, B: Balance> Objects<Ptr<B>, B> for HookObjects<'_, T, B> {
    type Object = T;

    #[inline]
    fn object(&self, p: Ptr<B>) -> &T {
        self.reference(p)
    }
}

/// An ordered dictionary over objects that the caller owns. The dictionary never allocates. A
/// constant expression can create the dictionary, so it can be a static. The documentation of
/// [`Dictionary`] has the details, with examples.
///
/// The compiler rejects a program that drops an object before its dictionary:
///
/// ```compile_fail,E0505
/// use core::cmp::Ordering;
/// use tickwright_collections::{Dictionary, HookDict, KeyOrder, Link, Membership};
///
/// struct Object(u32, Link);
/// struct InOrder;
/// impl KeyOrder<Object> for InOrder {
///     type Key<'k> = u32;
///     fn key<'k>(&'k self, object: &'k Object) -> u32 { object.0 }
///     fn compare(&self, a: &u32, b: &u32) -> Ordering { a.cmp(b) }
/// }
/// impl Membership<Object> for InOrder {
///     fn link<'t>(&self, object: &'t Object) -> &'t Link { &object.1 }
/// }
/// let object = Object(1, Link::new());
/// let mut dictionary = HookDict::new(InOrder);
/// let _ = dictionary.insert(&object);
/// drop(object);
/// dictionary.clear();
/// ```
///
/// The dictionary returns shared references to its objects, so it can be sent to another thread
/// only if threads can share its objects:
///
/// ```compile_fail,E0277
/// use core::cell::Cell;
/// use tickwright_collections::{By, HookDict};
///
/// fn send<D: Send>(_: D) {}
/// send(HookDict::<'static, (), Cell<u32>>::new(()));
/// ```
pub struct HookDict<'a, O, T, B: Balance = RedBlack> {
    sorted: Sorted<Ptr<B>, B, O, HookObjects<'a, T, B>>,
    /// The dictionary's identity, or 0 until the first insert.
    id: u32,
    len: usize,
}

// SAFETY: 1. Moving the dictionary moves the right to reach its links' records (see
// `Sync for Hook`). The order moves with it, and is `Send`. 2. The dictionary hands out `&'a T`,
// and `T` is `Sync`. 3. Apart from handles, tree and records hold numbers and marks, and
// `Balance::Mark` is `Send` and `Sync`. 4. `Balance` is sealed, so each implementation keeps the
// promises of `Discipline`.
unsafe impl<O: Send, T: Sync, B: Balance> Send for HookDict<'_, O, T, B> where InDict<B>: Shareable {}

// SAFETY: 1. Through `&HookDict` records are only read. 2. Objects are only handed out as `&T`, and
// `T` is `Sync`; the order is `Sync`, too.
// 3. and 4. As above.
unsafe impl<O: Sync, T: Sync, B: Balance> Sync for HookDict<'_, O, T, B> where InDict<B>: Shareable {}

impl<O, T> HookDict<'_, O, T> {
    /// Creates an empty red-black dictionary. The dictionary draws its identity at its first
    /// insert. On targets without compare-exchange, a call of `new` compiles only with the feature
    /// `critical-section`. On those targets, [`with_identity`](Self::with_identity) works without
    /// the feature.
    #[must_use]
    pub const fn new(order: O) -> Self {
        Self::balanced(order)
    }
}

impl<'a, O, T, B: Balance> HookDict<'a, O, T, B> {
    /// This constant does not compile in a program that creates a dictionary on a target where
    /// dictionaries cannot draw an identity.
    const DRAWS_AN_IDENTITY: () = assert!(
        hook::IDENTITIES_ARE_DRAWN,
        "this target has no compare-exchange: enable the feature `critical-section` of \
         `tickwright-collections`, or make the dictionary by `HookDict::with_identity`"
    );

    /// Does what [`new`](HookDict::new) does, for any balance.
    #[must_use]
    pub const fn balanced(order: O) -> Self {
        let () = Self::DRAWS_AN_IDENTITY;
        Self::without_identity(order)
    }

    const fn without_identity(order: O) -> Self {
        // SAFETY: the dictionary keeps the nodes to itself, and asks them for handles in its tree
        // alone: 1. `locate` made each handle from a reference to a whole object; 2. `link` claimed
        // the object's hook, and `withdraw` releases the hook after its removal from the tree.
        let nodes = unsafe { HookNodes::new() };
        Self {
            sorted: Sorted::new(order, HookObjects { nodes, offset: UNKNOWN, _objects: PhantomData }),
            id: 0,
            len: 0,
        }
    }

    /// Creates an empty dictionary with an identity that the caller chooses. Only the lower 31 bits
    /// of `id` are used. The identity is not zero, so a static dictionary lies in `.data`, and
    /// takes its size (a few words) both in RAM and in flash.
    ///
    /// # Safety
    /// 1. No other dictionary with balance `B` ever has an identity with the same lower 31 bits,
    ///    whether that dictionary drew the identity or a caller chose it. (Dictionaries draw
    ///    identities from 1 upwards, so choose yours from 2^31 - 1 downwards.)
    /// 2. The lower 31 bits are not all 0.
    #[must_use]
    pub const unsafe fn with_identity(order: O, id: NonZeroU32) -> Self {
        let mut dictionary = Self::without_identity(order);
        dictionary.id = id.get() & !PINNED;
        dictionary
    }

    fn identity(&mut self) -> Result<u32, DictError> {
        if self.id == 0 {
            self.id = draw().ok_or(DictError::NoIdentity)?.get();
        }
        Ok(self.id)
    }

    /// Unlinks an object and returns it to its owner.
    #[inline]
    fn withdraw(&mut self, p: Ptr<B>) -> Option<&'a T> {
        self.sorted.tree.unlink(&mut self.sorted.nodes, p);
        let object = self.sorted.nodes.reference(p);
        self.len -= 1;
        // SAFETY: 1. `p` was linked until now, so its object lives for `'a`, longer than this call.
        let hook = unsafe { p.as_ptr().as_ref() };
        // SAFETY: 1. this dictionary has claimed the hook; 2. the tree has unlinked it.
        unsafe { hook.release() };
        Some(object)
    }

    fn withdraw_all(&mut self) {
        // The tree unlinks one object at a time, because another dictionary, on another thread, can
        // claim an object as soon as the object is released. That dictionary then writes the
        // object's links, so this dictionary must not need these links after the release.
        while let Some(p) = self.sorted.first() {
            self.withdraw(p);
        }
    }
}

impl<'a, O: Membership<T, B>, T, B: Balance> HookDict<'a, O, T, B> {
    /// Returns the link of `object`, and a pointer to the link through which the whole object can
    /// be reached. Returns an error if the link is not where this dictionary expects it.
    #[inline]
    fn locate<'t>(&self, object: &'t T) -> Result<(&'t Link<B>, Ptr<B>), DictError> {
        let link = self.sorted.order.link(object);
        let (whole, at) = (NonNull::from(object), NonNull::from(&link.0).addr());
        let offset = at.get().wrapping_sub(whole.addr().get());
        let inside = size_of::<T>().checked_sub(size_of::<Link<B>>()).is_some_and(|most| offset <= most);
        if !inside || self.sorted.nodes.offset != UNKNOWN && self.sorted.nodes.offset != offset {
            return Err(DictError::WrongLink);
        }
        // The pointer is derived from a reference to the whole object, so that the whole object can
        // be reached through it.
        Ok((link, HookPtr::new(whole.cast::<Hook<InDict<B>>>().with_addr(at))))
    }

    /// Returns the node of an object, if the object is in this dictionary.
    #[inline]
    fn validate(&self, entry: ObjectRef<'a, T>) -> Result<Ptr<B>, DictError> {
        let (link, p) = self.locate(entry.get())?;
        match link.0.owner() {
            0 => Err(DictError::Stale),
            id if id == self.id => Ok(p),
            _ => Err(DictError::WrongDictionary),
        }
    }

    /// Inserts an object whose lifetime the compiler cannot see.
    ///
    /// # Errors
    /// The errors of [`Dictionary::insert_near`], [`Dictionary::prepend`] and
    /// [`Dictionary::append`].
    ///
    /// # Safety
    /// Every reference to the object that this dictionary returns has the lifetime `'a`. The
    /// dictionary returns such references as entries and as results of removal, search and
    /// iteration, and passes them to the order's functions. The caller ensures that
    /// 1. no such reference is used after the object is dropped or freed. In particular, another
    ///    thread that sees [`Link::is_linked`] become false must not free the object until the call
    ///    that unlinks the object has returned;
    /// 2. the link is dropped together with the object, which means that the link is not in a
    ///    `ManuallyDrop`, a `MaybeUninit` or a union.
    ///
    /// Safety does not require that the caller unlinks the object before the object is dropped: if
    /// a link is dropped while it is in a dictionary, the process aborts.
    pub unsafe fn insert_pinned(
        &mut self,
        position: Position<ObjectRef<'a, T>>,
        object: Pin<&T>,
    ) -> Result<ObjectRef<'a, T>, DictError> {
        // SAFETY: 1. Pinned memory stays valid until its drop, which drops the link (condition 2).
        // That drop aborts while the link is linked. 2. Use of the longer lifetime after that is
        // excluded by condition 1.
        let object: &'a T = unsafe { NonNull::from(object.get_ref()).as_ref() };
        self.link(position, object, PINNED)
    }

    fn link(
        &mut self,
        position: Position<ObjectRef<'a, T>>,
        object: &'a T,
        pinned: u32,
    ) -> Result<ObjectRef<'a, T>, DictError> {
        let id = self.identity()?;
        let (link, p) = self.locate(object)?;
        let position = position.try_map(|hint| self.validate(hint))?;
        let place = self.sorted.place_of(position, object)?;
        // All of the user's code has run: nothing fails after the claim.
        // SAFETY: 1. `id` is this dictionary's, which links the node below.
        unsafe { link.0.claim(id, pinned) }?;
        self.len += 1;
        self.sorted.nodes.offset = p.as_ptr().addr().get() - NonNull::from(object).addr().get();
        self.sorted.tree.link(&mut self.sorted.nodes, p, place);
        Ok(ByRef::from(object))
    }

    fn put(
        &mut self,
        position: Position<ObjectRef<'a, T>>,
        value: &'a T,
    ) -> Result<ObjectRef<'a, T>, NotInserted<&'a T>> {
        self.link(position, value, 0).map_err(|reason| NotInserted { reason, value })
    }

    fn verify(&self) -> Result<(), Violation> {
        self.sorted.check(self.len, |p| {
            // SAFETY: 1. as in `withdraw`: `p` is linked.
            let hook = unsafe { p.as_ptr().as_ref() };
            if hook.owner() == self.id { Ok(()) } else { Err(Violation::Owner) }
        })
    }
}

dictionary! {
    impl ['a, O: Membership<T, B>, T, B: Balance] HookDict<'a, O, T, B>;
    object T, order O, entry ObjectRef<'a, T>, value &'a T,
    index sorted, count len
}

impl<O, T, B: Balance> Drop for HookDict<'_, O, T, B> {
    fn drop(&mut self) {
        self.withdraw_all();
    }
}

impl<O, T, B: Balance> fmt::Debug for HookDict<'_, O, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookDict").field("len", &self.len).finish_non_exhaustive()
    }
}

// The tests have statics that contain links, which need compare-exchange or a critical section.
#[cfg(all(test, any(feature = "critical-section", all(target_has_atomic = "32", not(tickwright_no_cas)))))]
mod tests;
