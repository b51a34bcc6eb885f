//! Begins to record: when a process starts, and in a child after a fork.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};

use super::emit::{self, KEY, RING};
use super::slots::populate;
use super::{libev, libuv, next, sys};
use crate::ring::{self, BYTES, CAPACITY, FOLDER, FRONT, Header, MAGIC, MAPS, Record, Ring, Slot};

/// The longest path of a ring.
const LONGEST: usize = 512;

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

unsafe extern "C" {
    static __dso_handle: *const c_void;
    fn __register_atfork(
        before: *const c_void,
        parent: *const c_void,
        child: *const c_void,
        library: *const c_void,
    ) -> c_int;
}

/// The loader calls this function before `main`.
extern "C" fn begin() {
    let errno = sys::errno();
    next::resolve();
    libuv::find();
    libev::find();
    let mut key = u32::MAX;
    // SAFETY: 1. `key` has room for a key. 2. There is no destructor.
    let is_refused = unsafe { sys::pthread_key_create(&raw mut key, ptr::null()) } != 0;
    // Storing a value for key 32 or later would allocate.
    if !is_refused && key < 32 {
        KEY.store(key, Relaxed);
    }
    open();
    let library = &raw const __dso_handle;
    let child = in_child as extern "C" fn() as *const c_void;
    // SAFETY: 1. The function stays: a preloaded library is never unloaded.
    unsafe { __register_atfork(ptr::null(), ptr::null(), child, library.cast()) };
    sys::set_errno(errno);
}

/// The C library calls this function in a child, on its only thread. This function calls only
/// functions that are allowed in a signal handler.
extern "C" fn in_child() {
    let errno = sys::errno();
    emit::forget_thread();
    // The mapping stays, because the child shares its pages with the parent.
    RING.store(ptr::null_mut(), Release);
    open();
    sys::set_errno(errno);
}

/// Creates the ring of this process. Nothing is recorded if no folder is named, or if the ring
/// cannot be made.
fn open() {
    // SAFETY: 1. A string.
    let folder = unsafe { sys::getenv(FOLDER.as_ptr()) };
    let mut path = [0u8; LONGEST];
    if folder.is_null() || !name(&mut path, folder) {
        return;
    }
    let flags = sys::O_RDWR | sys::O_CREAT | sys::O_EXCL | sys::O_CLOEXEC;
    // SAFETY: 1. `path` is a string that ends with 0.
    let file = unsafe { sys::open(path.as_ptr().cast(), flags, 0o600) };
    if file < 0 {
        return;
    }
    let ring = map(file);
    if !ring.is_null() {
        // SAFETY: 1. The ring was just mapped with this size, and its file has room for the front.
        let header = unsafe { &(*ring).header };
        // SAFETY: 1. As above. 2. No other process uses the ring: the magic is missing.
        let maps = unsafe { (&raw mut (*ring).maps).cast::<u8>() };
        header.maps_bytes.store(copy_maps(maps), Relaxed);
        // SAFETY: 1. The function has no arguments.
        let pid = unsafe { sys::getpid() };
        header.pid.store(pid as u64, Relaxed);
        header.cost_ps.store(cost(), Relaxed);
        header.started_ns.store(sys::now(), Relaxed);
        // Kernels before 5.14 cannot populate pages later, so the whole file gets its memory now.
        let is_whole = !populate(ring.cast(), FRONT) && {
            // SAFETY: 1. The descriptor is open.
            unsafe { sys::posix_fallocate(file, 0, BYTES as i64) == 0 }
        };
        header.populated.store(if is_whole { CAPACITY as u64 } else { 0 }, Relaxed);
        header.magic.store(MAGIC, Release);
        RING.store(ring, Release);
    }
    // The mapping needs no descriptor, and the program could count its descriptors.
    sys::shut(file);
}

/// Writes `FOLDER/PID-TIME.ring` and a 0. Returns whether the text fits.
fn name(path: &mut [u8; LONGEST], folder: *const c_char) -> bool {
    // SAFETY: 1. `folder` is a string of the environment.
    let folder = unsafe { core::ffi::CStr::from_ptr(folder) }.to_bytes();
    if folder.len() > LONGEST - 64 {
        return false;
    }
    path[..folder.len()].copy_from_slice(folder);
    let mut at = folder.len();
    let mut put = |byte| {
        path[at] = byte;
        at += 1;
    };
    // SAFETY: 1. The function has no arguments.
    let pid = unsafe { sys::getpid() } as u64;
    for (before, number) in [(b'/', pid), (b'-', sys::now())] {
        put(before);
        let digits = number.checked_ilog10().unwrap_or(0);
        for digit in (0..=digits).rev() {
            put(b'0' + (number / 10u64.pow(digit) % 10) as u8);
        }
    }
    b".ring\0".iter().for_each(|byte| put(*byte));
    true
}

/// Maps a ring whose file has room for the front. Returns null if the system refuses.
fn map(file: c_int) -> *mut Ring {
    // SAFETY: 1. The descriptor comes from the caller and is open.
    let is_long = unsafe { sys::ftruncate(file, BYTES as i64) } == 0;
    // A write to a page that the file lacks would end the program, so the file gets its pages
    // first. SAFETY: 1. As above.
    let has_front = is_long && unsafe { sys::posix_fallocate(file, 0, FRONT as i64) } == 0;
    if !has_front {
        return ptr::null_mut();
    }
    const READ_AND_WRITE: c_int = 3;
    const SHARED: c_int = 1;
    // SAFETY: 1. The kernel chooses the place. 2. The descriptor is open.
    let at = unsafe { sys::mmap(ptr::null_mut(), BYTES, READ_AND_WRITE, SHARED, file, 0) };
    if at as usize == usize::MAX { ptr::null_mut() } else { at.cast() }
}

/// Copies as much of `/proc/self/maps` as fits. Returns the number of bytes.
fn copy_maps(to: *mut u8) -> u64 {
    let flags = sys::O_CLOEXEC;
    // SAFETY: 1. A string.
    let file = unsafe { sys::open(c"/proc/self/maps".as_ptr(), flags) };
    if file < 0 {
        return 0;
    }
    let mut bytes = 0;
    while bytes < MAPS {
        // SAFETY: 1. `bytes` is within the copy.
        let to = unsafe { to.add(bytes) };
        // SAFETY: 1. The copy has room for these bytes.
        let read = unsafe { sys::read(file, to.cast(), MAPS - bytes) };
        if read <= 0 {
            break;
        }
        bytes += read as usize;
    }
    sys::shut(file);
    bytes as u64
}

/// Measures the cost of one record in ps, in a small ring on the stack and with warm caches.
fn cost() -> u64 {
    const COUNT: u64 = 64;
    let header = Header::default();
    let slots: [Slot; 64] = core::array::from_fn(|_| Slot::default());
    let one = || {
        let record = emit::fill(0, 0, 0, sys::now(), Record::default());
        ring::push(&header, &slots, &record);
    };
    one();
    header.tail.0.store(1, Relaxed);
    let before = sys::now();
    (1..COUNT).for_each(|_| one());
    sys::now().saturating_sub(before) * 1000 / (COUNT - 1)
}
