//! The limits of stacks, guards and names.

/// The smallest stack of a thread, in bytes.
///
/// A panic that prints its message and unwinds needs most of this stack. A panic that prints a
/// backtrace, because `RUST_BACKTRACE` is set, overflows it. If a drop panics while another panic
/// unwinds, a backtrace is printed in any case. A stack of 64 KiB is enough for a backtrace.
///
/// If the platform's smallest stack is larger than the requested stack, a kernel thread gets the
/// platform's smallest stack, for example 128 KiB on 64-bit Arm. The M:N model maps at least 64 KiB
/// for each stack, because the program's signal handlers run on the stack that they interrupt and
/// need room there. A handler with `SA_ONSTACK` runs on an alternate stack of 64 KiB instead.
pub const LEAST_STACK: usize = 16 * 1024;
/// The largest stack of a thread, in bytes.
pub const MOST_STACK: usize = 1 << 30;
/// The largest guard of a stack, in bytes. On platforms other than Unix, only the platform's guard
/// of one page is possible.
pub const MOST_GUARD: usize = if cfg!(unix) { 1 << 20 } else { 4096 };
/// The longest name of a thread, in bytes. Linux shows the first 15 bytes of a kernel thread's
/// name.
pub const LONGEST_NAME: usize = 255;
