//! The structures by number: what the C program chooses from.

use core::alloc::Layout;
use core::ffi::c_int;

use tickwright::service::Structure;
use tickwright_core::family::dary_heap::{Arity, Degree, Group, MOST, groups_for};
use tickwright_core::storage::hook::HookPtr;
use tickwright_core::{
    AvlTree, CoarseWheel, DaryHeap, Family, HookQueue, LentHeap, RbTree, RbTreeCached, SortedList, Wheel,
};

use crate::code;

/// A family that a C program can choose.
pub(crate) trait Known: Family {
    /// Its number.
    const NUMBER: c_int;

    /// What a queue needs besides itself.
    fn room(capacity: usize) -> Option<Layout> {
        let _ = capacity;
        Some(Layout::new::<()>())
    }

    /// A queue in `room` bytes at `memory`.
    ///
    /// # Safety
    /// 1. [`room`](Self::room) of that capacity is some layout.
    /// 2. `memory` is not null, and aligned for that layout.
    /// 3. As many bytes there are writable, in one block.
    /// 4. They are the queue's alone for as long as it is used.
    unsafe fn open(memory: *mut u8, capacity: usize) -> Result<HookQueue<'static, Self, ()>, c_int>
    where
        Self: Sized,
    {
        let _ = (memory, capacity);
        Ok(HookQueue::new())
    }
}

macro_rules! known {
    ($($name:ident = $number:literal: $family:ty;)+) => {
        $(
            #[doc = concat!("The number of `", stringify!($family), "`.")]
            pub const $name: c_int = $number;
        )+

        /// Every family: the name of its number in the header, the number, and its name in the lab.
        pub const FAMILIES: &[(&str, c_int, &str)] =
            &[$((stringify!($name), $number, <$family as Family>::ID)),+];
    };
}

known! {
    TW_FAMILY_LIST = 1: SortedList;
    TW_FAMILY_HEAP2 = 2: LentHeap<2>;
    TW_FAMILY_HEAP4 = 3: LentHeap<4>;
    TW_FAMILY_RB = 4: RbTree;
    TW_FAMILY_RB_CACHED = 5: RbTreeCached;
    TW_FAMILY_AVL = 6: AvlTree;
    TW_FAMILY_WHEEL = 7: Wheel;
    TW_FAMILY_COARSE = 8: CoarseWheel;
}

/// The structure of a scheduler by number: the heaps own their memory there.
pub(crate) fn structure(number: c_int) -> Option<Structure> {
    Some(match number {
        TW_FAMILY_LIST => Structure::of::<SortedList>(),
        TW_FAMILY_HEAP2 => Structure::of::<DaryHeap<2>>(),
        TW_FAMILY_HEAP4 => Structure::of::<DaryHeap<4>>(),
        TW_FAMILY_RB => Structure::of::<RbTree>(),
        TW_FAMILY_RB_CACHED => Structure::of::<RbTreeCached>(),
        TW_FAMILY_AVL => Structure::of::<AvlTree>(),
        TW_FAMILY_WHEEL => Structure::of::<Wheel>(),
        TW_FAMILY_COARSE => Structure::of::<CoarseWheel>(),
        _ => return None,
    })
}

/// `$body` with `$family` as the family of that number; `None` for a number that is none.
macro_rules! with_family {
    ($number:expr, $family:ident => $body:expr) => {
        with_family! { @arms $number, $family, $body,
            TW_FAMILY_LIST: tickwright_core::SortedList;
            TW_FAMILY_HEAP2: tickwright_core::LentHeap<2>;
            TW_FAMILY_HEAP4: tickwright_core::LentHeap<4>;
            TW_FAMILY_RB: tickwright_core::RbTree;
            TW_FAMILY_RB_CACHED: tickwright_core::RbTreeCached;
            TW_FAMILY_AVL: tickwright_core::AvlTree;
            TW_FAMILY_WHEEL: tickwright_core::Wheel;
            TW_FAMILY_COARSE: tickwright_core::CoarseWheel;
        }
    };
    (@arms $number:expr, $family:ident, $body:expr, $($name:ident: $type:ty;)+) => {
        match $number {
            $($crate::family::$name => {
                type $family = $type;
                Some($body)
            })+
            _ => None,
        }
    };
}
pub(crate) use with_family;

impl Known for SortedList {
    const NUMBER: c_int = TW_FAMILY_LIST;
}

impl Known for RbTree {
    const NUMBER: c_int = TW_FAMILY_RB;
}

impl Known for RbTreeCached {
    const NUMBER: c_int = TW_FAMILY_RB_CACHED;
}

impl Known for AvlTree {
    const NUMBER: c_int = TW_FAMILY_AVL;
}

impl Known for Wheel {
    const NUMBER: c_int = TW_FAMILY_WHEEL;
}

impl Known for CoarseWheel {
    const NUMBER: c_int = TW_FAMILY_COARSE;
}

impl<const D: usize> Known for LentHeap<D>
where
    Degree<D>: Arity,
{
    const NUMBER: c_int = if D == 2 { TW_FAMILY_HEAP2 } else { TW_FAMILY_HEAP4 };

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
            // SAFETY: 1. large enough for `count` groups, as the caller says; 2. `at` is below that.
            let group = unsafe { groups.add(at) };
            // SAFETY: 1. aligned and writable, as the caller says; 2. within the memory, since `at`
            // is below `count`.
            unsafe { group.write(Group::EMPTY) };
        }
        // SAFETY: 1. not null, aligned, and in one block of memory, as the caller says; 2. `count`
        // groups were written just now; 3. they take no more than `isize::MAX` bytes, since `room`
        // made a layout of them; 4. nobody else uses the memory before the queue is gone, so that
        // it may count as lent for ever.
        let groups = unsafe { core::slice::from_raw_parts_mut(groups, count) };
        HookQueue::lent(capacity, groups).map_err(code::rejected)
    }
}
