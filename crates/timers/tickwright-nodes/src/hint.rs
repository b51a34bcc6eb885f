//! Hints to the processor, which change no result.

/// Prefetches the cache line at `value` without waiting for it. Any pointer is allowed.
#[inline]
pub fn prefetch<T>(value: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: 1. The instruction is part of SSE, which every x86-64 processor has. 2. It reads and
    // writes nothing that the program can observe, and faults for no address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(value.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}
