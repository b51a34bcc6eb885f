//! Causes real faults, and judges what the processes wrote: `faults [COUNT] [MODE...]`. The default
//! is 300 faults in each of the modes `kill` and `disk`.
//!
//! Two processes add, cancel and deliver timers on one store, SQLite or (with the feature
//! `postgres`) PostgreSQL. COUNT times, the mode's fault happens:
//!
//! - `kill`: a process is killed, or stopped for longer than the lease, at a random moment, or
//!   PostgreSQL crashes.
//! - `failover`: a process is killed or stopped for longer than the lease, and the other process
//!   takes over in time.
//! - `clock`: the engine's clock is set forward or back by an hour (libfaketime), and a process is
//!   killed.
//! - `snapshot`: the faults of `kill`, while an old snapshot is held.
//! - `promote`: PostgreSQL's primary is killed, and its synchronous standby is promoted.
//! - `hosts`: each process has a network of its own, and the line of one process is cut for longer
//!   than the lease.
//! - `disk`: the disk is full.

#[cfg(feature = "postgres")]
#[path = "../tests/common/cluster.rs"]
mod cluster;
mod common;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Instant;

use common::{Outcome, Random, now};
use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Cancelled, Due, Engine, Error as Failure, Settings, Timers};

const MARGIN: Duration = Duration::from_millis(800);
const RESCAN: Duration = Duration::from_millis(300);
/// The longest time until another process has taken over: the bound of the protocol, plus what a
/// busy machine adds.
const FAILOVER: Duration = Duration::from_millis(800 + 300 + 400);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str).peekable();
    if words.peek() == Some(&"child") {
        return child(&arguments[1..]);
    }
    let count = words.next_if(|word| word.parse::<u32>().is_ok()).map_or(Ok(300), str::parse)?;
    let mut modes: Vec<&str> = words.collect();
    if modes.is_empty() {
        modes = vec!["kill", "disk"];
    }
    let folder = std::env::temp_dir().join(format!("tickwright-faults-{}", std::process::id()));
    let mut is_right = true;
    for mode in modes {
        let folder = folder.join(mode);
        fs::create_dir_all(&folder)?;
        is_right &= match mode {
            "disk" => full_disk(&folder)?,
            "promote" | "hosts" => true,
            _ => over_sqlite(mode, &folder, count)?,
        };
        #[cfg(feature = "postgres")]
        if mode != "disk" {
            is_right &= over_postgres::run(mode, &folder, count)?;
        }
        #[cfg(not(feature = "postgres"))]
        println!("{mode} over PostgreSQL: skipped: run with --features postgres");
    }
    fs::remove_dir_all(&folder)?;
    if is_right { Ok(()) } else { Err("a guarantee is broken".into()) }
}

/// A stale owner that claims or answers leaves a row in `audit`.
const AUDIT: &str = "CREATE TABLE audit (what TEXT);
    CREATE TRIGGER claim AFTER UPDATE ON tickwright_timer
    WHEN NEW.state = 1 AND NEW.fence <> (SELECT epoch FROM tickwright_shard WHERE shard = NEW.shard)
    BEGIN INSERT INTO audit VALUES ('claim of ' || NEW.id); END;
    CREATE TRIGGER answer AFTER DELETE ON tickwright_timer
    WHEN OLD.state = 1 AND OLD.fence <> (SELECT epoch FROM tickwright_shard WHERE shard = OLD.shard)
    BEGIN INSERT INTO audit VALUES ('answer to ' || OLD.id); END;";
/// Counts the rows that remain at the end. None should remain.
const LEFT: &str = "SELECT (SELECT count(*) FROM tickwright_timer) + (SELECT count(*) FROM tickwright_early),
    (SELECT count(*) FROM audit)";

fn over_sqlite(mode: &str, folder: &Path, count: u32) -> Outcome<bool> {
    let file = folder.join("timers.db");
    let sql = rusqlite::Connection::open(&file)?;
    drop(Sqlite::open(&file)?);
    sql.execute_batch(AUDIT)?;
    let mut field = Field::new(format!("{mode} over SQLite"), format!("sqlite:{}", file.display()), folder);
    match mode {
        "kill" => field.kill(count, &mut || false)?,
        // A stopped process might hold SQLite's lock.
        "failover" => field.failover(count, false)?,
        "snapshot" => {
            sql.execute_batch("BEGIN; SELECT count(*) FROM tickwright_timer")?;
            field.kill(count, &mut || false)?;
            sql.execute_batch("COMMIT")?;
        }
        "clock" => {
            let Some(clock) = Clock::new(folder) else { return Ok(true) };
            field.environment = clock.environment();
            field.clock(count, &clock)?;
        }
        _ => return Err(format!("no mode {mode}: see the head of faults.rs").into()),
    }
    field.end(|| Ok(sql.query_row(LEFT, [], |row| Ok((row.get(0)?, row.get(1)?)))?))
}

/// Two processes on one store.
struct Field {
    title: String,
    store: String,
    ledger: PathBuf,
    environment: Vec<(&'static str, String)>,
    /// For each process, the words that precede its own command.
    before: [Vec<String>; 2],
    children: Vec<Child>,
    random: Random,
    counts: BTreeMap<&'static str, u32>,
    /// The maximum allowed lateness of a timer.
    bound: Option<Duration>,
}

impl Field {
    fn new(title: String, store: String, folder: &Path) -> Self {
        let (ledger, random) = (folder.join(title.replace(' ', "-")), Random(std::process::id().into()));
        let (environment, before, children) = (Vec::new(), [Vec::new(), Vec::new()], Vec::new());
        let counts = BTreeMap::new();
        Self { title, store, ledger, environment, before, children, random, counts, bound: None }
    }

    fn spawn(&self, which: usize, work: &str) -> Outcome<Child> {
        let program = std::env::current_exe()?.display().to_string();
        let words = [&self.before[which][..], &[program]].concat();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["child", &self.store, ["a", "b"][which], work]);
        let environment = self.environment.iter().map(|(name, value)| (*name, value));
        Ok(command.arg(&self.ledger).envs(environment).spawn()?)
    }

    fn start(&mut self) -> Outcome<()> {
        self.children = vec![self.spawn(0, "add")?, self.spawn(1, "add")?];
        Ok(())
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Kills one process, which restarts after a while.
    fn replace(&mut self, which: usize, after: Duration) -> Outcome<()> {
        self.children[which].kill()?;
        self.children[which].wait()?;
        thread::sleep(after);
        self.children[which] = self.spawn(which, "add")?;
        self.count("kills");
        Ok(())
    }

    fn stop(&mut self, which: usize, time: Duration) -> Outcome<()> {
        let signal = |signal: &str| {
            Command::new("kill").args([signal, &self.children[which].id().to_string()]).status()
        };
        signal("-STOP")?;
        thread::sleep(time);
        signal("-CONT")?;
        self.count("stops");
        Ok(())
    }

    fn kill(&mut self, count: u32, crash: &mut dyn FnMut() -> bool) -> Outcome<()> {
        self.start()?;
        for number in 0..count {
            thread::sleep(Duration::from_millis(self.random.below(90)));
            let which = self.random.below(2) as usize;
            if number % 40 == 20 {
                self.stop(which, MARGIN * 2 + RESCAN)?;
            } else if number % 100 == 50 && crash() {
                self.count("crashes of the server");
            } else {
                self.replace(which, Duration::ZERO)?;
            }
        }
        Ok(())
    }

    /// Kills or stops each process in turn, whenever the other process can take over.
    fn failover(&mut self, count: u32, stops: bool) -> Outcome<()> {
        self.bound = Some(FAILOVER);
        self.start()?;
        for number in 0..count {
            thread::sleep(FAILOVER / 2 + Duration::from_millis(self.random.below(90)));
            let which = number as usize % 2;
            if stops && number % 4 > 1 {
                self.stop(which, FAILOVER)?;
            } else {
                self.replace(which, FAILOVER)?;
            }
        }
        Ok(())
    }

    fn clock(&mut self, count: u32, clock: &Clock) -> Outcome<()> {
        self.start()?;
        for _ in 0..count {
            clock.set(self.random.below(3) as i64 - 1)?;
            self.count("settings of the clock");
            thread::sleep(Duration::from_millis(self.random.below(900)));
            let which = self.random.below(2) as usize;
            self.replace(which, Duration::ZERO)?;
        }
        // Timers that were added before the clock was set back are due.
        clock.set(2)
    }

    /// Ends both processes, lets one new process finish the work, and then judges the events.
    /// `left` returns the numbers of rows that remain in the tables and in `audit`.
    fn end(mut self, left: impl FnOnce() -> Outcome<(i64, i64)>) -> Outcome<bool> {
        for child in &mut self.children {
            child.kill()?;
            child.wait()?;
        }
        let mut broken = Vec::new();
        if !self.spawn(0, "end")?.wait()?.success() {
            broken.push("1, 7 or 8: the last process says why".to_string());
        }
        let (rows, stale) = left()?;
        if rows > 0 {
            broken.push(format!("7: {rows} rows stay"));
        }
        if stale > 0 {
            broken.push(format!("5: {stale} claims and answers of stale owners"));
        }
        let counts: Vec<_> = self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        println!("{}: {}", self.title, counts.join(", "));
        judge(&fs::read_to_string(&self.ledger)?, self.bound, broken)
    }
}

/// Reads the lines of all processes, in the order in which they were written.
fn judge(ledger: &str, bound: Option<Duration>, mut broken: Vec<String>) -> Outcome<bool> {
    let (mut added, mut asked, mut begun) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let (mut removed, mut pairs, mut owners) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut repeated, mut latest) = (0, 0);
    let bound = bound.map_or(i64::MAX, |bound| bound.as_micros() as i64);
    for line in ledger.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
        let Some(&id) = words.get(1) else { continue };
        match words[0] {
            "added" => drop(added.insert(id, number(2))),
            "cancel" => drop(asked.insert(id)),
            "removed" => drop(removed.insert(id)),
            "begins" => {
                let (fence, attempt, due, claimed, now) =
                    (number(2), number(3), number(4), number(5), number(6));
                owners.insert(fence);
                if claimed < due {
                    broken.push(format!("2: {id} is {} us early", due - claimed));
                }
                if removed.contains(id) {
                    broken.push(format!("4: {id} begins after Removed"));
                }
                if !pairs.insert((id, fence, attempt)) {
                    broken.push(format!("3: {id} begins twice as {fence} {attempt}"));
                }
                if begun.insert(id) {
                    let late = now - due.max(added.get(id).copied().unwrap_or(due));
                    latest = latest.max(late);
                    if late > bound {
                        broken.push(format!("6: {id} is {} ms late", late / 1000));
                    }
                } else {
                    repeated += 1;
                }
            }
            _ => {}
        }
    }
    let lost = added.keys().filter(|id| !begun.contains(*id) && !asked.contains(*id));
    broken.extend(lost.map(|id| format!("1: {id} never began")));
    println!(
        "  {} added, {} begun, {repeated} repeated, {} removed, {} owners; latest {} ms; broken: {}",
        added.len(),
        begun.len(),
        removed.len(),
        owners.len(),
        latest / 1000,
        broken.len()
    );
    broken.iter().take(9).for_each(|what| println!("  guarantee {what}"));
    Ok(broken.is_empty() && !added.is_empty())
}

fn child(arguments: &[String]) -> Outcome<()> {
    let [store, name, work, ledger] = arguments else { return Err("child STORE NAME WORK LEDGER".into()) };
    let ledger = OpenOptions::new().create(true).append(true).open(ledger)?;
    let settings = Settings::named(name).margin(MARGIN).rescan(RESCAN).batch(16);
    match store.split_once(':') {
        // Both processes might create the file at the same time, and a stopped process might hold
        // its lock.
        Some(("sqlite", path)) => {
            work_on(Timers::new(opened(|| Sqlite::open(path))?, settings), ledger, work == "add")
        }
        #[cfg(feature = "postgres")]
        Some(("postgres", parameters)) => {
            let store = opened(|| tickwright_durable::postgres::Postgres::open(parameters))?;
            work_on(Timers::new(store.margin(MARGIN), settings), ledger, work == "add")
        }
        _ => Err("a store is sqlite:PATH or postgres:PARAMETERS".into()),
    }
}

fn opened<E>(open: impl Fn() -> Result<E, Failure>) -> Outcome<E> {
    loop {
        match open() {
            Err(Failure::Disconnected(_) | Failure::Busy(_) | Failure::Engine(_)) => {
                thread::sleep(Duration::from_millis(20));
            }
            other => return Ok(other?),
        }
    }
}

fn work_on<E: Engine>(mut timers: Timers<E>, mut ledger: File, adds: bool) -> Outcome<()> {
    let mut random = Random(u64::from(std::process::id()) << 20);
    let mut number = 0;
    let give_up = Instant::now() + Duration::from_secs(60);
    let mut empty_since = None;
    // Each line is one write to the end of the file, so the line outlives the process.
    let mut write = |line: String| ledger.write_all(line.as_bytes());
    loop {
        if adds {
            let id = format!("{}.{}.{number}", std::process::id(), now());
            number += 1;
            let due = Due::After(random.below(200_000) as i64);
            if timers.add(&id, due, b"payload").is_ok() {
                write(format!("added {id} {}\n", now()))?;
                if random.below(4) == 0 {
                    write(format!("cancel {id}\n"))?;
                    if timers.cancel(&id) == Ok(Cancelled::Removed) {
                        write(format!("removed {id}\n"))?;
                    }
                }
            }
        } else if Instant::now() > give_up {
            return Err(format!("not done: {timers:?}").into());
        } else if !timers.is_owner() || timers.next_due() != Ok(None) {
            empty_since = None;
        } else if empty_since.get_or_insert_with(Instant::now).elapsed() > MARGIN {
            // By now, the server has ended the transactions of processes that were killed.
            return if timers.metrics().held > 0 { Err("firings are left".into()) } else { idle(timers) };
        }
        for firing in timers.take_due().unwrap_or_default() {
            let claimed = firing.due + firing.late;
            let (fence, attempt) = (firing.fence, firing.attempt);
            write(format!("begins {} {fence} {attempt} {} {claimed} {}\n", firing.id, firing.due, now()))?;
            match random.below(20) {
                0 => timers.release(&firing),
                _ => timers.done(&firing),
            };
        }
        let pause = timers.poll_timeout().unwrap_or(RESCAN);
        thread::sleep(pause.min(Duration::from_millis(if adds { random.below(3) } else { 20 })));
    }
}

/// Requires that a process without timers executes about one statement per `rescan`.
fn idle<E: Engine>(mut timers: Timers<E>) -> Outcome<()> {
    timers.take_due()?; // writes the last answers
    let (before, end) = (timers.metrics().statements, Instant::now() + RESCAN * 8);
    while Instant::now() < end {
        thread::sleep(timers.poll_timeout().unwrap_or(RESCAN).min(RESCAN));
        timers.take_due()?;
    }
    let statements = timers.metrics().statements - before;
    timers.close()?;
    if statements > 10 { Err(format!("{statements} statements in 8 rescans").into()) } else { Ok(()) }
}

/// A clock that the harness sets, by libfaketime.
struct Clock {
    file: PathBuf,
    library: String,
}

impl Clock {
    fn new(folder: &Path) -> Option<Self> {
        let names =
            ["x86_64", "aarch64"].map(|cpu| format!("/usr/lib/{cpu}-linux-gnu/faketime/libfaketime.so.1"));
        let library = names.into_iter().find(|name| Path::new(name).exists());
        if library.is_none() {
            println!("clock: skipped: libfaketime is not installed");
        }
        let clock = Self { file: folder.join("clock"), library: library? };
        clock.set(0).ok()?;
        Some(clock)
    }

    fn set(&self, hours: i64) -> Outcome<()> {
        // A reader sees either the old time or the new time.
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{:+}\n", hours * 3600))?;
        Ok(fs::rename(new, &self.file)?)
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let (file, one) = (self.file.display().to_string(), "1".to_string());
        vec![
            ("LD_PRELOAD", self.library.clone()),
            ("FAKETIME_TIMESTAMP_FILE", file),
            ("FAKETIME_NO_CACHE", one.clone()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", one),
        ]
    }
}

#[cfg(feature = "postgres")]
mod over_postgres {
    use super::*;
    use crate::cluster::Cluster;

    const AUDIT: &str = "CREATE TABLE audit (what text);
        CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF coalesce(NEW.fence, OLD.fence) <> (SELECT epoch FROM tickwright_shard WHERE shard = OLD.shard)
            THEN INSERT INTO audit VALUES (TG_OP || ' of ' || OLD.id); END IF;
            RETURN NULL; END $$;
        CREATE TRIGGER claim AFTER UPDATE ON tickwright_timer FOR EACH ROW WHEN (NEW.state = 1)
        EXECUTE FUNCTION audit();
        CREATE TRIGGER answer AFTER DELETE ON tickwright_timer FOR EACH ROW WHEN (OLD.state = 1)
        EXECUTE FUNCTION audit();";

    pub(crate) fn run(mode: &str, folder: &Path, count: u32) -> Outcome<bool> {
        let clock = if mode == "clock" { Clock::new(folder) } else { None };
        if mode == "clock" && clock.is_none() {
            return Ok(true);
        }
        let environment = clock.as_ref().map(Clock::environment).unwrap_or_default();
        let Some(mut cluster) = Cluster::start("server", &environment) else { return Ok(true) };
        let parameters = cluster.parameters();
        drop(tickwright_durable::postgres::Postgres::open(&parameters)?);
        cluster.client()?.batch_execute(AUDIT)?;
        // The standby must run until the end, because each commit waits for it.
        let mut standby = None;
        let title = format!("{mode} over PostgreSQL");
        let mut field = Field::new(title, format!("postgres:{parameters}"), folder);
        match mode {
            "kill" => field.kill(count, &mut || {
                cluster.crash();
                true
            })?,
            "failover" => field.failover(count, true)?,
            "snapshot" => {
                let mut old = cluster.client()?;
                old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM tickwright_shard")?;
                field.kill(count, &mut || false)?;
                old.batch_execute("COMMIT")?;
            }
            "clock" => field.clock(count, clock.as_ref().expect("it was made"))?,
            "promote" => (cluster, standby) = promote(&mut field, cluster, count)?,
            "hosts" if !hosts(&mut field, &mut cluster, count)? => return Ok(true),
            "hosts" => {}
            _ => return Err(format!("no mode {mode}: see the head of faults.rs").into()),
        }
        let is_right = field.end(|| {
            let row = cluster.client()?.query_one(LEFT, &[])?;
            Ok((row.get(0), row.get(1)))
        });
        drop(standby);
        if mode == "hosts" {
            for at in 1..=2 {
                ip(&format!("netns delete tick{at}"));
            }
        }
        is_right
    }

    fn ip(words: &str) -> bool {
        Command::new("ip").args(words.split(' ')).output().is_ok_and(|ip| ip.status.success())
    }

    /// Kills the primary, promotes its standby, and creates a new standby of the promoted server.
    fn promote(field: &mut Field, mut primary: Cluster, count: u32) -> Outcome<(Cluster, Option<Cluster>)> {
        let mut standby = primary.standby("server-0");
        // Each cluster has one of two sockets.
        let both = |a: &Cluster, b: &Cluster| {
            let (a, b) = (a.folder().display(), b.folder().display());
            format!("postgres:host={a},{b} user=postgres dbname=postgres target_session_attrs=read-write")
        };
        for number in 0..count {
            field.store = both(&primary, &standby);
            if field.children.is_empty() {
                field.start()?;
            } else {
                // The processes know the new standby.
                field.replace(0, Duration::ZERO)?;
                field.replace(1, Duration::ZERO)?;
            }
            thread::sleep(Duration::from_millis(500 + field.random.below(500)));
            primary.kill();
            standby.promote();
            field.count("promotions");
            thread::sleep(FAILOVER);
            primary = standby;
            standby = primary.standby(&format!("server-{}", number + 1));
        }
        Ok((primary, Some(standby)))
    }

    /// Runs the processes in two network namespaces, whose lines to the server are cut. Returns
    /// `false` if this user has no right to create them.
    fn hosts(field: &mut Field, cluster: &mut Cluster, count: u32) -> Outcome<bool> {
        let is_made = (1..=2).all(|at| {
            ip(&format!("netns delete tick{at}"));
            ip(&format!("netns add tick{at}"))
                && ip(&format!("link add tick{at} type veth peer name tick netns tick{at}"))
                && ip(&format!("address add 10.77.{at}.1/24 dev tick{at}"))
                && ip(&format!("link set tick{at} up"))
                && ip(&format!("-n tick{at} address add 10.77.{at}.2/24 dev tick"))
                && ip(&format!("-n tick{at} link set tick up"))
                && ip(&format!("-n tick{at} route add default via 10.77.{at}.1"))
        });
        if !is_made {
            println!("hosts: skipped: no right to make network namespaces (ip netns)");
            return Ok(false);
        }
        cluster.listen("10.77.1.1", "10.77.0.0/16");
        field.before =
            [1, 2].map(|at| format!("ip netns exec tick{at}").split(' ').map(str::to_string).collect());
        field.store = "postgres:host=10.77.1.1 user=postgres dbname=postgres connect_timeout=1
            tcp_user_timeout=1 keepalives_idle=1"
            .replace('\n', " ");
        field.bound = Some(FAILOVER);
        field.start()?;
        for number in 0..count {
            thread::sleep(FAILOVER / 2 + Duration::from_millis(field.random.below(90)));
            let line = format!("link set tick{}", 1 + number % 2);
            ip(&format!("{line} down"));
            thread::sleep(FAILOVER);
            ip(&format!("{line} up"));
            field.count("cuts of a line");
        }
        thread::sleep(FAILOVER);
        Ok(true)
    }
}

/// Fills a small file system, and then makes room again.
fn full_disk(folder: &Path) -> Outcome<bool> {
    let disk: PathBuf = folder.join("disk");
    fs::create_dir_all(&disk)?;
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        println!("full disk: skipped: no right to mount a tmpfs");
        return Ok(true);
    }
    let result = fill(&disk);
    Command::new("umount").arg(&disk).status()?;
    result
}

fn fill(disk: &Path) -> Outcome<bool> {
    fs::write(disk.join("ballast"), vec![1; 500_000])?;
    let mut timers = Timers::new(Sqlite::open(disk.join("timers.db"))?, Settings::alone());
    timers.add("held", Due::At(1), b"")?;
    let held = timers.take_due()?;
    let (mut added, mut refused) = (0, None);
    while refused.is_none() && added < 10_000 {
        match timers.add(&format!("timer {added}"), Due::At(2), &[7; 4000]) {
            Ok(_) => added += 1,
            Err(error) => refused = Some(error),
        }
    }
    let is_named = matches!(refused, Some(Failure::Full(_)));
    timers.done(&held[0]);
    let failed = timers.take_due();
    fs::remove_file(disk.join("ballast"))?;
    let mut taken = failed.unwrap_or_default().len();
    let end = Instant::now() + Duration::from_secs(20);
    while taken < added && Instant::now() < end {
        for firing in timers.take_due().unwrap_or_default() {
            taken += 1;
            timers.done(&firing);
        }
    }
    println!("full disk: {added} added, then {refused:?}; with room again {taken} came");
    Ok(is_named && taken == added)
}
