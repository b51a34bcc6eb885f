//! Memory for stacks: mappings of their own, with or without a guard.

use core::mem::MaybeUninit;
use core::num::NonZeroUsize;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{self, Read as _};
use std::sync::Arc;

use once_cell::race::OnceNonZeroUsize;

use crate::error::CreateError;

/// The addresses of a stack, and of the guard right below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    guard: usize,
    start: usize,
    end: usize,
}

impl Span {
    pub(crate) fn stack(self) -> Range<usize> {
        self.start..self.end
    }

    pub(crate) fn guard(self) -> Range<usize> {
        self.guard..self.start
    }
}

/// A mapping: the guard, which nobody may touch, and above it the stack.
pub(crate) struct Mapping {
    span: Span,
    /// How many there are, this one included.
    count: Option<Arc<AtomicUsize>>,
}

pub(crate) fn page() -> usize {
    const ELSE: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
    static PAGE: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let ask = || {
        // SAFETY: 1. A question without arguments that it could break.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).ok().filter(|page| page.is_power_of_two());
        page.and_then(NonZeroUsize::new).unwrap_or(ELSE)
    };
    PAGE.get_or_init(ask).get()
}

/// The bytes in whole pages. For sizes that [`Attributes::check`](crate::Attributes::check) has let
/// through.
pub(crate) fn in_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(page())
}

impl Mapping {
    /// Maps a stack; both sizes are in whole pages. Memory is the platform's until it is touched.
    pub(crate) fn new(stack: usize, guard: usize) -> io::Result<Self> {
        let len = stack + guard;
        // SAFETY: 1. The platform chooses the address, so the mapping replaces no other.
        let base = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = base.expose_provenance();
        let mapping = Self { span: Span { guard: at, start: at + guard, end: at + len }, count: None };
        // SAFETY: 1. The first `guard` bytes are of our mapping, and nothing is in them.
        if guard > 0 && unsafe { libc::mprotect(base, guard, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    /// Takes one off `count`, which has counted the stack, when the stack is given back.
    pub(crate) fn counted(mut self, count: Arc<AtomicUsize>) -> Self {
        self.count = Some(count);
        self
    }

    /// Where it is.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// The stack's addresses, without the guard.
    pub(crate) fn stack(&self) -> Range<usize> {
        self.span.stack()
    }

    /// The addresses of the guard.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.span.guard()
    }
}

/// Returns the reason why there is no other stack. It is the host's bound on mappings if that was
/// reached, else the error that `other` makes of the platform's.
pub(crate) fn why_none(error: io::Error, other: impl FnOnce(io::Error) -> CreateError) -> CreateError {
    let bound = (error.raw_os_error() == Some(libc::ENOMEM)).then(mappings).flatten();
    match bound {
        // A stack with its guard needs two, and the guard is cut off the second one.
        Some((have, most)) if have + 2 > most => CreateError::MapCount { have, most },
        _ => other(error),
    }
}

/// How many mappings the process has, and may have. Counts the lines of a file: for errors alone,
/// milliseconds where there are many.
fn mappings() -> Option<(usize, usize)> {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()?;
    let mut maps = std::fs::File::open("/proc/self/maps").ok()?;
    // Small stacks come here, too.
    let (mut have, mut part) = (0, [0_u8; 1024]);
    loop {
        match maps.read(&mut part).ok()? {
            0 => return Some((have, most)),
            read => have += part.iter().take(read).filter(|byte| **byte == b'\n').count(),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: 1. It is our mapping, given back once. 2. The owner of the mapping owns what runs
        // on it: nothing does any more.
        unsafe {
            let Span { guard, end, .. } = self.span;
            libc::munmap(core::ptr::with_exposed_provenance_mut(guard), end - guard);
        }
        if let Some(count) = &self.count {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Attributes of the platform, given back when dropped.
pub(crate) struct Attr(libc::pthread_attr_t);

impl Attr {
    pub(crate) fn new() -> io::Result<Self> {
        let mut attr = MaybeUninit::uninit();
        // SAFETY: 1. Memory for attributes, which the call fills.
        match unsafe { libc::pthread_attr_init(attr.as_mut_ptr()) } {
            // SAFETY: 1. The call has filled them.
            0 => Ok(Self(unsafe { attr.assume_init() })),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::pthread_attr_t {
        &raw mut self.0
    }
}

impl Drop for Attr {
    fn drop(&mut self) {
        // SAFETY: 1. They were filled, and are given back once.
        unsafe {
            libc::pthread_attr_destroy(&raw mut self.0);
        }
    }
}

/// The addresses of the calling kernel thread's stack.
#[cfg(target_os = "linux")]
pub(crate) fn own_stack() -> Option<Range<usize>> {
    let mut attr = MaybeUninit::uninit();
    // SAFETY: 1. A question without arguments.
    let me = unsafe { libc::pthread_self() };
    // SAFETY: 1. The calling thread. 2. Memory for attributes, which the call fills.
    if unsafe { libc::pthread_getattr_np(me, attr.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: 1. Filled.
    let attr = Attr(unsafe { attr.assume_init() });
    let (mut at, mut len) = (core::ptr::null_mut(), 0);
    // SAFETY: 1. Filled attributes, and places for the answers.
    let got = unsafe { libc::pthread_attr_getstack(&raw const attr.0, &raw mut at, &raw mut len) };
    (got == 0).then(|| at.addr()..at.addr() + len)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_stack() -> Option<Range<usize>> {
    None
}
