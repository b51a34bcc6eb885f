//! Runs commands later, and survives a reboot:
//!
//! ```sh
//! at run &                       # delivers; start it at boot
//! at 10m -- notify-send tea      # also 90s, 2h, 3d
//! at list
//! at cancel 1764337000123456
//! ```
//!
//! The store is the file that `AT_STORE` names, or `at.db` in the home folder. A command runs at
//! least once: after a crash in the middle of it, it runs again.

use core::error::Error;
use core::time::Duration;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Cancelled, Due, Firing, Settings, Timers};

const USAGE: &str = "usage: at run | at 10m -- COMMAND... | at list | at cancel ID   (s, m, h, d)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match at(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("at: {error}");
            ExitCode::FAILURE
        }
    }
}

fn at(arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    // Other processes add timers, so the one that runs looks each second.
    let settings = Settings::named("at").rescan(Duration::from_secs(1));
    match arguments {
        ["run"] => run(Timers::new(Sqlite::open(file())?, settings)),
        ["list"] => {
            let mut timers = Timers::new(Sqlite::open(file())?, settings);
            let mut last = None;
            while let Some(row) = timers.list(last.as_ref(), 1)?.pop() {
                let timer = timers.get(&row.id)?.ok_or("it has just begun")?;
                println!(
                    "{}  in {} s  {}",
                    row.id,
                    (row.due - now()) / 1_000_000,
                    words(&timer.payload).join(" ")
                );
                last = Some(row);
            }
            Ok(())
        }
        ["cancel", id] => match Timers::new(Sqlite::open(file())?, settings).cancel(id)? {
            Cancelled::Removed => Ok(()),
            Cancelled::Running => Err("it is running, and will not run again".into()),
            Cancelled::Gone => Err(format!("there is no {id}: see `at list`").into()),
        },
        [delay, "--", command @ ..] if !command.is_empty() => {
            let delay = seconds(delay).ok_or(USAGE)?;
            let id = now().to_string();
            let payload = command.join("\0");
            let mut timers = Timers::new(Sqlite::open(file())?, settings);
            timers.add(&id, Due::after(Duration::from_secs(delay)), payload.as_bytes())?;
            println!("{id}");
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

fn run(mut timers: Timers<Sqlite>) -> Result<(), Box<dyn Error>> {
    loop {
        match timers.take_due() {
            Ok(firings) => {
                for firing in firings {
                    execute(&firing);
                    timers.done(&firing);
                }
            }
            Err(error) => eprintln!("at: {error}"),
        }
        thread::sleep(timers.poll_timeout().unwrap_or(Duration::from_secs(1)));
    }
}

fn execute(firing: &Firing) {
    let words = words(&firing.payload);
    match Command::new(&words[0]).args(&words[1..]).status() {
        Ok(status) => println!("{}: {} (attempt {}): {status}", firing.id, words.join(" "), firing.attempt),
        Err(error) => eprintln!("{}: {}: {error}", firing.id, words[0]),
    }
}

fn words(payload: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(payload).split('\0').map(str::to_string).collect()
}

fn seconds(delay: &str) -> Option<u64> {
    let (number, unit) = delay.split_at_checked(delay.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

fn file() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join("at.db");
    std::env::var_os("AT_STORE").map_or_else(home, PathBuf::from)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
