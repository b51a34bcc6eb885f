//! One thread's timers: adds, and a loop that takes the due timers.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use crate::error::Error;
use crate::owner::{Metrics, Owner};
use crate::settings::Settings;
use crate::statement::{Added, Answer, Cancelled, Due, Engine, Firing, Outcome, Statement, Timer, Waiting};
use crate::writer::{Change, Writer};

/// The timers of one shard, for a loop of your own.
///
/// ```
/// use std::time::Duration;
/// use tickwright_durable::{Due, Settings, Timers, sqlite::Sqlite};
///
/// # let file = std::env::temp_dir().join(format!("tickwright-doc-{}.db", std::process::id()));
/// let mut timers = Timers::new(Sqlite::open(&file)?, Settings::alone());
/// timers.replace("tea", Due::after(Duration::from_millis(20)), b"Earl Grey")?;
/// let mut cups = 0;
/// while cups == 0 {
///     std::thread::sleep(timers.poll_timeout().unwrap_or(Duration::from_secs(1)));
///     for firing in timers.take_due()? {
///         assert_eq!((&*firing.id, &*firing.payload), ("tea", &b"Earl Grey"[..]));
///         cups += 1;
///         timers.done(&firing);
///     }
/// }
/// timers.close()?; // writes the answer
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Timers<E> {
    engine: E,
    owner: Owner,
    start: Instant,
}

impl<E: Engine> Timers<E> {
    /// Takes part in the delivery of the timers of a store. Executes no statement.
    #[must_use]
    pub fn new(engine: E, settings: Settings) -> Self {
        Self { engine, owner: Owner::new(settings), start: Instant::now() }
    }

    /// Adds a timer, unless a timer with this id exists. The timer is durable when the call
    /// returns. Costs one commit; [`batch`](Self::batch) shares a commit among many.
    ///
    /// # Errors
    /// Refused arguments, as [`Error`] names them, and errors that the engine reports.
    pub fn add(&mut self, id: &str, due: Due, payload: &[u8]) -> Result<Added, Error> {
        self.batch(|batch| batch.add(id, due, payload))
    }

    /// Adds a timer. If a timer with this id exists, the new timer replaces it. A firing of the old
    /// timer that already runs is not stopped, but its answer has no effect.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn replace(&mut self, id: &str, due: Due, payload: &[u8]) -> Result<(), Error> {
        self.batch(|batch| batch.replace(id, due, payload))
    }

    /// Deletes a timer.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn cancel(&mut self, id: &str) -> Result<Cancelled, Error> {
        self.batch(|batch| batch.cancel(id))
    }

    /// Runs several adds, replaces and cancels in one transaction. If `work` or one of the calls
    /// returns an error, none of the calls takes effect.
    ///
    /// # Errors
    /// The error of `work`, or an error that the engine reports.
    pub fn batch<T>(
        &mut self,
        work: impl FnOnce(&mut Writer<&mut E>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let near = self.owner.epoch();
        let now = self.engine.clock().or_else(|| self.owner.now(self.host()));
        self.engine.execute(&Statement::Begin)?;
        let mut open = Open { engine: &mut self.engine, is_open: true };
        let mut writer = Writer::new(&mut *open.engine);
        writer.near = near;
        let result = work(&mut writer);
        let (changes, removed, failure) = (writer.changes, writer.removed, writer.failure);
        // An engine may have ended the transaction at an error that `work` ignored.
        let result = result.and_then(|value| failure.map_or(Ok(value), Err)).and_then(|value| {
            open.engine.execute(&Statement::Commit)?;
            open.is_open = false;
            Ok(value)
        });
        drop(open);
        match &result {
            Err(Error::UnknownOutcome(_)) => self.owner.unknown(),
            Err(_) => {}
            Ok(_) => {
                self.owner.note_cancels(removed);
                for change in changes {
                    match change {
                        Change::Put(row) => {
                            self.owner.note_arm(row.due, now);
                            self.owner.put(row, near);
                        }
                        Change::Cancel(id) => self.owner.cancelled(&id),
                    }
                }
            }
        }
        result
    }

    /// Reads a timer.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn get(&mut self, id: &str) -> Result<Option<Timer>, Error> {
        Writer::new(&mut self.engine).get(id)
    }

    /// Returns the earliest due time of the timers that wait, in microseconds since 1970.
    ///
    /// # Errors
    /// Errors that the engine reports.
    pub fn next_due(&mut self) -> Result<Option<i64>, Error> {
        Writer::new(&mut self.engine).next_due()
    }

    /// Returns up to `limit` timers that wait, in the order of their due times. The list begins
    /// after `after`.
    ///
    /// # Errors
    /// Errors that the engine reports.
    pub fn list(&mut self, after: Option<&Waiting>, limit: usize) -> Result<Vec<Waiting>, Error> {
        Writer::new(&mut self.engine).list(after, limit)
    }

    /// Returns how long a loop may sleep before it calls [`take_due`](Self::take_due), or `None` if
    /// there is nothing to wait for. Executes no statement.
    ///
    /// Over SQLite, the loop may sleep at most a second, because the wall clock may be set.
    #[must_use]
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        let host = self.host();
        let clock = self.engine.clock();
        if let Some(now) = clock {
            self.owner.clock(now, host);
        }
        match self.owner.next() {
            i64::MAX => None,
            next => {
                let wait = u64::try_from(next.saturating_sub(host)).unwrap_or(0);
                Some(Duration::from_micros(if clock.is_some() { wait.min(1_000_000) } else { wait }))
            }
        }
    }

    /// Writes the answers to the firings that were taken before, and takes the due timers, at most
    /// a batch of them. Executes no statement if there are neither answers nor due timers. Answer
    /// each firing with [`done`](Self::done), [`again`](Self::again) or [`release`](Self::release).
    ///
    /// # Errors
    /// Errors that the engine reports. The answers are kept and are written later. Until then,
    /// [`poll_timeout`](Self::poll_timeout) grows with each error, up to 3.2 s.
    pub fn take_due(&mut self) -> Result<Vec<Firing>, Error> {
        if self.poll_timeout().is_none_or(|wait| !wait.is_zero()) {
            return Ok(Vec::new());
        }
        self.turn()?;
        Ok(self.owner.finish())
    }

    /// Ends the timer, which the next [`take_due`](Self::take_due) deletes. Returns `false` if the
    /// lease was lost meanwhile, so that the timer is delivered again.
    pub fn done(&mut self, firing: &Firing) -> bool {
        self.answer(firing, Outcome::Done).unwrap_or(false)
    }

    /// Makes the timer wait again, as a new timer. `Due::At(firing.due + period)` gives a grid
    /// without drift.
    ///
    /// # Errors
    /// [`Error::DueOutOfRange`]. The firing then still waits for an answer.
    pub fn again(&mut self, firing: &Firing, due: Due) -> Result<bool, Error> {
        self.answer(firing, Outcome::Again(due))
    }

    /// Releases the timer, which is delivered again soon, with a greater attempt.
    pub fn release(&mut self, firing: &Firing) -> bool {
        self.answer(firing, Outcome::Release).unwrap_or(false)
    }

    /// Answers a firing. Returns `false` as [`done`](Self::done) does.
    ///
    /// # Errors
    /// [`Error::DueOutOfRange`]. The firing then still waits for an answer.
    pub fn answer(&mut self, firing: &Firing, outcome: Outcome) -> Result<bool, Error> {
        self.owner.settle(firing, outcome)
    }

    /// Returns whether the caller should call [`take_due`](Self::take_due) before it runs more
    /// firings, so that the lease does not end.
    pub(crate) fn must_renew(&self) -> bool {
        self.owner.renew_at() <= self.host()
    }

    /// Returns whether a firing may begin: it waits for an answer, and this process does not know
    /// of a loss of the lease.
    pub(crate) fn holds(&self, firing: &Firing) -> bool {
        self.owner.holds(firing)
    }

    /// Makes the next [`take_due`](Self::take_due) check for timers that other processes wrote.
    pub fn look_again(&mut self) {
        self.owner.look_again();
    }

    /// Returns whether this process delivers the timers. Otherwise it is a standby for another
    /// process.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.owner.epoch() != 0
    }

    /// Returns the counts of this participant.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.owner.metrics()
    }

    /// Returns the engine, for functions of an adapter other than statements.
    pub fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Writes the answers and ends the lease, so that another process takes over at once. A firing
    /// without an answer is delivered again.
    ///
    /// # Errors
    /// Errors that the engine reports. No timer is lost then, because the lease ends by itself.
    pub fn close(mut self) -> Result<(), Error> {
        self.owner.resign();
        if self.is_owner() { self.turn() } else { Ok(()) }
    }

    fn turn(&mut self) -> Result<(), Error> {
        self.owner.start(self.host());
        while let Some(statement) = self.owner.statement() {
            let result = match self.engine.execute(statement) {
                Ok(answer) => {
                    let host = self.host();
                    self.owner.answer(answer, host)
                }
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                self.owner.failed(&error, self.host());
                if let Some(rollback) = self.owner.statement() {
                    let _ = self.engine.execute(rollback);
                    let _ = self.owner.answer(Answer::Nothing, 0);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn host(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

impl<E> fmt::Debug for Timers<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// A transaction that is rolled back unless it is committed, even if its work panics.
struct Open<'a, E: Engine> {
    engine: &'a mut E,
    is_open: bool,
}

impl<E: Engine> Drop for Open<'_, E> {
    fn drop(&mut self) {
        if self.is_open {
            let _ = self.engine.execute(&Statement::Rollback);
        }
    }
}
