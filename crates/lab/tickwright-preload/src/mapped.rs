//! A ring in a file, as the recorder sees it.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::ring::{self, BYTES, FRONT, Header, MAGIC, MAPS, MAPS_AT, Portion, Record, Ring};

/// A ring that is mapped. The recorded process can write to it at any time.
#[derive(Debug)]
pub struct Mapped {
    at: *const Ring,
    file: File,
}

impl Mapped {
    /// Maps a ring. Returns `None` if the process has not completed the header of the ring.
    ///
    /// # Errors
    /// If the file cannot be opened or mapped, or is not a ring.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < BYTES as u64 {
            return Ok(None);
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (shared, from) = (libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: 1. The kernel chooses the place. 2. The descriptor is open.
        #[allow(unsafe_code, reason = "a mapping")]
        let at = unsafe { libc::mmap(ptr::null_mut(), BYTES, protection, shared, from, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapped = Self { at: at.cast(), file };
        match mapped.header().magic.load(Acquire) {
            MAGIC => Ok(Some(mapped)),
            0 => Ok(None),
            _ => Err(io::Error::other("the file is no ring of this version")),
        }
    }

    fn ring(&self) -> &Ring {
        // SAFETY: 1. The mapping has the size of a ring, at a page. 2. It stays until the drop.
        // 3. Both sides write only to atomics. 4. Pages without memory are not read:
        // slots are read up to the head, and have memory before they are reserved.
        #[allow(unsafe_code, reason = "the mapped ring")]
        unsafe {
            &*self.at
        }
    }

    /// Returns the header that the process has written.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.ring().header
    }

    /// Reads the committed records in order, up to the first slot that is reserved but not
    /// committed.
    pub fn drain(&self, each: impl FnMut(Record)) -> Portion {
        ring::drain(self.header(), &self.ring().slots, each)
    }

    /// Reads the remaining records of a process that has ended. Returns how many records the
    /// process had begun but not committed.
    pub fn drain_dead(&self, mut each: impl FnMut(Record)) -> u64 {
        let mut torn = 0;
        // Each thread of a process has at most one reservation. The bound ends the loop if the head
        // is damaged.
        for _ in 0..ring::CAPACITY {
            self.drain(&mut each);
            if !ring::skip(self.header()) {
                break;
            }
            torn += 1;
        }
        torn
    }

    /// Returns the copy of `/proc/self/maps` that the process made at its start.
    #[must_use]
    pub fn maps(&self) -> String {
        let used = (self.header().maps_bytes.load(Relaxed) as usize).min(MAPS);
        let mut bytes = vec![0; used];
        let read = self.file.read_exact_at(&mut bytes, MAPS_AT as u64);
        if read.is_err() {
            return String::new();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

const _: () = assert!(FRONT > MAPS_AT);

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: 1. The mapping of `open`. 2. References to it end with the borrow of `self`.
        #[allow(unsafe_code, reason = "a mapping")]
        unsafe {
            libc::munmap(self.at.cast_mut().cast(), BYTES)
        };
    }
}
