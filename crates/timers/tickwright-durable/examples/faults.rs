//! Real faults, and the judge over what the processes wrote: `faults [KILLS]`, 300 unless said
//! otherwise.
//!
//! Two processes add, cancel and deliver timers on one store. They are killed at random moments,
//! and stopped for longer than the lease. With the feature `postgres`, the same happens over
//! PostgreSQL, which crashes itself meanwhile. Then a disk is full.

#[cfg(feature = "postgres")]
#[path = "../tests/common/cluster.rs"]
mod cluster;

use core::error::Error;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Cancelled, Due, Engine, Error as Failure, Settings, Timers};

type Outcome<T> = Result<T, Box<dyn Error>>;

const MARGIN: Duration = Duration::from_millis(800);
const RESCAN: Duration = Duration::from_millis(300);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("child") => child(&arguments[1..]),
        kills => faults(kills.map_or(Ok(300), str::parse)?),
    }
}

fn faults(kills: u32) -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("tickwright-faults-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let store = folder.join("timers.db");
    let mut is_right =
        kill("SQLite", &format!("sqlite:{}", store.display()), &folder.join("sqlite"), kills, None)?;
    #[cfg(feature = "postgres")]
    if let Some(mut cluster) = cluster::Cluster::start("faults") {
        let store = format!("postgres:{}", cluster.parameters());
        is_right &=
            kill("PostgreSQL", &store, &folder.join("postgres"), kills, Some(&mut || cluster.crash()))?;
    }
    #[cfg(not(feature = "postgres"))]
    println!("PostgreSQL: skipped: run with --features postgres");
    is_right &= full_disk(&folder)?;
    fs::remove_dir_all(&folder)?;
    if is_right { Ok(()) } else { Err("a guarantee is broken".into()) }
}

/// Processes under fire, then one that ends the work; then the judge.
fn kill(
    engine: &str,
    store: &str,
    ledger: &Path,
    kills: u32,
    mut crash: Option<&mut dyn FnMut()>,
) -> Outcome<bool> {
    let spawn = |name: &str, work: &str| -> Outcome<Child> {
        let program = std::env::current_exe()?;
        Ok(Command::new(program).args(["child", store, name, work]).arg(ledger).spawn()?)
    };
    let mut random = Random(std::process::id().into());
    let mut children = [spawn("a", "add")?, spawn("b", "add")?];
    let (mut stops, mut crashes) = (0, 0);
    for number in 0..kills {
        thread::sleep(Duration::from_millis(random.below(90)));
        let victim = random.below(2) as usize;
        if number % 40 == 20 {
            // Past the lease, at any statement.
            signal(&children[victim], "-STOP")?;
            thread::sleep(MARGIN * 2 + RESCAN);
            signal(&children[victim], "-CONT")?;
            stops += 1;
        } else if number % 100 == 50
            && let Some(crash) = &mut crash
        {
            crash();
            crashes += 1;
        } else {
            children[victim].kill()?;
            children[victim].wait()?;
            children[victim] = spawn(["a", "b"][victim], "add")?;
        }
    }
    for child in &mut children {
        child.kill()?;
        child.wait()?;
    }
    if !spawn("a", "end")?.wait()?.success() {
        return Err("the last process left something".into());
    }
    let kills = kills - stops - crashes;
    println!("{engine}: {kills} kills, {stops} stops, {crashes} crashes of the server");
    judge(&fs::read_to_string(ledger)?)
}

fn signal(child: &Child, signal: &str) -> Outcome<()> {
    Command::new("kill").args([signal, &child.id().to_string()]).status()?;
    Ok(())
}

/// Reads the lines of all processes, in the order in which they were written.
fn judge(ledger: &str) -> Outcome<bool> {
    let (mut added, mut asked, mut begun) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    let (mut removed, mut pairs) = (BTreeSet::new(), BTreeSet::new());
    let (mut broken, mut repeated, mut latest) = (Vec::new(), 0, 0);
    for line in ledger.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
        let Some(&id) = words.get(1) else { continue };
        match words[0] {
            "added" => drop(added.insert(id, number(2))),
            "cancel" => drop(asked.insert(id)),
            "removed" => drop(removed.insert(id)),
            "begins" => {
                let (due, now) = (number(4), number(5));
                if now < due {
                    broken.push(format!("2: {id} is {} us early", due - now));
                }
                if removed.contains(id) {
                    broken.push(format!("4: {id} begins after Removed"));
                }
                if !pairs.insert((id, number(2), number(3))) {
                    broken.push(format!("3: {id} begins twice as {} {}", number(2), number(3)));
                }
                if begun.insert(id, ()).is_some() {
                    repeated += 1;
                } else {
                    latest = latest.max(now - due.max(added.get(id).copied().unwrap_or(due)));
                }
            }
            _ => {}
        }
    }
    let lost = added.keys().filter(|id| !begun.contains_key(*id) && !asked.contains(*id));
    broken.extend(lost.map(|id| format!("1: {id} never began")));
    println!(
        "  {} added, {} begun, {repeated} repeated, {} removed; latest {} ms; broken: {}",
        added.len(),
        begun.len(),
        removed.len(),
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
        Some(("sqlite", path)) => {
            // Both may make the file at once, and a stopped process may hold its lock.
            let store = loop {
                match Sqlite::open(path) {
                    Err(Failure::Busy(_)) => {}
                    other => break other?,
                }
            };
            work_on(Timers::new(store, settings), ledger, work == "add")
        }
        #[cfg(feature = "postgres")]
        Some(("postgres", parameters)) => {
            use tickwright_durable::postgres::Postgres;
            let store = loop {
                match Postgres::open(parameters) {
                    Err(Failure::Disconnected(_) | Failure::Busy(_) | Failure::Engine(_)) => {
                        thread::sleep(Duration::from_millis(20));
                    }
                    other => break other?,
                }
            };
            work_on(Timers::new(store.margin(MARGIN), settings), ledger, work == "add")
        }
        _ => Err("a store is sqlite:PATH or postgres:PARAMETERS".into()),
    }
}

fn work_on<E: Engine>(mut timers: Timers<E>, mut ledger: File, adds: bool) -> Outcome<()> {
    let mut random = Random(u64::from(std::process::id()) << 20);
    let mut number = 0;
    let give_up = Instant::now() + Duration::from_secs(60);
    // One write a line, at the end of the file: it outlives the process.
    let mut write = |line: String| ledger.write_all(line.as_bytes());
    loop {
        if adds {
            let id = format!("{}.{number}", std::process::id());
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
        } else if timers.is_owner() && timers.get("none").is_ok() && timers.next_due() == Ok(None) {
            if timers.metrics().held == 0 && timers.close().is_ok() {
                return Ok(());
            }
            return Err("firings are left".into());
        } else if Instant::now() > give_up {
            return Err(format!("not done: {timers:?}").into());
        }
        for firing in timers.take_due().unwrap_or_default() {
            write(format!(
                "begins {} {} {} {} {}\n",
                firing.id,
                firing.fence,
                firing.attempt,
                firing.due,
                now()
            ))?;
            match random.below(20) {
                0 => timers.release(&firing),
                _ => timers.done(&firing),
            };
        }
        let pause = timers.poll_timeout().unwrap_or(RESCAN);
        thread::sleep(pause.min(Duration::from_millis(if adds { random.below(3) } else { 20 })));
    }
}

/// A small file system, until it is full; then there is room again.
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

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros()).unwrap_or(0)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
