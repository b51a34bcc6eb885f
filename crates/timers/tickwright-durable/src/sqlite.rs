//! Timers in a file: SQLite, within the process.
//!
//! The file can also hold the program's own tables: [`Within`] writes timers in the program's
//! transaction.

use core::time::Duration;
use std::borrow::Cow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, params_from_iter};

use crate::error::Error;
use crate::sql::{self, ADD_SHARD, CREATE, Sql, Value};
use crate::statement::{Answer, Engine, Statement};

/// A connection to a file of timers.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    shard: i64,
}

impl Sqlite {
    /// Opens a file, or creates it. The file is in WAL mode, and each commit waits for the disk
    /// (`synchronous = FULL`).
    ///
    /// # Errors
    /// [`Error::NewerSchema`], [`Error::Foreign`], [`Error::Denied`], [`Error::Full`] and errors
    /// that SQLite reports. After an error the file is unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::new(Connection::open(path).map_err(error)?)
    }

    /// Uses the caller's connection, and sets its mode as [`open`](Self::open) does.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(connection: Connection) -> Result<Self, Error> {
        connection.busy_timeout(Duration::from_secs(5)).map_err(error)?;
        let mut within = Within { connection: &connection, shard: 0 };
        let found = sql::version(&mut within)?;
        // A foreign file, or a file of a newer version, keeps its mode.
        connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
            .and_then(|_| connection.execute_batch("PRAGMA synchronous = FULL"))
            .map_err(error)?;
        connection.set_prepared_statement_cache_capacity(32);
        if found.is_none() {
            connection.execute_batch("BEGIN IMMEDIATE").map_err(error)?;
            let made = within.create().and_then(|()| connection.execute_batch("COMMIT").map_err(error));
            if made.is_err() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            made?;
        }
        Self { connection, shard: 0 }.shard(0)
    }

    /// Returns the same store, for another shard.
    ///
    /// # Errors
    /// Errors that SQLite reports.
    pub fn shard(self, shard: u32) -> Result<Self, Error> {
        let shard = i64::from(shard);
        self.connection.execute(ADD_SHARD, [shard]).map_err(error)?;
        Ok(Self { shard, ..self })
    }

    /// Returns the connection, for the caller's own tables. The caller must end every transaction
    /// that it begins.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Engine for Sqlite {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        let end = match statement {
            Statement::Begin => "BEGIN IMMEDIATE",
            Statement::Commit => "COMMIT",
            Statement::Rollback if self.connection.is_autocommit() => return Ok(Answer::Nothing),
            Statement::Rollback => "ROLLBACK",
            _ => {
                let mut within = Within { connection: &self.connection, shard: self.shard };
                return sql::execute(&mut within, self.shard, statement);
            }
        };
        let ended = self.connection.prepare_cached(&text(end)).and_then(|mut end| end.execute([]));
        ended.map(|_| Answer::Nothing).map_err(error)
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
/// If other connections write too, begin the transaction with `BEGIN IMMEDIATE`, as SQLite requires
/// for every transaction that reads before it writes.
#[derive(Debug)]
pub struct Within<'a> {
    connection: &'a Connection,
    shard: i64,
}

impl<'a> Within<'a> {
    /// Writes timers of a shard in the transaction of this connection. Without a transaction, each
    /// call fails with [`Error::NoTransaction`]. The store must have been created by
    /// [`Sqlite::open`].
    #[must_use]
    pub fn new(connection: &'a Connection, shard: u32) -> Self {
        Self { connection, shard: i64::from(shard) }
    }

    /// Creates the tables, unless another process has created them meanwhile.
    fn create(&mut self) -> Result<(), Error> {
        if sql::version(self)?.is_some() {
            return Ok(());
        }
        let mut create = CREATE.replace(");", ") STRICT;");
        for (postgres, sqlite) in [("bigint", "INTEGER"), ("text COLLATE \"C\"", "TEXT"), ("bytea", "BLOB")] {
            create = create.replace(postgres, sqlite);
        }
        create += "ALTER TABLE tickwright_shard ADD COLUMN seq INTEGER NOT NULL DEFAULT 0";
        self.connection.execute_batch(&create).map_err(error)?;
        sql::created(self)
    }
}

impl Engine for Within<'_> {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        // Without a transaction, an error could leave half of a call's changes in the store.
        if self.connection.is_autocommit() {
            return Err(Error::NoTransaction);
        }
        let shard = self.shard;
        sql::execute(self, shard, statement)
    }
}

/// Returns the text of a statement. Most statements have no parts that differ between engines.
fn text(text: &'static str) -> Cow<'static, str> {
    if !cfg!(test) && !text.contains('{') {
        return text.into();
    }
    let list = "(SELECT value ->> 0 AS a_id, value ->> 1 AS a_seq, value ->> 2 AS a_attempt,
        value ->> 3 AS a_due, value ->> 4 AS a_next, value ->> 5 AS a_shard FROM json_each(?3))";
    sql::text(text, "?2", list).into()
}

impl Sql for Within<'_> {
    const TABLES: &'static str =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'tickwright\\_%' ESCAPE '\\'";
    const DRAW: &'static str = "UPDATE tickwright_shard SET seq = seq + ?2 WHERE shard = ?1 RETURNING seq";

    fn query(
        &mut self,
        sql: &'static str,
        arguments: &[Value<'_>],
        found: &mut dyn FnMut(&[Value<'_>]),
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(&text(sql)).map_err(error)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(arguments)).map_err(error)?;
        while let Some(row) = rows.next().map_err(error)? {
            let column = |at| -> rusqlite::Result<Value<'_>> {
                Ok(match row.get_ref(at)? {
                    ValueRef::Integer(value) => Value::Int(value),
                    ValueRef::Text(value) => Value::Text(core::str::from_utf8(value)?),
                    ValueRef::Blob(value) => Value::Bytes(value),
                    _ => Value::Null,
                })
            };
            found(&(0..columns).map(column).collect::<rusqlite::Result<Vec<_>>>().map_err(error)?);
        }
        Ok(())
    }

    fn now(&self) -> Option<i64> {
        Some(now())
    }

    /// Does nothing: the transaction holds SQLite's only lock, or takes this lock at its first
    /// write.
    fn guard(&mut self, _: bool) -> Result<(), Error> {
        Ok(())
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

// A clock of the test replaces SQLite's clock.
#[cfg(test)]
thread_local!(pub(crate) static CLOCK: core::cell::Cell<Option<i64>> = const { core::cell::Cell::new(None) });

/// Returns the time of SQLite's clock, which is the machine's wall clock.
fn now() -> i64 {
    #[cfg(test)]
    if let Some(now) = CLOCK.get() {
        return now;
    }
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
