//! Tests the protocol in many schedules, with the crate's statements executed by SQLite:
//! `TICKWRIGHT_SCHEDULES=1000000` runs a million schedules instead of the 10,000 of each test.

mod judge;
mod store;
mod world;

use rusqlite::Connection;
use world::{Counts, World};

use crate::sql::Mutation;
use crate::sqlite::Sqlite;

/// A deliberate mistake in the SQL or in the protocol, which the judge must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    Sql(Mutation),
    /// A turn does not compare the epoch.
    NoFence,
    /// A claim uses the time of a clock that is fast.
    EarlyClaim,
    /// A writer compares only `wake`.
    EarlyBeforeWakeOnly,
    /// A standby ignores that early rows shorten the lease.
    LeaseIgnoresEarly,
    /// Writers and an owner do not wait for each other.
    NoGuard,
    /// A standby takes over before the lease is over.
    TakeoverAtOnce,
    /// An add returns before its commit.
    AddBeforeCommit,
    /// A turn whose commit has an unknown outcome counts as committed.
    UnknownIsSuccess,
    /// A turn whose commit has an unknown outcome counts as not committed.
    UnknownIsFailure,
    /// A process that knows of the loss of its lease still begins the firings that it claimed
    /// before.
    StaleInbox,
    /// An owner reads the shard's row every second.
    Heartbeat,
}

impl Mutant {
    fn sql(self) -> Mutation {
        if let Self::Sql(mutation) = self { mutation } else { &[] }
    }
}

/// Each mistake replaces the first text of a pair with the second text.
const SQL: [Mutation; 20] = [
    // An answer names only the id.
    &[(
        "fence = ?2 AND state = 1\n    AND (id, seq, attempt) IN (SELECT a_id, a_seq, a_attempt",
        "?2 = ?2 AND id IN (SELECT a_id",
    )],
    // A claim does not increment the attempt.
    &[("attempt = attempt + 1", "attempt = attempt")],
    // A takeover ignores some or all running timers, forgets their due times or their doubt, or
    // keeps the previous owner's epoch.
    &[("doubt = 1 WHERE shard = ?1 AND state = 1", "doubt = 1 WHERE shard = ?1 AND state = 2")],
    &[("doubt = 1 WHERE shard = ?1 AND state = 1", "doubt = 1 WHERE shard = ?1 AND state = 1 AND fence > 1")],
    &[("state = 1\n    RETURNING id, due", "state = 1\n    RETURNING id, 9223372036854775807")],
    &[("SET state = 0, doubt = 1 WHERE", "SET state = 0 WHERE")],
    &[("epoch = epoch + 1", "epoch = epoch")],
    // A cancel promises that no delivery begins although a delivery can still run, or it does not
    // delete the timer.
    &[("RETURNING state, doubt", "RETURNING 0, 0")],
    &[("RETURNING state, doubt", "RETURNING state, 0")],
    &[(
        "DELETE FROM tickwright_timer WHERE shard = ?1 AND id",
        "UPDATE tickwright_timer SET due = due WHERE shard = ?1 AND id",
    )],
    // An answer, or a replace, forgets that an owner may hold the timer.
    &[("SET state = 0, due = a_due", "SET state = 0, doubt = 0, due = a_due")],
    &[("CASE WHEN t.state = 1 THEN 1 ELSE t.doubt END", "0")],
    // A writer does not record an early timer, or a turn does not delete the rows of early timers.
    &[(
        "INSERT INTO tickwright_early VALUES (?1, ?2, ?3)",
        "INSERT INTO tickwright_early SELECT ?1, ?2, ?3 WHERE 0",
    )],
    &[(
        "DELETE FROM tickwright_early WHERE shard = ?1",
        "DELETE FROM tickwright_early WHERE shard = ?1 AND 0",
    )],
    // All puts have the first seq.
    &[("seq = seq + ?2 WHERE shard = ?1 RETURNING seq", "seq = seq + ?2 WHERE shard = ?1 RETURNING ?2")],
    // `done` does not delete the timer.
    &[(
        "DELETE FROM tickwright_timer WHERE shard = ?1 AND fence",
        "UPDATE tickwright_timer SET due = due WHERE shard = ?1 AND fence",
    )],
    // A load skips timers that have the same due time as the last row of the previous load.
    &[("(due, seq) >= (?2, ?3)", "due >= ?2 + (?3 > 0)")],
    // An owner announces a `wake` later than the earliest waiting timer, or a lease that never
    // ends.
    &[("wake = ?2", "wake = ?2 + 3600000000 * (?2 < 9000000000000000000)")],
    &[("lease = ?4", "lease = CASE ?4 WHEN 0 THEN 0 ELSE 9223372036854775807 END")],
    // A load omits timers that were in doubt.
    &[("AND state = 0 AND (due", "AND state = 0 AND doubt = 0 AND (due")],
];

fn memory() -> Sqlite {
    let mut sqlite = Sqlite::new(Connection::open_in_memory().unwrap()).unwrap();
    sqlite.connection().set_prepared_statement_cache_capacity(64);
    sqlite
}

#[test]
fn eight_guarantees_hold_in_every_schedule() {
    let schedules = std::env::var("TICKWRIGHT_SCHEDULES").ok().and_then(|count| count.parse().ok());
    let (schedules, mut all, mut sqlite) = (schedules.unwrap_or(10_000), Counts::default(), memory());
    for seed in 0..schedules {
        match World::run(seed, None, &mut sqlite) {
            Ok(counts) => {
                all.begun += counts.begun;
                all.repeated += counts.repeated;
                all.statements += counts.statements;
            }
            Err((guarantee, what)) => panic!("seed {seed}: guarantee {guarantee} is broken: {what}"),
        }
    }
    println!("{schedules} schedules: {all:?}");
    assert!(all.repeated > 0 && all.begun > all.repeated, "{all:?}: the schedules have no trouble");
}

#[test]
fn the_judge_kills_every_mutant() {
    let protocol = [
        Mutant::NoFence,
        Mutant::EarlyClaim,
        Mutant::EarlyBeforeWakeOnly,
        Mutant::LeaseIgnoresEarly,
        Mutant::NoGuard,
        Mutant::TakeoverAtOnce,
        Mutant::AddBeforeCommit,
        Mutant::UnknownIsSuccess,
        Mutant::UnknownIsFailure,
        Mutant::StaleInbox,
        Mutant::Heartbeat,
    ];
    let mut survivors = Vec::new();
    for mutant in SQL.map(Mutant::Sql).into_iter().chain(protocol) {
        let mut sqlite = memory();
        let killed = (0..2_000)
            .find_map(|seed| World::run(seed, Some(mutant), &mut sqlite).err().map(|why| (seed, why)));
        match killed {
            Some((seed, (guarantee, what))) => println!("{mutant:?}: {guarantee} at seed {seed}: {what}"),
            None => survivors.push(mutant),
        }
    }
    assert!(survivors.is_empty(), "{survivors:?} keep every guarantee");
}
