//! A thread of the platform, without a handle of the standard library. Allocating such a handle
//! ends the process if there is no memory, and the C interface does not need the handle.

use core::ffi::{CStr, c_void};
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::null_mut;
use std::io;

use super::Join;

/// The function that a thread runs.
type Work = Box<dyn FnOnce() + Send>;

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `work` is from `Box::into_raw` in `start_thread`, which gave it to this thread alone.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    null_mut()
}

/// The attributes of a thread, destroyed on drop.
struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn new(stack: Option<usize>) -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: `attributes` may be written.
        refused(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: `pthread_attr_init` has written `attributes`.
        let mut attributes = Self(unsafe { attributes.assume_init() });
        if let Some(bytes) = stack {
            // SAFETY: initialized.
            refused(unsafe { libc::pthread_attr_setstacksize(&raw mut attributes.0, bytes) })?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the attributes are initialized, and no longer used.
        unsafe { libc::pthread_attr_destroy(&raw mut self.0) };
    }
}

fn refused(number: i32) -> io::Result<()> {
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(number)) }
}

/// Starts a thread of the platform, and returns the function that waits for its end. If that
/// function is dropped without a call, the thread is detached. The platform can truncate the name.
/// `stack` is the stack size in bytes, or `None` for the platform's default. For the standard
/// library the thread has no name. The work must not panic.
///
/// # Errors
/// The error of the operating system if it cannot start a thread, or if it does not accept the
/// stack size.
pub fn start_thread(name: Option<&CStr>, stack: Option<usize>, work: Work) -> io::Result<Join> {
    let attributes = Attributes::new(stack)?;
    let work = Box::into_raw(Box::new(work));
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let about = &raw const attributes.0;
    // SAFETY: 1. `thread` may be written; 2. the attributes are initialized; 3. `run` accepts
    // `work`, and does not unwind.
    let started = refused(unsafe { libc::pthread_create(thread.as_mut_ptr(), about, run, work.cast()) });
    if let Err(error) = started {
        // SAFETY: no thread has `work`.
        drop(unsafe { Box::from_raw(work) });
        return Err(error);
    }
    // SAFETY: `pthread_create` has written `thread`.
    let thread = unsafe { thread.assume_init() };
    if let Some(name) = name {
        named(thread, name);
    }
    let thread = Thread(thread);
    Ok(Box::new(move || {
        thread.join();
        Ok(())
    }))
}

/// A started thread. If it was not joined, dropping this value detaches it.
struct Thread(libc::pthread_t);

impl Thread {
    fn join(self) {
        let thread = ManuallyDrop::new(self).0;
        // SAFETY: neither joined nor detached: only `join` and the drop do either, and `join`
        // prevents the drop.
        unsafe { libc::pthread_join(thread, null_mut()) };
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: neither joined nor detached: after `join` there is no drop.
        unsafe { libc::pthread_detach(self.0) };
    }
}

/// Sets a thread's name to the first 15 bytes of `name`.
#[cfg(target_os = "linux")]
fn named(thread: libc::pthread_t, name: &CStr) {
    let mut first: [core::ffi::c_char; 16] = [0; 16];
    for (to, from) in first.iter_mut().take(15).zip(name.to_bytes()) {
        *to = *from as core::ffi::c_char;
    }
    // SAFETY: 1. the thread is not joined yet; 2. the text has a zero at its end.
    unsafe { libc::pthread_setname_np(thread, first.as_ptr()) };
}

#[cfg(not(target_os = "linux"))]
fn named(_: libc::pthread_t, _: &CStr) {}

#[cfg(all(test, not(loom)))]
mod tests;
