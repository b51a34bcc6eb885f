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
//! least once: after a crash while a command runs, the command runs again.

mod common;

use core::time::Duration;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;

use common::{Outcome, now};
use tickwright_durable::sqlite::Sqlite;
use tickwright_durable::{Cancelled, Due, Settings, Timers};

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

fn at(arguments: &[&str]) -> Outcome<()> {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join("at.db");
    let file = std::env::var_os("AT_STORE").map_or_else(home, PathBuf::from);
    // Other processes add timers, so the process that runs the timers checks the store each second.
    let settings = Settings::named("at").rescan(Duration::from_secs(1));
    let open = || Ok::<_, tickwright_durable::Error>(Timers::new(Sqlite::open(file)?, settings));
    match arguments {
        ["run"] => run(open()?),
        ["list"] => {
            let mut timers = open()?;
            let mut last = None;
            while let Some(row) = timers.list(last.as_ref(), 1)?.pop() {
                // The timer no longer exists if it began meanwhile.
                if let Some(timer) = timers.get(&row.id)? {
                    let seconds = (row.due - now()) / 1_000_000;
                    println!("{}  in {seconds} s  {}", row.id, words(&timer.payload).join(" "));
                }
                last = Some(row);
            }
            Ok(())
        }
        ["cancel", id] => match open()?.cancel(id)? {
            Cancelled::Removed => Ok(()),
            Cancelled::Running => Err("it is running, and will not run again".into()),
            Cancelled::Gone => Err(format!("there is no {id}: see `at list`").into()),
        },
        [delay, "--", command @ ..] if !command.is_empty() => {
            let delay = Due::after(Duration::from_secs(seconds(delay).ok_or(USAGE)?));
            let id = now().to_string();
            open()?.add(&id, delay, command.join("\0").as_bytes())?;
            println!("{id}");
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

fn run(mut timers: Timers<Sqlite>) -> Outcome<()> {
    loop {
        for firing in timers.take_due().unwrap_or_else(|error| {
            eprintln!("at: {error}");
            Vec::new()
        }) {
            let words = words(&firing.payload);
            match Command::new(&words[0]).args(&words[1..]).status() {
                Ok(status) => {
                    println!("{}: {} (attempt {}): {status}", firing.id, words.join(" "), firing.attempt)
                }
                Err(error) => eprintln!("{}: {}: {error}", firing.id, words[0]),
            }
            timers.done(&firing);
        }
        thread::sleep(timers.poll_timeout().unwrap_or(Duration::from_secs(1)));
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
