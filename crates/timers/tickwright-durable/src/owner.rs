//! The core: decides which statements an owner or a standby executes, and when, and computes the
//! lease. The core does no I/O and reads no clock.

use std::collections::HashSet;

use crate::error::Error;
use crate::settings::Settings;
use crate::statement::{Announced, Answer, Firing, NEVER, Outcome, Settled, Shard, Statement, Waiting};
use crate::window::Window;
use crate::writer::unexpected;

/// One participant of a shard: the owner, or a standby.
///
/// ```text
/// start -> statement -> (the adapter executes it) -> answer -> statement -> ... -> None -> finish
///                                                 -> failed -> Rollback -> None
/// ```
///
/// `host` is the time of the caller's monotonic clock, in microseconds from any origin.
#[derive(Debug)]
pub(crate) struct Owner {
    settings: Settings,
    /// The epoch of this owner; 0 for a standby.
    epoch: i64,
    /// This participant's own last epoch. If the shard still has this epoch, the participant takes
    /// over without waiting for the end of the lease.
    resume: Option<i64>,
    /// Whether no turn has read the shard's row yet. Until then, an owner of the same name is a
    /// predecessor of this process.
    is_new: bool,
    window: Window,
    /// What the last committed turn announced.
    announced: Announced,
    /// (seq, attempt) of each firing that waits for an answer.
    held: HashSet<(i64, i64)>,
    answers: Vec<Settled>,
    /// The engine's clock minus the host's clock.
    offset: i64,
    /// When to read the shard's row next, by the host's clock.
    look_at: i64,
    /// After a failure, no statement is executed before this time of the host's clock.
    retry_at: i64,
    /// How long the last failure made this participant wait.
    delay: i64,
    resigning: bool,
    /// The statement to execute next, or `None` between turns.
    next: Option<Statement>,
    turn: Turn,
    metrics: Metrics,
}

/// What one transaction has done so far.
#[derive(Debug, Default)]
struct Turn {
    /// Whether the turn is a transaction. Otherwise it only reads the shard's row.
    is_open: bool,
    epoch: i64,
    now: i64,
    early: bool,
    settles: usize,
    claimed: Vec<Firing>,
    /// The due times of the timers that wait again as new timers.
    again: Vec<i64>,
    taken_over: bool,
    announced: Option<Announced>,
}

/// Counts of a participant since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Capacity: the number of waiting timers in memory.
    pub window: usize,
    /// Capacity: the number of firings that wait for an answer.
    pub held: usize,
    /// Traffic: how many timers this participant's [`Timers`](crate::Timers) added, replaced, or
    /// armed again as the answer to a firing. Only committed changes count. Timers that another
    /// process, or a [`Writer`](crate::Writer) in the caller's transaction, wrote do not count.
    pub armed: u64,
    /// Traffic: how many waiting timers this participant's [`Timers`](crate::Timers) cancelled. A
    /// timer that an owner had claimed already does not count.
    pub cancelled: u64,
    /// Traffic: the delays of the timers in `armed`: from the call, or from the turn that wrote the
    /// answer, to the due time. With PostgreSQL, the engine's clock is not known before the first
    /// turn, so earlier calls are missing here. Needs the feature `metrics`.
    #[cfg(feature = "metrics")]
    pub delays: tickwright::time::DelayCounts,
    /// Punctuality: the number of firings.
    pub firings: u64,
    /// Punctuality: the sum of the lateness of all firings, in microseconds.
    pub late_us: u64,
    /// Punctuality: the greatest lateness, in microseconds.
    pub late_max_us: u64,
    /// Punctuality: the distribution of the lateness of firings. Needs the feature `metrics`.
    #[cfg(feature = "metrics")]
    pub lateness: tickwright::time::Lateness,
    /// Recovery: how often this participant became the owner.
    pub takeovers: u64,
    /// Recovery: the number of firings of timers that had been fired before.
    pub repeated: u64,
    /// Recovery: the number of firings whose answers came too late, because the lease was lost.
    pub lost: u64,
    /// Health: the number of statements, except the statements of adds and cancels.
    pub statements: u64,
    /// Health: the number of commits of turns.
    pub commits: u64,
    /// Health: the number of errors that the engine reported in turns.
    pub failures: u64,
}

impl Owner {
    /// Creates a standby, which becomes the owner if no other participant is the owner.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            epoch: 0,
            resume: None,
            is_new: true,
            window: Window::new(NEVER),
            announced: Announced { wake: NEVER, high: NEVER, lease: NEVER },
            held: HashSet::new(),
            answers: Vec::new(),
            offset: 0,
            look_at: i64::MIN,
            retry_at: i64::MIN,
            delay: 0,
            resigning: false,
            next: None,
            turn: Turn::default(),
            metrics: Metrics::default(),
        }
    }

    /// Returns the epoch, or 0 while this participant is a standby.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Returns when to call [`start`](Self::start) next, by the host's clock, or `i64::MAX` for
    /// never.
    pub(crate) fn next(&self) -> i64 {
        self.wanted().max(self.retry_at)
    }

    fn wanted(&self) -> i64 {
        if self.epoch == 0 {
            return self.look_at;
        }
        if self.has_answers() || self.resigning {
            return i64::MIN;
        }
        // While a whole batch of firings waits for answers, the owner claims no more timers.
        let wake = if self.held.len() < self.settings.batch { self.window.wake() } else { NEVER };
        let wake = if wake == NEVER { i64::MAX } else { wake.saturating_sub(self.offset) };
        wake.min(self.renew_at()).min(self.look_at)
    }

    /// Returns the time that is half a margin before the end of the lease, by the host's clock, or
    /// `i64::MAX` if no firing waits for an answer.
    pub(crate) fn renew_at(&self) -> i64 {
        if self.held.is_empty() || self.epoch == 0 {
            return i64::MAX;
        }
        self.announced.lease.saturating_sub(self.settings.margin / 2).saturating_sub(self.offset)
    }

    /// Returns whether there are answers that no turn has written yet.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Makes [`next`](Self::next) return a time that has passed, because another process might have
    /// changed the store.
    pub(crate) fn look_again(&mut self) {
        self.look_at = i64::MIN;
    }

    /// Sets the offset from the time that the engine's clock shows.
    pub(crate) fn clock(&mut self, now: i64, host: i64) {
        self.offset = now.saturating_sub(host);
    }

    /// Begins a turn, which only reads the shard's row if that suffices. Has no effect within a
    /// turn.
    pub(crate) fn start(&mut self, host: i64) {
        if self.next.is_some() {
            return;
        }
        let now = host.saturating_add(self.offset);
        let is_busy = self.window.wake() <= now || self.has_answers() || self.resigning;
        let is_owner = self.epoch != 0;
        let takes_turn = if is_owner { is_busy || !self.held.is_empty() } else { self.is_new };
        self.begin(takes_turn);
    }

    /// Returns the statement to execute now, or `None` between turns.
    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.next.as_ref()
    }

    /// Processes the answer to the statement. The caller reads `host` after the statement has
    /// returned.
    ///
    /// Returns [`Error::Engine`] if the answer does not belong to this statement, or if memory runs
    /// out. The turn then rolls back.
    pub(crate) fn answer(&mut self, answer: Answer, host: i64) -> Result<(), Error> {
        self.metrics.statements += 1;
        let Some(statement) = self.next.take() else { return Err(unexpected(&answer)) };
        match (statement, answer) {
            (Statement::Look, Answer::Shard(shard)) if !self.turn.is_open => self.glanced(&shard, host),
            (Statement::Begin, _) => self.next = Some(Statement::Guard { alone: true }),
            (Statement::Guard { .. }, _) => self.next = Some(Statement::Look),
            (Statement::Look, Answer::Shard(shard)) => self.looked(&shard, host),
            (Statement::Acquire { .. }, _) => self.next = Some(Statement::Orphan),
            (Statement::Orphan, Answer::Rows(rows)) => {
                let low = rows.iter().map(|row| row.due).min().unwrap_or(NEVER);
                self.window = Window::new(self.window.far().min(low));
                self.write_answers();
            }
            (Statement::Settle { answers, .. }, Answer::Rows(rows)) => {
                // A released timer keeps its sequence number, and a new timer has a new one.
                let settled: HashSet<i64> = answers.iter().map(|settled| settled.seq).collect();
                let new = rows.iter().filter(|row| !settled.contains(&row.seq));
                self.turn.again = new.map(|row| row.due).collect();
                self.learn(rows)?;
                for settled in answers {
                    self.window.finish(&settled.id, settled.seq);
                }
                self.early();
            }
            (Statement::Early, Answer::Rows(rows)) => {
                self.learn(rows)?;
                self.load();
            }
            (Statement::Load { limit, .. }, Answer::Rows(rows)) => {
                let until = self.turn.now.saturating_add(self.settings.span);
                if !self.window.load(rows, limit, until) {
                    return Err(no_memory());
                }
                self.claim();
            }
            (Statement::Claim { rows, .. }, Answer::Claimed(firings)) => {
                let running: HashSet<i64> = firings.iter().map(|firing| firing.seq).collect();
                for row in rows.iter().filter(|row| !running.contains(&row.seq)) {
                    self.window.finish(&row.id, row.seq);
                }
                self.turn.claimed = firings;
                self.turn.claimed.sort_unstable_by_key(|firing| (firing.due, firing.seq));
                self.announce();
            }
            (Statement::Announce { announced }, _) => {
                self.turn.announced = Some(announced);
                self.next = Some(Statement::Commit);
            }
            (Statement::Commit, _) => self.committed(host),
            (Statement::Rollback, _) => {}
            (_, other) => return Err(unexpected(&other)),
        }
        Ok(())
    }

    /// Records that the statement or [`answer`](Self::answer) failed. The caller then executes the
    /// `Rollback` and ignores its result. The next turn begins after 50 ms. Each further failure
    /// doubles this delay, up to 3.2 s.
    pub(crate) fn failed(&mut self, error: &Error, host: i64) {
        self.metrics.failures += 1;
        self.delay = (self.delay * 2).clamp(50_000, 3_200_000);
        self.retry_at = host.saturating_add(self.delay);
        if matches!(error, Error::UnknownOutcome(_)) {
            self.unknown();
        } else if self.epoch != 0 && self.turn.is_open {
            // The store still has the timers that the turn loaded and popped. The early rows have
            // those inserted or replaced since the last turn that are due before `wake`.
            self.window = Window::new(self.announced.wake);
            self.look_at = i64::MIN;
        }
        let is_open = self.turn.is_open && !matches!(self.next, Some(Statement::Rollback));
        self.turn = Turn::default();
        self.next = is_open.then_some(Statement::Rollback);
    }

    /// Returns the firings of the turn that has ended. The caller runs and answers each firing.
    pub(crate) fn finish(&mut self) -> Vec<Firing> {
        if self.next.is_none() { core::mem::take(&mut self.turn.claimed) } else { Vec::new() }
    }

    /// Answers a firing; the next turn writes the answer. Returns `false` if the firing already has
    /// an answer, or if the lease was lost, which makes the next owner deliver the timer again.
    ///
    /// Returns [`Error::DueOutOfRange`] if the due time of [`Outcome::Again`] is out of range. The
    /// firing then still waits for an answer.
    pub(crate) fn settle(&mut self, firing: &Firing, outcome: Outcome) -> Result<bool, Error> {
        if let Outcome::Again(due) = outcome {
            due.resolve(0)?;
        }
        let is_ours = firing.fence == self.epoch && self.held.remove(&(firing.seq, firing.attempt));
        if is_ours {
            let Firing { id, due, seq, attempt, .. } = firing.clone();
            self.answers.push(Settled { id, due, seq, attempt, outcome });
        }
        Ok(is_ours)
    }

    /// Returns whether a firing waits for an answer. Otherwise the firing has been answered, or the
    /// lease was lost.
    pub(crate) fn holds(&self, firing: &Firing) -> bool {
        firing.fence == self.epoch && self.held.contains(&(firing.seq, firing.attempt))
    }

    /// Updates the window after a `Put` of this epoch was committed.
    pub(crate) fn put(&mut self, row: Waiting, near: i64) {
        if near == self.epoch && self.epoch != 0 && !self.window.learn(row) {
            self.unknown();
        }
    }

    /// Returns the time of the engine's clock, if a turn has read it.
    pub(crate) fn now(&self, host: i64) -> Option<i64> {
        (!self.is_new).then(|| host.saturating_add(self.offset))
    }

    /// Counts a timer that was armed at the time `now` of the engine's clock, if that is known.
    pub(crate) fn note_arm(&mut self, due: i64, now: Option<i64>) {
        self.metrics.armed += 1;
        #[cfg(feature = "metrics")]
        if let Some(now) = now {
            let delay = u64::try_from(due.saturating_sub(now)).unwrap_or(0);
            self.metrics.delays.note(delay.saturating_mul(1000));
        }
        let _ = (due, now);
    }

    /// Counts cancelled timers.
    pub(crate) fn note_cancels(&mut self, count: u64) {
        self.metrics.cancelled += count;
    }

    /// Removes a cancelled timer from the window.
    pub(crate) fn cancelled(&mut self, id: &str) {
        self.window.forget(id);
    }

    /// Records that the outcome of this participant's commit is unknown. The participant takes a
    /// new epoch at its next turn.
    pub(crate) fn unknown(&mut self) {
        if self.epoch != 0 {
            self.resume = Some(self.epoch);
        }
        self.lose();
        self.look_at = i64::MIN;
    }

    /// Makes the next turn write the answers and end the lease, so that another process takes over
    /// at once.
    pub(crate) fn resign(&mut self) {
        self.resigning = self.epoch != 0;
    }

    /// Returns the counts of this participant.
    pub(crate) fn metrics(&self) -> Metrics {
        Metrics { window: self.window.len(), held: self.held.len(), ..self.metrics }
    }

    fn begin(&mut self, is_open: bool) {
        self.turn = Turn { is_open, ..Turn::default() };
        self.next = Some(if is_open { Statement::Begin } else { Statement::Look });
    }

    fn glanced(&mut self, shard: &Shard, host: i64) {
        self.clock(shard.now, host);
        if self.epoch == 0 {
            if self.may_take(shard) { self.begin(true) } else { self.stand_by(shard, host) }
        } else if shard.epoch != self.epoch {
            self.lose();
            self.stand_by(shard, host);
        } else if shard.early.is_some() {
            self.begin(true);
        } else {
            self.look_at = self.next_look(host);
        }
    }

    fn looked(&mut self, shard: &Shard, host: i64) {
        self.clock(shard.now, host);
        self.is_new &= self.epoch != 0 || self.may_take(shard);
        self.turn.now = shard.now;
        self.turn.early = shard.early.is_some();
        self.turn.epoch = self.epoch;
        if self.epoch == 0 && self.may_take(shard) {
            self.turn.epoch = shard.epoch.saturating_add(1);
            self.turn.taken_over = true;
            self.window = Window::new(shard.announced.wake);
            self.next = Some(Statement::Acquire { owner: self.settings.name.clone() });
        } else if self.epoch == 0 || shard.epoch != self.epoch {
            self.lose();
            self.stand_by(shard, host);
            self.next = Some(Statement::Rollback);
        } else {
            if self.window.is_past(shard.now) {
                self.window = Window::new(self.announced.wake);
                self.turn.early = true;
            }
            self.write_answers();
        }
    }

    /// Returns whether this participant may become the owner: the lease is over, or this
    /// participant or its predecessor is the owner. A participant without `rescan` need not wait
    /// for another owner's lease, because it has no rescan that would end the wait.
    fn may_take(&self, shard: &Shard) -> bool {
        self.settings.rescan.is_none()
            || self.lease(shard) < shard.now
            || self.resume == Some(shard.epoch)
            || (self.is_new && shard.owner == self.settings.name)
    }

    fn lease(&self, shard: &Shard) -> i64 {
        let early = shard.early.map_or(NEVER, |back| back.saturating_add(self.settings.margin));
        shard.announced.lease.min(early)
    }

    fn write_answers(&mut self) {
        self.turn.settles = self.answers.len();
        if self.turn.settles == 0 {
            return self.early();
        }
        let (epoch, now, answers) = (self.turn.epoch, self.turn.now, self.answers.clone());
        self.next = Some(Statement::Settle { epoch, now, answers });
    }

    fn early(&mut self) {
        if self.turn.early && !self.resigning {
            self.next = Some(Statement::Early);
        } else {
            self.load();
        }
    }

    fn load(&mut self) {
        // The timers in the window are due before the timers that are not loaded yet.
        let is_short = self.window.len() < self.settings.batch;
        if self.window.far() <= self.turn.now && is_short && !self.resigning {
            let ((due, seq), limit) = (self.window.high(), self.settings.page);
            self.next = Some(Statement::Load { due, seq, limit });
        } else {
            self.claim();
        }
    }

    fn claim(&mut self) {
        let limit = if self.resigning { 0 } else { self.settings.batch.saturating_sub(self.held.len()) };
        let (epoch, now) = (self.turn.epoch, self.turn.now);
        let rows = self.window.due(now, limit);
        if rows.is_empty() {
            self.announce()
        } else {
            self.next = Some(Statement::Claim { epoch, now, rows })
        }
    }

    fn announce(&mut self) {
        let (wake, high) = (self.window.wake(), self.window.far());
        let is_busy = !self.held.is_empty() || !self.turn.claimed.is_empty();
        let back = if is_busy { self.turn.now } else { wake.max(self.turn.now) };
        let lease = if self.resigning { 0 } else { back.saturating_add(self.settings.margin) };
        self.next = Some(Statement::Announce { announced: Announced { wake, high, lease } });
    }

    fn committed(&mut self, host: i64) {
        let turn = &self.turn;
        self.delay = 0;
        self.epoch = turn.epoch;
        self.resume = None;
        self.is_new = false;
        self.announced = turn.announced.unwrap_or(self.announced);
        self.answers.drain(..turn.settles);
        self.metrics.commits += 1;
        self.metrics.takeovers += u64::from(turn.taken_over);
        for due in core::mem::take(&mut self.turn.again) {
            self.note_arm(due, Some(self.turn.now));
        }
        for firing in &mut self.turn.claimed {
            firing.late = self.turn.now.saturating_sub(firing.due);
            self.held.insert((firing.seq, firing.attempt));
            let late = u64::try_from(firing.late).unwrap_or(0);
            self.metrics.firings += 1;
            self.metrics.late_us = self.metrics.late_us.saturating_add(late);
            self.metrics.late_max_us = self.metrics.late_max_us.max(late);
            #[cfg(feature = "metrics")]
            self.metrics.lateness.note(late.saturating_mul(1000));
            self.metrics.repeated += u64::from(firing.attempt > 1);
        }
        self.look_at = self.next_look(host);
        if self.resigning {
            self.resigning = false;
            self.lose();
            self.look_at = i64::MAX;
        }
    }

    fn learn(&mut self, rows: Vec<Waiting>) -> Result<(), Error> {
        if rows.into_iter().all(|row| self.window.learn(row)) { Ok(()) } else { Err(no_memory()) }
    }

    /// Becomes a standby.
    fn lose(&mut self) {
        self.metrics.lost += (self.held.len() + self.answers.len()) as u64;
        self.epoch = 0;
        self.held.clear();
        self.answers.clear();
        self.window = Window::new(NEVER);
    }

    fn stand_by(&mut self, shard: &Shard, host: i64) {
        let wait = self.lease(shard).saturating_sub(shard.now).saturating_add(1);
        let end = if self.lease(shard) == NEVER { NEVER } else { host.saturating_add(wait) };
        self.look_at = self.next_look(host).min(end);
    }

    fn next_look(&self, host: i64) -> i64 {
        self.settings.rescan.map_or(i64::MAX, |rescan| host.saturating_add(rescan))
    }
}

fn no_memory() -> Error {
    Error::Engine("no memory for the timers that wait".into())
}
