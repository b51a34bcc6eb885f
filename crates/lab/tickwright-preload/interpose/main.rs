//! The library that is loaded into a recorded program with `LD_PRELOAD`.
//!
//! ```text
//!   program ──▶ parts/{libevent, libuv, libev, kernel, wait} ──▶ next: the real function
//!                                    │
//!                                 ring::push (no lock, no allocation, no system call)
//! ```
//!
//! # Rules
//! 1. The library allocates nothing and takes no lock once a process has begun.
//! 2. Every function keeps `errno` as the real function left it.
//! 3. A signal handler is allowed to call a function here if it is allowed to call the real
//!    function.
//! 4. A thread that is cancelled in a wait leaves the real function by unwinding, so the functions
//!    here have the ABI `C-unwind` and nothing to drop.
#![no_std]
#![allow(dead_code, reason = "the recorder's side of the ring")]

#[path = "../src/ring.rs"]
mod ring;

#[path = "parts.rs"]
mod parts;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    parts::sys::fail(c"a check failed")
}

// The personality routine, which the unwinder calls for a frame of this library. The frame has
// nothing to drop, so this routine tells the unwinder to continue (8). The symbol is hidden,
// because programs in Rust have a symbol of this name.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality: endbr64",
    "mov eax, 8",
    "ret",
);
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality: hint #34",
    "mov w0, #8",
    "ret",
);
