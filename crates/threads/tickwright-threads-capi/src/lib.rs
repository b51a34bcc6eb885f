//! The C interface of threads: conversion, checks of pointers and states, error codes. The header
//! `tickwright/thread.h` documents each function; it is installed with the headers of
//! `tickwright-capi`.
//!
//! It is a library of its own, so that a program that uses only timers contains no coroutines.
//! [`tickwright_boundary`] defines the results, the states and the contract of all functions ("the
//! header's contract" below). `tests/header.rs` of `tickwright-capi` compares each signature with
//! the header's.
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
mod waits;
