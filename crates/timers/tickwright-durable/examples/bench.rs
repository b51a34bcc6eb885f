//! `bench [TIMERS]`: adds, firings, lateness, commits and idle statements over SQLite, beside a
//! queue that polls the same file each second.

use core::error::Error;
use core::time::Duration;
use std::path::Path;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};
use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Due, Settings, Timers};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let count: i64 = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse())?;
    let folder = std::env::temp_dir().join(format!("tickwright-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    restart(&folder.join("restart.db"), count)?;
    durable(&folder.join("durable.db"))?;
    polling(&folder.join("polling.db"))?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Adds in batches; a process that starts over many rows; firings as fast as they come.
fn restart(file: &Path, count: i64) -> Outcome<()> {
    let mut timers = Timers::new(Sqlite::open(file)?, Settings::alone());
    let start = Instant::now();
    for first in (0..count).step_by(1000) {
        timers.batch(|batch| {
            for number in first..(first + 1000).min(count) {
                batch.add(&number.to_string(), Due::At(1 + number), b"payload")?;
            }
            Ok(())
        })?;
    }
    println!("adds a second, 1000 a commit: {:.0}", count as f64 / start.elapsed().as_secs_f64());
    drop(timers);

    let start = Instant::now();
    let mut timers = Timers::new(Sqlite::open(file)?, Settings::alone());
    let mut firings = timers.take_due()?;
    println!("first firing after a start with {count} rows: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let mut taken = 0;
    while !firings.is_empty() && taken < 100_000 {
        taken += firings.len();
        for firing in &firings {
            timers.done(firing);
        }
        firings = timers.take_due()?;
    }
    let commits = timers.metrics().commits;
    println!("firings a second, in batches: {:.0}", taken as f64 / start.elapsed().as_secs_f64());
    println!("commits a firing: {:.4}", commits as f64 / taken as f64);
    Ok(())
}

/// 1000 timers a second for five seconds; then ten seconds without any.
fn durable(file: &Path) -> Outcome<()> {
    let mut timers = Timers::new(Sqlite::open(file)?, Settings::alone());
    let base = now() + 300_000;
    timers.batch(|batch| {
        (0..5000).try_for_each(|n| batch.add(&n.to_string(), Due::At(base + n * 1000), b"").map(drop))
    })?;
    timers.add("far", Due::after(Duration::from_secs(3600)), b"")?;
    let mut late = Vec::new();
    while late.len() < 5000 {
        thread::sleep(timers.poll_timeout().unwrap_or_default());
        for firing in timers.take_due()? {
            late.push(now() - firing.due);
            timers.done(&firing);
        }
    }
    timers.take_due()?;
    let before = timers.metrics().statements;
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        thread::sleep(timers.poll_timeout().unwrap_or_default());
        timers.take_due()?;
    }
    report("durable", &mut late, timers.metrics().statements - before);
    Ok(())
}

/// What most programs do: ask each second.
fn polling(file: &Path) -> Outcome<()> {
    let mut store = Connection::open(file)?;
    store.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    store.execute_batch(
        "PRAGMA synchronous = FULL; CREATE TABLE job (id INTEGER PRIMARY KEY, due INTEGER);
        CREATE INDEX due ON job (due)",
    )?;
    let base = now() + 300_000;
    let adds = store.transaction()?;
    for n in 0..5000 {
        adds.execute("INSERT INTO job (due) VALUES (?)", [base + n * 1000])?;
    }
    adds.commit()?;
    let (mut late, mut statements, mut idle) = (Vec::new(), 0, 0);
    while idle < 10 {
        thread::sleep(Duration::from_secs(1));
        idle += i32::from(late.len() == 5000);
        statements += u64::from(late.len() == 5000);
        let due: Vec<(i64, i64)> = store
            .prepare("SELECT id, due FROM job WHERE due <= ? ORDER BY due")?
            .query_map([now()], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (id, due) in due {
            late.push(now() - due);
            store.execute("DELETE FROM job WHERE id = ?", params![id])?;
        }
    }
    report("polling", &mut late, statements);
    Ok(())
}

fn report(name: &str, late: &mut [i64], statements: u64) {
    late.sort_unstable();
    let at = |part: f64| late[(late.len() as f64 * part) as usize] as f64 / 1e3;
    let (p50, p99, p999) = (at(0.5), at(0.99), at(0.999));
    println!(
        "{name}: late by {p50:.1} / {p99:.1} / {p999:.1} ms (p50, p99, p99.9); {statements} statements in 10 s idle"
    );
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
