//! The stacks of kernel threads, as reported by the platform.

use core::ops::Range;

/// Returns the size of a page, in bytes.
#[cfg(unix)]
pub(crate) fn page() -> usize {
    use core::num::NonZeroUsize;

    use once_cell::race::OnceNonZeroUsize;

    const ELSE: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
    static PAGE: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let ask = || {
        // SAFETY: 1. The call only reads a constant of the platform.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).ok().filter(|page| page.is_power_of_two());
        page.and_then(NonZeroUsize::new).unwrap_or(ELSE)
    };
    PAGE.get_or_init(ask).get()
}

/// Returns the size of a page, in bytes.
#[cfg(not(unix))]
pub(crate) fn page() -> usize {
    4096
}

/// Rounds a size up to whole pages. The result does not overflow, because
/// [`Attributes::check`](crate::Attributes::check) has accepted the size.
pub(crate) fn in_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(page())
}

/// Returns the addresses of the calling kernel thread's stack.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
pub(crate) fn own_stack() -> Option<Range<usize>> {
    let mut attr = crate::attr::Attr::of_caller()?;
    let (mut at, mut len) = (core::ptr::null_mut(), 0);
    // SAFETY: 1. The attributes are filled, and `at` and `len` may be written.
    let got = unsafe { libc::pthread_attr_getstack(attr.as_mut_ptr(), &raw mut at, &raw mut len) };
    (got == 0).then(|| at.addr()..at.addr() + len)
}

/// Returns the addresses of the calling kernel thread's stack.
#[cfg(target_vendor = "apple")]
pub(crate) fn own_stack() -> Option<Range<usize>> {
    // SAFETY: 1. The call has no arguments and no preconditions.
    let me = unsafe { libc::pthread_self() };
    // SAFETY: 1. `me` is the calling thread.
    let end = unsafe { libc::pthread_get_stackaddr_np(me) }.addr();
    // SAFETY: as above.
    let len = unsafe { libc::pthread_get_stacksize_np(me) };
    Some(end - len..end)
}

/// Returns the addresses of the calling kernel thread's stack.
#[cfg(windows)]
pub(crate) fn own_stack() -> Option<Range<usize>> {
    unsafe extern "system" {
        fn GetCurrentThreadStackLimits(low: *mut usize, high: *mut usize);
    }
    let (mut low, mut high) = (0, 0);
    // SAFETY: 1. Both numbers may be written.
    unsafe { GetCurrentThreadStackLimits(&raw mut low, &raw mut high) };
    Some(low..high)
}

/// Returns `None`, because the platform does not report the addresses of the calling kernel
/// thread's stack.
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_vendor = "apple", windows)))]
pub(crate) fn own_stack() -> Option<Range<usize>> {
    None
}
