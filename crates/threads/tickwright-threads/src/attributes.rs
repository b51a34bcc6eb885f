//! What a creator chooses for a new thread: its stack, guard, name and first worker, and whether it
//! is detached.

use crate::error::CreateError;
use crate::limits::{LEAST_STACK, LONGEST_NAME, MOST_GUARD, MOST_STACK};

/// Defines methods that take settings by value, set one of them, and return the settings. Each row
/// is a method with its argument and its assignment.
macro_rules! setters {
    ($($(#[$doc:meta])+ $name:ident($me:ident, $value:ident: $type:ty) { $set:expr })+) => { $(
        $(#[$doc])+
        #[must_use]
        pub fn $name(mut $me, $value: $type) -> Self {
            $set;
            $me
        }
    )+ };
}
pub(crate) use setters;

/// Where an M:N thread starts. In the one-to-one model the platform chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The thread starts on the creator's worker if the creator is a thread of the runtime, and
    /// otherwise as with [`Spread`](Self::Spread). Until the thread has begun, an idle worker can
    /// take it.
    #[default]
    Near,
    /// The thread starts on the next worker in turn.
    Spread,
}

/// How the stacks of kernel threads are allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacks {
    /// The platform allocates the stacks. For example, glibc caches up to 40 MiB of stacks of ended
    /// threads for later threads.
    #[default]
    Platform,
    /// Each stack is a separate mapping. Stacks are not cached, so a stack is unmapped when its
    /// thread has exited. This needs Unix, like [`Recycled`](Self::Recycled).
    Fresh,
    /// This library allocates the stacks, and reuses the stacks of ended threads as the platform's
    /// cache does.
    Recycled,
}

/// A name that is stored in the attributes, so that it needs no allocation.
#[derive(Clone)]
pub(crate) struct Name {
    bytes: [u8; LONGEST_NAME],
    len: usize,
    is_allowed: bool,
}

impl Name {
    fn new(name: &str) -> Self {
        let mut own = Self { bytes: [0; LONGEST_NAME], len: 0, is_allowed: false };
        if let Some(bytes) = own.bytes.get_mut(..name.len())
            && !name.contains('\0')
        {
            bytes.copy_from_slice(name.as_bytes());
            own.len = name.len();
            own.is_allowed = true;
        }
        own
    }

    pub(crate) fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or("")
    }
}

impl core::fmt::Debug for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// The attributes of a new thread.
///
/// ```
/// use tickwright_threads::Attributes;
///
/// let attributes = Attributes::new().stack(64 * 1024).guard(0).name("reader").detached(true);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    pub(crate) stack: Option<usize>,
    pub(crate) guard: Option<usize>,
    pub(crate) name: Option<Name>,
    pub(crate) detached: bool,
    pub(crate) place: Place,
}

impl Attributes {
    /// Creates the default attributes: the runtime's default sizes of stack and guard, no name, not
    /// detached, and the place [`Near`](Place::Near).
    #[must_use]
    pub const fn new() -> Self {
        Self { stack: None, guard: None, name: None, detached: false, place: Place::Near }
    }

    setters! {
        /// The size of the stack in bytes, without the guard. It must be from [`LEAST_STACK`] to
        /// [`MOST_STACK`], and is rounded up to whole pages.
        stack(self, bytes: usize) { self.stack = Some(bytes) }

        /// The size of the guard below the stack in bytes. In the M:N model the default is 64 KiB.
        /// If the compiler does not probe stacks, a frame that is larger than the guard can step
        /// over it. C compilers generate such probes only on request. A guard costs only address
        /// space and one mapping, whatever its size. It can have up to [`MOST_GUARD`] bytes, and is
        /// rounded up to whole pages. With 0 there is no guard, and an overflow overwrites the
        /// memory below the stack. On Windows each stack has only the platform's guard of one page.
        guard(self, bytes: usize) { self.guard = Some(bytes) }

        /// A name for reports, of at most [`LONGEST_NAME`] bytes and without NUL.
        name(self, name: &str) { self.name = Some(Name::new(name)) }

        /// Whether the thread is detached. A detached thread cannot be joined, and its result is
        /// dropped when it ends.
        detached(self, detached: bool) { self.detached = detached }

        /// Where the thread starts.
        place(self, place: Place) { self.place = place }
    }

    /// Checks whether a thread can be created with these attributes.
    ///
    /// # Errors
    /// [`CreateError::Stack`], [`CreateError::Guard`] or [`CreateError::Name`].
    pub fn check(&self) -> Result<(), CreateError> {
        if let Some(asked) = self.stack
            && !(LEAST_STACK..=MOST_STACK).contains(&asked)
        {
            return Err(CreateError::Stack { asked });
        }
        if let Some(asked) = self.guard
            && asked > MOST_GUARD
        {
            return Err(CreateError::Guard { asked });
        }
        match &self.name {
            Some(name) if !name.is_allowed => Err(CreateError::Name),
            _ => Ok(()),
        }
    }
}
