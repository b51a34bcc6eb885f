//! Types that both back ends use.

/// The reason why a thread leaves its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::many) enum Pause {
    /// The thread yields, and can continue at any time.
    Yielded,
    /// The thread waits until it is notified.
    Parked,
    /// The thread's body has ended. The stack next runs another body, or ends.
    Ended,
}

/// The size of the stack of a context that is a kernel thread, in bytes.
pub(in crate::many) const PORTABLE_STACK: usize = 2 << 20;

/// What `pause` needs from the calling stack: the address of a `Yielder` or, in the portable back
/// end, of a `Baton`.
pub(in crate::many) type Way = *const ();
