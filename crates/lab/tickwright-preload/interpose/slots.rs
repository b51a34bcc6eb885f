//! Gives the slots their memory chunk by chunk, because most processes of a shell script have no
//! timer and need no memory for slots.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::sys;
use crate::ring::{CAPACITY, FRONT, Header, Ring, Slot};

/// How many slots get memory at once: 256 KiB of slots.
const CHUNK: u64 = 4096;
/// How many other threads can reserve a slot between a thread's check and its own reservation. If
/// more threads reserve a slot meanwhile, a slot gets its memory when it is written, provided that
/// the system has memory.
const AHEAD: u64 = 64;

const _: () = assert!(CAPACITY.is_power_of_two() && (CAPACITY as u64).is_multiple_of(CHUNK));

/// Tries to give memory to the next slot. Returns whether the slot has memory.
#[inline]
pub(crate) fn has_slot(ring: *const Ring, header: &Header) -> bool {
    let populated = header.populated.load(Acquire);
    populated == CAPACITY as u64
        || header.head.0.load(Relaxed) + AHEAD <= populated
        || more_slots(ring, header, populated)
}

/// Gives memory to more slots. Several threads can do so at the same time, because a page that
/// already has memory keeps its memory and its contents.
#[cold]
fn more_slots(ring: *const Ring, header: &Header, populated: u64) -> bool {
    let errno = sys::errno();
    let bytes = (CHUNK * size_of::<Slot>() as u64) as usize;
    let at = FRONT + populated as usize * size_of::<Slot>();
    let is_made = populate(ring.cast_mut().cast::<u8>().wrapping_add(at), bytes);
    if is_made {
        header.populated.fetch_max(populated + CHUNK, AcqRel);
    }
    sys::set_errno(errno);
    is_made
}

/// Gives pages of a mapping their memory. A write to a page without memory could end the program.
pub(crate) fn populate(at: *mut u8, bytes: usize) -> bool {
    const POPULATE_WRITE: c_int = 23;
    // SAFETY: 1. The pages belong to a mapping of this library. 2. Their contents stay.
    unsafe { sys::madvise(at.cast(), bytes, POPULATE_WRITE) == 0 }
}
