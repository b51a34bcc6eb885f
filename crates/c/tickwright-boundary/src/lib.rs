//! The boundary between C and Rust, which both C libraries of Tickwright share. Other crates must
//! not use it, because its interface changes with those libraries.
//!
//! - [`code`]: results, zero or a negated `errno`
//! - [`answer`]: the frames of exported functions, and what they write to the caller's memory
//! - [`place`]: checks of the caller's pointers before a read or write
//! - [`grow`]: structs of the caller whose first field is their size
//! - [`spare`]: memory for calls whose allocations must not fail
//! - [`state`]: distinguishes memory that holds an object of a library from other memory
//!
//! The number of both SONAMEs is in the file `SONAME`, and nowhere else.
//!
//! # What the caller answers for
//! The functions of the libraries are `unsafe extern "C"`, and the headers state their one
//! contract. The code cites it as "the header's contract". In short:
//! 1. a pointer that is not null points to what its type says, readable and writable for as long as
//!    the call lasts, or, where it says so (a queue, a pending timer, an element, a dictionary, a
//!    link), until it is destroyed or taken out;
//! 2. calls about one object do not overlap in time, except for calls from a callback in the same
//!    thread, and for calls about a scheduler or a runtime, where only the call that destroys it
//!    must not overlap others;
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
