//! What may be asked for: the bounds of stacks, guards and names.

/// The least stack of a thread, in bytes.
///
/// A panic that unwinds and prints itself needs most of it. A panic that prints a backtrace, as
/// with `RUST_BACKTRACE` set, overflows it. A second panic in a drop of the first one prints a
/// backtrace unasked. 64 KiB hold both.
///
/// The M:N model maps 64 KiB for each stack that is smaller. The program's signal handlers run on
/// the stack that they interrupt, and need room there. A handler with `SA_ONSTACK` has 64 KiB
/// elsewhere.
pub const LEAST_STACK: usize = 16 * 1024;
/// The greatest stack of a thread, in bytes.
pub const MOST_STACK: usize = 1 << 30;
/// The greatest guard of a stack, in bytes.
pub const MOST_GUARD: usize = 1 << 20;
/// The longest name of a thread, in bytes. Linux shows the first 15 bytes of a kernel thread's
/// name.
pub const LONGEST_NAME: usize = 255;
