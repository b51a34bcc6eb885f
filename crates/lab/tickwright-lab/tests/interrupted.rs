//! Tests of a run that a signal stops: it writes its measurements, and the result says that it is
//! partial.
#![cfg(target_os = "linux")]

use core::time::Duration;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

mod folder;

use folder::Folder;

/// A process that is killed at the end of a test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run, and the folder of its output.
struct Run {
    child: Killed,
    folder: Folder,
}

/// The longest wait of a test. The wait is long enough for a busy machine, because it guards
/// against a hang and measures nothing.
const LONGEST: Duration = Duration::from_secs(300);

/// Polls `done` until it is true.
#[track_caller]
fn soon(what: &str, mut done: impl FnMut() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < LONGEST, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Run {
    /// Starts `tickwright` with a command, and waits until it handles SIGTERM.
    fn begin(name: &str, words: &str, files: &[&str]) -> Self {
        Self::begin_in(Folder::new(name), words, files)
    }

    /// As [`begin`](Self::begin), but in a folder that exists.
    fn begin_in(folder: Folder, words: &str, files: &[&str]) -> Self {
        let to = |name: &str| folder.0.join(name);
        // `-` reads the test's pipe. This process keeps the pipe open and never writes to it.
        let pipe = |_| fs::OpenOptions::new().read(true).write(true).open(to("p")).unwrap().into();
        let stdin = words.strip_suffix(" -").map_or_else(Stdio::inherit, pipe);
        let child = Command::new(env!("CARGO_BIN_EXE_tickwright"))
            // The tour writes its page into this folder.
            .current_dir(&folder.0)
            .args(words.split(' ').filter(|word| !word.is_empty()))
            .args(files.iter().map(|kind| format!("--{kind}={}", to(kind).display())))
            .stdin(stdin)
            .stdout(File::create(to("text")).unwrap())
            .stderr(File::create(to("said")).unwrap())
            .spawn()
            .unwrap();
        let mut run = Self { child: Killed(child), folder };
        let status = format!("/proc/{}/status", run.child.0.id());
        soon("a handler for SIGTERM", || {
            assert_eq!(run.child.0.try_wait().unwrap(), None, "{words}: {}", run.read("said"));
            let text = fs::read_to_string(&status).unwrap_or_default();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
            u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (15 - 1) != 0
        });
        run
    }

    fn signal(&self, signals: &[&str]) {
        let pid = self.child.0.id();
        let kills: Vec<String> = signals.iter().map(|signal| format!("kill {signal} {pid}")).collect();
        // A process that has already ended is not an error here.
        let _ =
            Command::new("sh").args(["-c", &format!("{{ {}; }} 2>&-", kills.join("; "))]).status().unwrap();
    }

    /// Returns the exit code.
    fn end(&mut self) -> Option<i32> {
        let mut status = None;
        soon("the end", || {
            status = self.child.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.0.join(name)).unwrap_or_default()
    }
}

/// Stops a command and checks each form of its result.
#[track_caller]
fn stopped(name: &str, words: &str, signal: &str, code: i32) {
    let mut run = Run::begin(name, words, &["json", "csv"]);
    run.signal(&[signal]);
    assert_eq!(run.end(), Some(code), "{words}: {}", run.read("said"));
    assert!(run.read("said").contains("interrupted: the results are partial"), "{words}");
    let text = run.read("text");
    assert!(text.contains("INTERRUPTED"), "{words}: {text}");
    let json: serde_json::Value = serde_json::from_str(&run.read("json")).unwrap();
    assert_eq!(json["interrupted"], true, "{words}");
    assert!(json["schema"].is_u64() && json["command"].is_string(), "{words}");
    assert!(json["host"]["cores"].is_u64(), "{words}");
    let all = json.to_string();
    assert_eq!(all.matches("\"interrupted\":").count(), 1, "{words}: one key says it");
    assert!(!all.contains("\"partial\":"), "{words}");
    let rows = run.read("csv");
    let (heading, rows) = rows.split_once('\n').unwrap();
    assert!(heading.contains(",value,interrupted,kind,"), "{words}: {heading}");
    let is_partial =
        |row: &str| ["sample", "finding", "none"].iter().any(|kind| row.contains(&format!(",true,{kind},")));
    assert!(rows.lines().all(is_partial), "{words}: {rows}");
    assert!(!rows.is_empty(), "{words}: without a figure it still says so");
}

#[track_caller]
fn terminated(name: &str, words: &str) {
    stopped(name, words, "-TERM", 143);
}

#[test]
fn comparisons_by_rounds() {
    terminated("hold", "bench hold-exp-sparse --rounds 1000 --operations 10k");
    terminated("network", "bench network --n 1k --rounds 1000");
    terminated("one-shot", "bench one-shot --n 1k --rounds 1000");
    terminated("expire", "bench expire --n 1k --rounds 1000");
    terminated("reads", "bench reads --n 1k --rounds 1000");
}

#[test]
fn other_benches() {
    terminated("adversary", "bench --worst --n 1k --rounds 1000");
    let many = ["10k"; 100].join(",");
    terminated("memory", &format!("bench --memory --n {many}"));
}

/// Each experiment has a folder with a file of its name.
#[test]
fn experiments() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/experiments");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.join(name).with_extension("toml").exists() {
            // With its default arguments, an experiment runs for minutes, so it does not end before
            // the signal.
            terminated(name, &format!("reproduce {name}"));
            count += 1;
        }
    }
    assert!(count >= 5, "{count} experiments");
    terminated("virtual", "reproduce xenomai --mode virtual --duration 100h");
}

#[test]
fn latencies() {
    terminated("latency", "latency --duration 1h --priority none --load syscalls");
}

#[test]
fn ctrl_c_is_no_other() {
    stopped("ctrl-c", "bench hold-exp-sparse --rounds 1000", "-INT", 130);
    let asterisk = "reproduce asterisk --n 10k --rounds 1000 --budget 1h --mode ours";
    stopped("ctrl-c-asterisk", asterisk, "-INT", 130);
}

#[test]
fn what_has_no_files_says_it_in_text() {
    for words in ["check", ""] {
        let mut run = Run::begin(if words.is_empty() { "tour" } else { words }, words, &[]);
        run.signal(&["-TERM"]);
        assert_eq!(run.end(), Some(143), "{words}: {}", run.read("said"));
        let text = run.read("text");
        assert!(text.contains("INTERRUPTED"), "{words}: {text}");
        assert!(!text.contains("WRONG"), "what was cut short is not wrong: {text}");
    }
}

/// `timeout` sends the signal to its child and then to the whole group, so one request to stop
/// arrives as two signals.
#[test]
fn two_signals_at_once_are_one() {
    let mut run = Run::begin("twice", "bench hold-exp-sparse --rounds 1000", &["json"]);
    run.signal(&["-TERM", "-TERM"]);
    assert_eq!(run.end(), Some(143));
    assert!(run.read("json").contains("\"interrupted\": true"));
}

/// Returns the processor time, in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let words = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    words.skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// The run does not wait for the end of a sample that takes hours.
#[test]
fn a_later_signal_ends_the_process() {
    let mut run = Run::begin(
        "later",
        "reproduce nptl --toplevel 1 --children 1 --starts 100M --models std --only table",
        &["json"],
    );
    // A process that has used less processor time than this might not have begun the cell that
    // takes hours.
    soon("work", || cpu_ticks(run.child.0.id()) > 200);
    let mut status = None;
    soon("the end", || {
        run.signal(&["-TERM"]);
        std::thread::sleep(Duration::from_millis(200));
        status = run.child.0.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(143));
    assert!(!run.folder.0.join("json").exists(), "no half a result");
}

/// A command that measures nothing ends at the first signal, whether it waits for a pipe without a
/// writer, reads a pipe to which nobody writes, or reads endless input.
#[test]
fn commands_that_read_a_pipe_end_at_the_first_signal() {
    let begins = [("no-writer", ""), ("silent", "exec sleep 1000 > p"), ("endless", ENDLESS)];
    for (begin, (name, writer)) in begins.into_iter().enumerate() {
        for (at, words) in [
            "import p --source chrome -o out",
            "export p -o out",
            "describe -",
            "show p --json=out",
            "report p -o out",
            "compare p p --json=out",
            "reproduce xenomai --scenario p",
        ]
        .into_iter()
        .enumerate()
        {
            // Only Chrome's events can be endless input.
            if name == "endless" && !words.starts_with("import") {
                continue;
            }
            let folder = Folder::new(&format!("pipe-{name}-{at}"));
            assert!(Command::new("mkfifo").arg(folder.0.join("p")).status().unwrap().success());
            let mut shell = Command::new("sh");
            let writer = (!writer.is_empty())
                .then(|| Killed(shell.args(["-c", writer]).current_dir(&folder.0).spawn().unwrap()));
            let mut run = Run::begin_in(folder, words, &[]);
            let (signal, code) = [("-TERM", 143), ("-INT", 130)][(at + begin) % 2];
            run.signal(&[signal]);
            assert_eq!(run.end(), Some(code), "{name}: {words}: {}", run.read("said"));
            drop(writer);
            assert!(!run.folder.0.join("out").exists(), "{name}: {words}");
            assert_eq!(fs::read_dir(&run.folder.0).unwrap().count(), 3, "{name}: {words} leaves nothing");
        }
    }
}

/// Opening a pipe waits until it has a reader, and no command measures anything before that.
#[test]
fn an_output_that_nobody_reads_ends_at_the_first_signal() {
    for (at, words) in [
        "bench hold --json=p",
        "reproduce linux --only network --csv=p",
        "export sample:bind9 -o p",
        "--svg=p",
        "record -o p -- true",
    ]
    .into_iter()
    .enumerate()
    {
        let folder = Folder::new(&format!("unread-{at}"));
        assert!(Command::new("mkfifo").arg(folder.0.join("p")).status().unwrap().success());
        let mut run = Run::begin_in(folder, words, &[]);
        let (signal, code) = [("-TERM", 143), ("-INT", 130)][at % 2];
        run.signal(&[signal]);
        assert_eq!(run.end(), Some(code), "{words}: {}", run.read("said"));
        assert_eq!(fs::read_dir(&run.folder.0).unwrap().count(), 3, "{words} leaves nothing");
    }
}

const ENDLESS: &str =
    "{ printf '{\"traceEvents\":['; exec yes '{\"name\":\"x\",\"ph\":\"I\",\"ts\":1},'; } > p 2>&-";
