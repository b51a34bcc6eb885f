//! The record of a thread, which contains the runtime's data about the thread. Records are not
//! freed while the runtime exists, so an old id still leads to a record, and the record's
//! generation shows that the id is stale.
#![expect(clippy::disallowed_types, reason = "no child makes records of its parent's runtime")]

use core::any::Any;
use std::sync::{Mutex, OnceLock};

use crate::clock::Timekeeper;
use crate::error::{CreateError, JoinError};
use crate::host;
use crate::id::{Series, ThreadId};
use crate::join_word::JoinWord;
use crate::join_word::wait_for_end;
use crate::kernel_thread::KernelThread;
use crate::local::drop_quietly;
use crate::park_word::ParkWord;
use crate::primitive::{AtomicU32, AtomicU64, Ordering, fence, lock};
use crate::section::Section;
use crate::threads::Wait;
use crate::wake::Waiter;
use crate::wake_flags::WakeFlags;

/// Stands for no record, which is the end of a list.
pub(crate) const NONE: u32 = u32::MAX;
/// The largest number of shards. The upper bits of a record's number are the shard's number, and
/// the lower `PLACE_BITS` bits are the place in the shard.
pub(crate) const MOST_SHARDS: usize = 256;
const PLACE_BITS: u32 = 24;
/// The number of records in a shard's first chunk. Each later chunk is twice as large as the
/// previous one.
const FIRST_CHUNK: u32 = if cfg!(loom) { 2 } else { 64 };
const CHUNKS: usize = (PLACE_BITS - FIRST_CHUNK.ilog2()) as usize;

/// The record of one thread, or a free record. A model stores a value of type `S` in the record,
/// with which it joins the platform's thread.
pub(crate) struct Record<S> {
    pub(crate) join: JoinWord,
    /// Whether the thread is parked, for a kernel thread.
    pub(crate) park: ParkWord,
    /// Whether the thread waits or was notified, for a thread of the M:N model.
    pub(crate) wake_flags: WakeFlags,
    /// Whether the thread is in a section without yields, for a thread of the M:N model.
    pub(crate) section: Section,
    /// The id, as bits, of the thread to wake when this thread ends. It is 0 if the waiter does not
    /// belong to this runtime and is stored in `slow`. Written before `expect`.
    pub(crate) joiner: AtomicU64,
    /// The thread for whose end this thread waits, or 0 if there is none.
    joining: AtomicU64,
    /// The value that the thread's body returned. Written before `finish`.
    pub(crate) value: AtomicU64,
    /// Whether a field of `slow` is set.
    pub(crate) has_slow: AtomicU32,
    /// The next record in a list: free records, a remote queue, or a run queue. A record is in one
    /// list at a time.
    pub(crate) next: AtomicU32,
    /// The worker of the thread from the thread's beginning to its end, and `NONE` otherwise. See
    /// `wake_flags`.
    pub(crate) owner: AtomicU32,
    /// The index under which the worker stores the thread's stack, or `NONE` after the thread has
    /// ended.
    pub(crate) place: AtomicU32,
    slow: Mutex<Slow<S>>,
}

/// Fields that only few threads use, or only threads whose creation is expensive anyway.
pub(crate) struct Slow<S> {
    pub(crate) name: Option<Box<str>>,
    pub(crate) panic: Option<Box<dyn Any + Send>>,
    /// The waiter to wake at the thread's end, if `joiner` is 0.
    pub(crate) joiner: Option<Waiter>,
    /// The handle that wakes the thread, if it is a kernel thread that has parked.
    pub(crate) thread: Option<KernelThread>,
    /// The value with which a joinable kernel thread is joined.
    pub(crate) started: Option<S>,
}

impl<S> Default for Slow<S> {
    fn default() -> Self {
        Self { name: None, panic: None, joiner: None, thread: None, started: None }
    }
}

impl<S> Record<S> {
    fn new(series: &Series) -> Self {
        Self {
            join: JoinWord::after(series.first()),
            park: ParkWord::new(),
            wake_flags: WakeFlags::new(),
            section: Section::new(),
            joiner: AtomicU64::new(0),
            joining: AtomicU64::new(0),
            value: AtomicU64::new(0),
            has_slow: AtomicU32::new(0),
            next: AtomicU32::new(NONE),
            owner: AtomicU32::new(NONE),
            place: AtomicU32::new(NONE),
            slow: Mutex::default(),
        }
    }

    /// Calls `use_it` with the rarely used fields.
    pub(crate) fn slow<R>(&self, use_it: impl FnOnce(&mut Slow<S>) -> R) -> R {
        self.has_slow.store(1, Ordering::Relaxed);
        use_it(&mut lock(&self.slow))
    }

    /// Stores the outcome of the thread. Called before `finish`.
    pub(crate) fn leave(&self, outcome: Result<usize, Box<dyn Any + Send>>) {
        match outcome {
            Ok(value) => self.value.store(value as u64, Ordering::Relaxed),
            Err(panic) => self.slow(|slow| slow.panic = Some(panic)),
        }
    }

    /// Calls `use_it` with the name, unless another thread holds the lock. Signal handlers can call
    /// this.
    pub(crate) fn try_name(&self, use_it: impl FnOnce(&str)) {
        if let Ok(slow) = self.slow.try_lock()
            && let Some(name) = &slow.name
        {
            use_it(name);
        }
    }

    /// Waits for the end of the thread, which the caller has claimed. This is for a caller that is
    /// not a thread of the same M:N runtime.
    pub(crate) fn wait_for_end(
        &self,
        id: ThreadId,
        wait: Wait,
        keeper: &Timekeeper,
    ) -> Result<(), JoinError> {
        self.slow(|slow| slow.joiner = Some(host::waiter()));
        // An earlier joiner that gave up can have left its id here.
        self.joiner.store(0, Ordering::Relaxed);
        wait_for_end(&self.join, id.generation(), wait, host::wait, |at| keeper.wait_until(at))
    }

    /// Takes the outcome. Only the claimant calls this, after the thread has finished.
    pub(crate) fn outcome(&self) -> Result<usize, JoinError> {
        if self.has_slow.load(Ordering::Relaxed) != 0
            && let Some(panic) = self.slow(|slow| slow.panic.take())
        {
            return Err(JoinError::Panicked(panic));
        }
        Ok(self.value.load(Ordering::Relaxed) as usize)
    }

    /// Notes that the thread of this record joins `other`, or that it no longer joins a thread.
    pub(crate) fn joins(&self, other: Option<ThreadId>) {
        // Release, so that a thread that reads this also sees for which thread the record was
        // issued.
        self.joining.store(other.map_or(0, ThreadId::to_bits), Ordering::Release);
    }

    /// Makes the record free for another thread. Only the thread that releases the record calls
    /// this. The old contents are dropped while no lock is held.
    pub(crate) fn release(&self) {
        let slow = (self.has_slow.load(Ordering::Relaxed) != 0).then(|| {
            self.has_slow.store(0, Ordering::Relaxed);
            core::mem::take(&mut *lock(&self.slow))
        });
        self.joiner.store(0, Ordering::Relaxed);
        self.park.reset();
        self.wake_flags.reset();
        self.section.reset();
        self.join.release();
        drop_quietly(slow);
    }
}

/// All records of a runtime, by number.
pub(crate) struct Table<S> {
    shards: Box<[Chunks<S>]>,
    series: Series,
}

struct Chunks<S> {
    chunks: [OnceLock<Box<[Record<S>]>>; CHUNKS],
}

const FULL: CreateError = CreateError::TooMany { error: None };

/// The free places of a shard. Only one thread at a time uses it.
pub(crate) struct FreeList {
    shard: u32,
    head: u32,
    /// Places from this number on were never used.
    fresh: u32,
}

fn chunk_of(place: u32) -> (usize, usize) {
    // Chunk k starts at FIRST_CHUNK * (2^k - 1).
    let k = (place / FIRST_CHUNK + 1).ilog2();
    (k as usize, (place - FIRST_CHUNK * ((1 << k) - 1)) as usize)
}

/// Returns the shard to which a record belongs.
pub(crate) fn shard_of(number: u32) -> usize {
    (number >> PLACE_BITS) as usize
}

impl<S> Table<S> {
    pub(crate) fn new(shards: usize) -> Self {
        let chunks = || Chunks { chunks: [const { OnceLock::new() }; CHUNKS] };
        Self { shards: (0..shards.min(MOST_SHARDS)).map(|_| chunks()).collect(), series: Series::new() }
    }

    /// Returns the record with the given number, if it was ever used.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Record<S>> {
        let shard = self.shards.get((number >> PLACE_BITS) as usize)?;
        let (chunk, at) = chunk_of(number & ((1 << PLACE_BITS) - 1));
        shard.chunks.get(chunk)?.get()?.get(at)
    }

    /// Returns the record of the thread. If the thread has already ended, the record's `join` word
    /// shows that.
    #[inline]
    pub(crate) fn find(&self, id: ThreadId) -> Result<&Record<S>, JoinError> {
        self.get(id.record()).ok_or(JoinError::NoSuchThread)
    }

    /// Returns whether `target` waits, directly or through other threads, for `me` to end. Called
    /// after `joins`.
    ///
    /// If several threads close a circle at the same time, the thread whose fence is last sees the
    /// joins of all other threads.
    pub(crate) fn circle(&self, me: ThreadId, target: ThreadId) -> bool {
        fence(Ordering::SeqCst);
        let mut at = target;
        // A thread waits for at most one other thread. A chain that does not return to `me`
        // therefore ends, or leads into a circle of other threads, one of which will detect that
        // circle.
        for _ in 0..1 << 20 {
            let next = self.get(at.record()).and_then(|record| {
                let next = record.joining.load(Ordering::Acquire);
                // The generation is checked after the read, so the value belongs to this thread and
                // not to a later thread of the record.
                ThreadId::from_bits(next).filter(|_| record.join.exists(at.generation()))
            });
            match next {
                None => return false,
                Some(next) if next == me => return true,
                Some(next) => at = next,
            }
        }
        false
    }

    /// Returns all records that were ever used.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Record<S>> {
        self.shards.iter().flat_map(|shard| &shard.chunks).filter_map(OnceLock::get).flatten()
    }
}

impl FreeList {
    pub(crate) fn new(shard: usize) -> Self {
        Self { shard: shard as u32, head: NONE, fresh: 0 }
    }

    /// Takes a free record. Also returns its number.
    ///
    /// # Errors
    /// `TooMany` if the shard is full. `OutOfMemory` if there is no memory.
    #[inline]
    pub(crate) fn take<'t, S>(&mut self, table: &'t Table<S>) -> Result<(u32, &'t Record<S>), CreateError> {
        if self.head == NONE {
            return self.take_fresh(table);
        }
        let record = table.get(self.head).ok_or(FULL)?;
        Ok((core::mem::replace(&mut self.head, record.next.load(Ordering::Relaxed)), record))
    }

    #[cold]
    fn take_fresh<'t, S>(&mut self, table: &'t Table<S>) -> Result<(u32, &'t Record<S>), CreateError> {
        let (chunk, at) = chunk_of(self.fresh);
        let shard = table.shards.get(self.shard as usize).ok_or(FULL)?;
        let chunk = shard.chunks.get(chunk).ok_or(FULL)?;
        if chunk.get().is_none() {
            // A chunk is as long as all earlier chunks together plus the first chunk.
            let length = (self.fresh + FIRST_CHUNK) as usize;
            let mut records = Vec::new();
            records.try_reserve_exact(length).map_err(|_| CreateError::OutOfMemory)?;
            records.resize_with(length, || Record::new(&table.series));
            let _ = chunk.set(records.into_boxed_slice());
        }
        let record = chunk.get().and_then(|records| records.get(at)).ok_or(FULL)?;
        let number = self.shard << PLACE_BITS | self.fresh;
        self.fresh += 1;
        Ok((number, record))
    }

    /// Adds a released record to the free places.
    #[inline]
    pub(crate) fn give<S>(&mut self, number: u32, record: &Record<S>) {
        record.next.store(self.head, Ordering::Relaxed);
        self.head = number;
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
