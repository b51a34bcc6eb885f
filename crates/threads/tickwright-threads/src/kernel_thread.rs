//! How a kernel thread waits and is woken. Each thread waits on its own word, in memory that is
//! never freed.
//!
//! The standard library's `park` works only until a thread's thread-local variables are destroyed.
//! The `park` of this module also works in later destructors, in handlers of `exit`, and in forked
//! children.
//!
//! # Invariants
//! 1. A place (`Place`) belongs to one thread at a time, from the thread's first wait until the
//!    thread ends.
//! 2. A late waker can find that the place now belongs to another thread, whose wait then returns
//!    spuriously. A waker never finds freed memory.
//! 3. The thread of a forked child gets a new place, and the child discards the list of free
//!    places. This is necessary because a place has a lock, except on Linux, and a waker in the
//!    parent can have held the lock of the old place during the fork.
//! 4. If there is no memory for a place, the thread returns from its wait every millisecond to
//!    check again. In this case, a handle that is created for the thread wakes no thread. After
//!    such a handle was created, the thread never takes a place, even if there is memory later.

#[cfg(not(loom))]
pub(crate) use self::real::{KernelThread, is_ending};

#[cfg(all(unix, not(loom)))]
pub(crate) use self::real::in_the_child;

#[cfg(loom)]
pub(crate) use self::modelled::{KernelThread, in_the_child, is_ending};

/// How long a thread without a place, which no other thread can wake, sleeps before it checks
/// again.
#[cfg(not(loom))]
const BLIND: core::time::Duration = core::time::Duration::from_millis(1);

#[cfg(not(loom))]
mod real {
    use core::cell::Cell;
    #[cfg(unix)]
    use core::ffi::c_void;
    #[cfg(unix)]
    use core::num::NonZeroUsize;
    use core::sync::atomic::{AtomicU32, Ordering};
    use core::time::Duration;

    use once_cell::race::OnceBox;
    #[cfg(unix)]
    use once_cell::race::OnceNonZeroUsize;

    use super::word::Word;
    use crate::free_numbers::{FreeNumbers, NONE};
    use crate::memory::try_box;

    /// A handle that wakes a kernel thread.
    #[derive(Clone)]
    pub(crate) struct KernelThread(Option<&'static Place>);

    /// The memory in which one thread waits and is woken.
    struct Place {
        word: Word,
        number: u32,
        /// The next free place, or `NONE` at the end of the list.
        next: AtomicU32,
    }

    /// Chunk k has `FIRST << k` places.
    const FIRST: u32 = 64;
    const CHUNKS: usize = 24;

    static PLACES: [OnceBox<Box<[Place]>>; CHUNKS] = [const { OnceBox::new() }; CHUNKS];
    static FREE: FreeNumbers = FreeNumbers::new();
    /// Places from this number on were never used.
    static FRESH: AtomicU32 = AtomicU32::new(0);

    thread_local! {
        static MINE: Cell<Option<&'static Place>> = const { Cell::new(None) };
        /// Whether the platform will call `ends` for this thread. The next variable is whether it
        /// has called it.
        static NOTICED: Cell<bool> = const { Cell::new(false) };
        static ENDING: Cell<bool> = const { Cell::new(false) };
        /// Whether a handle without a place was created for the thread.
        static UNREACHABLE: Cell<bool> = const { Cell::new(false) };
    }

    fn chunk_of(number: u32) -> (usize, usize) {
        let k = (number / FIRST + 1).ilog2();
        (k as usize, (number - FIRST * ((1 << k) - 1)) as usize)
    }

    fn place(number: u32) -> Option<&'static Place> {
        let (chunk, at) = chunk_of(number);
        PLACES.get(chunk)?.get()?.get(at)
    }

    /// Takes a free place. Returns `None` if there is no memory.
    fn take() -> Option<&'static Place> {
        if let Some(free) = FREE.take(|number| Some(&place(number)?.next)) {
            return place(free);
        }
        let mut fresh = FRESH.load(Ordering::Relaxed);
        loop {
            let found = place(fresh).or_else(|| grow(fresh))?;
            match FRESH.compare_exchange_weak(fresh, fresh + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(found),
                Err(now) => fresh = now,
            }
        }
    }

    #[cold]
    fn grow(fresh: u32) -> Option<&'static Place> {
        let chunk = chunk_of(fresh).0;
        let (first, len) = (FIRST * ((1 << chunk) - 1), FIRST << chunk);
        let mut places = Vec::new();
        places.try_reserve_exact(len as usize).ok()?;
        places.extend((first..first + len).map(|number| Place {
            word: Word::new(),
            number,
            next: AtomicU32::new(NONE),
        }));
        // This fails if another thread has set the chunk first.
        let _ = PLACES.get(chunk)?.set(try_box(places.into_boxed_slice()).ok()?);
        place(fresh)
    }

    /// Adds the place of the calling thread, which is ending, to the free places. If a later
    /// destructor of this thread waits, the thread takes another place.
    fn ends() {
        ENDING.set(true);
        if let Some(place) = MINE.take() {
            FREE.give(place.number, &place.next);
        }
    }

    /// The platform calls this when the calling thread ends, and once more if a later destructor
    /// waits.
    #[cfg(unix)]
    extern "C" fn key_ends(_: *mut c_void) {
        ends();
    }

    /// Returns the key whose destructor is `key_ends`, or `None` if the platform has no more keys.
    #[cfg(unix)]
    fn key() -> Option<libc::pthread_key_t> {
        const NO_KEY: NonZeroUsize = NonZeroUsize::MAX;
        /// The key plus 1.
        static KEY: OnceNonZeroUsize = OnceNonZeroUsize::new();
        let known = KEY.get().unwrap_or_else(|| {
            let mut key: libc::pthread_key_t = 0;
            // SAFETY: 1. `key` may be written. 2. The function exists as long as the library, and
            // touches only atomics and a cell without a destructor.
            let made = unsafe { libc::pthread_key_create(&raw mut key, Some(key_ends)) } == 0;
            let mine = if made { NonZeroUsize::MIN.saturating_add(key as usize) } else { NO_KEY };
            if made && KEY.set(mine).is_err() {
                // Another thread has set the key first. SAFETY: 1. Nobody else has seen this key.
                unsafe {
                    libc::pthread_key_delete(key);
                }
            }
            KEY.get().unwrap_or(mine)
        });
        (known != NO_KEY).then(|| (known.get() - 1) as libc::pthread_key_t)
    }

    /// Arranges that `ends` is called at the end of the calling thread. If the platform refuses,
    /// the thread's place is never used again.
    #[cfg(unix)]
    fn notice_the_end() {
        NOTICED.set(true);
        if let Some(key) = key() {
            // SAFETY: 1. The key is never deleted. 2. The value is not null, and nobody uses it.
            unsafe {
                libc::pthread_setspecific(key, core::ptr::without_provenance(1));
            }
        }
    }

    /// Arranges that `ends` is called at the end of the calling thread. The place of a thread that
    /// waits after that is never used again.
    #[cfg(not(unix))]
    fn notice_the_end() {
        struct End;
        impl Drop for End {
            fn drop(&mut self) {
                ends();
            }
        }
        thread_local! {
            static END: End = const { End };
        }
        NOTICED.set(true);
        if END.try_with(|_| ()).is_err() {
            ENDING.set(true);
        }
    }

    /// Returns whether the destructors of the calling thread's variables have run. It returns true
    /// from the first destructor of a key of the platform on.
    pub(crate) fn is_ending() -> bool {
        if !NOTICED.get() {
            notice_the_end();
        }
        ENDING.get()
    }

    fn mine() -> Option<&'static Place> {
        MINE.get().or_else(|| {
            if UNREACHABLE.get() {
                return None;
            }
            let place = take()?;
            place.word.reset();
            MINE.set(Some(place));
            notice_the_end();
            Some(place)
        })
    }

    /// Discards the place of the calling thread and the list of free places. The thread that forked
    /// calls this in the child.
    pub(crate) fn in_the_child() {
        MINE.set(None);
        FREE.forget();
    }

    impl KernelThread {
        /// Returns a handle to the calling thread.
        pub(crate) fn current() -> Self {
            let place = mine();
            UNREACHABLE.set(place.is_none());
            Self(place)
        }

        /// Ends the thread's wait. If the thread does not wait, its next wait ends at once.
        pub(crate) fn unpark(&self) {
            if let Some(place) = self.0 {
                place.word.notify();
            }
        }

        /// Waits until the caller is notified. Can return spuriously.
        pub(crate) fn park() {
            match mine() {
                Some(place) => place.word.wait(None),
                None => std::thread::sleep(super::BLIND),
            }
        }

        /// Like `park`, but waits for at most `most`.
        pub(crate) fn park_timeout(most: Duration) {
            match mine() {
                Some(place) => place.word.wait(Some(most)),
                None => std::thread::sleep(most.min(super::BLIND)),
            }
        }
    }

    #[cfg(test)]
    mod tests;
}

#[cfg(all(any(not(loom), test), any(target_os = "linux", target_os = "android")))]
mod word {
    use core::time::Duration;

    use crate::primitive::{AtomicU32, Ordering};

    #[cfg(all(test, loom))]
    mod models;

    const RUNS: u32 = 0;
    const NOTIFIED: u32 = 1;
    const WAITS: u32 = 2;
    /// The longest time limit. A wait with a longer limit returns spuriously after this time.
    #[cfg(not(loom))]
    const LONGEST: Duration = Duration::from_secs(1 << 30);

    /// The word on which one thread sleeps. Before the thread falls asleep, the kernel compares the
    /// word with an expected value.
    pub(super) struct Word {
        word: AtomicU32,
        /// The model's replacement of the kernel.
        #[cfg(loom)]
        bed: models::Bed,
    }

    impl Word {
        tickwright_nodes::const_unless_loom! {
            pub(super) const fn new() -> Self {
                Self {
                    word: AtomicU32::new(RUNS),
                    #[cfg(loom)]
                    bed: models::Bed::new(),
                }
            }
        }

        #[cfg(not(loom))]
        pub(super) fn reset(&self) {
            self.word.store(RUNS, Ordering::Relaxed);
        }

        pub(super) fn wait(&self, most: Option<Duration>) {
            if self.word.compare_exchange(RUNS, WAITS, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                self.sleep(most);
            }
            // Acquire, so that the caller sees everything that was written before the notification.
            self.word.swap(RUNS, Ordering::Acquire);
        }

        pub(super) fn notify(&self) {
            if self.word.swap(NOTIFIED, Ordering::Release) == WAITS {
                self.wake();
            }
        }

        /// Sleeps if the word is still `WAITS`, until the thread is woken or `most` has passed. Can
        /// return spuriously.
        #[cfg(not(loom))]
        fn sleep(&self, most: Option<Duration>) {
            let limit = most.map(|most| {
                let most = most.min(LONGEST);
                libc::timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ }
            });
            let limit = limit.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
            // SAFETY: 1. The word is never freed. 2. The limit is null or filled.
            unsafe {
                let how = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                libc::syscall(libc::SYS_futex, self.word.as_ptr(), how, WAITS, limit);
            }
        }

        #[cfg(not(loom))]
        fn wake(&self) {
            // SAFETY: 1. The word is never freed.
            unsafe {
                let how = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
                libc::syscall(libc::SYS_futex, self.word.as_ptr(), how, 1);
            }
        }
    }
}

#[cfg(all(not(loom), not(any(target_os = "linux", target_os = "android"))))]
mod word {
    use core::time::Duration;
    use std::sync::{Condvar, Mutex, PoisonError};

    use crate::primitive::lock;

    /// The word on which one thread sleeps.
    pub(super) struct Word {
        notified: Mutex<bool>,
        event: Condvar,
    }

    impl Word {
        pub(super) const fn new() -> Self {
            Self { notified: Mutex::new(false), event: Condvar::new() }
        }

        pub(super) fn reset(&self) {
            *lock(&self.notified) = false;
        }

        pub(super) fn wait(&self, most: Option<Duration>) {
            let mut notified = lock(&self.notified);
            if !*notified {
                notified = match most {
                    None => self.event.wait(notified).unwrap_or_else(PoisonError::into_inner),
                    Some(most) => {
                        self.event.wait_timeout(notified, most).unwrap_or_else(PoisonError::into_inner).0
                    }
                };
            }
            *notified = false;
        }

        pub(super) fn notify(&self) {
            *lock(&self.notified) = true;
            self.event.notify_one();
        }
    }
}

#[cfg(loom)]
mod modelled {
    use core::time::Duration;

    use loom::thread::{self, Thread};

    /// Does nothing, because no model forks.
    pub(crate) fn in_the_child() {}

    /// Returns false, because no model waits in destructors.
    pub(crate) fn is_ending() -> bool {
        false
    }

    /// A handle that wakes a kernel thread.
    #[derive(Clone)]
    pub(crate) struct KernelThread(Thread);

    impl KernelThread {
        /// Returns a handle to the calling thread.
        pub(crate) fn current() -> Self {
            Self(thread::current())
        }

        /// Ends the thread's wait. If the thread does not wait, its next wait ends at once.
        pub(crate) fn unpark(&self) {
            self.0.unpark();
        }

        /// Waits until the caller is notified. Can return spuriously.
        pub(crate) fn park() {
            thread::park();
        }

        /// The same as `park`, because no model waits with a time limit.
        pub(crate) fn park_timeout(_: Duration) {
            thread::park();
        }
    }
}
