//! The C interface of threads. It converts arguments, checks pointers and states, and returns error
//! codes. The header `tickwright/thread.h` documents each function; it is installed with the
//! headers of `tickwright-capi`.
//!
//! It is a separate library, so that a program that uses only timers contains no coroutines.
//! [`tickwright_boundary`] defines the results, the states and the contract of all functions ("the
//! header's contract" below). `tests/header.rs` of `tickwright-capi` compares each signature with
//! the header's.
//!
//! - [`runtime`]: the runtimes in which threads are created;
//! - [`thread`]: creating threads, joining them, and waiting, including for descriptors;
//! - [`sync`]: locks and conditions; [`mailbox`]: pointers that threads send to each other;
//!   [`key`]: thread-local pointers
#![allow(non_camel_case_types, reason = "C names")]

mod contract;
pub mod key;
pub mod mailbox;
pub mod runtime;
pub mod sync;
pub mod thread;
mod waits;
