//! The statements as SQL for both engines: `?1` is an argument, and `{..}` is a part that differs
//! between the engines. A sign (`+state`), `a_shard` and `CROSS JOIN` keep SQLite from using an
//! index that visits all rows of a shard instead of the few rows that the statement names.

use core::fmt::Write;
use std::sync::Arc;

use crate::error::Error;
use crate::limits::SCHEMA;
use crate::statement::{
    Announced, Answer, Cancelled, Due, Firing, Outcome, Settled, Shard, Statement, Timer, Waiting,
};

/// The schema. SQLite uses other names for the types.
pub(crate) const CREATE: &str = "
CREATE TABLE tickwright_store (version bigint NOT NULL);
CREATE TABLE tickwright_timer (
    shard bigint NOT NULL, id text COLLATE \"C\" NOT NULL, due bigint NOT NULL, seq bigint NOT NULL,
    state bigint NOT NULL DEFAULT 0, doubt bigint NOT NULL DEFAULT 0, fence bigint NOT NULL DEFAULT 0,
    attempt bigint NOT NULL DEFAULT 0, payload bytea NOT NULL, PRIMARY KEY (shard, id));
CREATE INDEX tickwright_waiting ON tickwright_timer (shard, due, seq) WHERE state = 0;
CREATE INDEX tickwright_running ON tickwright_timer (shard) WHERE state = 1;
CREATE TABLE tickwright_shard (
    shard bigint PRIMARY KEY, owner text COLLATE \"C\" NOT NULL DEFAULT '', epoch bigint NOT NULL DEFAULT 0,
    wake bigint NOT NULL DEFAULT 0, high bigint NOT NULL DEFAULT 9223372036854775807,
    lease bigint NOT NULL DEFAULT 0);
CREATE TABLE tickwright_early (
    shard bigint NOT NULL, id text COLLATE \"C\" NOT NULL, back bigint NOT NULL, PRIMARY KEY (shard, id));";

pub(crate) const ADD_SHARD: &str = "INSERT INTO tickwright_shard (shard) VALUES (?1) ON CONFLICT DO NOTHING";
const STORE: &str = "INSERT INTO tickwright_store VALUES (?1)";
const VERSION: &str = "SELECT version FROM tickwright_store";
const LOOK: &str = "SELECT owner, epoch, wake, high, lease,
    (SELECT min(back) FROM tickwright_early WHERE shard = ?1), {now} FROM tickwright_shard WHERE shard = ?1";
const ACQUIRE: &str = "UPDATE tickwright_shard SET epoch = epoch + 1, owner = ?2 WHERE shard = ?1";
const ORPHAN: &str = "UPDATE tickwright_timer SET state = 0, doubt = 1 WHERE shard = ?1 AND state = 1
    RETURNING id, due, seq";
const DONE: &str = "DELETE FROM tickwright_timer WHERE shard = ?1 AND fence = ?2 AND state = 1
    AND (id, seq, attempt) IN (SELECT a_id, a_seq, a_attempt FROM {list} AS a)";
const WAIT: &str = "UPDATE tickwright_timer SET state = 0, due = a_due, seq = a_next,
    attempt = CASE WHEN a_next = seq THEN attempt ELSE 0 END FROM {list} AS a
    WHERE +shard = ?1 AND shard = a_shard AND fence = ?2 AND +state = 1 AND id = a_id AND seq = a_seq AND attempt = a_attempt
    RETURNING id, due, seq";
const EARLY: &str = "SELECT t.id, t.due, t.seq FROM tickwright_early e
    CROSS JOIN tickwright_timer t
    WHERE e.shard = ?1 AND t.shard = e.shard AND t.id = e.id AND +t.state = 0";
const NOT_EARLY: &str = "DELETE FROM tickwright_early WHERE shard = ?1";
const LOAD: &str = "SELECT id, due, seq FROM tickwright_timer
    WHERE shard = ?1 AND state = 0 AND (due, seq) >= (?2, ?3) ORDER BY due, seq LIMIT ?4";
const CLAIM: &str = "UPDATE tickwright_timer SET state = 1, fence = ?2, attempt = attempt + 1
    WHERE shard = ?1 AND (id, seq) IN (SELECT a_id, a_seq FROM {list} AS a) AND +state = 0 AND +due <= ?4
    RETURNING id, due, attempt, seq, payload";
const ANNOUNCE: &str = "UPDATE tickwright_shard SET wake = ?2, high = ?3, lease = ?4 WHERE shard = ?1";
const ADD: &str = "INSERT INTO tickwright_timer (shard, id, due, seq, payload) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT DO NOTHING RETURNING seq";
const REPLACE: &str = "INSERT INTO tickwright_timer AS t (shard, id, due, seq, payload)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (shard, id) DO UPDATE SET due = excluded.due,
    seq = excluded.seq, payload = excluded.payload, state = 0, attempt = 0,
    doubt = CASE WHEN t.state = 1 THEN 1 ELSE t.doubt END RETURNING seq";
/// PostgreSQL notifies the owner in the same statement.
pub(crate) const PUT_EARLY: &str = "INSERT INTO tickwright_early VALUES (?1, ?2, ?3)
    ON CONFLICT (shard, id) DO UPDATE SET back = excluded.back";
const CANCEL: &str = "DELETE FROM tickwright_timer WHERE shard = ?1 AND id = ?2 RETURNING state, doubt";
const CANCEL_EARLY: &str = "DELETE FROM tickwright_early WHERE shard = ?1 AND id = ?2";
const GET: &str = "SELECT due, state, attempt, payload FROM tickwright_timer WHERE shard = ?1 AND id = ?2";

/// An argument, or a column of a row.
#[derive(Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

use Value::{Bytes, Int, Null, Text};

impl Value<'_> {
    pub(crate) fn int(&self) -> i64 {
        if let Int(value) = self { *value } else { 0 }
    }

    fn text(&self) -> Arc<str> {
        if let Text(value) = self { (*value).into() } else { "".into() }
    }

    fn bytes(&self) -> Vec<u8> {
        if let Bytes(value) = self { value.to_vec() } else { Vec::new() }
    }
}

/// The functions of a connection that the statements use.
pub(crate) trait Sql {
    /// The names of our tables.
    const TABLES: &'static str;
    /// Draws ?2 sequence numbers for puts, and returns the last number or each number.
    const DRAW: &'static str;

    /// Executes a statement with its arguments, and calls `row` for each row.
    fn query(
        &mut self,
        sql: &'static str,
        arguments: &[Value<'_>],
        row: &mut dyn FnMut(&[Value<'_>]),
    ) -> Result<(), Error>;

    /// Returns the time of the engine's clock as an argument, if the statements do not read the
    /// clock.
    fn now(&self) -> Option<i64>;

    fn guard(&mut self, alone: bool) -> Result<(), Error>;
}

/// The replacements that a test makes in each statement: the old text and the new text.
#[cfg(test)]
pub(crate) type Mutation = &'static [(&'static str, &'static str)];
#[cfg(test)]
thread_local!(pub(crate) static MUTATION: core::cell::Cell<Mutation> = const { core::cell::Cell::new(&[]) });

/// Returns the text of a statement for an engine with these parts.
pub(crate) fn text(sql: &str, now: &str, list: &str) -> String {
    let text = sql.replace("{now}", now).replace("{list}", list);
    #[cfg(test)]
    let text = MUTATION.get().iter().fold(text, |text, (from, to)| text.replace(from, to));
    text
}

/// Returns the version of the store, or `None` if there is no store.
pub(crate) fn version<S: Sql>(sql: &mut S) -> Result<Option<i64>, Error> {
    let mut names = Vec::new();
    sql.query(S::TABLES, &[], &mut |row| names.push(row[0].text()))?;
    if !names.iter().any(|name| &**name == "tickwright_store") {
        return match names.first() {
            Some(name) => Err(Error::Foreign(format!("it has a table {name} and no tickwright_store"))),
            None => Ok(None),
        };
    }
    let mut found = None;
    let read = sql.query(VERSION, &[], &mut |row| found = Some(row[0].int()));
    read.map_err(|why| match why {
        Error::Engine(_) => Error::Foreign("its tickwright_store has no version".into()),
        other => other,
    })?;
    match found {
        Some(SCHEMA) => Ok(found),
        Some(found) if found > SCHEMA => Err(Error::NewerSchema { found }),
        found => Err(Error::Foreign(format!("its tickwright_store has version {found:?}"))),
    }
}

/// Writes the version of the tables that were just created.
pub(crate) fn created(sql: &mut impl Sql) -> Result<(), Error> {
    run(sql, STORE, &[Int(SCHEMA)]).map(drop)
}

fn run(sql: &mut impl Sql, text: &'static str, arguments: &[Value<'_>]) -> Result<Answer, Error> {
    sql.query(text, arguments, &mut |_| {})?;
    Ok(Answer::Nothing)
}

fn rows(sql: &mut impl Sql, text: &'static str, arguments: &[Value<'_>]) -> Result<Answer, Error> {
    let mut rows = Vec::new();
    sql.query(text, arguments, &mut |row| {
        rows.push(Waiting { id: row[0].text(), due: row[1].int(), seq: row[2].int() });
    })?;
    Ok(Answer::Rows(rows))
}

/// Executes a statement within the connection's current transaction.
pub(crate) fn execute<S: Sql>(sql: &mut S, shard: i64, statement: &Statement) -> Result<Answer, Error> {
    match statement {
        Statement::Begin | Statement::Commit | Statement::Rollback => {
            Err(Error::Engine("the caller begins and ends this transaction".into()))
        }
        Statement::Guard { alone } => sql.guard(*alone).map(|()| Answer::Nothing),
        Statement::Look => look(sql, shard).map(Answer::Shard),
        Statement::Acquire { owner } => run(sql, ACQUIRE, &[Int(shard), Text(owner)]),
        Statement::Orphan => rows(sql, ORPHAN, &[Int(shard)]),
        Statement::Settle { epoch, now, answers } => settle(sql, shard, *epoch, *now, answers),
        Statement::Early => {
            let early = rows(sql, EARLY, &[Int(shard)])?;
            run(sql, NOT_EARLY, &[Int(shard)])?;
            Ok(early)
        }
        Statement::Load { due, seq, limit } => {
            let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
            rows(sql, LOAD, &[Int(shard), Int(*due), Int(*seq), Int(limit)])
        }
        Statement::Claim { epoch, now, rows } => {
            let list = list(shard, rows.iter().map(|row| (&row.id, [row.seq, 0, 0, 0])));
            let mut claimed = Vec::with_capacity(rows.len());
            sql.query(CLAIM, &[Int(shard), Int(*epoch), Text(&list), Int(*now)], &mut |row| {
                let (id, due, attempt) = (row[0].text(), row[1].int(), row[2].int());
                let (seq, payload) = (row[3].int(), row[4].bytes());
                claimed.push(Firing { id, due, late: 0, attempt, fence: *epoch, payload, seq });
            })?;
            Ok(Answer::Claimed(claimed))
        }
        Statement::Announce { announced: Announced { wake, high, lease } } => {
            run(sql, ANNOUNCE, &[Int(shard), Int(*wake), Int(*high), Int(*lease)])
        }
        Statement::Put { id, due, payload, replace, near } => {
            put(sql, shard, id, *due, payload, *replace, *near)
        }
        Statement::Cancel { id } => {
            let mut cancelled = Cancelled::Gone;
            sql.query(CANCEL, &[Int(shard), Text(id)], &mut |row| {
                let is_free = row[0].int() == 0 && row[1].int() == 0;
                cancelled = if is_free { Cancelled::Removed } else { Cancelled::Running };
            })?;
            run(sql, CANCEL_EARLY, &[Int(shard), Text(id)])?;
            Ok(Answer::Cancelled(cancelled))
        }
        Statement::Get { id } => {
            let mut timer = None;
            sql.query(GET, &[Int(shard), Text(id)], &mut |row| {
                let (due, running, attempt) = (row[0].int(), row[1].int() == 1, row[2].int());
                timer = Some(Timer { due, running, attempt, payload: row[3].bytes() });
            })?;
            Ok(Answer::Timer(timer))
        }
    }
}

fn look(sql: &mut impl Sql, shard: i64) -> Result<Shard, Error> {
    let mut arguments = vec![Int(shard)];
    arguments.extend(sql.now().map(Int));
    let mut found = Err(Error::NoShard(shard));
    sql.query(LOOK, &arguments, &mut |row| {
        let announced = Announced { wake: row[2].int(), high: row[3].int(), lease: row[4].int() };
        let early = (row[5] != Null).then(|| row[5].int());
        let (owner, epoch, now) = (row[0].text(), row[1].int(), row[6].int());
        found = Ok(Shard { now, owner, epoch, announced, early });
    })?;
    found
}

fn draw<S: Sql>(sql: &mut S, shard: i64, count: usize) -> Result<Vec<i64>, Error> {
    let mut drawn = Vec::new();
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    if count > 0 {
        sql.query(S::DRAW, &[Int(shard), Int(count)], &mut |row| drawn.push(row[0].int()))?;
    }
    match drawn[..] {
        [last] => Ok((last - count + 1..=last).collect()),
        _ => Ok(drawn),
    }
}

fn put(
    sql: &mut impl Sql,
    shard: i64,
    id: &Arc<str>,
    due: Due,
    payload: &[u8],
    replace: bool,
    near: i64,
) -> Result<Answer, Error> {
    // A write comes first, because SQLite refuses the first write of a caller's transaction at once
    // if the transaction has read before and another connection writes.
    let Some(&seq) = draw(sql, shard, 1)?.first() else { return Err(Error::NoShard(shard)) };
    let Shard { now, epoch, announced: Announced { wake, high, .. }, .. } = look(sql, shard)?;
    let due = due.resolve(now)?;
    let text = if replace { REPLACE } else { ADD };
    let mut is_put = false;
    let arguments = [Int(shard), Text(id), Int(due), Int(seq), Bytes(payload)];
    sql.query(text, &arguments, &mut |_| is_put = true)?;
    if is_put && (due < wake || (due < high && epoch != near)) {
        run(sql, PUT_EARLY, &[Int(shard), Text(id), Int(due.max(now))])?;
    }
    Ok(Answer::Put(is_put.then(|| Waiting { id: id.clone(), due, seq })))
}

fn settle(
    sql: &mut impl Sql,
    shard: i64,
    epoch: i64,
    now: i64,
    answers: &[Settled],
) -> Result<Answer, Error> {
    let is_done = |settled: &&Settled| settled.outcome == Outcome::Done;
    let (done, wait): (Vec<&Settled>, Vec<_>) = answers.iter().partition(is_done);
    if !done.is_empty() {
        let list =
            list(shard, done.iter().map(|settled| (&settled.id, [settled.seq, settled.attempt, 0, 0])));
        run(sql, DONE, &[Int(shard), Int(epoch), Text(&list)])?;
    }
    if wait.is_empty() {
        return Ok(Answer::Rows(Vec::new()));
    }
    let is_new = |settled: &&&Settled| settled.outcome != Outcome::Release;
    let mut drawn = draw(sql, shard, wait.iter().filter(is_new).count())?.into_iter();
    let list = list(
        shard,
        wait.iter().map(|settled| {
            let (due, next) = match settled.outcome {
                Outcome::Again(due) => (due.clamped(now), drawn.next().unwrap_or(0)),
                _ => (settled.due, settled.seq),
            };
            (&settled.id, [settled.seq, settled.attempt, due, next])
        }),
    );
    rows(sql, WAIT, &[Int(shard), Int(epoch), Text(&list)])
}

/// Encodes a table as one JSON argument: id, seq, attempt, due, the next seq, and the shard.
fn list<'a>(shard: i64, rows: impl Iterator<Item = (&'a Arc<str>, [i64; 4])>) -> String {
    let mut list = String::from("[");
    for (id, [seq, attempt, due, next]) in rows {
        list.push_str(if list.len() == 1 { "[\"" } else { ",[\"" });
        for character in id.chars() {
            if matches!(character, '\0'..=' ' | '"' | '\\') {
                let _ = write!(list, "\\u{:04x}", u32::from(character));
            } else {
                list.push(character);
            }
        }
        let _ = write!(list, "\",{seq},{attempt},{due},{next},{shard}]");
    }
    list.push(']');
    list
}
