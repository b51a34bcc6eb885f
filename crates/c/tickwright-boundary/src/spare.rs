//! Memory that is allocated before a call whose own allocations must not fail.
//!
//! The standard library ends the process if there is no memory for a reference count, a thread's
//! name or a thread, but a C library must not end the process. Therefore [`covered`] allocates
//! spare blocks before it makes the call, and returns an error if there is no memory for them. If
//! an allocation of the thread fails during the call, it gets a spare block instead. Allocations
//! that could report their failure also get spare blocks, so there must be a spare block for each
//! allocation of the call.
//!
//! ```text
//!   covered(&[(4, 512)], ..)   4 blocks of 512 bytes from malloc, or -ENOMEM
//!     Arc::new                   malloc fails: a spare block, whose owner frees it as any other
//!   the end                    blocks that are left are freed
//! ```
//! The tests `ctest/no_memory*.c` check the number of blocks. They let each allocation of a call
//! fail, and if there is one block too few, their process ends.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ffi::c_int;
use core::ptr::{NonNull, null_mut};

use crate::code;

/// `malloc` aligns every block that has at least this number of bytes to this number of bytes.
const ALIGNED: usize = 2 * size_of::<usize>();

/// The header of a spare block. It is stored in the block until the block is used.
struct Spare {
    next: *mut Self,
    bytes: usize,
}

thread_local! {
    /// The spare blocks of the calling thread, smallest first. The cell has no destructor, so that
    /// a thread can allocate even in its last destructors.
    static SPARES: Cell<*mut Spare> = const { Cell::new(null_mut()) };
}

/// The allocator of both libraries: C's allocator, or a spare block if C's allocator has no memory.
#[derive(Clone, Copy, Debug)]
pub struct Malloc;

/// Allocates memory for a layout with C's allocator. Returns null if there is no memory.
#[cfg(unix)]
fn allocated(layout: Layout) -> *mut u8 {
    if layout.align() <= ALIGNED && layout.align() <= layout.size() {
        // SAFETY: any size may be asked for.
        return unsafe { libc::malloc(layout.size()) }.cast();
    }
    let mut block: *mut core::ffi::c_void = null_mut();
    let align = layout.align().max(size_of::<usize>());
    // SAFETY: 1. the alignment is a power of two, as in each layout, and a multiple of a pointer's
    // size; 2. `block` may be written.
    let refused = unsafe { libc::posix_memalign(&raw mut block, align, layout.size()) };
    if refused == 0 { block.cast() } else { null_mut() }
}

/// Frees a block that [`allocated`] has returned for a layout with the same alignment.
///
/// # Safety
/// The block is in use, and is not used afterwards.
#[cfg(unix)]
unsafe fn freed(block: *mut u8, _: Layout) {
    // SAFETY: from `malloc`, `calloc`, `realloc` or `posix_memalign`: the caller promises this.
    unsafe { libc::free(block.cast()) };
}

/// Allocates memory for a layout from the heap of the process. Returns null if there is no memory.
/// C's allocator is not used here, because on Windows `free` cannot free aligned blocks.
#[cfg(not(unix))]
fn allocated(layout: Layout) -> *mut u8 {
    // SAFETY: the size is not 0: the caller of each allocation promises this.
    unsafe { std::alloc::System.alloc(layout) }
}

/// Frees a block that [`allocated`] has returned for a layout with the same alignment.
///
/// # Safety
/// The block is in use, and is not used afterwards.
#[cfg(not(unix))]
unsafe fn freed(block: *mut u8, layout: Layout) {
    // SAFETY: 1. the caller promises this; 2. a spare block may have another alignment, but at most
    // `ALIGNED`, for which this heap keeps no header.
    unsafe { std::alloc::System.dealloc(block, layout) };
}

/// Takes the smallest spare block that is large enough for a layout. Returns null if there is none.
fn taken(layout: Layout) -> *mut u8 {
    if layout.align() > ALIGNED {
        return null_mut();
    }
    let (mut before, mut at): (*mut Spare, *mut Spare) = (null_mut(), SPARES.get());
    while let Some(spare) = NonNull::new(at) {
        // SAFETY: each block of the list begins with a `Spare` of this thread's.
        let Spare { next, bytes } = unsafe { spare.read() };
        if bytes >= layout.size() {
            match NonNull::new(before) {
                // SAFETY: 1. As above. 2. No other thread reads it.
                Some(mut before) => unsafe { before.as_mut() }.next = next,
                None => SPARES.set(next),
            }
            return at.cast();
        }
        (before, at) = (at, next);
    }
    null_mut()
}

// SAFETY: 1. Each block is from `allocated`, and has the requested size and alignment, since a
// spare block is compared with the layout. 2. A block is handed out once, since
// a spare block leaves the list. 3. Each block may be given to `free`, and to `realloc` if its
// alignment is that of `malloc`. 4. Nothing here unwinds or allocates by itself.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = allocated(layout);
        if block.is_null() { taken(layout) } else { block }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        #[cfg(unix)]
        if layout.align() <= ALIGNED && layout.align() <= layout.size() {
            // SAFETY: any size may be asked for.
            let block = unsafe { libc::calloc(layout.size(), 1) };
            if !block.is_null() {
                return block.cast();
            }
        }
        // SAFETY: the caller promises this.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: the block is as large as the layout.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller promises this.
        unsafe { freed(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        #[cfg(unix)]
        if layout.align() <= ALIGNED && layout.align() <= size {
            // SAFETY: from C's allocator: the caller promises this.
            let moved = unsafe { libc::realloc(block.cast(), size) };
            if !moved.is_null() {
                return moved.cast();
            }
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        // SAFETY: the size is not 0: the caller promises this.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: 1. both blocks have at least this size; 2. they are two allocations.
            unsafe { moved.copy_from_nonoverlapping(block, layout.size().min(size)) };
            // SAFETY: the caller promises this.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

/// The allocator of every program that links this crate: both libraries, and their tests.
#[cfg(all(any(unix, windows), not(miri)))]
#[global_allocator]
static MALLOC: Malloc = Malloc;

/// The layout of a spare block, if a block can have this size.
fn layout_of(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, ALIGNED).ok()
}

/// Frees the spare blocks that a call has not used, even if the call unwinds.
struct Cover {
    outer: *mut Spare,
}

impl Drop for Cover {
    fn drop(&mut self) {
        let mut at = SPARES.replace(self.outer);
        while let Some(spare) = NonNull::new(at) {
            // SAFETY: each block of the list begins with a `Spare`.
            let Spare { next, bytes } = unsafe { spare.read() };
            at = next;
            let layout = layout_of(bytes).unwrap_or(Layout::new::<Spare>());
            // SAFETY: `covered` has allocated the block with this layout, and nobody else has it.
            unsafe { freed(spare.as_ptr().cast(), layout) };
        }
    }
}

/// Calls `inside` with spare blocks for its allocations. `blocks` has pairs of a number of blocks
/// and their size in bytes, in descending order of the sizes.
///
/// # Errors
/// [`code::NO_MEMORY`] if the spare blocks cannot be allocated. In this case `inside` was not
/// called.
pub fn covered<R>(blocks: &[(usize, usize)], inside: impl FnOnce() -> R) -> Result<R, c_int> {
    let cover = Cover { outer: SPARES.replace(null_mut()) };
    for &(count, bytes) in blocks {
        for _ in 0..count {
            let bytes = bytes.max(size_of::<Spare>());
            let Some(layout) = layout_of(bytes) else { return Err(code::NO_MEMORY) };
            let block = allocated(layout).cast::<Spare>();
            let Some(spare) = NonNull::new(block) else { return Err(code::NO_MEMORY) };
            // SAFETY: the block is large enough, and is aligned.
            unsafe { spare.write(Spare { next: SPARES.get(), bytes }) };
            SPARES.set(block);
        }
    }
    let done = inside();
    drop(cover);
    Ok(done)
}

#[cfg(test)]
mod tests;
