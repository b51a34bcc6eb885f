//! The timer that a C program embeds in its own structs. It has the same size for all families.
//!
//! ```text
//!   tw_timer   | body: Timer<F, ()> of the family that had it last | mark |
//! ```
//! The mark says that the body is a timer, to which family it belongs, and at which address it was
//! initialized. If the mark is 0, the body is not a timer yet. Because the mark has the family, a
//! timer that has left a queue can be inserted into a queue of another family. Because of the mark,
//! most memory that was never initialized is refused, and a copy of a pending timer is
//! distinguished from the timer itself.

use core::ffi::c_int;
use core::pin::Pin;

use tickwright_boundary::answer::{self, usable};
use tickwright_boundary::{code, exported};
use tickwright_core::{Timer, TimerRef};

use crate::family::{Known, Numbered, with_family};

/// A timer in a struct of the caller.
#[repr(C)]
#[derive(Debug)]
pub struct tw_timer {
    body: [u64; 6],
    mark: u64,
}

/// A mark combines this pattern with the family's number and the timer's address. Memory rarely
/// contains the pattern by chance.
const PATTERN: u64 = 0x0073_6b63_6974_0000;

/// Returns the mark of a timer at `at` whose body is a timer of the family `number`.
fn mark(at: *const tw_timer, number: c_int) -> u64 {
    let number = u64::from(number.unsigned_abs()) << 56;
    number | ((at.addr() as u64 ^ PATTERN) & !(0xff << 56))
}

/// The contents of a body.
enum Body {
    /// The body is not a timer yet, or has the bytes of a timer that was not pending when it was
    /// copied here.
    Fresh,
    /// The body is a timer of the family with this number.
    Of(c_int),
}

/// Reads a mark.
///
/// # Errors
/// [`code::INVALID`] if the body cannot be a timer, or is a copy of a pending timer.
fn body(timer: *const tw_timer) -> Result<Body, c_int> {
    usable(timer)?;
    // SAFETY: 1. not null and aligned; 2. readable, by the header's contract.
    let found = unsafe { (*timer).mark };
    if found == 0 {
        return Ok(Body::Fresh);
    }
    let number = c_int::from((found >> 56) as u8);
    if found == mark(timer, number) {
        return with_family!(number, F => Body::Of(F::NUMBER)).ok_or(code::INVALID);
    }
    // This timer was not initialized at this address. A copy of a timer is fine unless the original
    // was pending when it was copied.
    let copied = with_family!(number, F => {
        let copied = timer.cast::<Timer<F, ()>>();
        // SAFETY: 1. Aligned and large enough (`fits`), readable by the header's contract. 2. A C
        // program can have two kinds of bytes here: a copy of such a timer, or arbitrary bytes. The
        // fields are `Option`s of pointers, a number or an atomic number. Only the atomic number is
        // read.
        unsafe { Timer::is_linked(&*copied) }
    });
    if copied == Some(false) { Ok(Body::Fresh) } else { Err(code::INVALID) }
}

/// Asserts at compile time that a timer of family `F` fits into a body.
const fn fits<F: Known>() {
    assert!(size_of::<Timer<F, ()>>() <= 6 * 8 && align_of::<Timer<F, ()>>() <= align_of::<tw_timer>());
}

/// Returns the timer of family `F` in the body.
///
/// # Safety
/// According to the mark, the body is a timer of family `F`.
unsafe fn node<F: Known>(timer: *mut tw_timer) -> &'static Timer<F, ()> {
    const { fits::<F>() };
    // `of` later computes the caller's pointer from the address. Because the provenance is exposed
    // here, that pointer can access the caller's whole struct.
    let _ = timer.expose_provenance();
    // SAFETY: 1. Initialized, as the mark says. 2. Aligned and not null, as `body` has seen. 3. It
    // lives for as long as it is pending and for the rest of this call, by the header's contract.
    // No reference outlives both.
    unsafe { &*timer.cast::<Timer<F, ()>>() }
}

/// Returns a timer that the caller wants to insert into a queue of family `F`. If the timer is not
/// pending, it becomes a timer of that family.
pub(crate) fn offered<F: Known>(timer: *mut tw_timer) -> Result<Pin<&'static Timer<F, ()>>, c_int> {
    match body(timer)? {
        Body::Of(number) if number == F::NUMBER => {}
        Body::Of(number) if linked(timer, number) => return Err(code::ELSEWHERE),
        Body::Of(_) | Body::Fresh => {
            // SAFETY: 1. aligned, writable by the header's contract, and large enough (`fits`); 2.
            // no queue points at the timer, since it is not pending.
            unsafe { timer.cast::<Timer<F, ()>>().write(Timer::new(())) };
            // SAFETY: as above.
            unsafe { (*timer).mark = mark(timer, F::NUMBER) };
        }
    }
    // SAFETY: the mark is that of `F`, from before or from just now.
    let node = unsafe { node::<F>(timer) };
    // SAFETY: it stays where it is while it is pending, by the header's contract.
    Ok(unsafe { Pin::new_unchecked(node) })
}

/// Returns a timer that the caller claims to be pending in a queue of family `F`.
pub(crate) fn known<F: Known>(timer: *mut tw_timer) -> Result<TimerRef<'static, F, ()>, c_int> {
    match body(timer)? {
        // SAFETY: the mark says so.
        Body::Of(number) if number == F::NUMBER => Ok(TimerRef::from(unsafe { node::<F>(timer) })),
        Body::Of(number) if linked(timer, number) => Err(code::ELSEWHERE),
        Body::Of(_) | Body::Fresh => Err(code::ABSENT),
    }
}

/// Returns whether a timer is pending. `number` is the number of the family in its mark.
fn linked(timer: *mut tw_timer, number: c_int) -> bool {
    // SAFETY: the mark says that the body is a timer of that family.
    with_family!(number, F => unsafe { node::<F>(timer) }.is_linked()).unwrap_or(false)
}

/// Returns the caller's pointer to an inserted timer.
pub(crate) fn of<F: Known>(node: TimerRef<'static, F, ()>) -> *mut tw_timer {
    core::ptr::with_exposed_provenance_mut(core::ptr::from_ref(node.get()).addr())
}

exported!(
    /// Initializes a timer that is not pending, whatever the memory contained before.
    fn tw_timer_init(timer: *mut tw_timer) -> c_int {
        // SAFETY: the header's contract.
        unsafe { answer::fresh(timer, tw_timer { body: [0; 6], mark: 0 }) }
    }

    /// Returns whether a timer is pending.
    fn tw_timer_is_linked(timer: *const tw_timer) -> c_int {
        answer::code(|| match body(timer)? {
            Body::Fresh => Ok(0),
            Body::Of(number) => Ok(c_int::from(linked(timer.cast_mut(), number))),
        })
    }
);
