//! The address range of a loaded library.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::next;

/// The addresses of a library; empty until the library is found.
#[derive(Debug)]
pub(crate) struct Range {
    begin: AtomicUsize,
    end: AtomicUsize,
}

/// Offsets of the words that are read from an ELF header and a program header, in 64-bit words.
const PROGRAM_HEADERS: usize = 32;
const COUNT: usize = 56;
const BYTES_OF_ONE: usize = 56;
const ADDRESS: usize = 16;
const BYTES_IN_MEMORY: usize = 40;
const LOAD: u32 = 1;

impl Range {
    pub(crate) const fn new() -> Self {
        Self { begin: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    /// Stores the range of the library that holds a function; does nothing if `function` is null.
    pub(crate) fn set(&self, function: usize) {
        let Some(info) = (function != 0).then(|| next::whereabouts(function)).flatten() else { return };
        let base = info.base.cast_const().cast::<u8>();
        self.begin.store(base as usize, Relaxed);
        self.end.store(base as usize + length(base), Relaxed);
    }

    /// Returns whether the library holds an address.
    pub(crate) fn holds(&self, address: usize) -> bool {
        (self.begin.load(Relaxed)..self.end.load(Relaxed)).contains(&address)
    }
}

/// Returns how many bytes a loaded library occupies, from its ELF header on.
fn length(base: *const u8) -> usize {
    let word = |at: usize| {
        let at = base.wrapping_add(at).cast::<u64>();
        // SAFETY: 1. The headers of a library are in its first page, which stays mapped.
        unsafe { at.read_unaligned() }
    };
    let (first, count) = (word(PROGRAM_HEADERS) as usize, word(COUNT) as u16 as usize);
    let mut end = 0;
    for at in (0..count).map(|number| first + number * BYTES_OF_ONE) {
        if word(at) as u32 == LOAD {
            end = end.max((word(at + ADDRESS) + word(at + BYTES_IN_MEMORY)) as usize);
        }
    }
    end
}
