//! Tests of `tickwright latency` from the command line: what it refuses, what it writes, and that
//! it leaves nothing behind.
#![cfg(target_os = "linux")]

use core::time::Duration;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

fn tickwright(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tickwright")).arg("latency").args(args).output().unwrap()
}

/// Requires a failure with code 2 and all of `words`, before anything has run.
#[track_caller]
fn refused(args: &[&str], words: &[&str]) {
    let output = tickwright(args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "nothing ran");
    for word in words {
        assert!(message.contains(word), "'{word}' is missing in: {message}");
    }
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tickwright-latency-{}-{name}", std::process::id()))
}

#[test]
fn what_cannot_be_is_refused_with_the_range() {
    for interval in ["0", "0us", "999ns", "-1ms", "11s"] {
        refused(&["--interval", interval], &[interval, "between 1us and 10s"]);
    }
    for priority in ["0", "100", "-5", "high"] {
        refused(&["--priority", priority], &[priority, "from 1 to 99"]);
    }
    refused(&["--cpu", "1023"], &["1023", "no CPU of this process", "may use 0"]);
    refused(&["--cpu", "-1"], &["-1", "may use 0"]);
    refused(&["--cells", "0"], &["from 1"]);
    refused(&["--cells", "9000000000000000000"], &["from 1 to 1000000"]);
    refused(&["--bucket", "0ns"], &["between 1ns and 10s"]);
    refused(&["--fail-if", "max(worst lateness) > -1us"], &["-1us", "a condition is like"]);
    refused(&["--host-hz", "-1"], &["from 0 to 10000"]);
    refused(&["--duration", "10ms"], &["too short", "at least"]);
    refused(&["--slice", "1ms", "--interval", "10ms"], &["shorter than an interval"]);
    refused(&["--load", "cach"], &["cach", "cache", "pipe"]);
    refused(&["--structures", "coarse*"], &["left out"]);
    refused(&["--structures", "lits/*"], &["'lits/*'"]);
    refused(
        &["--slice", "1h", "--interval", "1us", "--duration", "100h"],
        &["--slice 1h", "16777216 at most"],
    );
}

#[test]
fn a_mode_refuses_what_it_would_not_heed() {
    refused(&["run", "--instructions"], &["unexpected argument"]);
    refused(&["versus-cyclictest", "--slice", "1s"], &["unexpected argument"]);
    refused(&["--n", "3"], &["unexpected argument"]);
}

#[test]
fn a_cpu_that_is_not_allowed_is_refused() {
    let command = format!("taskset -c 0 '{}' latency --cpu 1", env!("CARGO_BIN_EXE_tickwright"));
    let Ok(output) = Command::new("sh").args(["-c", &command]).output() else { return };
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    // On a host with one CPU there is no second CPU. Without taskset the shell reports that.
    if output.status.code() == Some(2) {
        assert!(message.contains("no CPU of this process"), "{message}");
        assert!(message.contains("may use 0"), "{message}");
    }
}

#[test]
fn files_that_cannot_be_written_cost_no_run() {
    for flag in ["--svg", "--json", "--csv"] {
        let to_nowhere = format!("{flag}=/no/such/directory/file");
        refused(&[&to_nowhere], &["/no/such/directory/file", "nothing was run"]);
    }
    let file = temporary("both");
    let file = file.to_str().unwrap();
    let [svg, json] = ["svg", "json"].map(|flag| format!("--{flag}={file}"));
    refused(&[&svg, &json], &[file, "nothing was run"]);
    let again = temporary("x").join("..").join(temporary("both").file_name().unwrap());
    fs::create_dir(temporary("x")).unwrap();
    refused(&[&svg, &format!("--csv={}", again.display())], &["both", "nothing was run"]);
    fs::remove_dir(temporary("x")).unwrap();
    assert!(!fs::exists(file).unwrap());
}

/// A short run that requests no priority.
const SHORT: [&str; 6] = ["--duration", "480ms", "--slice", "20ms", "--priority", "none"];

#[test]
fn a_run_writes_what_it_was_asked_for() {
    let names = ["svg", "json", "csv"];
    let paths = names.map(temporary);
    let flag = |(name, path): (&str, &PathBuf)| format!("--{name}={}", path.display());
    let flags: Vec<String> = names.into_iter().zip(&paths).map(flag).collect();
    let mut args = SHORT.to_vec();
    args.extend(flags.iter().map(String::as_str));
    args.push("--histogram");
    let output = tickwright(&args);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for word in
        ["warming up", "Measuring costs a sample", "By average here", "Published: list < heap", "cell, us"]
    {
        assert!(said.contains(word), "'{word}' is missing in: {said}");
    }
    let [svg, json, csv] = paths.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        text
    });
    assert!(svg.starts_with("<svg") && svg.contains("rb-cached/hook"), "{svg}");
    // Of six turns, five count, for each of four structures.
    let of_samples: Vec<&str> = csv.lines().filter(|line| line.contains(",samples,")).collect();
    assert_eq!(of_samples.len(), 20, "{csv}");
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["experiment"], &report["schema"]), (&"latency run".into(), &2.into()));
    let of = |name: &'static str| {
        let series = report["series"].as_array().unwrap().iter().filter(move |series| series["name"] == name);
        series.flat_map(|series| series["samples"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()))
    };
    assert!(of("host ticks").sum::<f64>() > 0.0);
    assert_eq!(of("samples").count(), 20);
    assert_eq!(report["parameters"]["priority"], "normal scheduling");
}

#[test]
fn a_limit_has_its_exit_code() {
    let output = tickwright(&[&SHORT[..], &["--fail-if", "max(worst lateness) > 1ns"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("max(worst lateness) > 1ns"));
}

#[test]
fn without_privileges_it_says_so_and_goes_on() {
    let command = format!(
        "exec setpriv --reuid 65534 --clear-groups --bounding-set -all --inh-caps -all '{}' latency --duration 480ms --slice 20ms --mlock",
        env!("CARGO_BIN_EXE_tickwright")
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // The test is skipped if the user is not root, if setpriv is missing, or if the user `nobody`
    // cannot reach the program.
    if output.status.success() {
        assert!(said.contains("no SCHED_FIFO 80"), "{said}");
        assert!(said.contains("Order of the structures"), "{said}");
    }
}

/// A run that was started and has printed its first line.
struct Begun {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

fn begin(args: &[&str]) -> Begun {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwright"))
        .args(["latency", "--priority", "none"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    line(&mut out, "warming up").expect("it ended before it began");
    Begun { child, out }
}

/// The next line that starts with `begin`; `None` at the end.
fn line(out: &mut impl BufRead, begin: &str) -> Option<String> {
    out.lines().map(Result::unwrap).find(|line| line.starts_with(begin))
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The processes whose command line has the words of a load of `parent`, and all processes of their
/// groups.
fn loads_of(parent: u32) -> Vec<u32> {
    let mine = format!("--parent\0{parent}\0");
    let mut found = Vec::new();
    let mut groups = Vec::new();
    let processes = || {
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<u32>().ok())
    };
    for pid in processes() {
        if fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains(&mine) {
            found.push(pid);
            groups.push(pid);
        }
    }
    for pid in processes() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let group =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(2)?.parse().ok());
        if group.is_some_and(|group| groups.contains(&group)) && !found.contains(&pid) {
            found.push(pid);
        }
    }
    found
}

/// The name of a process in `ps` and `top`.
fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Whether a process has ended; a zombie counts as ended.
fn gone(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |words| words.is_empty())
}

/// Waits until the kernel has done the requested operation.
#[track_caller]
fn soon(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn no_load_outlives_a_run_however_it_ends() {
    let ends: [(&str, &[&str], Option<&str>); 4] = [
        ("by itself", &["--duration", "480ms", "--slice", "20ms"], None),
        ("Ctrl-C", &["--duration", "1h"], Some("-INT")),
        ("SIGTERM", &["--duration", "1h"], Some("-TERM")),
        ("SIGKILL", &["--duration", "1h"], Some("-KILL")),
    ];
    for (end, args, name) in ends {
        let mut run = begin(&[args, &["--load", "all"]].concat());
        let pid = run.child.id();
        // A run that ends by itself may have ended by now.
        let mut loads = loads_of(pid);
        if let Some(name) = name {
            // The kernel shows the command line of a new program a moment after its start.
            soon("no load was seen", || {
                loads_of(pid).into_iter().any(|load| name_of(load) == "tickwright-load")
            });
            // The load and the processes that it forks, once these are visible.
            soon("no fork was seen", || {
                loads = loads_of(pid);
                loads.len() > 1
            });
            signal(name, pid);
        }
        let mut rest = String::new();
        run.out.read_to_string(&mut rest).unwrap();
        let status = run.child.wait().unwrap();
        if let Some((_, code)) = [("-INT", 130), ("-TERM", 143)].into_iter().find(|(of, _)| name == Some(*of))
        {
            assert_eq!(status.code(), Some(code));
            assert!(rest.contains("Measuring costs a sample"), "{rest}");
        }
        soon(end, || loads_of(pid).is_empty() && loads.iter().all(|pid| gone(*pid)));
    }
}

#[test]
fn what_it_inherits_of_real_time_is_given_up() {
    let program = env!("CARGO_BIN_EXE_tickwright");
    let command = format!(
        "chrt -f 1 true 2>&- || exit 77; exec chrt -f 1 '{program}' latency --priority none --duration 1h --load syscalls"
    );
    let mut child = Command::new("sh").args(["-c", &command]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    if line(&mut out, "warming up").is_none() {
        // If the priority is not allowed, the run has none to give up.
        assert_eq!(child.wait().unwrap().code(), Some(77));
        return;
    }
    // The policy is the 41st word of the line; 0 is the usual one.
    let usual = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(38)) == Some("0")
    };
    assert!(usual(pid), "the measurement");
    soon("the load", || {
        let loads = loads_of(pid);
        !loads.is_empty() && loads.into_iter().all(usual)
    });
    signal("-INT", pid);
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_killed_run_leaves_no_half_file() {
    let folder = temporary("killed");
    fs::create_dir(&folder).unwrap();
    let (json, svg) = (folder.join("r.json"), folder.join("r.svg"));
    let mut run = begin(&[
        "--duration",
        "1h",
        &format!("--json={}", json.display()),
        &format!("--svg={}", svg.display()),
    ]);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_stopped_process_tells_the_gap_and_averages_nothing() {
    let mut run = begin(&["--duration", "1h", "--structures", "list/hook,rb/hook", "--slice", "100ms"]);
    let pid = run.child.id();
    // The first line comes after the warm-up turns.
    line(&mut run.out, "RTD|").unwrap();
    let mut told = String::new();
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A stop between two turns touches no sample, so no gap is reported. In that case the next line
    // names a structure, and the test stops the process again. A stop between turns is rare,
    // because turns take nearly all of the time.
    for attempt in 0.. {
        assert!(attempt < 10, "no gap was told");
        signal("-STOP", pid);
        soon("it did not stop", || {
            state().rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
        });
        let until = Instant::now() + Duration::from_millis(300);
        soon("time stands still", || Instant::now() > until);
        signal("-CONT", pid);
        // The process may have written the first line before the stop.
        for _ in 0..2 {
            told = line(&mut run.out, "").expect("no gap was told");
            if told.starts_with("GAP|") {
                break;
            }
        }
        if told.starts_with("GAP|") {
            break;
        }
    }
    assert!(told.contains("the process was stopped") && told.contains("none is a sample"), "{told}");
    signal("-INT", pid);
    let mut rest = String::new();
    run.out.read_to_string(&mut rest).unwrap();
    assert_eq!(run.child.wait().unwrap().code(), Some(130));
    assert!(rest.contains("gaps of "), "{rest}");
}
