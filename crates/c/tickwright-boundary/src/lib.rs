//! The boundary between C and Rust, which both C libraries of Tickwright use. Other crates must not
//! use this crate, because its interface changes whenever those libraries need it.
//!
//! - [`code`]: the results of exported functions;
//! - [`answer`]: the frames of exported functions, and their writes to the caller's memory;
//! - [`place`]: checks of the caller's pointers before a read or write;
//! - [`grow`]: structs of the caller whose first field is their size;
//! - [`spare`]: memory for calls whose allocations must not fail;
//! - [`state`]: the state word, which distinguishes an object of a library from other memory.
//!
//! The number in both SONAMEs is defined only in the file `SONAME`.
//!
//! # What the caller answers for
//! The functions of the libraries are `unsafe extern "C"`, and all have the same contract, which
//! the headers state. The code calls it "the header's contract". In short:
//! 1. a pointer that is not null points to a value of its type, which is readable and writable
//!    during the call, or, if the header says so (a queue, a pending timer, an element, a
//!    dictionary, a link), until it is destroyed or removed;
//! 2. calls with the same object do not overlap in time, with two exceptions: a callback can make
//!    calls on its thread, and calls with a scheduler or a runtime can overlap, unless one of them
//!    destroys it;
//! 3. callbacks return normally, and not by `longjmp` or an exception.

pub mod answer;
pub mod code;
pub mod grow;
pub mod place;
pub mod spare;
pub mod state;

/// Defines constants of the header, and a list of all these constants for the test of the header.
#[macro_export]
macro_rules! numbers {
    ($($name:ident = $number:literal;)+) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: ::core::ffi::c_int = $number;
        )+
        /// Every constant of this file, with its name in the header.
        pub const NUMBERS: &[(&str, ::core::ffi::c_int)] = &[$((stringify!($name), $number)),+];
    };
}
