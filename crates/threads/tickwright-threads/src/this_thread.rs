//! Functions about the calling thread. On threads that belong to no runtime, they act like the
//! functions of the standard library.
//!
//! All these functions also work in destructors of `thread_local!` variables, in destructors of the
//! platform's keys, and in handlers of `exit`. At that point the kernel thread no longer belongs to
//! a runtime. A thread that has forked does not belong to a runtime in the child either.

use core::cell::Cell;
use core::ops::Range;
use core::time::Duration;
use std::panic::catch_unwind;

use tickwright::time::Instant;

use crate::host;
pub use crate::host::{current, now};
use crate::kernel_thread::{self, KernelThread};
use crate::many;
use crate::runtime::RuntimeHandle;

/// Returns the runtime of the calling thread.
#[must_use]
pub fn handle() -> Option<RuntimeHandle> {
    host::with(|host| RuntimeHandle::new(host.threads()))
}

/// Returns the addresses of the calling thread's stack without its guard, if a runtime created the
/// thread and knows the addresses.
#[must_use]
pub fn stack() -> Option<Range<usize>> {
    host::with(|host| host.stack())?
}

/// Lets other threads run. The caller continues after all threads that are ready now.
#[inline]
pub fn yield_now() {
    if !many::yield_now() {
        std::thread::yield_now();
    }
}

/// Waits until the calling thread is [unparked](RuntimeHandle::unpark). Returns at once if the
/// thread was unparked since its last park. It can return spuriously, so call it in a loop.
#[inline]
pub fn park() {
    if !many::park() {
        park_by_host(None);
    }
}

/// Like [`park`], but waits at most until the runtime's clock shows `at`.
pub fn park_until(at: Instant) {
    park_by_host(Some(at));
}

/// Like [`park`], but waits for at most `timeout`.
pub fn park_timeout(timeout: Duration) {
    park_until(host::after(timeout));
}

/// Waits until the runtime's clock shows `at`, and never returns earlier. If the clock already
/// shows `at`, the call lets the other threads of the caller's worker run.
pub fn sleep_until(at: Instant) {
    if !host::wait_until(at) {
        return host::make_way();
    }
    while host::wait_until(at) {}
}

/// Waits for at least `duration`.
pub fn sleep(duration: Duration) {
    sleep_until(host::after(duration));
}

/// Calls `use_it` in a section without yields, where a counted call yields only if it has to wait.
/// `use_it` can therefore hold a lock of the standard library or of the platform across counted
/// calls that need not wait.
///
/// This matters only in the M:N model, where one of 64 to 128 counted calls
/// [yields](crate#threads-that-never-wait). Example: a thread holds a lock of the standard library,
/// and creates a thread, which yields. If another thread of the worker then takes this lock, both
/// threads wait forever. Take and release the lock inside of the section, because a postponed yield
/// happens at the end of the section:
///
/// ```
/// # use std::sync::{Mutex, PoisonError};
/// # use tickwright_threads::{Attributes, ManyToMany, Model, Runtime, this_thread};
/// # let runtime = Runtime::new(Model::ManyToMany(ManyToMany::new()))?;
/// let all = Mutex::new(Vec::new());
/// let spawned = this_thread::without_yields(|| {
///     let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
///     runtime.spawn(&Attributes::new(), || 42).map(|thread| all.push(thread))
/// });
/// # spawned?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// Sections can be nested. The end of the outermost section yields if a call inside of it would
/// have yielded, so a loop of sections does not occupy its worker forever. A section has these
/// limits:
///
/// - A call that has to wait lets other threads run even in a section, and so does [`yield_now`].
///   These calls never have to wait: creations of threads of an M:N runtime,
///   [`unpark`](RuntimeHandle::unpark), notifications of a [`Condvar`](crate::sync::Condvar),
///   `try_send`, `try_recv`, and a `send` to an unbounded mailbox. All other counted calls can have
///   to wait.
/// - Until the end of the section no other thread of the worker runs, and no sleeper wakes.
///   Therefore keep the section short.
/// - If `use_it` holds a lock, a thread of another worker that waits for this lock blocks its
///   worker until the lock is free.
///
/// A section costs less than 200 instructions, plus a yield if one was postponed. In the one-to-one
/// model this function only calls `use_it`.
pub fn without_yields<R>(use_it: impl FnOnce() -> R) -> R {
    struct Section;
    impl Drop for Section {
        fn drop(&mut self) {
            allow_yields();
        }
    }

    forbid_yields();
    let _section = Section;
    use_it()
}

/// Begins a section as [`without_yields`] does, for code that cannot pass a closure. End the
/// section with [`allow_yields`] on the same thread. If the section is never ended, no later
/// counted call of the thread yields. Sections can be nested.
pub fn forbid_yields() {
    host::with(|host| host.forbid_yields());
}

/// Ends the section that the last [`forbid_yields`] began. At the end of the outermost section, it
/// yields if a yield was postponed, unless the thread is unwinding. Outside of a section it does
/// nothing.
pub fn allow_yields() {
    host::with(|host| host.allow_yields());
}

fn park_by_host(until: Option<Instant>) {
    if host::with(|host| host.park(until)).is_none() {
        park_unknown(until);
    }
}

/// Parks a thread that belongs to no runtime. Only the standard library's `unpark` can wake it.
fn park_unknown(until: Option<Instant>) {
    let most = until.map(|at| at.duration_since(host::machine_now()));
    match most {
        Some(Duration::ZERO) => {}
        _ if !can_park() => KernelThread::park_timeout(most.unwrap_or(BLIND).min(BLIND)),
        Some(most) => std::thread::park_timeout(most),
        None => std::thread::park(),
    }
}

/// How long a park lasts if no other thread can end it anymore.
const BLIND: Duration = Duration::from_millis(1);

/// Returns whether the standard library still has a handle for the calling thread. After a thread's
/// last destructors, the standard library destroys the handle. If the thread parks after that, the
/// standard library ends the process.
fn can_park() -> bool {
    thread_local! {
        static FORGOTTEN: Cell<bool> = const { Cell::new(false) };
    }
    if kernel_thread::is_ending() {
        return false;
    }
    // This call panics if the thread uses the standard library's handle for the first time in its
    // last destructors.
    let known = !FORGOTTEN.get() && catch_unwind(|| drop(std::thread::current())).is_ok();
    FORGOTTEN.set(!known);
    known
}
