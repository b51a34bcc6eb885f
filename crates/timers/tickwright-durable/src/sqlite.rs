//! Timers in a file: SQLite, within the process.
//!
//! The file may be the one of the program's own tables: [`Within`] writes timers in the program's
//! transaction.

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use crate::error::Error;
use crate::limits::SCHEMA;
use crate::statement::{
    Announced, Answer, Cancelled, Due, Engine, Firing, Outcome, Settled, Shard, Statement, Timer, Waiting,
};

const CREATE: &str = "
CREATE TABLE tickwright_store (version INTEGER NOT NULL) STRICT;
CREATE TABLE tickwright_timer (
    shard INTEGER NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL, seq INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0, doubt INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0, payload BLOB NOT NULL, PRIMARY KEY (shard, id)) STRICT;
CREATE INDEX tickwright_waiting ON tickwright_timer (shard, due, seq) WHERE state = 0;
CREATE INDEX tickwright_running ON tickwright_timer (shard) WHERE state = 1;
CREATE TABLE tickwright_shard (
    shard INTEGER PRIMARY KEY, owner TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0,
    wake INTEGER NOT NULL DEFAULT 0, high INTEGER NOT NULL DEFAULT 9223372036854775807,
    lease INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE tickwright_early (
    shard INTEGER NOT NULL, id TEXT NOT NULL, back INTEGER NOT NULL,
    PRIMARY KEY (shard, id)) STRICT, WITHOUT ROWID;";

/// A connection to a file of timers.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    shard: i64,
}

impl Sqlite {
    /// Opens a file, or makes it. It is in WAL mode, and a commit waits for the disk
    /// (`synchronous = FULL`).
    ///
    /// # Errors
    /// [`Error::NewerSchema`], [`Error::Foreign`], [`Error::Denied`], [`Error::Full`] and what
    /// SQLite reports. The file is then as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::new(Connection::open(path).map_err(error)?)
    }

    /// Takes a connection of the caller's, and sets its mode as [`open`](Self::open) does.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(connection: Connection) -> Result<Self, Error> {
        connection.busy_timeout(Duration::from_secs(5)).map_err(error)?;
        let found = version(&connection)?;
        // A foreign file, or one of a newer version, keeps the mode that it has.
        connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
            .and_then(|_| connection.execute_batch("PRAGMA synchronous = FULL"))
            .map_err(error)?;
        connection.set_prepared_statement_cache_capacity(32);
        if found.is_none() {
            connection.execute_batch("BEGIN IMMEDIATE").map_err(error)?;
            // Another process may have been faster.
            let made = version(&connection).and_then(|found| match found {
                Some(_) => Ok(()),
                None => connection
                    .execute_batch(CREATE)
                    .and_then(|()| connection.execute("INSERT INTO tickwright_store VALUES (?)", [SCHEMA]))
                    .map(drop)
                    .map_err(error),
            });
            let made = made.and_then(|()| connection.execute_batch("COMMIT").map_err(error));
            if made.is_err() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            made?;
        }
        Self { connection, shard: 0 }.shard(0)
    }

    /// The same store, for another shard.
    ///
    /// # Errors
    /// What SQLite reports.
    pub fn shard(self, shard: u32) -> Result<Self, Error> {
        let shard = i64::from(shard);
        let add = "INSERT INTO tickwright_shard (shard) VALUES (?) ON CONFLICT DO NOTHING";
        self.connection.execute(add, [shard]).map_err(error)?;
        Ok(Self { shard, ..self })
    }

    /// The connection, for the caller's own tables. Leave it outside of a transaction.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Engine for Sqlite {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        Within { connection: &self.connection, shard: self.shard }.run_statement(statement)
    }

    fn clock(&self) -> Option<i64> {
        Some(now())
    }
}

/// A transaction of the caller's, for a [`Writer`](crate::Writer):
///
/// ```
/// use tickwright_durable::sqlite::{Sqlite, Within};
/// use tickwright_durable::{Due, Writer};
///
/// let mut store = Sqlite::new(rusqlite::Connection::open_in_memory()?)?;
/// let order = store.connection().transaction()?;
/// order.execute("CREATE TABLE orders (id INTEGER)", [])?;
/// order.execute("INSERT INTO orders VALUES (7)", [])?;
/// Writer::new(Within::new(&order, 0)).add("remind 7", Due::After(86_400_000_000), b"")?;
/// order.commit()?; // both, or none
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Begin the transaction with `BEGIN IMMEDIATE` if others write too, as for every read before a
/// write in SQLite.
#[derive(Debug)]
pub struct Within<'a> {
    connection: &'a Connection,
    shard: i64,
}

impl<'a> Within<'a> {
    /// Writes timers of a shard in the transaction of this connection; without one, each call fails
    /// with [`Error::NoTransaction`]. The store exists: [`Sqlite::open`] made it.
    #[must_use]
    pub fn new(connection: &'a Connection, shard: u32) -> Self {
        Self { connection, shard: i64::from(shard) }
    }

    fn run(&self, sql: &str) -> rusqlite::Result<Answer> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(Answer::Nothing)
    }

    fn rows(&self, sql: &str, arguments: impl rusqlite::Params) -> rusqlite::Result<Answer> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(arguments, waiting)?.collect::<rusqlite::Result<_>>()?;
        Ok(Answer::Rows(rows))
    }

    fn look(&self) -> rusqlite::Result<Answer> {
        let sql = "SELECT owner, epoch, wake, high, lease,
            (SELECT min(back) FROM tickwright_early WHERE shard = ?1) FROM tickwright_shard WHERE shard = ?1";
        let shard = self.connection.prepare_cached(sql)?.query_row([self.shard], |row| {
            Ok(Shard {
                now: now(),
                owner: row.get(0)?,
                epoch: row.get(1)?,
                announced: Announced { wake: row.get(2)?, high: row.get(3)?, lease: row.get(4)? },
                early: row.get(5)?,
            })
        })?;
        Ok(Answer::Shard(shard))
    }

    fn next_seq(&self) -> rusqlite::Result<[i64; 4]> {
        let sql =
            "UPDATE tickwright_shard SET seq = seq + 1 WHERE shard = ? RETURNING seq, wake, high, epoch";
        self.connection
            .prepare_cached(sql)?
            .query_row([self.shard], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
    }

    fn put(
        &self,
        id: &Arc<str>,
        due: i64,
        payload: &[u8],
        replace: bool,
        near: i64,
    ) -> rusqlite::Result<Answer> {
        let [seq, wake, high, epoch] = self.next_seq()?;
        let sql = if replace {
            "INSERT INTO tickwright_timer (shard, id, due, seq, payload) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (shard, id) DO UPDATE SET due = excluded.due, seq = excluded.seq,
             payload = excluded.payload, doubt = max(doubt, state), state = 0, attempt = 0"
        } else {
            "INSERT INTO tickwright_timer (shard, id, due, seq, payload) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING"
        };
        if self.connection.prepare_cached(sql)?.execute(params![self.shard, id, due, seq, payload])? == 0 {
            return Ok(Answer::Put(None));
        }
        if due < wake || (due < high && epoch != near) {
            let sql = "INSERT INTO tickwright_early VALUES (?, ?, ?)
                ON CONFLICT (shard, id) DO UPDATE SET back = excluded.back";
            self.connection.prepare_cached(sql)?.execute(params![self.shard, id, due.max(now())])?;
        }
        Ok(Answer::Put(Some(Waiting { id: id.clone(), due, seq })))
    }

    fn claim(&self, epoch: i64, now: i64, rows: &[Waiting]) -> rusqlite::Result<Answer> {
        let sql = "UPDATE tickwright_timer SET state = 1, fence = ?, attempt = attempt + 1
            WHERE shard = ? AND id = ? AND seq = ? AND state = 0 AND due <= ? RETURNING due, attempt, payload";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut claimed = Vec::with_capacity(rows.len());
        for Waiting { id, seq, .. } in rows {
            let firing = statement.query_row(params![epoch, self.shard, id, seq, now], |row| {
                Ok(Firing {
                    id: id.clone(),
                    due: row.get(0)?,
                    late: 0,
                    attempt: row.get(1)?,
                    fence: epoch,
                    payload: row.get(2)?,
                    seq: *seq,
                })
            });
            claimed.extend(firing.optional()?);
        }
        Ok(Answer::Claimed(claimed))
    }

    fn settle(&self, epoch: i64, answers: &[Settled]) -> rusqlite::Result<Answer> {
        let mut rows = Vec::new();
        let done = "DELETE FROM tickwright_timer
            WHERE shard = ? AND id = ? AND seq = ? AND attempt = ? AND fence = ? AND state = 1";
        let wait = "UPDATE tickwright_timer SET state = 0, attempt = CASE WHEN ?8 THEN attempt ELSE 0 END,
            seq = ?7, due = coalesce(?6, due)
            WHERE shard = ?1 AND id = ?2 AND seq = ?3 AND attempt = ?4 AND fence = ?5 AND state = 1
            RETURNING id, due, seq";
        for Settled { id, seq, attempt, outcome } in answers {
            let (due, next) = match *outcome {
                Outcome::Done => {
                    let arguments = params![self.shard, id, seq, attempt, epoch];
                    self.connection.prepare_cached(done)?.execute(arguments)?;
                    continue;
                }
                Outcome::Again(due) => (Some(due.clamped(now())), self.next_seq()?[0]),
                Outcome::Release => (None, *seq),
            };
            let arguments = params![self.shard, id, seq, attempt, epoch, due, next, due.is_none()];
            rows.extend(self.connection.prepare_cached(wait)?.query_row(arguments, waiting).optional()?);
        }
        Ok(Answer::Rows(rows))
    }

    fn cancel(&self, id: &Arc<str>) -> rusqlite::Result<Answer> {
        let sql = "DELETE FROM tickwright_timer WHERE shard = ? AND id = ? RETURNING state, doubt";
        let found = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![self.shard, id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let sql = "DELETE FROM tickwright_early WHERE shard = ? AND id = ?";
        self.connection.prepare_cached(sql)?.execute(params![self.shard, id])?;
        Ok(Answer::Cancelled(cancelled(found)))
    }

    fn get(&self, id: &Arc<str>) -> rusqlite::Result<Answer> {
        let sql = "SELECT due, state = 1, attempt, payload FROM tickwright_timer WHERE shard = ? AND id = ?";
        let timer = self.connection.prepare_cached(sql)?.query_row(params![self.shard, id], |row| {
            Ok(Timer { due: row.get(0)?, running: row.get(1)?, attempt: row.get(2)?, payload: row.get(3)? })
        });
        Ok(Answer::Timer(timer.optional()?))
    }

    fn answer(&self, statement: &Statement, put_due: Option<i64>) -> rusqlite::Result<Answer> {
        match statement {
            Statement::Begin => self.run("BEGIN IMMEDIATE"),
            // The transaction holds the only lock that there is, or takes it at its first write.
            Statement::Guard { .. } => Ok(Answer::Nothing),
            Statement::Commit => self.run("COMMIT"),
            Statement::Rollback if self.connection.is_autocommit() => Ok(Answer::Nothing),
            Statement::Rollback => self.run("ROLLBACK"),
            Statement::Look => self.look(),
            Statement::Acquire { owner } => {
                let sql = "UPDATE tickwright_shard SET epoch = epoch + 1, owner = ? WHERE shard = ?";
                self.connection.prepare_cached(sql)?.execute(params![owner, self.shard]).map(Answer::Count)
            }
            Statement::Orphan => self.rows(
                "UPDATE tickwright_timer SET state = 0, doubt = 1 WHERE shard = ? AND state = 1 RETURNING id, due, seq",
                [self.shard],
            ),
            Statement::Settle { epoch, answers } => self.settle(*epoch, answers),
            Statement::Early => {
                let sql = "SELECT t.id, t.due, t.seq FROM tickwright_early e
                    JOIN tickwright_timer t ON t.shard = e.shard AND t.id = e.id
                    WHERE e.shard = ? AND t.state = 0";
                let rows = self.rows(sql, [self.shard])?;
                let delete = "DELETE FROM tickwright_early WHERE shard = ?";
                self.connection.prepare_cached(delete)?.execute([self.shard])?;
                Ok(rows)
            }
            Statement::Load { due, seq, limit } => self.rows(
                "SELECT id, due, seq FROM tickwright_timer
                 WHERE shard = ? AND state = 0 AND (due, seq) >= (?, ?) ORDER BY due, seq LIMIT ?",
                params![self.shard, due, seq, i64::try_from(*limit).unwrap_or(i64::MAX)],
            ),
            Statement::Claim { epoch, now, rows } => self.claim(*epoch, *now, rows),
            Statement::Announce { announced: Announced { wake, high, lease } } => {
                let sql = "UPDATE tickwright_shard SET wake = ?, high = ?, lease = ? WHERE shard = ?";
                let arguments = params![wake, high, lease, self.shard];
                self.connection.prepare_cached(sql)?.execute(arguments).map(Answer::Count)
            }
            Statement::Put { id, payload, replace, near, .. } => {
                self.put(id, put_due.unwrap_or_default(), payload, *replace, *near)
            }
            Statement::Cancel { id } => self.cancel(id),
            Statement::Get { id } => self.get(id),
        }
    }
}

impl Engine for Within<'_> {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        // Without a transaction, half of a call could stay.
        if self.connection.is_autocommit() {
            Err(Error::NoTransaction)
        } else {
            self.run_statement(statement)
        }
    }
}

impl Within<'_> {
    fn run_statement(&self, statement: &Statement) -> Result<Answer, Error> {
        let due = |due: &Due| due.resolve(now());
        let put_due =
            if let Statement::Put { due: asked, .. } = statement { Some(due(asked)?) } else { None };
        self.answer(statement, put_due).map_err(|failure| match failure {
            rusqlite::Error::QueryReturnedNoRows => Error::NoShard(self.shard),
            other => error(other),
        })
    }
}

/// What a cancel says of a row of this (state, doubt).
pub(crate) fn cancelled(found: Option<(i64, i64)>) -> Cancelled {
    match found {
        None => Cancelled::Gone,
        Some((0, 0)) => Cancelled::Removed,
        Some(_) => Cancelled::Running,
    }
}

/// The version of the store, or `None` if there is none.
fn version(connection: &Connection) -> Result<Option<i64>, Error> {
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'tickwright\\_%' ESCAPE '\\'";
    let names: Vec<String> = connection
        .prepare(tables)
        .and_then(|mut tables| tables.query_map([], |row| row.get(0))?.collect())
        .map_err(error)?;
    if !names.iter().any(|name| name == "tickwright_store") {
        return match names.first() {
            Some(name) => Err(Error::Foreign(format!("it has a table {name} and no tickwright_store"))),
            None => Ok(None),
        };
    }
    let found = connection.query_row("SELECT version FROM tickwright_store", [], |row| row.get(0)).map_err(
        |why| match why.sqlite_error_code() {
            // No such column, or no row.
            None | Some(ErrorCode::Unknown) => Error::Foreign("its tickwright_store has no version".into()),
            Some(_) => error(why),
        },
    )?;
    match found {
        SCHEMA => Ok(Some(found)),
        found if found > SCHEMA => Err(Error::NewerSchema { found }),
        found => Err(Error::Foreign(format!("its tickwright_store has version {found}"))),
    }
}

fn waiting(row: &Row<'_>) -> rusqlite::Result<Waiting> {
    Ok(Waiting { id: row.get(0)?, due: row.get(1)?, seq: row.get(2)? })
}

/// SQLite's clock: the wall clock of the machine.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn error(error: rusqlite::Error) -> Error {
    let what = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::Foreign(what),
        Some(ErrorCode::DiskFull) => Error::Full(what),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy(what),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied,
        ) => Error::Denied(what),
        _ => Error::Engine(what),
    }
}
