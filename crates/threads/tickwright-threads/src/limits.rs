//! The limits of stacks, guards and names.

/// The smallest stack of a thread, in bytes.
///
/// A panic that unwinds and prints its message needs most of this stack. A panic that prints a
/// backtrace, as with `RUST_BACKTRACE` set, overflows it. If a drop panics while another panic
/// unwinds, a backtrace is always printed. A stack of 64 KiB is enough for both cases.
///
/// A kernel thread gets the platform's smallest stack if that is larger, such as 128 KiB on 64-bit
/// Arm. The M:N model maps at least 64 KiB for each stack, because the program's signal handlers
/// run on the stack that they interrupt and need room there. A handler with `SA_ONSTACK` has 64 KiB
/// on an alternate stack.
pub const LEAST_STACK: usize = 16 * 1024;
/// The largest stack of a thread, in bytes.
pub const MOST_STACK: usize = 1 << 30;
/// The largest guard of a stack, in bytes. On platforms other than Unix it is the platform's guard
/// of one page.
pub const MOST_GUARD: usize = if cfg!(unix) { 1 << 20 } else { 4096 };
/// The longest name of a thread, in bytes. Linux shows the first 15 bytes of a kernel thread's
/// name.
pub const LONGEST_NAME: usize = 255;
