//! The core: what an owner or a standby asks of the store, and when. It does no I/O and reads no
//! clock.

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
/// `host` is the time by a steady clock of the caller's, in microseconds from any origin.
#[derive(Debug)]
pub(crate) struct Owner {
    settings: Settings,
    /// The epoch of this owner; 0 for a standby.
    epoch: i64,
    /// The epoch that may be taken over at once: it is this participant's own.
    resume: Option<i64>,
    /// No turn has seen the shard yet. So an owner of the same name is a predecessor.
    is_new: bool,
    window: Window,
    /// What the last committed turn announced.
    announced: Announced,
    /// (seq, attempt) of each firing that waits for an answer.
    held: HashSet<(i64, i64)>,
    answers: Vec<Settled>,
    /// The engine's clock minus the host's.
    offset: i64,
    /// When to look at the shard's row, by the host's clock.
    look_at: i64,
    /// A failure puts the next statement off until this time by the host's clock.
    retry_at: i64,
    /// How long the last failure made this participant wait.
    delay: i64,
    resigning: bool,
    /// What is executed next; `None` between turns.
    next: Option<Statement>,
    turn: Turn,
    metrics: Metrics,
}

/// What one transaction has done so far.
#[derive(Debug, Default)]
struct Turn {
    /// It is a transaction, and not a look at the shard's row alone.
    is_open: bool,
    epoch: i64,
    now: i64,
    early: bool,
    settles: usize,
    claimed: Vec<Firing>,
    taken_over: bool,
    announced: Option<Announced>,
}

/// What a participant has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Capacity: timers in memory that wait.
    pub window: usize,
    /// Capacity: firings that wait for an answer.
    pub held: usize,
    /// Punctuality: firings.
    pub firings: u64,
    /// Punctuality: the sum of their lateness, in microseconds.
    pub late_us: u64,
    /// Punctuality: the greatest lateness, in microseconds.
    pub late_max_us: u64,
    /// Punctuality: how late they were. With the feature `metrics`.
    #[cfg(feature = "metrics")]
    pub lateness: tickwright::time::Lateness,
    /// Recovery: how often this participant became the owner.
    pub takeovers: u64,
    /// Recovery: firings that were not the first ones of their timers.
    pub repeated: u64,
    /// Recovery: firings whose answers came too late, because the lease was lost.
    pub lost: u64,
    /// Health: statements, without those of adds and cancels.
    pub statements: u64,
    /// Health: commits of turns.
    pub commits: u64,
    /// Health: errors of the engine in turns.
    pub failures: u64,
}

impl Owner {
    /// A standby that becomes the owner if nobody else is.
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

    /// The epoch, or 0 while this is a standby.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// When to call [`start`](Self::start) next, by the host's clock; `i64::MAX` if never.
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
        // With a batch of firings unanswered, the owner claims nothing more.
        let wake = if self.held.len() < self.settings.batch { self.window.wake() } else { NEVER };
        let wake = if wake == NEVER { i64::MAX } else { wake.saturating_sub(self.offset) };
        wake.min(self.renew_at()).min(self.look_at)
    }

    /// When the lease of the firings without an answer is half over, by the host's clock;
    /// `i64::MAX` if there are none.
    pub(crate) fn renew_at(&self) -> i64 {
        if self.held.is_empty() || self.epoch == 0 {
            return i64::MAX;
        }
        self.announced.lease.saturating_sub(self.settings.margin / 2).saturating_sub(self.offset)
    }

    /// Whether answers wait for a turn.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Makes [`next`](Self::next) return a time that has passed: something may have changed.
    pub(crate) fn look_again(&mut self) {
        self.look_at = i64::MIN;
    }

    /// Learns what the engine's clock shows.
    pub(crate) fn clock(&mut self, now: i64, host: i64) {
        self.offset = now.saturating_sub(host);
    }

    /// Begins a turn, or a look if that is enough. Has no effect within a turn.
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

    /// The statement to execute now; `None` between turns.
    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.next.as_ref()
    }

    /// Takes in what the statement returned. `host` is read after that.
    ///
    /// [`Error::Engine`] if the answer is none of this statement, or if there is no memory. The
    /// turn then rolls back.
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

    /// Takes in that the statement failed, or that [`answer`](Self::answer) did. The caller
    /// executes the `Rollback` that follows, whatever comes of it. The next turn begins after 50
    /// ms, after twice that if it fails too, and so on up to 3.2 s.
    pub(crate) fn failed(&mut self, error: &Error, host: i64) {
        self.metrics.failures += 1;
        self.delay = (self.delay * 2).clamp(50_000, 3_200_000);
        self.retry_at = host.saturating_add(self.delay);
        if matches!(error, Error::UnknownOutcome(_)) {
            self.unknown();
        } else if self.epoch != 0 && self.turn.is_open {
            // The store still has what the turn loaded and popped. The early rows have what was put
            // since the last turn and is due before `wake`.
            self.window = Window::new(self.announced.wake);
            self.look_at = i64::MIN;
        }
        let is_open = self.turn.is_open && !matches!(self.next, Some(Statement::Rollback));
        self.turn = Turn::default();
        self.next = is_open.then_some(Statement::Rollback);
    }

    /// The firings of the turn that has ended. The caller runs them and answers each.
    pub(crate) fn finish(&mut self) -> Vec<Firing> {
        if self.next.is_none() { core::mem::take(&mut self.turn.claimed) } else { Vec::new() }
    }

    /// Answers a firing; the next turn writes the answer. `false` if the firing has an answer, or
    /// was lost with the lease: then it is or was delivered again.
    ///
    /// [`Error::DueOutOfRange`] for [`Outcome::Again`]. The firing then still waits for an answer.
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

    /// Whether a firing waits for an answer; otherwise it has one, or was lost with the lease.
    pub(crate) fn holds(&self, firing: &Firing) -> bool {
        firing.fence == self.epoch && self.held.contains(&(firing.seq, firing.attempt))
    }

    /// Learns that a `Put` of this epoch was committed.
    pub(crate) fn put(&mut self, row: Waiting, near: i64) {
        if near == self.epoch && self.epoch != 0 && !self.window.learn(row) {
            self.unknown();
        }
    }

    /// Learns that a timer was cancelled.
    pub(crate) fn cancelled(&mut self, id: &str) {
        self.window.forget(id);
    }

    /// Learns that the outcome of a commit of this participant's is not known: it takes a new epoch
    /// at its next turn.
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

    /// What this participant has done.
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

    /// The lease is over, or the owner is this participant or its predecessor. A participant that
    /// is alone waits for nobody, as nothing would end its wait.
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
        // What waits in the window is due before what is not loaded yet.
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
