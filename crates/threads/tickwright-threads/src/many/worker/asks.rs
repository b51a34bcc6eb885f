//! The calls that threads make to the worker on which they run.

use core::cell::RefCell;
use core::sync::atomic::Ordering;

use tickwright::time::Instant;

use super::super::remote::Spawned;
use super::super::sleepers::Sleepers;
use super::{Pause, Worker};
use crate::attributes::{Attributes, Place};
use crate::error::{CreateError, JoinError};
use crate::host::{self, Host as _};
use crate::id::ThreadId;
use crate::join_word::wait_for_end;
use crate::record::Record;
use crate::threads::{Body, Wait};

impl Worker {
    /// Creates a thread, on this worker if the attributes request it.
    pub(in crate::many) fn create(
        &self,
        attributes: &Attributes,
        body: Body,
    ) -> Result<ThreadId, CreateError> {
        let pool = &*self.pool;
        // If the number of stacks is bounded, a new thread gets its own stack at once. If its stack
        // were one of this worker's spare stacks and another worker took the thread, the spare
        // stack would stay here, where other creators cannot use it.
        let near = attributes.place == Place::Near
            && !pool.settings.ways().global_queue
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
    pub(super) fn own(&self) -> Option<&Record<()>> {
        self.pool.roster.table().get(self.running.id.get()?.record())
    }

    /// Waits until the calling thread is notified. Can return spuriously.
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

    /// Waits until the calling thread is unparked.
    #[inline(always)]
    pub(crate) fn park(&self) {
        let Some(own) = self.own() else { return };
        if own.wake_flags.is_unparked() {
            host::count_call();
        } else {
            self.wait_as(own);
        }
        own.wake_flags.end_park();
    }

    /// Waits for the end of a thread that the caller has claimed.
    pub(in crate::many) fn wait_for_end(
        &self,
        id: ThreadId,
        record: &Record<()>,
        wait: Wait,
    ) -> Result<(), JoinError> {
        record.joiner.store(self.current().map_or(0, ThreadId::to_bits), Ordering::Relaxed);
        wait_for_end(&record.join, id.generation(), wait, || self.wait(), |at| self.wait_until(at))
    }

    pub(super) fn wait_among(&self, sleepers: &RefCell<Box<dyn Sleepers>>, now: Instant, at: Instant) {
        let key = match self.running.id.get() {
            Some(id) => sleepers.borrow_mut().insert(now, at, id.record()),
            None => None,
        };
        match key {
            Some(key) => {
                self.wait();
                sleepers.borrow_mut().remove(key);
            }
            // There is no memory for an entry in the timer queue, so the thread yields and checks
            // again repeatedly.
            None => self.yield_now(),
        }
    }
}
