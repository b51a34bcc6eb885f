//! The C face of threads: conversion, checks of pointers and states, error codes.
//! `tickwright/thread.h`, which is installed with the other headers of `tickwright-capi`, is the
//! documentation of each function.
//!
//! It is a library of its own, so that a program with timers alone carries no coroutines. Results,
//! states and the contract of all functions ("the header's contract" below) are those of
//! [`tickwright_boundary`]. `tests/header.rs` of `tickwright-capi` compares each signature with the
//! header's.
//!
//! - [`runtime`]: what threads are created in
//! - [`thread`]: creating, joining, waiting, also for descriptors
//! - [`sync`]: locks and conditions; [`mailbox`]: pointers from thread to thread; [`key`]: pointers
//!   of a thread's own
#![allow(non_camel_case_types, reason = "C names")]

mod contract;
pub mod key;
pub mod mailbox;
pub mod runtime;
pub mod sync;
pub mod thread;
