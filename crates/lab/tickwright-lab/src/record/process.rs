//! A recorded process: its ring, and the names of its threads and calls.

use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use tickwright_preload::mapped::Mapped;

/// The system counts the processor time of a process in ticks, of which a second has this many.
const TICKS_PER_SECOND: u64 = 100;

/// A process, from its start or fork until its end or its next `exec`.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) ring: Mapped,
    pub(super) path: PathBuf,
    pub(super) pid: u64,
    /// The recorder's number of the process.
    pub(super) number: u32,
    maps: Vec<Mapping>,
    /// The start time of the process, as the kernel gives it. A later process with the same id has
    /// another start time.
    began: Option<String>,
    cpu: Duration,
    /// How many lost records the recorder has noted already.
    pub(super) lost: u64,
    /// Whether the last turn read the process's ring to its head.
    pub(super) is_read: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    begin: u64,
    end: u64,
    /// The difference between an address in memory and the corresponding address in the file.
    base: u64,
    name: String,
}

impl Process {
    pub(super) fn new(ring: Mapped, path: PathBuf, number: u32) -> Self {
        let pid = ring.header().pid.load(Relaxed);
        let maps = mappings(&ring.maps());
        let (began, cpu) = (None, Duration::ZERO);
        let mut process = Self { ring, path, pid, number, maps, began, cpu, lost: 0, is_read: false };
        process.is_alive();
        process
    }

    /// Returns whether the process exists and has not ended. Also notes the processor time that the
    /// process has used.
    pub(super) fn is_alive(&mut self) -> bool {
        let Some(stat) = stat(self.pid) else { return false };
        if *self.began.get_or_insert_with(|| stat.began.clone()) != stat.began {
            return false;
        }
        self.cpu = stat.cpu;
        stat.is_running
    }

    /// Returns the time at which the process began to record.
    pub(super) fn started_ns(&self) -> u64 {
        self.ring.header().started_ns.load(Relaxed)
    }

    /// Returns the processor time that the process had used at the last check.
    pub(super) fn cpu(&self) -> Duration {
        self.cpu
    }

    /// Returns the name of a thread, such as `memcached/1234`.
    pub(super) fn thread(&self, thread: u32) -> String {
        let task = format!("/proc/{}/task/{thread}/comm", self.pid);
        let name = fs::read_to_string(task).ok();
        let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        format!("{}/{thread}", name.unwrap_or_else(|| self.program()))
    }

    fn program(&self) -> &str {
        self.maps.first().map_or("process", |first| &first.name)
    }

    /// Returns the name of a place in the program, such as `libevent-2.1.so.7.0.1+0x1fbf0`.
    pub(super) fn site(&mut self, address: u64) -> String {
        if let Some(name) = named(&self.maps, address) {
            return name;
        }
        // The address can be in a library that was loaded later.
        if let Ok(now) = fs::read_to_string(format!("/proc/{}/maps", self.pid)) {
            self.maps.extend(mappings(&now));
        }
        named(&self.maps, address).unwrap_or_else(|| format!("{address:#x}"))
    }
}

/// The kernel's facts about a process.
struct Stat {
    is_running: bool,
    began: String,
    cpu: Duration,
}

fn stat(pid: u64) -> Option<Stat> {
    Stat::of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

impl Stat {
    /// Parses the line of `/proc/PID/stat`: see proc_pid_stat(5), which counts fields from 1.
    fn of(text: &str) -> Option<Self> {
        // The name of the program is in parentheses, and can contain any character.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let ticks: u64 = [field(14)?, field(15)?].iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        // A main thread that has ended stays a zombie while other threads run.
        let threads: u64 = field(20)?.parse().unwrap_or(0);
        let is_running = match field(3)? {
            "X" | "x" => false,
            "Z" => threads > 1,
            _ => true,
        };
        let cpu = Duration::from_millis(ticks.saturating_mul(1000 / TICKS_PER_SECOND));
        Some(Self { is_running, began: field(22)?.to_owned(), cpu })
    }
}

/// Parses the mappings of files from the lines of `/proc/PID/maps`.
fn mappings(text: &str) -> Vec<Mapping> {
    let line = |line: &str| {
        let mut fields = line.split_whitespace();
        let (begin, end) = fields.next()?.split_once('-')?;
        let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
        let path = fields.nth(2).filter(|path| path.starts_with('/'))?;
        let name = Path::new(path).file_name()?.to_string_lossy().into_owned();
        let [begin, end] = [begin, end].map(|number| u64::from_str_radix(number, 16).ok());
        Some(Mapping { begin: begin?, end: end?, base: begin?.wrapping_sub(offset), name })
    };
    text.lines().filter_map(line).collect()
}

fn named(maps: &[Mapping], address: u64) -> Option<String> {
    let of = maps.iter().rev().find(|of| (of.begin..of.end).contains(&address))?;
    Some(format!("{}+{:#x}", of.name, address.wrapping_sub(of.base)))
}

#[cfg(test)]
mod tests;
