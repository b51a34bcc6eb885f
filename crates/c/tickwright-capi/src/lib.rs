//! The C interface of timers. It converts types, checks pointers and states, and returns error
//! codes. The headers in `include/tickwright/` document each function.
//!
//! This crate contains no timer logic. A panic, which would be a bug, ends the process at the
//! boundary, because the functions are `extern "C"`. A C++ exception that leaves a callback ends
//! the process, too. Callbacks are `extern "C-unwind"`, so that the exception reaches the boundary.
//! Types have their C names, because `tests/header.rs` compares each signature with the header's.
//!
//! - [`timer`] has the node in the caller's struct, [`family`] the structures by number, [`queue`]
//!   the queues of such nodes, [`heap`] the priority queue with the caller's comparator, and
//!   [`odict`] the ordered dictionary.
//! - [`scheduler`] has timers with callbacks. [`job`] describes them, [`add`] adds them, [`drive`]
//!   runs them, and [`watch`] inspects them. The handle of a scheduler is in `handle`.
//!
//! [`tickwright_boundary`] contains the error codes, the checks of pointers, the states and the
//! structs that grow. It also states the contract of all functions, which SAFETY comments call "the
//! header's contract". Threads are in another library, `tickwright-threads-capi`.
#![allow(non_camel_case_types, reason = "C names")]

pub mod add;
mod contract;
pub mod drive;
pub mod family;
mod handle;
pub mod heap;
pub mod job;
pub mod odict;
pub mod queue;
pub mod scheduler;
pub mod timer;
pub mod watch;

use core::ffi::{c_char, c_int};

use tickwright_boundary::code;

/// Returns the version of the library as text.
#[unsafe(no_mangle)]
pub extern "C" fn tw_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Describes a result in English.
#[unsafe(no_mangle)]
pub extern "C" fn tw_strerror(code: c_int) -> *const c_char {
    code::text(code).as_ptr()
}
