//! The C face: conversion, checks of pointers and states, error codes. `include/tickwright.h` is
//! the documentation of each function.
//!
//! There is no logic here. A panic, which would be a bug, ends the process at the boundary
//! (`extern "C"` does that), and so does a C++ exception that leaves a callback: those are
//! `extern "C-unwind"`, so that it may come as far. Types have their C names: `tests/header.rs`
//! compares each signature with the header's.
//!
//! - [`code`]: results; `answer`: what functions return, and write where the caller wants it;
//!   `state`: how memory that holds something of the library's is told from other memory
//! - [`timer`]: the node in the caller's struct; [`family`]: the structures by number; [`queue`]:
//!   queues over nodes; [`heap`]: the priority queue with the caller's comparator; [`odict`]: the
//!   ordered dictionary
//! - [`scheduler`]: timers that call back, told what in [`job`], run by [`drive`], looked into by
//!   [`watch`]; their handle is in `handle`
//! - [`threads`]: threads in several models
//!
//! # What the caller answers for
//! The functions are `unsafe extern "C"`, and have one contract: the header's. In short, and cited
//! below as "the header's contract":
//! 1. a pointer that is not null points to what its type says, readable and writable for as long as
//!    the call lasts, or, where it says so (a queue, a pending timer, an element, a dictionary, a
//!    link), until it is destroyed or taken out;
//! 2. calls about one object do not overlap in time, except from a callback in the same thread, and
//!    those about a scheduler or threads, of which only the last overlaps nothing;
//! 3. callbacks return: no `longjmp`, no exception.
#![allow(non_camel_case_types, reason = "C names")]

mod answer;
pub mod code;
pub mod drive;
pub mod family;
mod handle;
pub mod heap;
pub mod job;
pub mod odict;
pub mod queue;
pub mod scheduler;
mod state;
pub mod threads;
pub mod timer;
pub mod watch;

use core::ffi::c_char;

/// The version of the library, as text.
#[unsafe(no_mangle)]
pub extern "C" fn tw_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
