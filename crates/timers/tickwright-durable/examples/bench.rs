//! `bench [TIMERS]` prints a table of what the library reaches on this machine, by default with a
//! million timers: over SQLite, over PostgreSQL (feature `postgres`; a tenth of the timers), and
//! for comparison a queue that polls a SQLite file each second. The stores are in the folder for
//! temporary files (`TMPDIR`). The disk of this folder decides the results, because each commit
//! waits for the disk.

#[cfg(feature = "postgres")]
#[path = "../tests/common/cluster.rs"]
mod cluster;
mod common;

use core::time::Duration;
use std::path::Path;
use std::thread;
use std::time::Instant;

use common::{Outcome, now};
use rusqlite::Connection;
use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Due, Engine, Settings, Timers};

fn main() -> Outcome<()> {
    let count: i64 = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse())?;
    let folder = std::env::temp_dir().join(format!("tickwright-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!("{:<44}{:>12}{:>14}", "", "measured", "reach");
    let path = folder.join("durable.db");
    let mut table = Table { engine: "SQLite", is_held: true };
    table.measure(
        || Ok(Sqlite::open(&path)?),
        count,
        [20_000.0, 10_000.0],
        |sqlite| {
            let one =
                |sqlite: &mut Sqlite, sql| sqlite.connection().query_row(sql, [], |row| row.get::<_, i64>(0));
            let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
            let dead = "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size";
            Ok((one(sqlite, size)?, format!("{} bytes of it free", one(sqlite, dead)?)))
        },
    )?;
    polling(&folder.join("polling.db"))?;
    #[cfg(feature = "postgres")]
    if let Some(cluster) = cluster::Cluster::start("bench-server", &[]) {
        use tickwright_durable::postgres::Postgres;
        table.engine = "PostgreSQL";
        let open = || Ok(Postgres::open(&cluster.parameters())?);
        table.measure(open, count / 10, [0.0, 5_000.0], |postgres| {
            let sql = "SELECT pg_total_relation_size('tickwright_timer'),
                (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'tickwright_timer')";
            let row = postgres.client()?.query_one(sql, &[])?;
            Ok((row.get(0), format!("{} dead rows", row.get::<_, i64>(1))))
        })?;
    }
    std::fs::remove_dir_all(&folder)?;
    if table.is_held { Ok(()) } else { Err("a reach is missed".into()) }
}

struct Table {
    engine: &'static str,
    is_held: bool,
}

impl Table {
    /// Prints a row. `reach` is the target: at least a value (0.0 is no target), or at most a
    /// value.
    fn row(&mut self, what: &str, value: f64, reach: Option<(bool, f64)>) {
        let (mut text, mut verdict) = (String::new(), "");
        if let Some((at_least, reach)) = reach.filter(|(at_least, reach)| !at_least || *reach > 0.0) {
            let is_held = if at_least { value >= reach } else { value <= reach };
            self.is_held &= is_held;
            text = format!("{} {reach}", if at_least { ">=" } else { "<=" });
            verdict = if is_held { "held" } else { "MISSED" };
        }
        let digits = if value.fract() == 0.0 || value > 1000.0 { 0 } else { 4 };
        println!("{:<44}{value:>12.digits$}{text:>14}  {verdict}", format!("{}: {what}", self.engine));
    }

    fn measure<E: Engine>(
        &mut self,
        open: impl Fn() -> Outcome<E>,
        count: i64,
        [adds, firings]: [f64; 2],
        size: impl Fn(&mut E) -> Outcome<(i64, String)>,
    ) -> Outcome<()> {
        let mut timers = Timers::new(open()?, Settings::alone());
        let start = Instant::now();
        for first in (0..count).step_by(1000) {
            timers.batch(|batch| {
                let mut numbers = first..(first + 1000).min(count);
                numbers.try_for_each(|n| batch.add(&n.to_string(), Due::At(1 + n), b"payload").map(drop))
            })?;
        }
        let rate = |count: i64, start: Instant| count as f64 / start.elapsed().as_secs_f64();
        let per_second = rate(count, start);
        self.row("adds a second, 1000 a commit", per_second, Some((true, adds)));
        let start = Instant::now();
        (0..200).try_for_each(|n| timers.add(&format!("one {n}"), Due::At(1 + count), b"").map(drop))?;
        self.row("adds a second, one a commit", rate(200, start), None);
        let (bytes, _) = size(timers.engine())?;
        self.row("bytes a timer that waits", (bytes / count) as f64, None);
        drop(timers);

        let start = Instant::now();
        let mut timers = Timers::new(open()?, Settings::alone());
        let mut due = timers.take_due()?;
        let first = start.elapsed().as_secs_f64();
        self.row(&format!("seconds from start to firing, {count} rows"), first, Some((false, 1.0)));
        let start = Instant::now();
        let mut taken = 0;
        while !due.is_empty() {
            taken += due.len() as i64;
            for firing in &due {
                timers.done(firing);
            }
            due = timers.take_due()?;
        }
        self.row("firings a second, in batches", rate(taken, start), Some((true, firings)));
        self.row(
            "commits a firing",
            timers.metrics().commits as f64 / taken as f64,
            Some((false, 2.0 / 256.0)),
        );
        let (bytes, dead) = size(timers.engine())?;
        self.row(&format!("bytes after {taken} firings"), bytes as f64, None);
        println!("  ({dead})");

        // The load is 1000 timers per second for five seconds, and then no timers for ten seconds.
        let base = now() + 500_000 + (3.0 * 5000.0 / per_second * 1e6) as i64;
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
            thread::sleep(timers.poll_timeout().unwrap_or_default().min(Duration::from_secs(1)));
            timers.take_due()?;
        }
        self.lateness(&mut late, Some((false, 5.0)));
        self.row(
            "statements in 10 s idle",
            (timers.metrics().statements - before) as f64,
            Some((false, 0.0)),
        );
        Ok(timers.close()?)
    }

    fn lateness(&mut self, late: &mut [i64], reach: Option<(bool, f64)>) {
        late.sort_unstable();
        for (name, part, reach) in [("p50", 0.5, None), ("p99", 0.99, reach), ("p99.9", 0.999, None)] {
            let at = late[(late.len() as f64 * part) as usize] as f64 / 1e3;
            self.row(&format!("ms late at 1000 a second, {name}"), at, reach);
        }
    }
}

/// Measures the usual implementation: a query every second.
fn polling(file: &Path) -> Outcome<()> {
    let mut store = Connection::open(file)?;
    store.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    store.execute_batch(
        "PRAGMA synchronous = FULL; CREATE TABLE job (id INTEGER PRIMARY KEY, due INTEGER);
        CREATE INDEX due ON job (due)",
    )?;
    let base = now() + 300_000;
    let adds = store.transaction()?;
    (0..5000)
        .try_for_each(|n| adds.execute("INSERT INTO job (due) VALUES (?)", [base + n * 1000]).map(drop))?;
    adds.commit()?;
    let mut late = Vec::new();
    while late.len() < 5000 {
        thread::sleep(Duration::from_secs(1));
        let mut due = store.prepare("SELECT id, due FROM job WHERE due <= ? ORDER BY due")?;
        let due = due.query_map([now()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        for (id, due) in due.collect::<Result<Vec<_>, _>>()? {
            late.push(now() - due);
            store.execute("DELETE FROM job WHERE id = ?", [id])?;
        }
    }
    let mut table = Table { engine: "a queue that polls", is_held: true };
    table.lateness(&mut late, None);
    table.row("statements in 10 s idle", 10.0, None);
    Ok(())
}
