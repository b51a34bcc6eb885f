//! The platform's threads, created with the attributes that the platform supports, and the stacks
//! that they leave for later threads.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ops::DerefMut;
use std::io;
use std::sync::{Arc, Mutex};

use once_cell::race::OnceBox;
use tickwright::fork::{ForkLock, Order};

use super::{Refused, Run};
use crate::attr::Attr;
use crate::attributes::{Attributes, Stacks};
use crate::error::{CreateError, RuntimeError};
#[cfg(target_os = "linux")]
use crate::host;
use crate::mapping::{Mapping, why_none};
use crate::memory::try_box;
use crate::primitive::lock;
use crate::stack::{in_pages, page};

/// Starts threads on stacks of one kind.
pub(crate) struct Pthread {
    stack: usize,
    guard: usize,
    stacks: Stacks,
    pool: Arc<Pool>,
}

/// The free stacks that this library has allocated, and the threads that were released without a
/// join and can still be running.
#[derive(Default)]
struct Pool {
    free: Mutex<Vec<Mapping>>,
    let_go: Mutex<Vec<Kept>>,
}

/// A thread that runs on one of our stacks. One owner joins the thread, and the stack is in use
/// until then.
pub(crate) struct Kept {
    thread: libc::pthread_t,
    mapping: Mapping,
}

/// Threads that outlive their pool, for example the thread that drops it. The next pool frees their
/// stacks. A forked child discards this list, because the threads belong to the parent.
static LEFT: OnceBox<ForkLock<Vec<Kept>>> = OnceBox::new();

fn left() -> impl DerefMut<Target = Vec<Kept>> {
    let forget = |left: &mut Vec<Kept>| core::mem::forget(core::mem::take(left));
    LEFT.get_or_init(|| Box::new(ForkLock::new(Order::Leaf, Vec::new(), forget))).lock()
}

// SAFETY: 1. A `pthread_t` is a number or an opaque address that every thread may use. 2. A mapping
// is plain memory.
unsafe impl Send for Kept {}

/// A started thread, to be joined once. If the value is dropped instead, the thread is released
/// without a join.
pub(crate) struct Joinable {
    thread: libc::pthread_t,
    /// If this library has allocated the thread's stack, the stack, and the pool to which it
    /// returns.
    own: Option<(Mapping, Arc<Pool>)>,
    open: bool,
}

// SAFETY: 1. A `pthread_t` is a number or an opaque address that every thread may use. 2. A mapping
// is plain memory.
unsafe impl Send for Joinable {}

fn is_the_caller(thread: libc::pthread_t) -> bool {
    // SAFETY: 1. The call has no arguments and no preconditions.
    let me = unsafe { libc::pthread_self() };
    // SAFETY: 1. Both threads run, or are neither joined nor detached.
    unsafe { libc::pthread_equal(thread, me) != 0 }
}

/// Joins the thread. On platforms that can tell whether a thread has exited, an M:N thread that
/// calls this does not block its worker.
fn wait_for(thread: libc::pthread_t) {
    #[cfg(target_os = "linux")]
    if host::is_shared() {
        return host::look_until(|| is_gone(thread));
    }
    // SAFETY: 1. The thread was created joinable and is neither joined nor detached yet. It is not
    // the caller, as the callers of this function have checked.
    unsafe {
        libc::pthread_join(thread, core::ptr::null_mut());
    }
}

/// Returns whether the thread has exited. If it has exited, this call has joined it.
#[cfg(target_os = "linux")]
fn is_gone(thread: libc::pthread_t) -> bool {
    // SAFETY: 1. The thread was created joinable, and is neither joined nor detached yet. A thread
    // that asks about itself still runs, so the call fails.
    unsafe { libc::pthread_tryjoin_np(thread, core::ptr::null_mut()) == 0 }
}

/// Waits until the thread has exited, and returns true. If the thread is the caller, returns false
/// at once.
#[cfg(not(target_os = "linux"))]
fn is_gone(thread: libc::pthread_t) -> bool {
    !is_the_caller(thread) && {
        wait_for(thread);
        true
    }
}

/// Removes the threads that have exited from the list, and returns their stacks.
fn stacks_of_gone(let_go: &mut Vec<Kept>) -> impl Iterator<Item = Mapping> {
    let_go.extract_if(.., |each| is_gone(each.thread)).map(|each| each.mapping)
}

/// Adds an item to a list, and returns `None`. If there is no memory for a longer list, returns the
/// item.
fn keep<T>(list: &mut Vec<T>, one: T) -> Option<T> {
    if list.try_reserve(1).is_err() {
        return Some(one);
    }
    list.push(one);
    None
}

/// Frees the stacks of those threads in `LEFT` that have exited.
///
/// The list is not locked while this is done. On platforms that cannot tell whether a thread has
/// exited, this function waits for each thread, and a fork would also wait if the lock were held.
fn free_left() {
    let mut threads = core::mem::take(&mut *left());
    stacks_of_gone(&mut threads).for_each(drop);
    let mut list = left();
    if list.is_empty() {
        *list = threads;
    } else {
        threads.into_iter().for_each(|thread| leave(&mut list, thread));
    }
}

/// Adds a thread to a list, from which a later caller joins it. If there is no memory
/// for the entry, the thread is never joined, and its stack is never freed.
fn leave(list: &mut Vec<Kept>, thread: Kept) {
    core::mem::forget(keep(list, thread));
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The last thread of the pool can run this drop, on one of these stacks.
        for thread in lock(&self.let_go).drain(..) {
            leave(&mut left(), thread);
        }
        free_left();
    }
}

impl Joinable {
    /// Waits until the thread has exited, and frees its stack. A thread can call this for itself,
    /// from a destructor of its thread-local variables. In this case the thread is only released,
    /// without a wait.
    pub(crate) fn join(mut self) {
        if is_the_caller(self.thread) {
            return;
        }
        self.open = false;
        wait_for(self.thread);
        if let Some((mapping, pool)) = self.own.take() {
            let refused = keep(&mut lock(&pool.free), mapping);
            drop(refused);
        }
    }
}

impl Drop for Joinable {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        match self.own.take() {
            // SAFETY: 1. The thread was created joinable, and is neither joined nor detached yet.
            None => unsafe {
                libc::pthread_detach(self.thread);
            },
            // The thread still runs on its stack, and can be the thread that runs this drop, so
            // another thread joins it later.
            Some((mapping, pool)) => leave(&mut lock(&pool.let_go), Kept { thread: self.thread, mapping }),
        }
    }
}

extern "C" fn begin(run: *mut c_void) -> *mut c_void {
    // SAFETY: 1. `start` made the pointer from a box of this type, and gave it to this thread
    // alone.
    let run = unsafe { Box::from_raw(run.cast::<Run>()) };
    run();
    core::ptr::null_mut()
}

/// Returns the smallest size that the platform accepts for a stack of at least `bytes`. For
/// example, 64-bit Arm needs at least 128 KiB.
fn accepted(bytes: usize) -> usize {
    in_pages(bytes.max(libc::PTHREAD_STACK_MIN))
}

impl Pthread {
    pub(crate) fn new(stack: usize, guard: usize, stacks: Stacks) -> Self {
        free_left();
        Self { stack: accepted(stack), guard: in_pages(guard), stacks, pool: Arc::default() }
    }

    /// Returns the sizes of a stack and its guard, in bytes, rounded up to whole pages.
    pub(crate) fn sizes(&self, attributes: &Attributes) -> (usize, usize) {
        let stack = attributes.stack.map_or(self.stack, accepted);
        let guard = attributes.guard.map_or(self.guard, in_pages);
        (stack, guard)
    }

    pub(crate) fn start(&self, attributes: &Attributes, run: Run) -> Result<Option<Joinable>, Refused> {
        let (stack, guard) = self.sizes(attributes);
        let mapping = match self.stacks {
            Stacks::Platform => None,
            Stacks::Fresh | Stacks::Recycled => match self.mapping(stack, guard) {
                Ok(mapping) => Some(mapping),
                Err(error) => return Err((error, run)),
            },
        };
        // A thread on a stack of this library is not detached, because only a join shows when its
        // stack is free.
        let detached = attributes.detached && mapping.is_none();
        let thread = spawn(stack, guard, mapping.as_ref(), detached, run)?;
        if detached {
            return Ok(None);
        }
        let own = mapping.map(|mapping| (mapping, Arc::clone(&self.pool)));
        Ok(Some(Joinable { thread, own, open: true }))
    }

    fn mapping(&self, stack: usize, guard: usize) -> Result<Mapping, CreateError> {
        let mut let_go = lock(&self.pool.let_go);
        let mut free = lock(&self.pool.free);
        for mapping in stacks_of_gone(&mut let_go) {
            drop(keep(&mut free, mapping));
        }
        drop(let_go);
        if self.stacks == Stacks::Fresh {
            free.clear();
        }
        while let Some(mapping) = free.pop() {
            if mapping.stack().len() == stack && mapping.guard().len() == guard {
                return Ok(mapping);
            }
        }
        drop(free);
        map(stack, guard)
    }

    /// Waits for the released threads, and unmaps all stacks. Called when no other threads are
    /// left.
    pub(crate) fn clear(&self) {
        let let_go = core::mem::take(&mut *lock(&self.pool.let_go));
        for each in let_go {
            if is_the_caller(each.thread) {
                leave(&mut lock(&self.pool.let_go), each);
                continue;
            }
            wait_for(each.thread);
            drop(each.mapping);
        }
        lock(&self.pool.free).clear();
    }
}

fn map(stack: usize, guard: usize) -> Result<Mapping, CreateError> {
    Mapping::new(stack, guard).map_err(|error| why_none(error, |error| CreateError::NoStack { error }))
}

/// Starts a worker. The name has at most 15 bytes. The standard library is not used, because it
/// allocates a handle for the thread and ends the process if there is no memory.
pub(crate) fn start_worker(name: &str, run: Run) -> Result<Joinable, RuntimeError> {
    let name = shown_name(name);
    let named = try_box(move || {
        show_name(name);
        run();
    });
    let started = match named {
        Ok(named) => spawn(2 << 20, page(), None, false, named),
        Err(_) => Err((CreateError::OutOfMemory, Box::new(|| ()) as Run)),
    };
    match started {
        Ok(thread) => Ok(Joinable { thread, own: None, open: true }),
        Err((error, _)) => Err(RuntimeError::of_worker(error)),
    }
}

// Every Unix has these functions, but the crate `libc` does not declare all of them on each
// platform.
unsafe extern "C" {
    fn pthread_attr_setguardsize(attr: *mut libc::pthread_attr_t, bytes: usize) -> i32;
    fn pthread_attr_setstack(attr: *mut libc::pthread_attr_t, at: *mut c_void, bytes: usize) -> i32;
}

fn spawn(
    stack: usize,
    guard: usize,
    mapping: Option<&Mapping>,
    detached: bool,
    run: Run,
) -> Result<libc::pthread_t, Refused> {
    let failed = |error: i32| {
        let said = io::Error::from_raw_os_error(error);
        if error == libc::EINVAL {
            return CreateError::StackRefused { stack, guard, error: said };
        }
        // The platform returns the same error if it has no more threads and if it has no memory for
        // a stack. To distinguish the two cases, we map a stack of the same size.
        match mapping.is_none().then(|| map(stack, guard)) {
            None | Some(Ok(_)) => CreateError::TooMany { error: Some(said) },
            Some(Err(error)) => error,
        }
    };
    let mut attr = match Attr::new() {
        Ok(attr) => attr,
        Err(error) => return Err((CreateError::TooMany { error: Some(error) }, run)),
    };
    let attr = attr.as_mut_ptr();
    let set = match mapping {
        Some(mapping) => {
            let at = core::ptr::with_exposed_provenance_mut(mapping.stack().start);
            // SAFETY: 1. Filled attributes. 2. The mapping is kept until a join of the thread has
            // returned.
            unsafe { pthread_attr_setstack(attr, at, mapping.stack().len()) }
        }
        // SAFETY: 1. Filled attributes. The platform's own guard comes out of the stack.
        None => match unsafe { pthread_attr_setguardsize(attr, guard) } {
            // SAFETY: as above.
            0 => unsafe { libc::pthread_attr_setstacksize(attr, stack + guard) },
            error => error,
        },
    };
    if set != 0 {
        return Err((failed(set), run));
    }
    if detached {
        // SAFETY: 1. The attributes are filled, and the state is a valid one.
        unsafe {
            libc::pthread_attr_setdetachstate(attr, libc::PTHREAD_CREATE_DETACHED);
        }
    }
    let run = match try_box(run) {
        Ok(run) => Box::into_raw(run),
        Err(run) => return Err((CreateError::OutOfMemory, run)),
    };
    let mut thread = MaybeUninit::uninit();
    // SAFETY: 1. Filled attributes. 2. `run` has the type that `begin` expects. 3. The call fills
    // `thread` when it returns 0.
    match unsafe { libc::pthread_create(thread.as_mut_ptr(), attr, begin, run.cast()) } {
        // SAFETY: 1. Filled.
        0 => Ok(unsafe { thread.assume_init() }),
        error => {
            // SAFETY: 1. No thread has taken the box.
            let run = unsafe { Box::from_raw(run) };
            Err((failed(error), *run))
        }
    }
}

/// Returns the first 15 bytes of a name and a zero byte.
pub(super) fn shown_name(name: &str) -> [u8; 16] {
    let mut text = [0; 16];
    for (to, from) in text.iter_mut().zip(name.bytes().take(15)) {
        *to = from;
    }
    text
}

/// Sets the calling thread's name for debuggers and tools.
#[cfg(target_os = "linux")]
pub(super) fn show_name(text: [u8; 16]) {
    // SAFETY: 1. The call has no arguments and no preconditions.
    let me = unsafe { libc::pthread_self() };
    // SAFETY: 1. `me` is the calling thread. 2. The text has at most 15 bytes and a zero after
    // them.
    unsafe {
        libc::pthread_setname_np(me, text.as_ptr().cast());
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn show_name(_: [u8; 16]) {}
