//! Timers in a database: PostgreSQL, for several processes and machines.
//!
//! ```no_run
//! use std::{thread, time::Duration};
//! use tickwright_durable::{Due, Settings, Timers, postgres::Postgres};
//!
//! // Each process has a name of its own. One delivers; another one takes over if it is late.
//! let store = Postgres::open("host=/run/postgresql user=timers dbname=timers")?;
//! let mut timers = Timers::new(store, Settings::named("worker 1"));
//! timers.add("tea", Due::after(Duration::from_secs(180)), b"Earl Grey")?;
//! loop {
//!     match timers.take_due() {
//!         Ok(firings) => {
//!             for firing in firings {
//!                 println!("{}", firing.id);
//!                 timers.done(&firing);
//!             }
//!         }
//!         Err(error) => eprintln!("{error}"), // it goes on after the cause is gone
//!     }
//!     thread::sleep(timers.poll_timeout().unwrap_or(Duration::from_secs(60)));
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What another process adds earlier than this one wakes is seen at the next look, each minute
//! unless said otherwise. To see it at once, run the loop in a
//! [`Background`](crate::Background), and give its `look_again` to [`listen`].

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use postgres::{Client, GenericClient, NoTls, Row, Transaction};

use crate::error::Error;
use crate::limits::{MAX_DUE, SCHEMA};
use crate::statement::{
    Announced, Answer, Cancelled, Due, Engine, Firing, Outcome, Settled, Shard, Statement, Timer, Waiting,
};

const CREATE: &str = "
CREATE TABLE tickwright_store (version bigint NOT NULL);
CREATE SEQUENCE tickwright_seq;
CREATE TABLE tickwright_timer (
    shard bigint NOT NULL, id text COLLATE \"C\" NOT NULL, due bigint NOT NULL, seq bigint NOT NULL,
    state smallint NOT NULL DEFAULT 0, doubt smallint NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0, attempt bigint NOT NULL DEFAULT 0, payload bytea NOT NULL,
    PRIMARY KEY (shard, id));
CREATE INDEX tickwright_waiting ON tickwright_timer (shard, due, seq) WHERE state = 0;
CREATE INDEX tickwright_running ON tickwright_timer (shard) WHERE state = 1;
CREATE TABLE tickwright_shard (
    shard bigint PRIMARY KEY, owner text NOT NULL DEFAULT '', epoch bigint NOT NULL DEFAULT 0,
    wake bigint NOT NULL DEFAULT 0, high bigint NOT NULL DEFAULT 9223372036854775807,
    lease bigint NOT NULL DEFAULT 0);
CREATE TABLE tickwright_early (
    shard bigint NOT NULL, id text COLLATE \"C\" NOT NULL, back bigint NOT NULL, PRIMARY KEY (shard, id));
INSERT INTO tickwright_store VALUES (1);";

/// The first key of the advisory locks: `tick`. The second one is the shard.
const LOCK: i32 = 0x7469_636b;

/// The engine's clock in microseconds since 1970.
macro_rules! clock {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

type Connect = Box<dyn FnMut() -> Result<Client, postgres::Error> + Send>;

/// A connection to a database of timers, made again when it is lost.
pub struct Postgres {
    connect: Connect,
    client: Option<Client>,
    prepared: Prepared,
    shard: i64,
    /// How long the server waits for this process in the middle of a transaction.
    margin: Duration,
    /// In the middle of a transaction: a new connection cannot go on with it.
    is_open: bool,
}

impl Postgres {
    /// Connects without TLS, as to a socket of this machine: `host=/run/postgresql user=timers`.
    /// Makes the tables if there are none.
    ///
    /// # Errors
    /// [`Error::NewerSchema`], [`Error::Foreign`], [`Error::Denied`], [`Error::Disconnected`] and
    /// what PostgreSQL reports.
    pub fn open(parameters: &str) -> Result<Self, Error> {
        let parameters = parameters.to_string();
        Self::new(move || Client::connect(&parameters, NoTls))
    }

    /// As [`open`](Self::open), over connections that a function makes: with TLS, for example.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(
        connect: impl FnMut() -> Result<Client, postgres::Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let (connect, prepared, margin) = (Box::new(connect), HashMap::new(), Duration::from_secs(10));
        let mut store = Self { connect, client: None, prepared, shard: 0, margin, is_open: false };
        let client = store.client()?;
        let mut transaction = client.transaction().map_err(error)?;
        if version(&mut transaction)?.is_none() {
            // Of several processes, one makes the tables.
            transaction.execute("SELECT pg_advisory_xact_lock($1, -1)", &[&LOCK]).map_err(error)?;
            if version(&mut transaction)?.is_none() {
                transaction.batch_execute(CREATE).map_err(error)?;
            }
        }
        transaction.commit().map_err(error)?;
        store.shard(0)
    }

    /// The same store, for another shard.
    ///
    /// # Errors
    /// What PostgreSQL reports.
    pub fn shard(mut self, shard: u32) -> Result<Self, Error> {
        self.shard = i64::from(shard);
        let shard = self.shard;
        let add = "INSERT INTO tickwright_shard (shard) VALUES ($1) ON CONFLICT DO NOTHING";
        self.client()?.execute(add, &[&shard]).map_err(error)?;
        Ok(self)
    }

    /// How long the server waits for this process in the middle of a transaction: 10 s unless said
    /// otherwise. Give the margin of the [`Settings`](crate::Settings).
    #[must_use]
    pub fn margin(self, margin: Duration) -> Self {
        Self { margin, client: None, ..self }
    }

    /// The connection, for the caller's own tables. Leave it outside of a transaction.
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
                // What was open ended with the connection.
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
            _ => Run { client, prepared: &mut self.prepared, shard: self.shard }.answer(statement),
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

/// Timers in a transaction of the caller's, for a [`Writer`](crate::Writer).
///
/// The transaction has the isolation level `READ COMMITTED`, which is PostgreSQL's own. Add timers
/// late in it: until it ends, the owner of the shard waits.
pub struct Within<'a, 'c> {
    client: &'a mut Transaction<'c>,
    prepared: Prepared,
    shard: i64,
}

impl<'a, 'c> Within<'a, 'c> {
    /// Writes timers of a shard in this transaction. The store exists: [`Postgres::open`] made it.
    #[must_use]
    pub fn new(transaction: &'a mut Transaction<'c>, shard: u32) -> Self {
        Self { client: transaction, prepared: HashMap::new(), shard: i64::from(shard) }
    }
}

impl Engine for Within<'_, '_> {
    fn execute(&mut self, statement: &Statement) -> Result<Answer, Error> {
        Run { client: self.client, prepared: &mut self.prepared, shard: self.shard }.answer(statement)
    }
}

/// Calls `hint` on a thread of its own when another process put a timer that the owner of the shard
/// may not know, until `hint` returns `false`. It listens on a connection of its own, and calls
/// `hint` after each reconnection too, as hints are lost with a connection.
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
type Arguments<'a> = &'a [&'a (dyn ToSql + Sync)];

struct Run<'a, C> {
    client: &'a mut C,
    prepared: &'a mut Prepared,
    shard: i64,
}

impl<C: GenericClient> Run<'_, C> {
    fn query(&mut self, sql: &'static str, arguments: Arguments<'_>) -> Result<Vec<Row>, Error> {
        if !self.prepared.contains_key(sql) {
            self.prepared.insert(sql, self.client.prepare(sql).map_err(error)?);
        }
        self.client.query(&self.prepared[sql], arguments).map_err(error)
    }

    fn rows(&mut self, sql: &'static str, arguments: Arguments<'_>) -> Result<Answer, Error> {
        Ok(Answer::Rows(self.query(sql, arguments)?.iter().map(waiting).collect()))
    }

    fn one(&mut self, sql: &'static str, arguments: Arguments<'_>) -> Result<Row, Error> {
        let row = self.query(sql, arguments)?.pop();
        row.ok_or(Error::NoShard(self.shard))
    }

    fn answer(&mut self, statement: &Statement) -> Result<Answer, Error> {
        let shard = self.shard;
        match statement {
            Statement::Begin | Statement::Commit | Statement::Rollback => {
                Err(Error::Engine("the caller begins and ends this transaction".into()))
            }
            Statement::Guard { alone } => {
                let sql = if *alone {
                    "SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock($1, $2)"
                } else {
                    "SELECT current_setting('transaction_isolation'), pg_advisory_xact_lock_shared($1, $2)"
                };
                // Each shard has a key of its own, of the same 32 bits.
                let key = i32::from_ne_bytes((shard as u32).to_ne_bytes());
                let isolation: String = self.one(sql, &[&LOCK, &key])?.get(0);
                if isolation == "read committed" {
                    Ok(Answer::Nothing)
                } else {
                    Err(Error::Engine(format!("the transaction is {isolation}: make it READ COMMITTED")))
                }
            }
            Statement::Look => {
                let sql = concat!(
                    "SELECT ",
                    clock!(),
                    ", owner, epoch, wake, high, lease,
                    (SELECT min(back) FROM tickwright_early WHERE shard = $1)
                    FROM tickwright_shard WHERE shard = $1"
                );
                let row = self.one(sql, &[&shard])?;
                let owner: String = row.get(1);
                Ok(Answer::Shard(Shard {
                    now: row.get(0),
                    owner: owner.into(),
                    epoch: row.get(2),
                    announced: Announced { wake: row.get(3), high: row.get(4), lease: row.get(5) },
                    early: row.get(6),
                }))
            }
            Statement::Acquire { owner } => {
                let sql = "UPDATE tickwright_shard SET epoch = epoch + 1, owner = $1 WHERE shard = $2";
                self.query(sql, &[&&**owner, &shard]).map(|_| Answer::Nothing)
            }
            Statement::Orphan => self.rows(
                "UPDATE tickwright_timer SET state = 0, doubt = 1 WHERE shard = $1 AND state = 1
                 RETURNING id, due, seq",
                &[&shard],
            ),
            Statement::Settle { epoch, answers } => self.settle(*epoch, answers),
            Statement::Early => {
                let sql = "SELECT t.id, t.due, t.seq FROM tickwright_early e
                    JOIN tickwright_timer t USING (shard, id) WHERE e.shard = $1 AND t.state = 0";
                let rows = self.rows(sql, &[&shard])?;
                self.query("DELETE FROM tickwright_early WHERE shard = $1", &[&shard])?;
                Ok(rows)
            }
            Statement::Load { due, seq, limit } => self.rows(
                "SELECT id, due, seq FROM tickwright_timer
                 WHERE shard = $1 AND state = 0 AND (due, seq) >= ($2, $3) ORDER BY due, seq LIMIT $4",
                &[&shard, due, seq, &i64::try_from(*limit).unwrap_or(i64::MAX)],
            ),
            Statement::Claim { epoch, now, rows } => self.claim(*epoch, *now, rows),
            Statement::Announce { announced: Announced { wake, high, lease } } => {
                let sql = "UPDATE tickwright_shard SET wake = $1, high = $2, lease = $3 WHERE shard = $4";
                self.query(sql, &[wake, high, lease, &shard]).map(|_| Answer::Nothing)
            }
            Statement::Put { id, due, payload, replace, near } => {
                self.put(id, *due, payload, *replace, *near)
            }
            Statement::Cancel { id } => {
                let sql = "DELETE FROM tickwright_timer WHERE shard = $1 AND id = $2 RETURNING state, doubt";
                let found = self.query(sql, &[&shard, &&**id])?.pop();
                let sql = "DELETE FROM tickwright_early WHERE shard = $1 AND id = $2";
                self.query(sql, &[&shard, &&**id])?;
                Ok(Answer::Cancelled(match found.map(|row| (row.get::<_, i16>(0), row.get::<_, i16>(1))) {
                    None => Cancelled::Gone,
                    Some((0, 0)) => Cancelled::Removed,
                    Some(_) => Cancelled::Running,
                }))
            }
            Statement::Get { id } => {
                let sql = "SELECT due, state = 1, attempt, payload FROM tickwright_timer
                    WHERE shard = $1 AND id = $2";
                let found = self.query(sql, &[&shard, &&**id])?.pop();
                Ok(Answer::Timer(found.map(|row| Timer {
                    due: row.get(0),
                    running: row.get(1),
                    attempt: row.get(2),
                    payload: row.get(3),
                })))
            }
        }
    }

    fn put(
        &mut self,
        id: &Arc<str>,
        due: Due,
        payload: &[u8],
        replace: bool,
        near: i64,
    ) -> Result<Answer, Error> {
        let shard = self.shard;
        let sql = concat!(
            "SELECT ",
            clock!(),
            ", nextval('tickwright_seq'), wake, high, epoch FROM tickwright_shard WHERE shard = $1"
        );
        let row = self.one(sql, &[&shard])?;
        let (now, seq, wake, high, epoch): (i64, i64, i64, i64, i64) =
            (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4));
        let due = due.resolve(now)?;
        let sql = if replace {
            "INSERT INTO tickwright_timer AS t (shard, id, due, seq, payload) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (shard, id) DO UPDATE SET due = excluded.due, seq = excluded.seq,
             payload = excluded.payload, doubt = greatest(t.doubt, t.state), state = 0, attempt = 0
             RETURNING seq"
        } else {
            "INSERT INTO tickwright_timer (shard, id, due, seq, payload) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING RETURNING seq"
        };
        if self.query(sql, &[&shard, &&**id, &due, &seq, &payload])?.is_empty() {
            return Ok(Answer::Put(None));
        }
        if due < wake || (due < high && epoch != near) {
            let sql = "WITH early AS (INSERT INTO tickwright_early VALUES ($1, $2, $3)
                ON CONFLICT (shard, id) DO UPDATE SET back = excluded.back)
                SELECT pg_notify('tickwright_' || $1::bigint, '')";
            self.query(sql, &[&shard, &&**id, &due.max(now)])?;
        }
        Ok(Answer::Put(Some(Waiting { id: id.clone(), due, seq })))
    }

    fn claim(&mut self, epoch: i64, now: i64, rows: &[Waiting]) -> Result<Answer, Error> {
        let shard = self.shard;
        let ids: Vec<&str> = rows.iter().map(|row| &*row.id).collect();
        let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
        let sql = "UPDATE tickwright_timer t SET state = 1, fence = $4, attempt = t.attempt + 1
            FROM unnest($2::text[], $3::bigint[]) AS a (id, seq)
            WHERE t.shard = $1 AND t.id = a.id AND t.seq = a.seq AND t.state = 0 AND t.due <= $5
            RETURNING t.id, t.due, t.attempt, t.payload, t.seq";
        let claimed = self.query(sql, &[&shard, &ids, &seqs, &epoch, &now])?;
        let firing = |row: &Row| Firing {
            id: row.get::<_, &str>(0).into(),
            due: row.get(1),
            late: 0,
            attempt: row.get(2),
            fence: epoch,
            payload: row.get(3),
            seq: row.get(4),
        };
        Ok(Answer::Claimed(claimed.iter().map(firing).collect()))
    }

    fn settle(&mut self, epoch: i64, answers: &[Settled]) -> Result<Answer, Error> {
        let shard = self.shard;
        let (done, wait): (Vec<&Settled>, Vec<&Settled>) =
            answers.iter().partition(|settled| settled.outcome == Outcome::Done);
        let ids = |of: &[&Settled]| of.iter().map(|settled| settled.id.to_string()).collect::<Vec<_>>();
        let seqs = |of: &[&Settled]| of.iter().map(|settled| settled.seq).collect::<Vec<_>>();
        let attempts = |of: &[&Settled]| of.iter().map(|settled| settled.attempt).collect::<Vec<_>>();
        if !done.is_empty() {
            let sql = "DELETE FROM tickwright_timer t
                USING unnest($2::text[], $3::bigint[], $4::bigint[]) AS a (id, seq, attempt)
                WHERE t.shard = $1 AND t.id = a.id AND t.seq = a.seq AND t.attempt = a.attempt
                AND t.fence = $5 AND t.state = 1";
            self.query(sql, &[&shard, &ids(&done), &seqs(&done), &attempts(&done), &epoch])?;
        }
        if wait.is_empty() {
            return Ok(Answer::Rows(Vec::new()));
        }
        let (mut at, mut after) = (Vec::new(), Vec::new());
        for settled in &wait {
            at.push(match settled.outcome {
                Outcome::Again(Due::At(due)) => Some(due.clamp(0, MAX_DUE)),
                _ => None,
            });
            after.push(match settled.outcome {
                Outcome::Again(Due::After(delay)) => Some(delay.clamp(0, MAX_DUE)),
                _ => None,
            });
        }
        let sql = concat!(
            "UPDATE tickwright_timer t SET state = 0,
            attempt = CASE WHEN coalesce(a.at, a.after) IS NULL THEN t.attempt ELSE 0 END,
            seq = CASE WHEN coalesce(a.at, a.after) IS NULL THEN t.seq ELSE nextval('tickwright_seq') END,
            due = CASE WHEN a.after IS NULL THEN coalesce(a.at, t.due) ELSE least(a.after + ",
            clock!(),
            ", 253402300799999999) END
            FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
            AS a (id, seq, attempt, at, after)
            WHERE t.shard = $1 AND t.id = a.id AND t.seq = a.seq AND t.attempt = a.attempt
            AND t.fence = $7 AND t.state = 1 RETURNING t.id, t.due, t.seq"
        );
        self.rows(sql, &[&shard, &ids(&wait), &seqs(&wait), &attempts(&wait), &at, &after, &epoch])
    }
}

fn waiting(row: &Row) -> Waiting {
    Waiting { id: row.get::<_, &str>(0).into(), due: row.get(1), seq: row.get(2) }
}

/// The version of the store, or `None` if there is none.
fn version(client: &mut impl GenericClient) -> Result<Option<i64>, Error> {
    let sql =
        "SELECT to_regclass('tickwright_store') IS NOT NULL, to_regclass('tickwright_timer') IS NOT NULL";
    let row = client.query_one(sql, &[]).map_err(error)?;
    match (row.get(0), row.get(1)) {
        (false, false) => return Ok(None),
        (false, true) => {
            return Err(Error::Foreign("it has a table tickwright_timer and no tickwright_store".into()));
        }
        (true, _) => {}
    }
    let found = client.query_opt("SELECT version FROM tickwright_store", &[]).map_err(|why| {
        let is_foreign = why.code() == Some(&SqlState::UNDEFINED_COLUMN);
        if is_foreign { Error::Foreign("its tickwright_store has no version".into()) } else { error(why) }
    })?;
    match found.map(|row| row.try_get(0)) {
        Some(Ok(SCHEMA)) => Ok(Some(SCHEMA)),
        Some(Ok(found)) if found > SCHEMA => Err(Error::NewerSchema { found }),
        other => Err(Error::Foreign(format!("its tickwright_store has version {other:?}"))),
    }
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
