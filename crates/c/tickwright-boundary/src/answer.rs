//! What exported functions return, and what they write to the caller's memory.
//!
//! Each function here runs the body of an exported function, in which `?` returns codes, and
//! converts the body's `Result` into the number that C gets. The unsafe functions write to the
//! caller's memory.

use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};

use crate::code;
use crate::grow::{self, Growing};
pub use crate::place::{aligned, usable};

/// Exports functions of the header: each function keeps its name, becomes `unsafe extern "C"`, and
/// has the header's contract.
///
/// Call the macro with parentheses, because rustfmt formats only what stands in parentheses:
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
    /// The exported function that this thread has called last, for messages.
    pub static CALLED: core::cell::Cell<&'static str> = const { core::cell::Cell::new("") };
}

/// Returns the number from `inside` (0 or more), or a negative code.
pub fn code(inside: impl FnOnce() -> Result<c_int, c_int>) -> c_int {
    inside().unwrap_or_else(|refusal| refusal)
}

/// Returns the count from `inside`, or a negative code.
pub fn count(inside: impl FnOnce() -> Result<usize, c_int>) -> isize {
    match inside() {
        Ok(number) => isize::try_from(number).unwrap_or(isize::MAX),
        Err(code) => code as isize,
    }
}

/// Writes a value to `place` and returns 0, or returns a code. If `place` is not aligned, it is
/// refused before `inside` runs.
///
/// # Safety
/// `place` is null, or may be written.
pub unsafe fn value<T>(place: *mut T, inside: impl FnOnce() -> Result<T, c_int>) -> c_int {
    code(|| {
        aligned(place)?;
        let value = inside()?;
        // SAFETY: the caller promises this.
        unsafe { put(place, value) };
        Ok(0)
    })
}

/// Writes a value to `place` and returns 1. Returns 0 if `inside` finds no value, or else a code.
/// If `place` is not aligned, it is refused before `inside` runs.
///
/// # Safety
/// `place` is null, or may be written.
pub unsafe fn found<T>(place: *mut T, inside: impl FnOnce() -> Result<Option<T>, c_int>) -> c_int {
    code(|| {
        aligned(place)?;
        let Some(found) = inside()? else { return Ok(0) };
        // SAFETY: the caller promises this.
        unsafe { put(place, found) };
        Ok(1)
    })
}

/// Fills a struct of the caller and returns 0, or returns a code.
///
/// # Safety
/// `place` is null, or that many bytes may be written there as its size field says.
pub unsafe fn filled<T: Growing>(place: *mut T, inside: impl FnOnce() -> Result<T, c_int>) -> c_int {
    // SAFETY: the caller promises this.
    let done = unsafe { filled_if(place, || inside().map(Some)) };
    done.min(0)
}

/// Fills a struct of the caller and returns 1. Returns 0 if `inside` finds nothing, or else a code.
/// A struct whose size is impossible is refused before `inside` runs.
///
/// # Safety
/// `place` is null, or that many bytes may be written there as its size field says.
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

/// Writes the violation as text and returns [`code::BROKEN`]. Returns 0 if nothing is broken, or
/// another code.
///
/// # Safety
/// `text` is null, or `size` bytes there may be written.
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
/// `place` is null, or may be written.
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
/// What `pointer` points to may be read until the end of the call.
pub unsafe fn borrowed<'t, T>(pointer: *const T) -> Result<&'t T, c_int> {
    usable(pointer)?;
    // SAFETY: 1. The pointer is not null, and aligned. 2. The caller promises the rest.
    Ok(unsafe { &*pointer })
}

/// Writes `value` to `place`, unless `place` is null or not aligned.
///
/// # Safety
/// `place` is null, or may be written.
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
/// `text` is null, or `size` bytes there may be written.
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
