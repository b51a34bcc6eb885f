//! The timers of a queue as bytes, for memory that survives a reset.
//!
//! ```text
//!   "TWSN" | version 2 | payload bytes 2 | timers 4 | { ticks left 8 | payload } .. | CRC-32 4
//! ```
//! Numbers are little-endian. A timer is saved with the number of ticks that it had left, counted
//! from the queue's `now` (call `update_now` before the snapshot), so a snapshot contains no
//! absolute times. Idle timers are not saved. The caller that restores the snapshot computes each
//! deadline from its own current time. The entries are in the order of delivery, so timers of equal
//! deadline stay in the order of their arrival. A snapshot of n timers takes at most O(n log n) in
//! every structure, and does not change the queue.
//! [`drain_snapshot`](crate::HookQueue::drain_snapshot) instead empties the queue, and allocates
//! nothing.
//!
//! If a snapshot was cut off, or if a bit has changed, `restore` refuses the whole snapshot and
//! does not change the queue. Bytes after the snapshot are ignored, so a snapshot can be stored at
//! the start of a flash page.
//!
//! ```
//! use tickwright_core::{SlabQueue, SortedList, snapshot};
//!
//! let mut queue: SlabQueue<SortedList, u32> = SlabQueue::new();
//! queue.insert(100, 7)?;
//! queue.insert(40, 8)?;
//! assert!(queue.pop_expired(10).is_none());
//! let mut page = [0; 64];
//! let length = queue.snapshot(&mut page)?;
//! assert_eq!(length, snapshot::bytes::<u32>(2).unwrap());
//!
//! // After a reset the clock is at 5; 20 ticks passed without power.
//! let mut restored: SlabQueue<SortedList, u32> = SlabQueue::new();
//! assert_eq!(restored.restore(&page, 5, |left| 5 + left.saturating_sub(20), |_, _| ())?, 2);
//! assert_eq!(restored.pop_expired(15).map(|fired| (fired.value, fired.expiry)), Some((8, 15)));
//! assert_eq!(restored.next_expiry(), Some(75));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod queues;
#[cfg(all(test, feature = "alloc"))]
mod tests;

use core::marker::PhantomData;

use tickwright_nodes::error_texts;

use crate::contract::{Reject, Span};

/// A payload of a fixed number of bytes that can be copied freely, so it contains no pointer and no
/// handle.
pub trait PlainValue: Sized {
    /// The number of bytes.
    const BYTES: u16;

    /// Writes the value into [`BYTES`](Self::BYTES) bytes.
    fn write(&self, bytes: &mut [u8]);

    /// Reads a value from [`BYTES`](Self::BYTES) bytes. Returns `None` if the bytes do not
    /// represent a value.
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! plain_numbers {
    ($($number:ty),+) => {$(
        impl PlainValue for $number {
            const BYTES: u16 = size_of::<$number>() as u16;

            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )+};
}

plain_numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

impl PlainValue for () {
    const BYTES: u16 = 0;

    fn write(&self, _: &mut [u8]) {}

    fn read(_: &[u8]) -> Option<Self> {
        Some(())
    }
}

impl<const N: usize> PlainValue for [u8; N] {
    const BYTES: u16 = {
        assert!(N <= u16::MAX as usize, "a plain payload has at most 65,535 bytes");
        N as u16
    };

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(self);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

/// Why a snapshot was not written or not restored. When this error is returned, the queue has not
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The buffer is shorter than [`bytes`] requires.
    TooShort,
    /// There is no snapshot at the start of the bytes: the magic number is missing.
    NoSnapshot,
    /// This version of the library does not know the snapshot's version.
    Version(u16),
    /// The snapshot's payloads have this number of bytes, which differs from the size of this
    /// queue's payloads.
    Payload(u16),
    /// The snapshot was cut off, or a bit has changed.
    Damaged,
    /// The bytes of a payload do not represent a value, or the value does not name a timer of the
    /// caller.
    Unknown,
    /// The queue refused a timer.
    Rejected(Reject),
    /// There is no memory for sorting the timers.
    NoMemory,
}

error_texts! { SnapshotError:
    Self::TooShort => "the buffer is too short for the snapshot: see `snapshot::bytes`",
    Self::NoSnapshot => "there is no snapshot in these bytes",
    Self::Version(version) => "version {version} of snapshots is unknown: write it again",
    Self::Payload(bytes) => "the payloads have {bytes} bytes: restore the type that was saved",
    Self::Damaged => "the snapshot is cut off or damaged: start without it",
    Self::Unknown => "a payload of the snapshot stands for no timer",
    Self::Rejected(reason) => "a timer of the snapshot was refused: {reason}",
    Self::NoMemory => "there is no memory to sort the timers: see `drain_snapshot`",
}

impl From<Reject> for SnapshotError {
    fn from(reason: Reject) -> Self {
        Self::Rejected(reason)
    }
}

impl From<tickwright_nodes::arena::Full> for SnapshotError {
    fn from(_: tickwright_nodes::arena::Full) -> Self {
        Self::NoMemory
    }
}

const MARK: [u8; 4] = *b"TWSN";
const VERSION: u16 = 1;
const HEADER: usize = 12;
const CHECKSUM: usize = 4;

/// Returns the number of bytes of one timer in a snapshot.
const fn entry<T: PlainValue>() -> usize {
    size_of::<Span>() + T::BYTES as usize
}

/// Returns the number of bytes of a snapshot with `timers` timers, or `None` if the number does not
/// fit in a `usize`.
#[must_use]
pub const fn bytes<T: PlainValue>(timers: usize) -> Option<usize> {
    match timers.checked_mul(entry::<T>()) {
        Some(entries) => entries.checked_add(HEADER + CHECKSUM),
        None => None,
    }
}

/// Computes the CRC-32 of Ethernet. The function uses no table, because a snapshot is short and a
/// table would take flash.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ 0xedb8_8320 & (crc & 1).wrapping_neg();
        }
    }
    !crc
}

/// A snapshot that is being written. `body` and `check` together have exactly the snapshot's
/// length.
struct Writer<'b, T> {
    body: &'b mut [u8],
    check: &'b mut [u8],
    /// The index in `body` of the next timer's bytes.
    next: usize,
    _payloads: PhantomData<fn(T)>,
}

impl<'b, T: PlainValue> Writer<'b, T> {
    /// Begins a snapshot of exactly `timers` entries.
    fn begin(into: &'b mut [u8], timers: usize) -> Result<Self, SnapshotError> {
        let length = bytes::<T>(timers).ok_or(SnapshotError::TooShort)?;
        let count = u32::try_from(timers).map_err(|_| SnapshotError::TooShort)?;
        let whole = into.get_mut(..length).ok_or(SnapshotError::TooShort)?;
        let (body, check) = whole.split_at_mut(length - CHECKSUM);
        body[..4].copy_from_slice(&MARK);
        body[4..6].copy_from_slice(&VERSION.to_le_bytes());
        body[6..8].copy_from_slice(&T::BYTES.to_le_bytes());
        body[8..HEADER].copy_from_slice(&count.to_le_bytes());
        Ok(Self { body, check, next: HEADER, _payloads: PhantomData })
    }

    /// Writes the next timer. If all `timers` entries have been written, it writes nothing.
    fn push(&mut self, left: Span, payload: &T) {
        let end = self.next + entry::<T>();
        if let Some(place) = self.body.get_mut(self.next..end) {
            place[..8].copy_from_slice(&left.to_le_bytes());
            payload.write(&mut place[8..]);
        }
        self.next = end;
    }

    /// Writes the checksum. Returns the length of the snapshot.
    fn finish(self) -> Result<usize, SnapshotError> {
        // If the queue's `len` is not the number of its timers, the queue is broken, so the
        // snapshot fails.
        if self.next != self.body.len() {
            return Err(SnapshotError::Damaged);
        }
        self.check.copy_from_slice(&checksum(self.body).to_le_bytes());
        Ok(self.next + CHECKSUM)
    }
}

/// A snapshot with the right checksum, whose payloads all represent values.
struct Verified<'b, T> {
    entries: &'b [u8],
    _payloads: PhantomData<T>,
}

impl<'b, T: PlainValue> Verified<'b, T> {
    fn read(bytes: &'b [u8]) -> Result<Self, SnapshotError> {
        let number = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        if bytes.get(..4) != Some(&MARK) {
            return Err(SnapshotError::NoSnapshot);
        }
        let version = number(4).ok_or(SnapshotError::Damaged)?;
        if version != VERSION {
            return Err(SnapshotError::Version(version));
        }
        let payload = number(6).ok_or(SnapshotError::Damaged)?;
        let count = bytes.get(8..HEADER).and_then(|count| count.try_into().ok()).map(u32::from_le_bytes);
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or(SnapshotError::Damaged)?;
        // The length is computed with the snapshot's own payload size, so that damage can be
        // distinguished from another payload type.
        let length = count.checked_mul(size_of::<Span>() + usize::from(payload));
        let end = length.and_then(|length| length.checked_add(HEADER)).ok_or(SnapshotError::Damaged)?;
        let after = end.checked_add(CHECKSUM).ok_or(SnapshotError::Damaged)?;
        let check = bytes.get(end..after).ok_or(SnapshotError::Damaged)?;
        if check != checksum(&bytes[..end]).to_le_bytes() {
            return Err(SnapshotError::Damaged);
        }
        if payload != T::BYTES {
            return Err(SnapshotError::Payload(payload));
        }
        let verified = Self { entries: &bytes[HEADER..end], _payloads: PhantomData };
        if verified.iter().count() == count { Ok(verified) } else { Err(SnapshotError::Unknown) }
    }

    fn len(&self) -> usize {
        self.entries.len() / entry::<T>()
    }

    /// Iterates over the remaining ticks and the payload of each timer, in the order of delivery.
    /// The iteration ends at the first payload that does not represent a value.
    fn iter(&self) -> impl Iterator<Item = (Span, T)> + 'b {
        self.entries.chunks_exact(entry::<T>()).map_while(|place| {
            let (left, payload) = place.split_at(size_of::<Span>());
            Some((Span::from_le_bytes(left.try_into().ok()?), T::read(payload)?))
        })
    }
}
