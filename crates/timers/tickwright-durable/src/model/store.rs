//! SQLite in memory with the crate's own statements, for several connections that a test can end
//! between any two statements.
//!
//! An owner's turn is a SQLite transaction. Writers share their guard, as in PostgreSQL: the
//! changes of a write are undone and repeated at its commit, which can follow commits of other
//! writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params, params_from_iter};

use super::Mutant;
use crate::Error;
use crate::sql::MUTATION;
use crate::sqlite::{CLOCK, Sqlite};
use crate::statement::{Answer, Cancelled, Engine, Shard, Statement, Waiting};

/// The changes of a commit, for the judge.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put { old: Option<i64>, row: Waiting },
    Cancelled { id: Arc<str>, seq: i64, answer: Cancelled },
    Turn(Statement, Answer),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Guard {
    #[default]
    None,
    Shared,
    Alone,
}

#[derive(Debug, Default)]
struct Transaction {
    guard: Guard,
    write: Option<Write>,
    changes: Vec<Change>,
    used_at: i64,
}

/// The rows that a write leaves.
#[derive(Debug)]
struct Write {
    id: Arc<str>,
    row: Option<Vec<Value>>,
    back: Option<i64>,
}

pub(crate) enum Executed {
    Answer(Answer),
    Failed(Error),
    /// Another transaction holds a lock that this transaction needs.
    Blocked,
}

pub(crate) struct Store<'a> {
    sqlite: &'a mut Sqlite,
    open: BTreeMap<usize, Transaction>,
    /// The shard's row as the last commit left it.
    pub(crate) shard: Shard,
    margin: i64,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) statements: u64,
    pub(crate) log: Vec<Change>,
}

impl<'a> Store<'a> {
    /// Creates an empty store over this connection.
    pub(crate) fn new(sqlite: &'a mut Sqlite, margin: i64, mutant: Option<Mutant>) -> Self {
        let clear = "DELETE FROM tickwright_timer; DELETE FROM tickwright_early;
            DELETE FROM tickwright_shard; INSERT INTO tickwright_shard (shard) VALUES (0)";
        sqlite.connection().execute_batch(clear).unwrap();
        MUTATION.set(mutant.map_or(&[], |mutant| mutant.sql()));
        let Ok(Answer::Shard(shard)) = sqlite.execute(&Statement::Look) else { panic!("no shard") };
        Self { sqlite, open: BTreeMap::new(), shard, margin, mutant, statements: 0, log: Vec::new() }
    }

    /// Ends a connection whose process has ended.
    pub(crate) fn disconnect(&mut self, connection: usize) {
        if self.open.remove(&connection).is_some_and(|open| open.guard == Guard::Alone) {
            self.run(&Statement::Rollback);
        }
    }

    /// Executes a statement of a connection at a given time of the engine's clock.
    pub(crate) fn execute(&mut self, connection: usize, now: i64, statement: &Statement) -> Executed {
        self.statements += 1;
        CLOCK.set(Some(now));
        // Sessions that are idle in a transaction are ended.
        let is_idle = |open: &Transaction| now - open.used_at > self.margin;
        let idle: Vec<usize> =
            self.open.iter().filter(|(_, open)| is_idle(open)).map(|(&at, _)| at).collect();
        idle.into_iter().for_each(|at| self.disconnect(at));
        match statement {
            Statement::Begin => {
                self.open.insert(connection, Transaction { used_at: now, ..Transaction::default() });
                return Executed::Answer(Answer::Nothing);
            }
            Statement::Rollback => {
                self.disconnect(connection);
                return Executed::Answer(Answer::Nothing);
            }
            Statement::Look if !self.open.contains_key(&connection) => {
                return Executed::Answer(Answer::Shard(Shard { now, ..self.shard.clone() }));
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
                self.commit(open);
                return Executed::Answer(Answer::Nothing);
            }
            Statement::Put { .. } | Statement::Cancel { .. } => self.write(&mut open, statement.clone()),
            _ => {
                let answer = self.run(statement);
                open.changes.push(Change::Turn(statement.clone(), answer.clone()));
                Executed::Answer(answer)
            }
        };
        self.open.insert(connection, open);
        executed
    }

    fn run(&mut self, statement: &Statement) -> Answer {
        self.sqlite.execute(statement).unwrap_or_else(|error| panic!("{statement:?}: {error}"))
    }

    fn guard(&mut self, open: &mut Transaction, alone: bool) -> Executed {
        let is_free = |open: &Transaction| match open.guard {
            Guard::None => true,
            Guard::Shared => !alone || self.mutant == Some(Mutant::NoGuard),
            Guard::Alone => !alone && self.mutant == Some(Mutant::NoGuard),
        };
        if !self.open.values().all(is_free) {
            return Executed::Blocked;
        }
        open.guard = if alone { Guard::Alone } else { Guard::Shared };
        if alone {
            self.run(&Statement::Begin);
        }
        Executed::Answer(Answer::Nothing)
    }

    fn write(&mut self, open: &mut Transaction, mut statement: Statement) -> Executed {
        if let (Some(Mutant::EarlyBeforeWakeOnly), Statement::Put { near, .. }) =
            (self.mutant, &mut statement)
        {
            *near = self.shard.epoch;
        }
        let (Statement::Put { id, .. } | Statement::Cancel { id }) = &statement else { unreachable!() };
        if self.open.values().flat_map(|other| &other.write).any(|other| other.id == *id) {
            return Executed::Blocked;
        }
        self.sql("SAVEPOINT write", []);
        let old = self.one("SELECT seq FROM tickwright_timer WHERE id = ?", params![id]);
        let answer = self.run(&statement);
        let row = self
            .sqlite
            .connection()
            .prepare_cached("SELECT * FROM tickwright_timer WHERE id = ?")
            .and_then(|mut row| row.query_row([id], |row| (0..9).map(|at| row.get(at)).collect()).optional())
            .unwrap();
        let back = self.one("SELECT back FROM tickwright_early WHERE id = ?", params![id]);
        let seq = self.one("SELECT seq FROM tickwright_shard", []);
        self.sql("ROLLBACK TO write", []);
        self.sql("RELEASE write", []);
        // The number behaves like a PostgreSQL sequence, which a rollback does not set back.
        self.sql("UPDATE tickwright_shard SET seq = ?", [seq]);
        open.write = Some(Write { id: id.clone(), row, back });
        open.changes.extend(match (&answer, old) {
            (Answer::Put(Some(row)), old) => Some(Change::Put { old, row: row.clone() }),
            (Answer::Cancelled(answer), Some(seq)) => {
                Some(Change::Cancelled { id: id.clone(), seq, answer: *answer })
            }
            _ => None,
        });
        Executed::Answer(answer)
    }

    fn commit(&mut self, open: Transaction) {
        if open.guard == Guard::Alone {
            self.run(&Statement::Commit);
        }
        if let Some(Write { id, row, back }) = open.write {
            self.sql("SAVEPOINT write", []);
            self.sql("DELETE FROM tickwright_timer WHERE id = ?", params![id]);
            self.sql("DELETE FROM tickwright_early WHERE id = ?", params![id]);
            if let Some(row) = row {
                let insert = "INSERT INTO tickwright_timer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
                self.sql(insert, params_from_iter(row));
            }
            if let Some(back) = back {
                self.sql("INSERT INTO tickwright_early VALUES (0, ?, ?)", params![id, back]);
            }
            self.sql("RELEASE write", []);
        }
        if !self.is_in_turn() {
            let Answer::Shard(shard) = self.run(&Statement::Look) else { unreachable!() };
            self.shard = shard;
        }
        self.log.extend(open.changes);
    }

    fn sql(&mut self, sql: &str, arguments: impl rusqlite::Params) {
        self.sqlite.connection().prepare_cached(sql).and_then(|mut sql| sql.execute(arguments)).unwrap();
    }

    /// Returns the first number of the first row, if there is one.
    fn one(&mut self, sql: &str, arguments: impl rusqlite::Params) -> Option<i64> {
        let mut sql = self.sqlite.connection().prepare_cached(sql).unwrap();
        sql.query_row(arguments, |row| row.get(0)).optional().unwrap().flatten()
    }

    /// Returns whether an owner's turn is open, so that SQLite shows uncommitted changes.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.open.values().any(|open| open.guard == Guard::Alone)
    }

    /// Returns the waiting timers that were due before this time.
    pub(crate) fn overdue(&mut self, before: i64) -> Vec<Waiting> {
        let first = self.one("SELECT min(due) FROM tickwright_timer WHERE shard = 0 AND state = 0", []);
        if first.is_none_or(|due| due >= before) {
            return Vec::new();
        }
        let load = Statement::Load { due: 0, seq: 0, limit: 99 };
        let Answer::Rows(mut rows) = self.run(&load) else { unreachable!() };
        rows.retain(|row| row.due < before);
        rows
    }

    /// Returns (seq, id, state) of a timer that remains, and the number of early rows.
    pub(crate) fn left(&mut self) -> (Option<(i64, String, i64)>, i64) {
        let sql = "SELECT seq, id, state FROM tickwright_timer ORDER BY id LIMIT 1";
        let get = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let timer = self.sqlite.connection().query_row(sql, [], get).optional().unwrap();
        (timer, self.one("SELECT count(*) FROM tickwright_early", []).unwrap_or(0))
    }
}
