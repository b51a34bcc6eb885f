//! A store in memory with transactions of several connections, which a test can end between any two
//! statements, and with the mistakes that the judge must find.

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwright_durable::{
    Announced, Answer, Cancelled, Error, Firing, Outcome, Settled, Shard, Statement, Waiting,
};

/// A mistake in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A turn does not compare the epoch.
    NoFence,
    /// An answer names the id alone.
    AnswerWithoutEpoch,
    /// A claim does not compare the due time, and the owner's clock is fast.
    EarlyClaim,
    /// A claim does not count.
    SameAttempt,
    /// A takeover does not look for what was running.
    NoOrphans,
    /// A takeover begins its load at `wake`, and forgets what was running.
    LostLowerBound,
    /// A cancel promises that nothing begins, whatever runs.
    CancelIgnoresDoubt,
    /// An answer forgets that an older owner may hold the timer.
    AnswerClearsDoubt,
    /// A cancel does not delete the row.
    CancelLeavesRow,
    /// A replace clears the doubt, although an owner may hold the timer.
    ReplaceClearsDoubt,
    /// A writer does not say what the owner may not know.
    NoEarlyRow,
    /// A writer compares `wake` alone.
    EarlyBeforeWakeOnly,
    /// A turn does not delete the early rows.
    EarlyRowsStay,
    /// A standby does not shorten the lease by early rows.
    LeaseIgnoresEarly,
    /// The guard does not lock.
    NoGuard,
    /// Each add has the first seq.
    SeqAgain,
    /// `done` does not delete the row.
    DoneLeavesRow,
    /// An owner announces a `wake` later than what waits.
    WakeTooLate,
    /// A lease never ends.
    EndlessLease,
    /// A standby takes over although the lease is not over.
    TakeoverAtOnce,
    /// An add returns before its commit.
    AddBeforeCommit,
    /// An owner looks every second.
    Heartbeat,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) due: i64,
    pub(crate) seq: i64,
    pub(crate) is_running: bool,
    pub(crate) doubt: bool,
    pub(crate) fence: i64,
    pub(crate) attempt: i64,
    /// When it began to wait, by the engine's clock.
    pub(crate) since: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) timers: BTreeMap<Arc<str>, Row>,
    pub(crate) early: BTreeMap<Arc<str>, i64>,
    pub(crate) owner: Arc<str>,
    pub(crate) epoch: i64,
    pub(crate) announced: Announced,
}

/// What a commit changed, for the judge.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Added {
        id: Arc<str>,
        seq: i64,
        due: i64,
    },
    Replaced {
        old: i64,
        seq: i64,
        due: i64,
    },
    Cancelled {
        id: Arc<str>,
        seq: i64,
        answer: Cancelled,
    },
    Again {
        old: i64,
        id: Arc<str>,
        seq: i64,
        due: i64,
    },
    /// A claim or an answer by an epoch.
    ByOwner {
        epoch: i64,
    },
    Claimed {
        seq: i64,
        fence: i64,
        attempt: i64,
    },
    Acquired {
        was_over: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    None,
    Shared,
    Alone,
}

#[derive(Debug)]
struct Transaction {
    guard: Guard,
    /// Of an owner: the tables as it leaves them.
    copy: Option<Tables>,
    /// Of a writer: rows and early rows.
    rows: Vec<(Arc<str>, Option<Row>)>,
    early: Vec<(Arc<str>, Option<i64>)>,
    changes: Vec<Change>,
    used_at: i64,
}

pub(crate) enum Executed {
    Answer(Answer),
    Failed(Error),
    /// Another transaction holds what this one needs.
    Blocked,
}

pub(crate) struct Store {
    pub(crate) tables: Tables,
    open: BTreeMap<usize, Transaction>,
    seq: i64,
    pub(crate) margin: i64,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) statements: u64,
    /// The latest time that the clock has shown. The clock may be set back.
    latest: i64,
    pub(crate) log: Vec<Change>,
}

const NEVER: i64 = i64::MAX;

impl Store {
    pub(crate) fn new(margin: i64, mutant: Option<Mutant>) -> Self {
        let announced = Announced { wake: 0, high: NEVER, lease: 0 };
        let tables =
            Tables { timers: BTreeMap::new(), early: BTreeMap::new(), owner: "".into(), epoch: 0, announced };
        Self {
            tables,
            open: BTreeMap::new(),
            seq: 0,
            margin,
            mutant,
            statements: 0,
            latest: 0,
            log: Vec::new(),
        }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The process of this connection has ended.
    pub(crate) fn disconnect(&mut self, connection: usize) {
        self.open.remove(&connection);
    }

    /// Executes a statement of a connection at a time of the engine's.
    pub(crate) fn execute(&mut self, connection: usize, now: i64, statement: &Statement) -> Executed {
        self.statements += 1;
        self.latest = self.latest.max(now);
        // Sessions that are idle in a transaction are ended.
        self.open.retain(|_, open| now - open.used_at <= self.margin);
        match statement {
            Statement::Begin => {
                let (rows, early, changes) = (Vec::new(), Vec::new(), Vec::new());
                let begun =
                    Transaction { guard: Guard::None, copy: None, rows, early, changes, used_at: now };
                self.open.insert(connection, begun);
                return Executed::Answer(Answer::Nothing);
            }
            Statement::Rollback => {
                self.open.remove(&connection);
                return Executed::Answer(Answer::Nothing);
            }
            Statement::Look if !self.open.contains_key(&connection) => {
                return Executed::Answer(Answer::Shard(self.shard(&self.tables, now)));
            }
            _ => {}
        }
        let Some(mut open) = self.open.remove(&connection) else {
            return Executed::Failed(Error::Disconnected("the session was ended".into()));
        };
        open.used_at = now;
        let executed = match statement {
            Statement::Guard { alone } => self.guard(&mut open, *alone),
            Statement::Commit => {
                self.commit(open, now);
                return Executed::Answer(Answer::Nothing);
            }
            Statement::Put { .. } | Statement::Cancel { .. } => self.write(&mut open, now, statement),
            _ => {
                let mut copy = open.copy.take().expect("an owner has the guard");
                let answer = self.turn(&mut copy, &mut open.changes, now, statement);
                open.copy = Some(copy);
                Executed::Answer(answer)
            }
        };
        self.open.insert(connection, open);
        executed
    }

    fn guard(&self, open: &mut Transaction, alone: bool) -> Executed {
        let is_free = |open: &Transaction| match open.guard {
            Guard::None => true,
            Guard::Shared => !alone,
            Guard::Alone => false,
        };
        if !self.is(Mutant::NoGuard) && !self.open.values().all(is_free) {
            return Executed::Blocked;
        }
        open.guard = if alone { Guard::Alone } else { Guard::Shared };
        open.copy = alone.then(|| self.tables.clone());
        Executed::Answer(Answer::Nothing)
    }

    fn shard(&self, tables: &Tables, now: i64) -> Shard {
        let early = tables.early.values().min().copied();
        Shard { now, owner: tables.owner.clone(), epoch: tables.epoch, announced: tables.announced, early }
    }

    fn write(&mut self, open: &mut Transaction, now: i64, statement: &Statement) -> Executed {
        let (Statement::Put { id, .. } | Statement::Cancel { id }) = statement else { unreachable!() };
        if self.open.values().any(|other| other.rows.iter().any(|(locked, _)| locked == id)) {
            return Executed::Blocked;
        }
        let mine = open.rows.iter().rev().find(|(changed, _)| changed == id);
        let old = mine.map_or_else(|| self.tables.timers.get(id).cloned(), |(_, row)| row.clone());
        if let Statement::Put { due, replace, near, .. } = statement {
            if old.is_some() && !replace {
                return Executed::Answer(Answer::Put(None));
            }
            self.seq = if self.is(Mutant::SeqAgain) { 1 } else { self.seq + 1 };
            let (seq, due) = (self.seq, due.resolve(now).expect("in range"));
            let keeps = !self.is(Mutant::ReplaceClearsDoubt);
            let doubt = old.as_ref().is_some_and(|old| keeps && (old.doubt || old.is_running));
            let row = Row { due, seq, is_running: false, doubt, fence: 0, attempt: 0, since: now };
            let Announced { wake, high, .. } = self.tables.announced;
            let is_far = *near == self.tables.epoch || self.is(Mutant::EarlyBeforeWakeOnly);
            if (due < wake || (due < high && !is_far)) && !self.is(Mutant::NoEarlyRow) {
                open.early.push((id.clone(), Some(due.max(now))));
            }
            open.rows.push((id.clone(), Some(row)));
            open.changes.push(match old {
                Some(old) => Change::Replaced { old: old.seq, seq, due },
                None => Change::Added { id: id.clone(), seq, due },
            });
            return Executed::Answer(Answer::Put(Some(Waiting { id: id.clone(), due, seq })));
        }
        let Some(old) = old else { return Executed::Answer(Answer::Cancelled(Cancelled::Gone)) };
        let is_free = !old.is_running && !old.doubt;
        let answer = if is_free || self.is(Mutant::CancelIgnoresDoubt) {
            Cancelled::Removed
        } else {
            Cancelled::Running
        };
        let row = self.is(Mutant::CancelLeavesRow).then(|| old.clone());
        open.rows.push((id.clone(), row));
        open.early.push((id.clone(), None));
        open.changes.push(Change::Cancelled { id: id.clone(), seq: old.seq, answer });
        Executed::Answer(Answer::Cancelled(answer))
    }

    fn turn(
        &mut self,
        tables: &mut Tables,
        changes: &mut Vec<Change>,
        now: i64,
        statement: &Statement,
    ) -> Answer {
        let waiting = |(id, row): (&Arc<str>, &Row)| Waiting { id: id.clone(), due: row.due, seq: row.seq };
        match statement {
            Statement::Look => Answer::Shard(self.shard(tables, now)),
            Statement::Acquire { owner } => {
                let early = tables.early.values().min().map_or(NEVER, |due| due + self.margin);
                let is_successor = tables.owner == *owner;
                let was_over = is_successor || tables.announced.lease.min(early) < self.latest;
                changes.push(Change::Acquired { was_over });
                tables.owner = owner.clone();
                tables.epoch += 1;
                Answer::Count(1)
            }
            Statement::Orphan => {
                let mut rows = Vec::new();
                for (id, row) in &mut tables.timers {
                    if row.is_running && !self.is(Mutant::NoOrphans) {
                        row.is_running = false;
                        row.doubt = true;
                        row.since = now;
                        rows.push(waiting((id, row)));
                    }
                }
                if self.is(Mutant::LostLowerBound) {
                    rows.clear();
                }
                Answer::Rows(rows)
            }
            Statement::Settle { epoch, answers } => {
                changes.push(Change::ByOwner { epoch: *epoch });
                Answer::Rows(
                    answers.iter().filter_map(|a| self.settle(tables, changes, now, *epoch, a)).collect(),
                )
            }
            Statement::Early => {
                let early = tables.early.keys().filter_map(|id| tables.timers.get_key_value(id));
                let rows = early.filter(|(_, row)| !row.is_running).map(waiting).collect();
                if !self.is(Mutant::EarlyRowsStay) {
                    tables.early.clear();
                }
                Answer::Rows(rows)
            }
            Statement::Load { due, seq, limit } => {
                let rows = tables.timers.iter().filter(|(_, row)| !row.is_running);
                let mut rows: Vec<Waiting> =
                    rows.map(waiting).filter(|row| (row.due, row.seq) >= (*due, *seq)).collect();
                rows.sort_unstable_by_key(|row| (row.due, row.seq));
                rows.truncate(*limit);
                Answer::Rows(rows)
            }
            Statement::Claim { epoch, now: at, rows } => {
                changes.push(Change::ByOwner { epoch: *epoch });
                let mut claimed = Vec::new();
                for Waiting { id, seq, .. } in rows {
                    let Some(row) = tables.timers.get_mut(id) else { continue };
                    let is_due = row.due <= *at || self.is(Mutant::EarlyClaim);
                    if row.seq == *seq && !row.is_running && is_due {
                        row.is_running = true;
                        row.fence = *epoch;
                        row.attempt += i64::from(!self.is(Mutant::SameAttempt));
                        let (fence, attempt) = (row.fence, row.attempt);
                        changes.push(Change::Claimed { seq: *seq, fence, attempt });
                        claimed.push(Firing {
                            id: id.clone(),
                            due: row.due,
                            late: 0,
                            attempt: row.attempt,
                            fence: *epoch,
                            payload: Vec::new(),
                            seq: *seq,
                        });
                    }
                }
                Answer::Claimed(claimed)
            }
            Statement::Announce { announced } => {
                tables.announced = *announced;
                if self.is(Mutant::WakeTooLate) {
                    tables.announced.wake = announced.wake.saturating_add(3_600_000_000);
                }
                if self.is(Mutant::EndlessLease) && announced.lease != 0 {
                    tables.announced.lease = NEVER;
                }
                Answer::Count(1)
            }
            other => unreachable!("{other:?} in a turn"),
        }
    }

    fn settle(
        &mut self,
        tables: &mut Tables,
        changes: &mut Vec<Change>,
        now: i64,
        epoch: i64,
        settled: &Settled,
    ) -> Option<Waiting> {
        let (id, seq, attempt, outcome) = settled.parts();
        let row = tables.timers.get_mut(id)?;
        let matches = row.is_running && row.seq == seq && row.fence == epoch && row.attempt == attempt;
        if !matches && !self.is(Mutant::AnswerWithoutEpoch) {
            return None;
        }
        let doubt = row.doubt && !self.is(Mutant::AnswerClearsDoubt);
        match outcome {
            Outcome::Done => {
                if !self.is(Mutant::DoneLeavesRow) {
                    tables.timers.remove(id);
                }
                return None;
            }
            Outcome::Again(due) => {
                self.seq += 1;
                let (old, due) = (row.seq, due.clamped(now));
                *row = Row { due, seq: self.seq, is_running: false, doubt, fence: 0, attempt: 0, since: now };
                changes.push(Change::Again { old, id: id.clone(), seq: self.seq, due });
            }
            Outcome::Release => {
                row.is_running = false;
                row.doubt = doubt;
                row.since = now;
            }
        }
        Some(Waiting { id: id.clone(), due: row.due, seq: row.seq })
    }

    fn commit(&mut self, open: Transaction, now: i64) {
        if let Some(mut copy) = open.copy {
            if self.is(Mutant::NoFence) {
                // Each writes rows without a look at who owns the shard.
                copy.epoch = copy.epoch.max(self.tables.epoch);
            }
            self.tables = copy;
        }
        for (id, row) in open.rows {
            match row {
                Some(row) => drop(self.tables.timers.insert(id, Row { since: now, ..row })),
                None => drop(self.tables.timers.remove(&id)),
            }
        }
        for (id, due) in open.early {
            match due {
                Some(due) => drop(self.tables.early.insert(id, due)),
                None => drop(self.tables.early.remove(&id)),
            }
        }
        self.log.extend(open.changes);
    }
}
