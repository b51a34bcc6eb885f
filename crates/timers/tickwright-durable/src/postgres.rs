//! Timers in a database: PostgreSQL, for several processes and machines.
//!
//! ```no_run
//! use std::{thread, time::Duration};
//! use tickwright_durable::{Settings, Timers, postgres::Postgres};
//!
//! // Each process has a name of its own. One delivers; another one takes over if it is late.
//! let store = Postgres::open("host=/run/postgresql user=timers dbname=timers")?;
//! let mut timers = Timers::new(store, Settings::named("worker 1"));
//! loop {
//!     // After an error, the next call goes on.
//!     for firing in timers.take_due().unwrap_or_default() {
//!         println!("{}", firing.id);
//!         timers.done(&firing);
//!     }
//!     thread::sleep(timers.poll_timeout().unwrap_or(Duration::from_secs(60)));
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), tickwright_durable::Error>(())
//! ```
//!
//! If another process adds a timer that is due before this process wakes, this process finds the
//! timer at its next rescan, by default within a minute. To find the timer at once, run the loop in
//! a [`Background`](crate::Background), and give its `look_again` to [`listen`].

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::thread;

use postgres::error::{Severity, SqlState};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, GenericClient, NoTls, Row, Transaction};

use crate::error::Error;
use crate::sql::{self, ADD_SHARD, CREATE, PUT_EARLY, Sql, Value};
use crate::statement::{Answer, Engine, Statement};

/// The upper half of the keys of the advisory locks: `tick`. The lower half is the shard.
const LOCK: i64 = 0x7469_636b << 32;

type Connect = Box<dyn FnMut() -> Result<Client, postgres::Error> + Send>;

/// A connection to a database of timers. A lost connection is opened again.
pub struct Postgres {
    connect: Connect,
    client: Option<Client>,
    prepared: Prepared,
    shard: i64,
    /// How long the server waits for this process in the middle of a transaction.
    margin: Duration,
    /// Whether a transaction is open, which a new connection could not continue.
    is_open: bool,
}

impl Postgres {
    /// Connects without TLS, as to a socket of this machine: `host=/run/postgresql user=timers`.
    /// Makes the tables if there are none.
    ///
    /// # Errors
    /// [`Error::NewerSchema`], [`Error::Foreign`], [`Error::Denied`], [`Error::Disconnected`] and
    /// errors that PostgreSQL reports.
    pub fn open(parameters: &str) -> Result<Self, Error> {
        let parameters = parameters.to_string();
        Self::new(move || Client::connect(&parameters, NoTls))
    }

    /// Like [`open`](Self::open), but a function opens the connections, for example with TLS.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(
        connect: impl FnMut() -> Result<Client, postgres::Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let (connect, prepared, margin) = (Box::new(connect), HashMap::new(), Duration::from_secs(10));
        let mut store = Self { connect, client: None, prepared, shard: 0, margin, is_open: false };
        let mut transaction = store.client()?.transaction().map_err(error)?;
        let mut within = Within::new(&mut transaction, 0);
        if sql::version(&mut within.run())?.is_none() {
            // If several processes open a new store at the same time, only one of them makes the
            // tables.
            within.run().guard(true)?;
            if sql::version(&mut within.run())?.is_none() {
                within.client.batch_execute(CREATE).map_err(error)?;
                within.client.batch_execute("CREATE SEQUENCE tickwright_seq").map_err(error)?;
                sql::created(&mut within.run())?;
            }
        }
        transaction.commit().map_err(error)?;
        store.shard(0)
    }

    /// Returns the same store, for another shard.
    ///
    /// # Errors
    /// Errors that PostgreSQL reports.
    pub fn shard(mut self, shard: u32) -> Result<Self, Error> {
        self.shard = i64::from(shard);
        let shard = self.shard;
        self.client()?.execute(&text(ADD_SHARD), &[&shard]).map_err(error)?;
        Ok(self)
    }

    /// Sets how long the server waits for this process in the middle of a transaction. The default
    /// is 10 s. Pass the margin of the [`Settings`](crate::Settings).
    #[must_use]
    pub fn margin(self, margin: Duration) -> Self {
        Self { margin, client: None, ..self }
    }

    /// Returns the connection, for the caller's own tables. The caller must end every transaction
    /// that it begins.
    ///
    /// # Errors
    /// [`Error::Disconnected`].
    pub fn client(&mut self) -> Result<&mut Client, Error> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            self.prepared.clear();
            let mut client = (self.connect)().map_err(error)?;
            let margin = self.margin.as_millis().clamp(1, i32::MAX as u128);
            client
                .batch_execute(&format!(
                    "SET idle_in_transaction_session_timeout = {margin}; SET lock_timeout = '5s'"
                ))
                .map_err(error)?;
            self.client = Some(client);
        }
        Ok(self.client.as_mut().expect("it is connected"))
    }
}

impl Engine for Postgres {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        let is_first = matches!(
            statement,
            Statement::Begin | Statement::Look | Statement::Get { .. } | Statement::Load { .. }
        );
        if is_first && !self.is_open {
            self.client()?;
        }
        self.is_open &= !matches!(statement, Statement::Commit | Statement::Rollback);
        let Some(client) = &mut self.client else {
            return match statement {
                // An open transaction ended with the connection.
                Statement::Rollback => Ok(Answer::Nothing),
                _ => Err(Error::Disconnected("in the middle of a transaction".into())),
            };
        };
        let run =
            |client: &mut Client, sql| client.batch_execute(sql).map(|()| Answer::Nothing).map_err(error);
        let result = match statement {
            Statement::Begin => run(client, "BEGIN ISOLATION LEVEL READ COMMITTED"),
            Statement::Commit => run(client, "COMMIT"),
            Statement::Rollback => run(client, "ROLLBACK"),
            _ => {
                let mut run = Run { client, prepared: &mut self.prepared, shard: self.shard };
                sql::execute(&mut run, self.shard, statement)
            }
        };
        self.is_open |= matches!(statement, Statement::Begin) && result.is_ok();
        if let Err(Error::Disconnected(what)) = result {
            self.client = None;
            let is_unknown = matches!(statement, Statement::Commit);
            return Err(if is_unknown { Error::UnknownOutcome(what) } else { Error::Disconnected(what) });
        }
        result
    }
}

/// Timers in the caller's transaction, for a [`Writer`](crate::Writer).
///
/// The transaction must have the isolation level `READ COMMITTED`, which is PostgreSQL's default.
/// Add timers late in the transaction, because the owner of the shard waits until it ends.
pub struct Within<'a, 'c> {
    client: &'a mut Transaction<'c>,
    prepared: Prepared,
    shard: i64,
}

impl<'a, 'c> Within<'a, 'c> {
    /// Writes timers of a shard in this transaction. The store must have been created by
    /// [`Postgres::open`].
    #[must_use]
    pub fn new(transaction: &'a mut Transaction<'c>, shard: u32) -> Self {
        Self { client: transaction, prepared: HashMap::new(), shard: i64::from(shard) }
    }

    fn run(&mut self) -> Run<'_, Transaction<'c>> {
        Run { client: self.client, prepared: &mut self.prepared, shard: self.shard }
    }
}

impl Engine for Within<'_, '_> {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        let shard = self.shard;
        sql::execute(&mut self.run(), shard, statement)
    }
}

/// Calls `hint` on a dedicated thread whenever another process inserted or replaced a timer that
/// the shard's owner might not know, until `hint` returns `false`. The thread listens on its own
/// connection. The thread also calls `hint` after each reconnection, because hints are lost while
/// the connection is down.
pub fn listen(
    mut connect: impl FnMut() -> Result<Client, postgres::Error> + Send + 'static,
    shard: u32,
    mut hint: impl FnMut() -> bool + Send + 'static,
) -> thread::JoinHandle<()> {
    let second = Duration::from_secs(1);
    thread::spawn(move || {
        let mut is_wanted = true;
        while is_wanted {
            let connected = connect().and_then(|mut client| {
                client.batch_execute(&format!("LISTEN tickwright_{shard}"))?;
                Ok(client)
            });
            if let Ok(mut client) = connected {
                is_wanted = hint();
                while is_wanted && !client.is_closed() {
                    match client.notifications().timeout_iter(second).next() {
                        Ok(Some(_)) => is_wanted = hint(),
                        Ok(None) => {}
                        Err(_) => break,
                    }
                }
            }
            if is_wanted {
                thread::sleep(second);
            }
        }
    })
}

type Prepared = HashMap<&'static str, postgres::Statement>;
struct Run<'a, C> {
    client: &'a mut C,
    prepared: &'a mut Prepared,
    shard: i64,
}

fn text(text: &str) -> String {
    let list =
        "(SELECT value ->> 0 AS a_id, (value ->> 1)::bigint AS a_seq, (value ->> 2)::bigint AS a_attempt,
        (value ->> 3)::bigint AS a_due, (value ->> 4)::bigint AS a_next,
        (value ->> 5)::bigint AS a_shard FROM json_array_elements(?3::text::json))";
    let text = sql::text(text, "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint", list);
    let hint = format!("WITH early AS ({PUT_EARLY}) SELECT pg_notify('tickwright_' || ?1::bigint, '')::text");
    text.replace(PUT_EARLY, &hint).replace('?', "$")
}

impl<C: GenericClient> Sql for Run<'_, C> {
    const TABLES: &'static str = "SELECT relname::text FROM pg_class
        WHERE relkind = 'r' AND relname LIKE 'tickwright\\_%' AND pg_table_is_visible(oid)";
    const DRAW: &'static str =
        "SELECT nextval('tickwright_seq') FROM generate_series(1, ?2::bigint) WHERE ?1::bigint IS NOT NULL";

    fn query(
        &mut self,
        sql: &'static str,
        arguments: &[Value<'_>],
        found: &mut dyn FnMut(&[Value<'_>]),
    ) -> Result<(), Error> {
        if !self.prepared.contains_key(sql) {
            self.prepared.insert(sql, self.client.prepare(&text(sql)).map_err(error)?);
        }
        let arguments: Vec<_> = arguments.iter().map(argument).collect();
        for row in self.client.query(&self.prepared[sql], &arguments).map_err(error)? {
            found(&(0..row.len()).map(|at| column(&row, at)).collect::<Result<Vec<_>, _>>().map_err(error)?);
        }
        Ok(())
    }

    fn now(&self) -> Option<i64> {
        None
    }

    fn guard(&mut self, alone: bool) -> Result<(), Error> {
        let sql = if alone {
            "SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock(?1)::text"
        } else {
            "SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock_shared(?1)::text"
        };
        let mut other = None;
        self.query(sql, &[Value::Int(LOCK | self.shard)], &mut |row| {
            other = (row[0] != Value::Text("read committed")).then(|| format!("{:?}", row[0]));
        })?;
        match other {
            None => Ok(()),
            Some(other) => Err(Error::Engine(format!("the transaction is {other}: make it READ COMMITTED"))),
        }
    }
}

fn argument<'a>(value: &'a Value<'_>) -> &'a (dyn ToSql + Sync) {
    match value {
        Value::Null => &None::<i64>,
        Value::Int(value) => value,
        Value::Text(value) => value,
        Value::Bytes(value) => value,
    }
}

fn column(row: &Row, at: usize) -> Result<Value<'_>, postgres::Error> {
    Ok(match *row.columns()[at].type_() {
        Type::INT8 => row.try_get::<_, Option<_>>(at)?.map(Value::Int),
        Type::BYTEA => row.try_get::<_, Option<_>>(at)?.map(Value::Bytes),
        _ => row.try_get::<_, Option<_>>(at)?.map(Value::Text),
    }
    .unwrap_or(Value::Null))
}

fn error(error: postgres::Error) -> Error {
    let Some(database) = error.as_db_error() else {
        return Error::Disconnected(format!("{error}{}", cause(&error)));
    };
    let what = database.message().to_string();
    let code = database.code();
    let is = |codes: &[&SqlState]| codes.contains(&code);
    if is(&[&SqlState::INSUFFICIENT_PRIVILEGE, &SqlState::READ_ONLY_SQL_TRANSACTION])
        || is(&[&SqlState::INVALID_PASSWORD, &SqlState::INVALID_AUTHORIZATION_SPECIFICATION])
    {
        Error::Denied(what)
    } else if matches!(database.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) {
        // The server ended the connection. A commit that was being executed might have taken
        // effect.
        Error::Disconnected(what)
    } else if is(&[&SqlState::DISK_FULL]) {
        Error::Full(what)
    } else if is(&[&SqlState::LOCK_NOT_AVAILABLE, &SqlState::T_R_DEADLOCK_DETECTED]) {
        Error::Busy(what)
    } else if is(&[&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN, &SqlState::CANNOT_CONNECT_NOW])
        || is(&[&SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT])
    {
        Error::Disconnected(what)
    } else {
        Error::Engine(what)
    }
}

fn cause(error: &postgres::Error) -> String {
    core::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"))
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("shard", &self.shard).finish_non_exhaustive()
    }
}

impl fmt::Debug for Within<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").field("shard", &self.shard).finish_non_exhaustive()
    }
}
