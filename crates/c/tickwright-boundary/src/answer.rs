//! The return values of exported functions, and their writes to the caller's memory.
//!
//! Each function of this module runs the body of an exported function as a closure, and converts
//! the closure's `Result` to the number that the C caller gets. In the closure, the operator `?`
//! returns a code. The unsafe functions also write to the caller's memory.

use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};

use crate::code;
use crate::grow::{self, Growing};
pub use crate::place::{aligned, usable};

/// Exports functions of the header: each function keeps its name, becomes `unsafe extern "C"`, and
/// has the header's contract.
///
/// Call the macro with parentheses, because rustfmt does not format macro arguments in braces:
/// ```text
/// exported!(
///     /// Takes every timer out.
///     fn tw_queue_clear(queue: *mut tw_queue) -> c_int { .. }
/// );
/// ```
#[macro_export]
macro_rules! exported {
    ($($(#[$about:meta])+ fn $name:ident($($parameter:ident: $type:ty),+ $(,)?) -> $result:ty $body:block)+) => {
        $(
            $(#[$about])+
            ///
            /// # Safety
            /// The header's contract.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($parameter: $type),+) -> $result {
                #[cfg(debug_assertions)]
                $crate::answer::CALLED.set(stringify!($name));
                $body
            }
        )+
    };
}

#[cfg(debug_assertions)]
std::thread_local! {
    /// The name of the exported function that this thread has called last. Error messages contain
    /// it.
    pub static CALLED: core::cell::Cell<&'static str> = const { core::cell::Cell::new("") };
}

/// Returns the number that `inside` returns (0 or more), or a negative code.
pub fn code(inside: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    inside().unwrap_or_else(|refusal| refusal)
}

/// Returns the count that `inside` returns, or a negative code.
pub fn count(inside: impl FnOnce() -> Result<usize, c_int>) -> isize {
    match inside() {
        Ok(number) => isize::try_from(number).unwrap_or(isize::MAX),
        Err(code) => code as isize,
    }
}

/// Writes the value that `inside` returns to `place`, and returns 0 or a code. If `place` is not
/// aligned, returns a code without calling `inside`.
///
/// # Safety
/// `place` is null or writable.
pub unsafe fn value<T>(place: *mut T, inside: impl FnOnce() -> Result<T, c_int>) -> c_int {
    code(|| {
        aligned(place)?;
        let value = inside()?;
        // SAFETY: the caller promises this.
        unsafe { put(place, value) };
        Ok(0)
    })
}

/// Writes the value that `inside` finds to `place` and returns 1, returns 0 if it finds none, or
/// returns a code. If `place` is not aligned, returns a code without calling `inside`.
///
/// # Safety
/// `place` is null or writable.
pub unsafe fn found<T>(place: *mut T, inside: impl FnOnce() -> Result<Option<T>, c_int>) -> c_int {
    code(|| {
        aligned(place)?;
        let Some(found) = inside()? else { return Ok(0) };
        // SAFETY: the caller promises this.
        unsafe { put(place, found) };
        Ok(1)
    })
}

/// Fills the caller's struct with the value that `inside` returns, and returns 0 or a code.
///
/// # Safety
/// `place` is null, or its size field is readable and as many bytes as it says are writable at
/// `place`.
pub unsafe fn filled<T: Growing>(place: *mut T, inside: impl FnOnce() -> Result<T, c_int>) -> c_int {
    // SAFETY: the caller promises this.
    let done = unsafe { filled_if(place, || inside().map(Some)) };
    done.min(0)
}

/// Fills the caller's struct with the value that `inside` finds and returns 1, returns 0 if it
/// finds none, or returns a code. If the size in the struct is impossible, returns a code without
/// calling `inside`.
///
/// # Safety
/// `place` is null, or its size field is readable and as many bytes as it says are writable at
/// `place`.
pub unsafe fn filled_if<T: Growing>(
    place: *mut T,
    inside: impl FnOnce() -> Result<Option<T>, c_int>,
) -> c_int {
    code(|| {
        // SAFETY: the caller promises this.
        let room = unsafe { grow::room(place) }?;
        let Some(found) = inside()? else { return Ok(0) };
        // SAFETY: 1. `grow::room` has returned `room`; 2. the caller promises this.
        unsafe { grow::fill(place, room, found) };
        Ok(1)
    })
}

/// If `inside` finds a violation, writes it as text and returns [`code::BROKEN`]. Returns 0 if
/// there is no violation, or another code.
///
/// # Safety
/// `text` is null, or `size` bytes at `text` are writable.
pub unsafe fn verdict<V: fmt::Display>(
    text: *mut c_char,
    size: usize,
    inside: impl FnOnce() -> Result<Result<(), V>, c_int>,
) -> c_int {
    code(|| {
        let Err(violation) = inside()? else { return Ok(0) };
        // SAFETY: the caller promises this.
        unsafe { write_text(text, size, &violation) };
        Err(code::BROKEN)
    })
}

/// Writes the initial value of a caller's struct, and returns 0 or a code.
///
/// # Safety
/// `place` is null or writable.
pub unsafe fn fresh<T>(place: *mut T, value: T) -> c_int {
    code(|| {
        usable(place)?;
        // SAFETY: 1. The pointer is not null, and aligned. 2. The caller promises the rest.
        unsafe { place.write(value) };
        Ok(0)
    })
}

/// Borrows the target of a caller's pointer, unless the pointer is null or not aligned.
///
/// # Safety
/// The target of `pointer` is readable until the end of the exported function.
pub unsafe fn borrowed<'t, T>(pointer: *const T) -> Result<&'t T, c_int> {
    usable(pointer)?;
    // SAFETY: 1. The pointer is not null, and aligned. 2. The caller promises the rest.
    Ok(unsafe { &*pointer })
}

/// Writes `value` to `place`, unless `place` is null or not aligned.
///
/// # Safety
/// `place` is null or writable.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() && place.is_aligned() {
        // SAFETY: 1. The pointer is not null, and aligned. 2. The caller promises the rest.
        unsafe { place.write(value) };
    }
}

/// Writes a text and a zero byte into `size` bytes, and returns the length of the whole text. A
/// text that does not fit is truncated.
///
/// # Safety
/// `text` is null, or `size` bytes at `text` are writable.
pub unsafe fn write_text(text: *mut c_char, size: usize, what: &dyn fmt::Display) -> usize {
    struct Cut<'a>(&'a mut [u8], usize);
    impl Write for Cut<'_> {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            for (to, from) in self.0.iter_mut().skip(self.1).zip(piece.bytes()) {
                *to = from;
            }
            self.1 += piece.len();
            Ok(())
        }
    }
    let nowhere = text.is_null() || size == 0 || size > isize::MAX.unsigned_abs();
    let mut cut = if nowhere {
        Cut(&mut [], 0)
    } else {
        // SAFETY: this writes `size` zeros, and the caller promises that `size` bytes may be
        // written.
        unsafe { text.write_bytes(0, size) };
        // SAFETY: 1. the caller promises that the bytes are there; 2. they were initialized just
        // now; the last one stays zero.
        Cut(unsafe { core::slice::from_raw_parts_mut(text.cast(), size - 1) }, 0)
    };
    let _ = write!(cut, "{what}");
    cut.1
}
