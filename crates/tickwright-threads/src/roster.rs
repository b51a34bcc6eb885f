//! All threads of a runtime: their records, ids and registries, in shards.
//!
//! Both kinds of runtime have one. A shard is what threads that create at the same time do not
//! share: a free list of records and a registry under one lock. A model keeps more of its own under
//! that lock.
//!
//! ```text
//!   Roster ── Table: records by number, never given back      id = number of the record +
//!   generation
//!     └────── shard 0..n ── lock { free list, registry, the model's own }
//! ```
//!
//! A thread is registered before its creation returns and unregistered when its body has ended. Its
//! record is released later, when it is joined, or at its end if it is detached.
//!
//! # Invariants
//! 1. A record goes back to the free list of the shard that it came from.
//! 2. A thread holds the lock of one shard, or of all in ascending order (`live`).
//! 3. In a forked child a lock may be held for ever by a thread of the parent: no shard is
//!    looked at there.

use std::sync::PoisonError;

use crate::error::{CreateError, JoinError};
use crate::id::ThreadId;
use crate::join_word::{Claim, Detached, Leaves};
use crate::primitive::Ordering;
use crate::primitive::modelled::{Mutex, MutexGuard};
use crate::process::Process;
use crate::quiet::drop_quietly;
use crate::record::{FreeList, MOST_SHARDS, Record, Table, shard_of};
use crate::registry::{Dictionary, Registered, Registry};
use crate::threads::Wait;

/// What is under the lock of a shard.
pub(crate) struct Locked<X> {
    free: FreeList,
    registry: Registry,
    /// What the model keeps under this lock.
    pub(crate) own: X,
}

/// The threads that were created at one place.
pub(crate) struct Shard<X> {
    locked: Mutex<Locked<X>>,
}

impl<X> Shard<X> {
    /// The shard with the number `at`.
    pub(crate) fn new(at: usize, dictionary: Dictionary, own: X) -> Self {
        let locked = Locked { free: FreeList::new(at), registry: Registry::new(dictionary), own };
        Self { locked: Mutex::new(locked) }
    }

    fn lock(&self) -> MutexGuard<'_, Locked<X>> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses what is under the lock.
    #[inline]
    pub(crate) fn locked<R>(&self, use_it: impl FnOnce(&mut Locked<X>) -> R) -> R {
        use_it(&mut self.lock())
    }
}

/// Something that has a shard: the shard itself, or a worker with more beside it.
pub(crate) trait HasShard {
    /// What is under the lock beside records and registry.
    type Own;

    fn shard(&self) -> &Shard<Self::Own>;
}

impl<X> HasShard for Shard<X> {
    type Own = X;

    fn shard(&self) -> &Self {
        self
    }
}

/// All threads of a runtime. `P` has a shard; `S` is what a record keeps to end the platform's
/// thread.
pub(crate) struct Roster<P, S> {
    table: Table<S>,
    places: Box<[P]>,
    process: Process,
}

impl<P: HasShard, S> Roster<P, S> {
    /// No threads. The shard of place `i` has the number `i`.
    pub(crate) fn new(places: Box<[P]>) -> Self {
        Self { table: Table::new(places.len()), places, process: Process::this() }
    }

    /// Whether the runtime's threads are in this process, which is no forked child.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_this()
    }

    /// All places, whatever the process.
    #[inline]
    pub(crate) fn places(&self) -> &[P] {
        &self.places
    }

    /// The places whose locks may be taken: in a forked child none.
    fn lockable(&self) -> &[P] {
        if self.is_here() { &self.places } else { &[] }
    }

    /// All records.
    #[inline]
    pub(crate) fn table(&self) -> &Table<S> {
        &self.table
    }

    /// The record of a thread that this process may have. The thread may have gone.
    ///
    /// # Errors
    /// `NoSuchThread`.
    #[inline]
    pub(crate) fn find(&self, id: ThreadId) -> Result<&Record<S>, JoinError> {
        if self.is_here() { self.table.find(id) } else { Err(JoinError::NoSuchThread) }
    }

    /// The record of a thread that runs, or that was not joined yet.
    ///
    /// # Errors
    /// `NoSuchThread`.
    #[inline]
    pub(crate) fn existing(&self, id: ThreadId) -> Result<&Record<S>, JoinError> {
        let record = self.find(id)?;
        if record.join.exists(id.generation()) { Ok(record) } else { Err(JoinError::NoSuchThread) }
    }

    /// Registers a new thread: a free record, the next generation of it, an entry in the registry.
    /// `name` gives the thread its name; it returns false if there is no memory for that.
    ///
    /// # Errors
    /// `TooMany`: the shard is full. `OutOfMemory`.
    #[inline]
    pub(crate) fn register(
        &self,
        locked: &mut Locked<P::Own>,
        is_detached: bool,
        name: impl Fn(&Record<S>, ThreadId) -> bool,
    ) -> Result<(ThreadId, Registered), CreateError> {
        loop {
            let (number, record) = locked.free.take(&self.table)?;
            // A record whose generations are used up never names a thread again.
            let Some(generation) = record.join.issue(is_detached) else { continue };
            let Some(id) = ThreadId::new(number, generation) else { continue };
            let error = match locked.registry.insert(id) {
                Ok(registered) if name(record, id) => return Ok((id, registered)),
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

    /// The body of a thread has ended, or it was never started.
    pub(crate) fn unregister(&self, id: ThreadId, registered: Registered) {
        if let Some(place) = self.places.get(shard_of(id.record())) {
            place.shard().locked(|locked| locked.registry.remove(registered));
        }
    }

    /// Makes a record free for another thread. By the one party that releases it.
    #[inline]
    pub(crate) fn release(&self, id: ThreadId, record: &Record<S>) {
        record.release();
        if let Some(place) = self.places.get(shard_of(id.record())) {
            place.shard().locked(|locked| locked.free.give(id.record(), record));
        }
    }

    /// Claims a thread, and has `wait_for_end` wait for it if it runs. `me` is the caller, if it is
    /// a thread of this runtime. What the thread has left is the caller's.
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

    /// A thread has written its outcome: wakes the thread that joins it, by `wake` if that is
    /// known by its id, or releases the record.
    #[inline]
    pub(crate) fn finish(&self, id: ThreadId, record: &Record<S>, wake: impl FnOnce(ThreadId)) {
        match record.join.finish() {
            Leaves::Detached => self.release(id, record),
            Leaves::Waited => match ThreadId::from_bits(record.joiner.load(Ordering::Relaxed)) {
                Some(joiner) => wake(joiner),
                // A copy: if the joiner has seen the end by itself, the record may be another
                // thread's by now, and so what is in it.
                None => {
                    if let Some(joiner) = record.slow(|slow| slow.joiner.clone()) {
                        joiner.wake();
                    }
                }
            },
            Leaves::ToJoiner => {}
        }
    }

    /// Detaches a thread. See [`Threads::detach`](crate::Threads::detach).
    pub(crate) fn detach(&self, id: ThreadId) -> Result<(), JoinError> {
        let record = self.find(id)?;
        let released = match record.join.detach(id.generation())? {
            Detached::Running => false,
            Detached::Finished => true,
            // Dropped here: on a worker's own stack the drop might stop the worker.
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

    /// The name of a thread that exists.
    pub(crate) fn name(&self, id: ThreadId) -> Option<String> {
        let record = self.find(id).ok()?;
        let name = record.slow(|slow| slow.name.as_deref().map(str::to_owned));
        // Looked at afterwards: the name is this thread's, not that of a thread that has its record
        // now.
        name.filter(|_| record.join.exists(id.generation()))
    }

    /// Whether a thread is registered.
    pub(crate) fn is_registered(&self, id: ThreadId) -> bool {
        let place = self.lockable().get(shard_of(id.record()));
        place.is_some_and(|place| place.shard().locked(|locked| locked.registry.contains(id)))
    }

    /// The ids of all registered threads, shard by shard.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        let mut all = Vec::new();
        for place in self.lockable() {
            place.shard().locked(|locked| locked.registry.list(&mut all));
        }
        all
    }

    /// How many threads are registered.
    pub(crate) fn live(&self) -> usize {
        // All at once: a thread that ends may have created one in another shard, which is counted
        // before it or with it.
        let mut shards = [const { None }; MOST_SHARDS];
        for (shard, place) in shards.iter_mut().zip(self.lockable()) {
            *shard = Some(place.shard().lock());
        }
        shards.iter().flatten().map(|locked| locked.registry.len()).sum()
    }
}

/// The methods of [`Threads`](crate::Threads) that a model answers from its roster and its clock.
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
