//! The boundary between C and Rust, which both C libraries of Tickwright share. No other crate may
//! use it: its interface changes with those libraries.
//!
//! - [`code`]: results, zero or a negated `errno`
//! - [`answer`]: the frames of exported functions, and what they write where the caller wants it
//! - [`place`]: pointers of the caller, before anything is read or written there
//! - [`grow`]: structs of the caller whose first field is their size
//! - [`spare`]: memory for calls whose allocations cannot be refused
//! - [`state`]: how memory that holds an object of a library is told from other memory
//!
//! The number of both SONAMEs is in the file `SONAME`, and nowhere else.
//!
//! # What the caller answers for
//! The functions of the libraries are `unsafe extern "C"`, and the headers state their one
//! contract. The code cites it as "the header's contract". In short:
//! 1. a pointer that is not null points to what its type says, readable and writable for as long as
//!    the call lasts, or, where it says so (a queue, a pending timer, an element, a dictionary, a
//!    link), until it is destroyed or taken out;
//! 2. calls about one object do not overlap in time, except from a callback in the same thread, and
//!    those about a scheduler or a runtime, of which only the last overlaps nothing;
//! 3. callbacks return: no `longjmp`, no exception.

pub mod answer;
pub mod code;
pub mod grow;
pub mod place;
pub mod spare;
pub mod state;

/// Constants of the header, by name, and a list of all of them for its test.
#[macro_export]
macro_rules! numbers {
    ($($name:ident = $number:literal;)+) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: ::core::ffi::c_int = $number;
        )+
        /// Every number of this file, by its name in the header.
        pub const NUMBERS: &[(&str, ::core::ffi::c_int)] = &[$((stringify!($name), $number)),+];
    };
}
