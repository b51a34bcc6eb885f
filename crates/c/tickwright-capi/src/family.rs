//! The families of structures, from which a C program chooses by number.

use core::alloc::Layout;
use core::ffi::c_int;

use tickwright::scheduler::Structure;
use tickwright_boundary::code;
use tickwright_core::storage::HookPtr;
use tickwright_core::structures::{Arity, Degree, Group, MOST, groups_for};
use tickwright_core::{
    CoarseWheel, DaryHeap, Family, HookQueue, KeyError, LentHeap, RbTree, RbTreeCached, Reject, SortedList,
    Wheel,
};

/// The number of a family.
pub type tw_family = c_int;

/// The default family of a scheduler: [`TW_FAMILY_HEAP4`].
pub const TW_FAMILY_DEFAULT: c_int = 0;

/// The number of a tree that was removed from the library. The number is part of the ABI, so it now
/// selects the red-black tree with a cached head, which has the same properties.
pub const TW_FAMILY_AVL: c_int = 6;

/// Returns the number of the family that `number` selects. It is another number only for the
/// removed tree.
pub(crate) const fn chosen(number: c_int) -> c_int {
    if number == TW_FAMILY_AVL { TW_FAMILY_RB_CACHED } else { number }
}

/// A family that has a number in C.
pub(crate) trait Numbered {
    /// The number of the family.
    const NUMBER: c_int;
}

/// A family that a C program can choose.
pub(crate) trait Known: Family + Numbered {
    /// Returns the layout of the memory that a queue needs in addition to the queue itself, or
    /// `None` if it is too large.
    fn room(capacity: usize) -> Option<Layout> {
        let _ = capacity;
        Some(Layout::new::<()>())
    }

    /// Creates a queue that uses the memory at `memory`, which has the layout [`room`](Self::room).
    ///
    /// # Safety
    /// 1. [`room`](Self::room) returns a layout for this capacity.
    /// 2. `memory` is not null, and is aligned for this layout.
    /// 3. As many bytes as this layout has are writable at `memory`, in one block.
    /// 4. Only the queue uses these bytes as long as the queue is used.
    unsafe fn open(memory: *mut u8, capacity: usize) -> Result<HookQueue<'static, Self, ()>, c_int>
    where
        Self: Sized,
    {
        let _ = (memory, capacity);
        Ok(HookQueue::new())
    }
}

/// The list of all families. Each row has the name of the family's number, the number, and two
/// types: the structure of a queue in the caller's memory, and the structure of a scheduler, which
/// owns its memory.
macro_rules! families {
    ($then:ident! $with:tt) => {
        $then! { $with
            TW_FAMILY_LIST = 1: tickwright_core::SortedList, SortedList;
            TW_FAMILY_HEAP2 = 2: tickwright_core::LentHeap<2>, DaryHeap<2>;
            TW_FAMILY_HEAP4 = 3: tickwright_core::LentHeap<4>, DaryHeap<4>;
            TW_FAMILY_RB = 4: tickwright_core::RbTree, RbTree;
            TW_FAMILY_RB_CACHED = 5: tickwright_core::RbTreeCached, RbTreeCached;
            TW_FAMILY_WHEEL = 7: tickwright_core::Wheel, Wheel;
            TW_FAMILY_COARSE = 8: tickwright_core::CoarseWheel, CoarseWheel;
        }
    };
}
pub(crate) use families;

macro_rules! known {
    ({} $($name:ident = $number:literal: $lent:ty, $owned:ty;)+) => {
        $(
            #[doc = concat!("The number of `", stringify!($lent), "`.")]
            pub const $name: c_int = $number;

            impl Numbered for $lent {
                const NUMBER: c_int = $number;
            }
        )+

        /// Every family: the name of its number in the header, the number, and its name in the lab.
        pub const FAMILIES: &[(&str, c_int, &str)] =
            &[$((stringify!($name), $number, <$lent as Family>::ID)),+];

        /// Returns the structure of a scheduler for the family with this number.
        pub(crate) fn structure(number: c_int) -> Option<Structure> {
            match chosen(number) {
                $($number => Some(Structure::of::<$owned>()),)+
                _ => None,
            }
        }
    };
}
families! { known! {} }

/// Evaluates `$body`, in which `$family` is the family with the given number. Evaluates to `None`
/// if there is no such family.
macro_rules! with_family {
    ({ $asked:expr, $family:ident => $body:expr } $($name:ident = $number:literal: $lent:ty, $owned:ty;)+) => {
        match $asked {
            $($number => {
                type $family = $lent;
                Some($body)
            })+
            _ => None,
        }
    };
    ($number:expr, $family:ident => $body:expr) => {
        $crate::family::families! { with_family! { $crate::family::chosen($number), $family => $body } }
    };
}
pub(crate) use with_family;

impl Known for SortedList {}
impl Known for RbTree {}
impl Known for RbTreeCached {}
impl Known for Wheel {}
impl Known for CoarseWheel {}

impl<const D: usize> Known for LentHeap<D>
where
    Self: Numbered,
    Degree<D>: Arity,
{
    fn room(capacity: usize) -> Option<Layout> {
        if capacity > MOST {
            return None;
        }
        Layout::array::<Group<HookPtr<Self>, D>>(groups_for::<D>(capacity)).ok()
    }

    unsafe fn open(memory: *mut u8, capacity: usize) -> Result<HookQueue<'static, Self, ()>, c_int> {
        let groups = memory.cast::<Group<HookPtr<Self>, D>>();
        let count = groups_for::<D>(capacity);
        for at in 0..count {
            // SAFETY: 1. the memory is large enough for `count` groups, as the caller says; 2. `at`
            // is below `count`.
            let group = unsafe { groups.add(at) };
            // SAFETY: 1. aligned and writable, as the caller says; 2. within the memory, since `at`
            // is below `count`.
            unsafe { group.write(Group::EMPTY) };
        }
        // SAFETY: 1. not null, aligned, and in one block of memory, as the caller says; 2. `count`
        // groups were written just now. 3. They take no more than `isize::MAX` bytes, since `room`
        // made a layout of them. 4. Only the queue uses the memory until the queue is destroyed. So
        // the lifetime may be `'static`.
        let groups = unsafe { core::slice::from_raw_parts_mut(groups, count) };
        HookQueue::lent(capacity, groups).map_err(rejected)
    }
}

/// Returns the code of a refused insert.
pub(crate) fn rejected(reject: Reject) -> c_int {
    match reject {
        Reject::Full => code::FULL,
        Reject::AlreadyLinked => code::ALREADY,
        Reject::WrongQueue => code::ELSEWHERE,
        Reject::NoIdentity => code::EXHAUSTED,
        _ => code::INVALID,
    }
}

/// Returns the code for a timer that is not in the queue.
pub(crate) fn unknown(error: KeyError) -> c_int {
    match error {
        KeyError::Stale => code::ABSENT,
        KeyError::WrongQueue => code::ELSEWHERE,
        _ => code::INVALID,
    }
}
