//! The priority queue with the caller's comparator, which is a `Heap` of pointers to the caller's
//! elements.
//!
//! Each element can have a field of type `size_t` for its position, at the same offset in all
//! elements. While the caller's comparator runs, the heap is lent, so every function refuses it.

use core::cell::Cell;
use core::cmp::Ordering;
use core::ffi::{c_char, c_int, c_void};

use tickwright_boundary::answer::{self, usable};
use tickwright_boundary::state::{Lendable, begin, create, destroy, lend, state};
use tickwright_boundary::{code, exported};
use tickwright_collections::{Heap, HeapError, HeapOrder};

use crate::contract::lendable;

/// Compares two elements. The result is above 0 if the first element ranks higher, and below 0 if
/// the second element ranks higher.
pub type tw_compare_fn =
    Option<unsafe extern "C-unwind" fn(a: *const c_void, b: *const c_void, user: *mut c_void) -> c_int>;

/// A pointer to an element of the caller.
#[derive(Debug)]
struct Element(*mut c_void);

/// The order of the elements, which the caller's comparator defines.
struct ByCaller {
    compare: unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut c_void) -> c_int,
    user: *mut c_void,
    /// The offset of the position in an element, or `None` if elements have no position.
    offset: Option<usize>,
}

impl ByCaller {
    /// Returns a pointer to the position in an element.
    fn place(&self, element: &Element) -> Option<*mut usize> {
        Some(element.0.wrapping_byte_add(self.offset?).cast())
    }
}

impl HeapOrder<Element> for ByCaller {
    fn compare(&self, a: &Element, b: &Element) -> Ordering {
        // SAFETY: the caller's function, called as the header says.
        unsafe { (self.compare)(a.0, b.0, self.user) }.cmp(&0)
    }

    fn placed(&self, element: &mut Element, position: usize) {
        if let Some(place) = self.place(element) {
            // SAFETY: 1. the pointer is aligned, as `about` has verified; 2. it points into the
            // element, which is writable by the header's contract.
            unsafe { place.write(position) };
        }
    }

    fn position(&self, element: &Element) -> Option<usize> {
        // SAFETY: 1. as in `placed`; 2. the position is initialized, by the header's contract.
        self.place(element).map(|place| unsafe { place.read() })
    }

    fn same(&self, a: &Element, b: &Element) -> bool {
        a.0 == b.0
    }
}

/// A heap in the library's own memory.
// The state comes first, because a caller might pass a pointer to an object that is smaller than a
// heap.
#[repr(C)]
#[derive(Debug)]
pub struct tw_heap {
    state: Cell<u64>,
    heap: Heap<Element, ByCaller>,
}

// SAFETY: 1. `repr(C)`, the state comes first; 2. no code ever borrows the state mutably.
unsafe impl Lendable for tw_heap {
    const READY: u64 = 0x7469_636b_6865_6170;
    const LENT: u64 = 0x7469_636b_7573_6572;
}

/// Calls `inside` with a heap. During this call the heap refuses calls from callbacks.
fn with<R>(
    heap: *const tw_heap,
    inside: impl FnOnce(&mut Heap<Element, ByCaller>) -> Result<R, c_int>,
) -> Result<R, c_int> {
    let now = lendable(heap)?;
    // SAFETY: 1. The pointer is to a heap, as its state says. 2. The reference is the only one: the
    // state has just said that there was none, and refuses another.
    lend(heap, now, || inside(unsafe { &mut (*heap.cast_mut()).heap }))
}

/// Calls `inside` with a heap and an element, if the pointer to the element is aligned as this heap
/// needs it.
fn about(
    heap: *const tw_heap,
    element: *const c_void,
    inside: impl FnOnce(&mut Heap<Element, ByCaller>, Element) -> Result<c_int, c_int>,
) -> c_int {
    let element = Element(element.cast_mut());
    answer::code(|| {
        with(heap, |heap| match heap.order().place(&element) {
            Some(place) if !place.is_aligned() => Err(code::INVALID),
            _ if element.0.is_null() => Err(code::INVALID),
            _ => inside(heap, element),
        })
    })
}

/// Returns the code of a refusal.
fn refused(error: HeapError) -> c_int {
    match error {
        HeapError::Full => code::NO_MEMORY,
        HeapError::AlreadyIn => code::ALREADY,
        HeapError::Stale => code::ABSENT,
        HeapError::WrongHeap => code::ELSEWHERE,
        _ => code::INVALID,
    }
}

exported!(
    /// Creates a heap.
    fn tw_heap_create(
        heap: *mut *mut tw_heap,
        capacity: usize,
        compare: tw_compare_fn,
        user: *mut c_void,
        index_offset: isize,
    ) -> c_int {
        answer::code(|| {
            // SAFETY: the header's contract.
            unsafe { begin(heap) }?;
            let compare = compare.ok_or(code::INVALID)?;
            let order = ByCaller { compare, user, offset: usize::try_from(index_offset).ok() };
            let mut made = Heap::new(order);
            made.reserve(capacity).map_err(refused)?;
            let make = |at| tw_heap { state: Cell::new(state(tw_heap::READY, at)), heap: made };
            // SAFETY: `begin` has written to `heap`.
            unsafe { create(heap, make) }
        })
    }

    /// Destroys a heap.
    fn tw_heap_destroy(heap: *mut tw_heap) -> c_int {
        answer::code(|| {
            if heap.is_null() {
                return Ok(0);
            }
            with(heap, |heap| {
                heap.clear();
                Ok(())
            })?;
            // SAFETY: the heap is from `create`, as `with` has verified, and no longer used, by the
            // header's contract.
            unsafe { destroy(heap) };
            Ok(0)
        })
    }

    /// Pushes an element.
    fn tw_heap_push(heap: *mut tw_heap, new: *mut c_void) -> c_int {
        about(heap, new, |heap, element| {
            let noted = heap.order().position(&element).unwrap_or(0);
            // If the element is already at this position in this heap, `push` refuses it below.
            if noted != 0 && heap.at(noted).is_none_or(|there| there.0 != new) {
                return Err(code::ELSEWHERE);
            }
            heap.push(element).map(|()| 0).map_err(|back| refused(back.reason))
        })
    }

    /// Removes the element that ranks highest.
    fn tw_heap_pop(heap: *mut tw_heap, popped: *mut *mut c_void) -> c_int {
        let greatest = || {
            usable(popped)?;
            with(heap, |heap| Ok(heap.pop().map(|element| element.0)))
        };
        // SAFETY: the header's contract.
        unsafe { answer::found(popped, greatest) }
    }

    /// Writes a pointer to the element at a position.
    fn tw_heap_peek(heap: *const tw_heap, position: usize, found: *mut *mut c_void) -> c_int {
        let there = || {
            usable(found)?;
            with(heap, |heap| Ok(heap.at(position).map(|element| element.0)))
        };
        // SAFETY: the header's contract.
        unsafe { answer::found(found, there) }
    }

    /// Removes an element.
    fn tw_heap_remove(heap: *mut tw_heap, old: *mut c_void) -> c_int {
        about(heap, old, |heap, element| heap.remove(&element).map(|_| 0).map_err(refused))
    }

    /// Moves an element to its new position after its rank has changed.
    fn tw_heap_update(heap: *mut tw_heap, changed: *mut c_void) -> c_int {
        about(heap, changed, |heap, element| heap.update(&element).map(|()| 0).map_err(refused))
    }

    /// Returns whether a heap has an element.
    fn tw_heap_contains(heap: *const tw_heap, asked: *const c_void) -> c_int {
        about(heap, asked, |heap, element| {
            let is_at = |position| heap.at(position).is_some_and(|there| there.0 == element.0);
            Ok(c_int::from(match heap.order().position(&element) {
                Some(noted) => is_at(noted),
                None => (1..=heap.len()).any(is_at),
            }))
        })
    }

    /// Sets the position of an element to 0, which means that the element is in no heap.
    fn tw_heap_forget(heap: *mut tw_heap, fresh: *mut c_void) -> c_int {
        about(heap, fresh, |heap, mut element| {
            heap.order().placed(&mut element, 0);
            Ok(0)
        })
    }

    /// Returns the number of elements.
    fn tw_heap_len(heap: *const tw_heap) -> isize {
        answer::count(|| with(heap, |heap| Ok(heap.len())))
    }

    /// Checks the structure of the heap.
    fn tw_heap_check(heap: *const tw_heap, text: *mut c_char, bytes: usize) -> c_int {
        let check = || with(heap, |heap| Ok(heap.verify()));
        // SAFETY: the header's contract.
        unsafe { answer::verdict(text, bytes, check) }
    }
);
