//! The C face: conversion, checks of pointers and states, error codes. `include/tickwright/` is
//! the documentation of each function.
//!
//! There is no logic here. A panic, which would be a bug, ends the process at the boundary
//! (`extern "C"` does that). A C++ exception that leaves a callback also ends the process there. It
//! may unwind to the boundary because callbacks are `extern "C-unwind"`. Types have their C names:
//! `tests/header.rs` compares each signature with the header's.
//!
//! - [`timer`]: the node in the caller's struct; [`family`]: the structures by number; [`queue`]:
//!   queues over nodes; [`heap`]: the priority queue with the caller's comparator; [`odict`]: the
//!   ordered dictionary
//! - [`scheduler`]: timers with callbacks. [`job`] and [`add`] say what a timer does, [`drive`]
//!   runs timers, and [`watch`] reports on them. Their handle is in `handle`.
//!
//! Results, places, states, structs that grow, and the contract of all functions ("the header's
//! contract" below) are those of [`tickwright_boundary`]. Threads are another library:
//! `tickwright-threads-capi`.
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

/// The version of the library, as text.
#[unsafe(no_mangle)]
pub extern "C" fn tw_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// What a result means, in English.
#[unsafe(no_mangle)]
pub extern "C" fn tw_strerror(code: c_int) -> *const c_char {
    code::text(code).as_ptr()
}
