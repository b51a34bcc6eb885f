//! The library that `tickwright record` loads into a program, and the ring that it writes to.
//!
//! ```text
//!   program ── event_add, poll, ... ──▶ LIBRARY ──▶ the real function
//!                                          │
//!                                       Ring, a file that both map ──▶ Mapped::drain, recorder
//! ```
//!
//! | part | holds |
//! |---|---|
//! | [`LIBRARY`] | the bytes of the shared library, for `LD_PRELOAD`; built from `interpose/` |
//! | [`ring`] | the layout of a ring and both of its ends |
//! | [`mapped`] | a ring in a file, as the recorder sees it |
//!
//! The library is a separate crate, in `interpose/`. Its symbols have the names of the functions
//! that it interposes, so they must not be linked into the recorder.
#![deny(unsafe_code)]

pub mod ring;

#[cfg(target_os = "linux")]
pub mod mapped;
#[cfg(test)]
mod tests;

// This module lets Clippy check the library. No part of the module is linked.
#[cfg(all(clippy, recordable))]
#[allow(unsafe_code, reason = "the C boundary")]
#[path = "../interpose/parts.rs"]
mod interpose;

/// The shared library, as the bytes of a file. The array is empty on platforms other than Linux
/// with glibc on x86-64 and AArch64.
pub static LIBRARY: &[u8] = library();

#[cfg(recordable)]
const fn library() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/libtickwright_preload.so"))
}

#[cfg(not(recordable))]
const fn library() -> &'static [u8] {
    &[]
}
