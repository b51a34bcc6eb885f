//! The list of locks, and the fork handlers that take and release them.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::{Order, Registration};
use crate::sync::{ThreadId, lock, this_thread, try_lock};

/// The number of forks between the first process and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

pub(super) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// How long a fork tries to take one lock while it holds others. After this time it releases all
/// locks and starts over.
const PATIENCE: Duration = Duration::from_millis(10);
/// For how long a fork starts over in total. Afterwards it skips the locks that are still locked.
const LONGEST: Duration = Duration::from_secs(2);

/// Space for a lock's guard. It is large enough for every type of data under the lock.
type Room = UnsafeCell<MaybeUninit<[usize; 4]>>;

/// A lock in the list. It must not move between `register` and `unregister`.
pub(crate) struct Slot<T> {
    mutex: Mutex<T>,
    /// Holds the guard during a fork. Only the thread that forks touches the guard, under the lock
    /// of the list.
    guard: Room,
    is_held: UnsafeCell<bool>,
    forget: fn(&mut T),
}

// SAFETY: 1. The value may move to another thread; 2. the room holds a guard only during a fork,
// when no slot moves.
unsafe impl<T: Send> Send for Slot<T> {}

// SAFETY: 1. A mutex may be shared; 2. only a thread that forks touches `guard` and `is_held`,
// under the lock of the list. From `try_hold` to `release` that thread keeps the lock.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(crate) fn new(value: T, forget: fn(&mut T)) -> Self {
        let guard = UnsafeCell::new(MaybeUninit::uninit());
        Self { mutex: Mutex::new(value), guard, is_held: UnsafeCell::new(false), forget }
    }

    /// Adds the lock to the list: from now on every fork takes it. Returns `false` if there is no
    /// memory.
    pub(crate) fn register(&self, order: Order) -> bool {
        let entry =
            Entry { at: core::ptr::from_ref(self).cast(), try_hold: try_hold::<T>, release: release::<T> };
        notice_forks() && lock(&LIST).add(order, entry)
    }

    /// Removes the lock from the list. Call it before the slot is moved or dropped.
    pub(crate) fn unregister(&self) {
        lock(&LIST).remove(core::ptr::from_ref(self).cast());
    }
}

impl<T> Deref for Slot<T> {
    type Target = Mutex<T>;

    fn deref(&self) -> &Mutex<T> {
        &self.mutex
    }
}

/// Takes the lock if it is free. Returns whether the fork holds it now.
///
/// # Safety
/// `at` is a registered `Slot<T>`, and the caller holds the lock of the list.
unsafe fn try_hold<T>(at: *const ()) -> bool {
    const {
        assert!(size_of::<MutexGuard<'_, T>>() <= size_of::<Room>());
        assert!(align_of::<MutexGuard<'_, T>>() <= align_of::<Room>());
    }
    // SAFETY: 1. The caller's promise.
    let slot = unsafe { &*at.cast::<Slot<T>>() };
    // SAFETY: 1. The caller holds the lock of the list.
    let is_held = unsafe { &mut *slot.is_held.get() };
    if !*is_held {
        let Some(guard) = try_lock(&slot.mutex) else { return false };
        // SAFETY: 1. The room is large enough and aligned, see above; 2. the caller holds the lock
        // of the list.
        unsafe { slot.guard.get().cast::<MutexGuard<'_, T>>().write(guard) };
        *is_held = true;
    }
    true
}

/// Releases the lock if it is held.
///
/// # Safety
/// The same as for [`try_hold`], and the caller is the same thread.
unsafe fn release<T>(at: *const (), is_child: bool) {
    // SAFETY: 1. The caller's promise.
    let slot = unsafe { &*at.cast::<Slot<T>>() };
    // SAFETY: 1. The caller holds the lock of the list.
    if unsafe { slot.is_held.get().replace(false) } {
        // SAFETY: 1. The slot is held, so `try_hold` has written the guard; 2. the guard is read
        // once, since `is_held` is now `false`.
        let mut guard = unsafe { slot.guard.get().cast::<MutexGuard<'_, T>>().read() };
        if is_child {
            (slot.forget)(&mut guard);
        }
    }
}

/// A registered lock of any type.
#[derive(Clone, Copy)]
struct Entry {
    at: *const (),
    try_hold: unsafe fn(*const ()) -> bool,
    release: unsafe fn(*const (), bool),
}

// SAFETY: 1. The slot behind the pointer is shared between threads: `Slot` is `Sync`.
unsafe impl Send for Entry {}

struct List {
    /// The thread that forks.
    forker: Option<ThreadId>,
    entries: [Vec<Entry>; 4],
}

/// Tries to take one lock of the list. The caller holds the lock of the list. Returns `false` if
/// another thread holds the entry's lock for longer than `patience`.
fn try_for(entry: &Entry, patience: Duration) -> bool {
    let begun = Instant::now();
    loop {
        // SAFETY: 1. `entry` is in the list, so its slot is registered with the function of its
        // type; 2. the caller holds the lock of the list.
        if unsafe { (entry.try_hold)(entry.at) } {
            return true;
        }
        if begun.elapsed() > patience {
            return false;
        }
        std::thread::yield_now();
    }
}

static LIST: Mutex<List> = Mutex::new(List { forker: None, entries: [const { Vec::new() }; 4] });

static REGISTRATION: Registration = Registration::new();

/// Registers the handlers. The caller holds no lock. Returns `false` if there is no memory.
pub(super) fn notice_forks() -> bool {
    REGISTRATION.ensure(|| {
        // SAFETY: 1. The functions exist for as long as the library.
        0 == unsafe { libc::pthread_atfork(Some(before), Some(in_the_parent), Some(in_the_child)) }
    })
}

/// Holds the guard of the list's lock during a fork.
struct Kept(UnsafeCell<Option<MutexGuard<'static, List>>>);

// SAFETY: 1. Only the thread that holds the lock of the list touches it.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(UnsafeCell::new(None));

impl List {
    fn add(&mut self, order: Order, entry: Entry) -> bool {
        let entries = &mut self.entries[order as usize];
        if entries.try_reserve(1).is_err() {
            return false;
        }
        entries.push(entry);
        true
    }

    fn remove(&mut self, at: *const ()) {
        for entries in &mut self.entries {
            if let Some(place) = entries.iter().rposition(|entry| entry.at == at) {
                entries.swap_remove(place);
                return;
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Tries to take every lock. If another thread holds a lock for too long, returns `false` if
    /// `all` is set, and skips the lock otherwise.
    ///
    /// A fork waits for a leaf without a limit, and never skips it. A thread that holds a leaf
    /// takes no other lock and runs no user code, so the holder is another thread, which will
    /// release the leaf.
    fn try_hold(&self, all: bool) -> bool {
        let patience = |order| if order == Order::Leaf as usize { Duration::MAX } else { PATIENCE };
        let entries = self.entries.iter().enumerate();
        let mut entries = entries.flat_map(|(order, of_it)| of_it.iter().map(move |entry| (order, entry)));
        entries.all(|(order, entry)| try_for(entry, patience(order)) || !all)
    }

    fn release(&self, is_child: bool) {
        for entry in self.entries() {
            // SAFETY: 1. As above; 2. this thread took the locks that are held.
            unsafe { (entry.release)(entry.at, is_child) };
        }
    }
}

/// Returns two ids of the thread that forked: its id in the parent, and its id in this child. A
/// child uses them while it removes the entries of other threads.
pub(crate) fn forker() -> (ThreadId, ThreadId) {
    // SAFETY: 1. This is the thread that forked, in the child, and `after` only reads the list
    // meanwhile.
    let kept = unsafe { (*KEPT.0.get()).as_ref() };
    let was = kept.and_then(|list| list.forker).unwrap_or_else(this_thread);
    (was, was.without_coroutine())
}

extern "C" fn before() {
    let begun = Instant::now();
    // The forking thread can be a coroutine now, but it will not be a coroutine in the child.
    let forker = this_thread();
    loop {
        let mut list = lock(&LIST);
        list.forker = Some(forker);
        if list.try_hold(begun.elapsed() < LONGEST) {
            // SAFETY: 1. This thread holds the lock of the list.
            unsafe { *KEPT.0.get() = Some(list) };
            return;
        }
        list.release(false);
        drop(list);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn after(is_child: bool) {
    // SAFETY: 1. This thread holds the lock of the list: `before` has put the guard there. In a
    // child it is the only thread.
    if let Some(list) = unsafe { (*KEPT.0.get()).as_ref() } {
        list.release(is_child);
    }
    // SAFETY: as above.
    drop(unsafe { (*KEPT.0.get()).take() });
}

extern "C" fn in_the_parent() {
    after(false);
}

extern "C" fn in_the_child() {
    REGISTRATION.is_done();
    FORKS.fetch_add(1, Ordering::Relaxed);
    after(true);
}
