//! What threads ask of the worker that they run on.

use core::cell::RefCell;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io;

use tickwright::clock::Instant;

use super::super::remote::Spawned;
use super::super::sleepers::Sleepers;
use super::{Pause, Worker};
use crate::attributes::{Attributes, Place};
use crate::error::{CreateError, JoinError};
use crate::here;
use crate::id::ThreadId;
use crate::join_word::Claim;
use crate::record::Record;
use crate::threads::{Body, Wait};
use crate::wait::wait_for_end;

impl Worker {
    /// Creates a thread, on this worker where that is asked for.
    pub(in crate::many) fn create(
        &self,
        attributes: &Attributes,
        body: Body,
    ) -> Result<ThreadId, CreateError> {
        let pool = &*self.pool;
        // Under a bound a new thread brings its stack. One that waited among the worker's spare
        // ones would be lost to creators elsewhere, after another worker has taken the thread.
        let near = attributes.place == Place::Near
            && !pool.knobs.global_queue
            && !pool.keeps_for_all()
            && pool.is_usual(attributes);
        if !near {
            let at = if attributes.place == Place::Near { Some(self.index) } else { None };
            return pool.create_at(self.index, at, attributes, body);
        }
        let remote = self.remote();
        let mut body = Some(body);
        let created = remote.locked(|locked| {
            self.reserve(locked.own.owed)?;
            if !locked.own.make_room(pool.remotes().len()) {
                return Err(CreateError::OutOfMemory);
            }
            let (id, registered) = pool.register(locked, attributes)?;
            if let Some(body) = body.take() {
                remote.push(&mut locked.own, Spawned { id, registered, body, mapping: None });
            }
            Ok(id)
        });
        pool.notify_idle(self.index);
        created
    }

    #[inline(always)]
    pub(crate) fn yield_now(&self) {
        self.pause(Pause::Yielded);
    }

    #[inline]
    fn own(&self) -> Option<&Record<()>> {
        self.pool.roster.table().get(self.running.id.get()?.record())
    }

    /// Waits until notified, or without cause.
    #[inline]
    pub(crate) fn wait(&self) {
        if let Some(own) = self.own() {
            self.wait_as(own);
        }
    }

    #[inline(always)]
    fn wait_as(&self, own: &Record<()>) {
        if own.wake_flags.begin_wait() {
            self.pause(Pause::Parked);
            own.wake_flags.end_wait();
        }
    }

    /// The same, at most until the runtime's clock shows that. False: it does.
    pub(crate) fn wait_until(&self, at: Instant) -> bool {
        let now = self.pool.now();
        if now >= at {
            return false;
        }
        self.wait_among(&self.sleepers, now, at);
        true
    }

    /// The same, at most for so long by the machine's clock.
    pub(crate) fn wait_for(&self, most: Duration) {
        let now = here::machine_now();
        self.wait_among(&self.by_the_machine, now, now + most);
    }

    fn wait_among(&self, sleepers: &RefCell<Box<dyn Sleepers>>, now: Instant, at: Instant) {
        let key = match self.running.id.get() {
            Some(id) => sleepers.borrow_mut().insert(now, at, id.record()),
            None => None,
        };
        match key {
            Some(key) => {
                self.wait();
                sleepers.borrow_mut().remove(key);
            }
            // No memory for sleeping: it looks again and again.
            None => self.yield_now(),
        }
    }

    /// Waits until unparked.
    #[inline(always)]
    pub(crate) fn park(&self) {
        let Some(own) = self.own() else { return };
        if !own.wake_flags.is_unparked() {
            self.wait_as(own);
        }
        own.wake_flags.end_park();
    }

    /// The same, at most until the runtime's clock shows that.
    pub(crate) fn park_until(&self, at: Instant) {
        let Some(own) = self.own() else { return };
        if !own.wake_flags.is_unparked() {
            self.wait_until(at);
        }
        own.wake_flags.end_park();
    }

    /// Waits for the thread of a record that the caller has claimed.
    pub(in crate::many) fn join(
        &self,
        id: ThreadId,
        record: &Record<()>,
        wait: Wait,
    ) -> Result<(), JoinError> {
        let Some((me, own)) = self.running.id.get().zip(self.own()) else {
            return Err(JoinError::NoSuchThread);
        };
        own.joins(Some(id));
        let waited = self.join_as(me, id, record, wait);
        own.joins(None);
        waited
    }

    fn join_as(&self, me: ThreadId, id: ThreadId, record: &Record<()>, wait: Wait) -> Result<(), JoinError> {
        if self.pool.roster.table().circle(me, id) && record.join.withdraw(id.generation()) == Claim::Running
        {
            return Err(JoinError::Deadlock);
        }
        record.joiner.store(me.to_bits(), Ordering::Relaxed);
        wait_for_end(&record.join, id.generation(), wait, || self.wait(), |at| self.wait_until(at))
    }

    /// Waits until a descriptor is ready.
    pub(crate) fn wait_for_descriptor(&self, fd: i32, writable: bool) -> io::Result<()> {
        let Some(me) = self.running.id.get() else { return Ok(()) };
        self.descriptors.borrow_mut().add(self.remote(), fd, writable, me)?;
        while self.descriptors.borrow().waits(fd, writable, me) {
            self.wait();
        }
        Ok(())
    }
}
