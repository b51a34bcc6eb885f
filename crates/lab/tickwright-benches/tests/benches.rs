//! The program as a user runs it.

use core::time::Duration;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

fn benches(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benches"));
    command.args(words.split(' ')).stdin(Stdio::null());
    command
}

fn run(words: &str) -> Output {
    benches(words).output().unwrap()
}

#[test]
fn a_mistake_is_refused_with_what_would_be_right() {
    for (words, right) in [
        ("registry --n 0", "from 1 to 16777216"),
        ("registry --threads -1", "from 0 to 100000"),
        ("registry --structures avl", "avl-hook"),
        ("c-peers --n -500", "from 1 to 16777216"),
        ("threads --operations 99", "from 100 to 10000000"),
        ("scheduler --structures lits", "heap4"),
        ("mcu --processor z80", "Cortex-M3"),
    ] {
        let output = run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains(right), "{words}: {said}");
    }
}

#[test]
fn a_result_names_the_command_that_made_it() {
    let words = "scheduler --n 100 --rounds 6 --operations 1k --structures heap4,rb --json";
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["command"], format!("benches {words}"));
    assert_eq!(report["experiment"], "bench scheduler");
    assert_eq!(report["series"].as_array().map(Vec::len), Some(2 * 7));
}

#[cfg(target_os = "linux")]
#[test]
fn threads_are_parked_in_children() {
    let words = "threads --rounds 1 --operations 100 --parked 500 --json";
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let series = report["series"].as_array().unwrap();
    let parked = |name: &str| series.iter().filter(|one| one["name"] == name).count();
    assert!([2, 3].contains(&parked("wake and join")), "without Go, or with it");
    assert_eq!(parked("resident memory"), parked("create until parked"));
}

/// Waits until the program has installed its handler for SIGTERM.
#[cfg(target_os = "linux")]
fn until_ready(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let since = Instant::now();
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        if u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (15 - 1) != 0 {
            return;
        }
        // This bound guards against a hang and measures nothing.
        assert!(since.elapsed() < Duration::from_secs(300), "no handler for SIGTERM");
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_keeps_what_was_measured() {
    for words in [
        "scheduler --rounds 1000 --json",
        "registry --n 100 --rounds 1000 --json",
        "threads --rounds 1000 --operations 1k --parked 100 --json",
    ] {
        let child = benches(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until_ready(&child);
        let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(143), "{words}: {said}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["interrupted"], true, "{words}");
    }
}
