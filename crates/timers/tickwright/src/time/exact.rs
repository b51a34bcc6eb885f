//! Windows: a wait with a time-out that a notification ends early. A condition variable rounds its
//! time-out up to the kernel's tick of 15.6 ms. A waitable timer of high resolution is exact to
//! half a millisecond.

use core::ptr::null;
use core::time::Duration;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};

use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateEventW, CreateWaitableTimerExW, INFINITE, SetEvent,
    SetWaitableTimer, TIMER_ALL_ACCESS, WaitForMultipleObjects,
};

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, wait_for};

/// The threads that wait for one event with a time-out. No notification is lost, because a thread
/// enters the list before it releases the lock of the event's data, and a thread that notifies
/// takes that lock first.
#[derive(Default)]
pub(super) struct Sleepers(Mutex<Vec<Arc<OwnedHandle>>>);

impl Sleepers {
    /// Releases the lock, waits until a notification comes or `most` has passed, and takes the lock
    /// again. It can return earlier. If the system cannot create the objects for the wait, the
    /// function waits for `event` instead.
    pub(super) fn wait_for<'a, T>(
        &self,
        event: &Condvar,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        most: Duration,
    ) -> MutexGuard<'a, T> {
        let Some(sleeper) = SLEEPER.try_with(Clone::clone).ok().flatten() else {
            return wait_for(event, guard, most);
        };
        lock(&self.0).push(Arc::clone(&sleeper.notice));
        drop(guard);
        sleeper.sleep(most);
        let guard = lock(mutex);
        lock(&self.0).retain(|notice| !Arc::ptr_eq(notice, &sleeper.notice));
        guard
    }

    /// Wakes all waiting threads.
    pub(super) fn notify_all(&self) {
        for notice in lock(&self.0).drain(..) {
            // SAFETY: the handle is open, and of an event.
            unsafe { SetEvent(notice.as_raw_handle()) };
        }
    }
}

/// The objects that a thread waits for. If a notification comes after the end of a wait, it ends
/// the next wait.
#[derive(Clone)]
struct Sleeper {
    notice: Arc<OwnedHandle>,
    /// `None` if the system refuses a timer.
    timer: Option<Arc<OwnedHandle>>,
}

thread_local! {
    static SLEEPER: Option<Sleeper> = Sleeper::new();
}

/// Creates a timer of high resolution. Windows 10 before version 1803 has none, and returns a timer
/// with the resolution of the kernel's tick.
fn timer() -> Option<OwnedHandle> {
    [CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, 0].into_iter().find_map(|resolution| {
        // SAFETY: both pointers may be null.
        owned(unsafe { CreateWaitableTimerExW(null(), null(), resolution, TIMER_ALL_ACCESS) })
    })
}

/// Takes ownership of a handle that a system call has created. Returns `None` if the call failed.
fn owned(handle: RawHandle) -> Option<OwnedHandle> {
    // SAFETY: the handle is open, and nothing else closes it.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })
}

impl Sleeper {
    fn new() -> Option<Self> {
        // SAFETY: both pointers may be null.
        let notice = owned(unsafe { CreateEventW(null(), 0, 0, null()) })?;
        Some(Self { notice: Arc::new(notice), timer: timer().map(Arc::new) })
    }

    /// Sleeps until a notification comes, and at most for `most`, which is rounded up.
    fn sleep(&self, most: Duration) {
        let timer = self.timer.as_ref().filter(|timer| set(timer, most).is_ok());
        let handles = [self.notice.as_raw_handle(), timer.unwrap_or(&self.notice).as_raw_handle()];
        let (count, ms) = match timer {
            Some(_) => (2, INFINITE),
            None => (1, most.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(INFINITE).min(INFINITE - 1)),
        };
        // SAFETY: 1. `handles` has that many open handles; 2. they differ if there are two.
        unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, ms) };
    }
}

/// Sets the timer to go off once after `span`. Windows expects a relative time as a negative number
/// of units of 100 ns.
fn set(timer: &OwnedHandle, span: Duration) -> io::Result<()> {
    let due = i64::try_from(span.as_nanos().div_ceil(100)).map_or(-i64::MAX, |units| -units);
    // SAFETY: 1. the handle is open, and of a timer; 2. `due` may be read; 3. no function is called
    // when the timer goes off.
    let done = unsafe { SetWaitableTimer(timer.as_raw_handle(), &raw const due, 0, None, null(), 0) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
