//! All threads of a runtime: their records, ids and registries, in shards.
//!
//! The runtimes of both models have a roster. A shard consists of a free list of records and a
//! registry, under one lock. Threads that create threads at the same time use different shards.
//! Each model also keeps data of its own under a shard's lock.
//!
//! ```text
//!   Roster ── Table: records by number, never given back      id = number of the record +
//!   generation
//!     └────── shard 0..n ── lock { free list, registry, the model's own }
//! ```
//!
//! A thread is registered before its creation returns and unregistered when its body has ended. Its
//! record is released later, when the thread is joined, or when it ends if it is detached.
//!
//! # Invariants
//! 1. A record returns to the free list of the shard from which it came.
//! 2. A thread holds the lock of at most one shard, or (in `live`) the locks of all shards, which
//!    it takes in ascending order.
//! 3. A forked child locks no shard, because a lock that another thread of the parent held stays
//!    locked forever in the child.

use std::sync::PoisonError;

use tickwright::fork::Process;

use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;
use crate::join_word::{Claim, Detached, Leaves};
use crate::local::drop_quietly;
use crate::primitive::Ordering;
use crate::primitive::modelled::{Mutex, MutexGuard};
use crate::process;
use crate::record::{FreeList, MOST_SHARDS, Record, Table, shard_of};
use crate::registry::{Registered, Registry, RegistryKind};
use crate::threads::Wait;

/// The data under the lock of a shard.
pub(crate) struct Locked<X> {
    free: FreeList,
    registry: Registry,
    /// The data that the model keeps under this lock.
    pub(crate) own: X,
}

/// The threads that were created by one worker, or by the creators that share this shard.
pub(crate) struct Shard<X> {
    locked: Mutex<Locked<X>>,
}

impl<X> Shard<X> {
    /// Creates the shard with the number `at`.
    pub(crate) fn new(at: usize, dictionary: RegistryKind, own: X) -> Self {
        let locked = Locked { free: FreeList::new(at), registry: Registry::new(dictionary), own };
        Self { locked: Mutex::new(locked) }
    }

    fn lock(&self) -> MutexGuard<'_, Locked<X>> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `use_it` with the data under the lock.
    #[inline]
    pub(crate) fn locked<R>(&self, use_it: impl FnOnce(&mut Locked<X>) -> R) -> R {
        use_it(&mut self.lock())
    }
}

/// A type that contains a shard. It is either the shard itself, or the part of a worker that other
/// threads use.
pub(crate) trait HasShard {
    /// The model's data under the lock.
    type Own;

    fn shard(&self) -> &Shard<Self::Own>;
}

impl<X> HasShard for Shard<X> {
    type Own = X;

    fn shard(&self) -> &Self {
        self
    }
}

/// All threads of a runtime. `P` contains a shard. `S` is the type of the value in a record with
/// which a model joins the platform's thread.
pub(crate) struct Roster<P, S> {
    table: Table<S>,
    places: Box<[P]>,
    process: Process,
}

impl<P: HasShard, S> Roster<P, S> {
    /// Creates a roster without threads. The shard of place `i` has the number `i`.
    pub(crate) fn new(places: Box<[P]>) -> Self {
        Self { table: Table::new(places.len()), places, process: process::this() }
    }

    /// Returns whether the runtime's threads exist in this process. The result is false in a forked
    /// child.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_this()
    }

    /// Returns all places. They can also be used in a forked child.
    #[inline]
    pub(crate) fn places(&self) -> &[P] {
        &self.places
    }

    /// Returns the places that can be locked. In a forked child there are none.
    fn lockable(&self) -> &[P] {
        if self.is_here() { &self.places } else { &[] }
    }

    /// Returns all records.
    #[inline]
    pub(crate) fn table(&self) -> &Table<S> {
        &self.table
    }

    /// Returns the record of a thread, unless this is a forked child. The thread can already have
    /// ended.
    ///
    /// # Errors
    /// `NoSuchThread` if there is no such record, or in a forked child.
    #[inline]
    pub(crate) fn find(&self, id: ThreadId) -> Result<&Record<S>, JoinError> {
        if self.is_here() { self.table.find(id) } else { Err(JoinError::NoSuchThread) }
    }

    /// Returns the record of a thread that runs or has not been joined yet.
    ///
    /// # Errors
    /// `NoSuchThread` if there is no such thread.
    #[inline]
    pub(crate) fn existing(&self, id: ThreadId) -> Result<&Record<S>, JoinError> {
        let record = self.find(id)?;
        if record.join.exists(id.generation()) { Ok(record) } else { Err(JoinError::NoSuchThread) }
    }

    /// Registers a new thread: takes a free record, issues its next generation, and adds an entry
    /// to the registry. `name` sets the thread's name, and returns false if there is no memory for
    /// it.
    ///
    /// # Errors
    /// `TooMany` if the shard is full. `OutOfMemory` if there is no memory.
    #[inline]
    pub(crate) fn register(
        &self,
        locked: &mut Locked<P::Own>,
        is_detached: bool,
        name: impl Fn(&Record<S>) -> bool,
    ) -> Result<(ThreadId, Registered), CreateError> {
        loop {
            let (number, record) = locked.free.take(&self.table)?;
            // A record whose generations are used up is never used again.
            let Some(generation) = record.join.issue(is_detached) else { continue };
            let Some(id) = ThreadId::new(number, generation) else { continue };
            let error = match locked.registry.insert(id) {
                Ok(registered) if name(record) => return Ok((id, registered)),
                Ok(registered) => {
                    locked.registry.remove(registered);
                    CreateError::OutOfMemory
                }
                Err(error) => error,
            };
            record.release();
            locked.free.give(number, record);
            return Err(error);
        }
    }

    /// Unregisters a thread whose body has ended, or that was never started.
    pub(crate) fn unregister(&self, id: ThreadId, registered: Registered) {
        if let Some(place) = self.places.get(shard_of(id.record())) {
            place.shard().locked(|locked| locked.registry.remove(registered));
        }
    }

    /// Makes a record free for another thread. Only the thread that releases the record calls this.
    #[inline]
    pub(crate) fn release(&self, id: ThreadId, record: &Record<S>) {
        record.release();
        if let Some(place) = self.places.get(shard_of(id.record())) {
            place.shard().locked(|locked| locked.free.give(id.record(), record));
        }
    }

    /// Claims a thread, and calls `wait_for_end` if the thread still runs. `me` is the caller's id
    /// if the caller is a thread of this runtime. Returns the thread's outcome.
    pub(crate) fn join(
        &self,
        me: Option<ThreadId>,
        id: ThreadId,
        wait: Wait,
        wait_for_end: impl FnOnce(&Record<S>) -> Result<(), JoinError>,
    ) -> Result<&Record<S>, JoinError> {
        let record = self.find(id)?;
        if me == Some(id) {
            return Err(JoinError::Deadlock);
        }
        if record.join.claim(id.generation(), wait == Wait::No)? == Claim::Finished {
            return Ok(record);
        }
        let own = me.and_then(|me| self.table.get(me.record()));
        let joins = |other| own.into_iter().for_each(|own| own.joins(other));
        joins(Some(id));
        let is_circle = me.is_some_and(|me| self.table.circle(me, id));
        let waited = if is_circle && record.join.withdraw(id.generation()) == Claim::Running {
            Err(JoinError::Deadlock)
        } else {
            wait_for_end(record)
        };
        joins(None);
        waited.map(|()| record)
    }

    /// Called after a thread has written its outcome. Wakes the joiner, with `wake` if the joiner
    /// is a thread of this runtime. If the thread is detached, releases its record.
    #[inline]
    pub(crate) fn finish(&self, id: ThreadId, record: &Record<S>, wake: impl FnOnce(ThreadId)) {
        match record.join.finish() {
            Leaves::Detached => self.release(id, record),
            Leaves::Waited => match ThreadId::from_bits(record.joiner.load(Ordering::Relaxed)) {
                Some(joiner) => wake(joiner),
                // The handle is taken out first, because the joiner can already have noticed the
                // end, in which case another thread can use the record and its fields.
                None => {
                    if let Some(joiner) = record.slow(|slow| slow.joiner.clone()) {
                        joiner.wake();
                    }
                }
            },
            Leaves::ToJoiner => {}
        }
    }

    /// Detaches a thread, which can no longer be joined.
    pub(crate) fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.find(id)?;
        let released = match record.join.detach(id.generation())? {
            Detached::Running => false,
            Detached::Finished => true,
            // The panic is dropped here, because on a worker's own stack the drop might block the
            // worker.
            Detached::Left => {
                let panic = record.slow(|slow| slow.panic.take());
                let released = record.join.taken();
                drop_quietly(panic);
                released
            }
        };
        if released {
            self.release(id, record);
        }
        Ok(())
    }

    /// Returns the name of a thread that exists.
    pub(crate) fn name(&self, id: ThreadId) -> Option<String> {
        let record = self.find(id).ok()?;
        let name = record.slow(|slow| slow.name.as_deref().map(str::to_owned));
        // The generation is checked after the read, so the name belongs to this thread and not to a
        // later thread of the record.
        name.filter(|_| record.join.exists(id.generation()))
    }

    /// Returns whether a thread is registered.
    pub(crate) fn is_registered(&self, id: ThreadId) -> bool {
        let place = self.lockable().get(shard_of(id.record()));
        place.is_some_and(|place| place.shard().locked(|locked| locked.registry.contains(id)))
    }

    /// Returns the ids of all registered threads, shard by shard.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        let mut all = Vec::new();
        for place in self.lockable() {
            place.shard().locked(|locked| locked.registry.list(&mut all));
        }
        all
    }

    /// Returns the number of registered threads.
    pub(crate) fn live(&self) -> usize {
        // All shards are locked at the same time. Otherwise, if a thread creates another thread in
        // another shard and then ends, the count could miss both.
        let mut shards = [const { None }; MOST_SHARDS];
        for (shard, place) in shards.iter_mut().zip(self.lockable()) {
            *shard = Some(place.shard().lock());
        }
        shards.iter().flatten().map(|locked| locked.registry.len()).sum()
    }
}

/// The methods of [`Threads`](crate::threads::Threads) that a model implements with its roster and
/// its clock.
macro_rules! answers_of_roster {
    () => {
        fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
            self.roster.detach(id)
        }

        fn name(&self, id: ThreadId) -> Option<String> {
            self.roster.name(id)
        }

        fn is_registered(&self, id: ThreadId) -> bool {
            self.roster.is_registered(id)
        }

        fn threads(&self) -> Vec<ThreadId> {
            self.roster.threads()
        }

        fn live(&self) -> usize {
            self.roster.live()
        }

        fn now(&self) -> Instant {
            self.keeper.now()
        }
    };
}
pub(crate) use answers_of_roster;
