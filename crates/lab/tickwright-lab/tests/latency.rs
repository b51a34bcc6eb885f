//! Tests of `tickwright latency` from the command line: what it refuses, what it writes, and that
//! it leaves no process running.
#![cfg(target_os = "linux")]

use core::time::Duration;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

mod command;

use command::{Folder, PROGRAM, holds, refused, run, shell, stderr, stdout};

#[test]
fn what_cannot_be_is_refused_with_the_range() {
    for interval in ["0", "0us", "999ns", "-1ms", "11s"] {
        refused("latency --interval", &[(interval, &[interval, "between 1us and 10s"])]);
    }
    for priority in ["0", "100", "-5", "high"] {
        refused("latency --priority", &[(priority, &[priority, "from 1 to 99"])]);
    }
    let cases: [(&str, &[&str]); 16] = [
        ("--cpu 1023", &["1023", "no CPU of this process", "may use 0"]),
        ("--cpu -1", &["-1", "may use 0"]),
        ("--cells 0", &["from 1"]),
        ("--cells 9000000000000000000", &["from 1 to 1000000"]),
        ("--bucket 0ns", &["between 1ns and 10s"]),
        ("--fail-if max(worst~lateness)~>~-1us", &["-1us", "a condition is like"]),
        ("--host-hz -1", &["from 0 to 10000"]),
        ("--duration 10ms", &["too short", "at least"]),
        ("--slice 1ms --interval 10ms", &["shorter than an interval"]),
        ("--load cach", &["cach", "cache", "pipe"]),
        ("--structures coarse*", &["left out"]),
        ("--structures lits/*", &["'lits/*'"]),
        ("--slice 1h --interval 1us --duration 100h", &["--slice 1h", "16777216 at most"]),
        // A mode refuses arguments that it would ignore.
        ("run --instructions", &["unexpected argument"]),
        ("versus-cyclictest --slice 1s", &["unexpected argument"]),
        ("--n 3", &["unexpected argument"]),
    ];
    refused("latency", &cases);
}

#[test]
fn a_cpu_that_is_not_allowed_is_refused() {
    let output = shell("taskset -c 0 \"$0\" latency --cpu 1");
    // On a host with one CPU there is no second CPU. If taskset is missing, the shell reports that.
    if output.status.code() == Some(2) {
        holds(&stderr(&output), &["no CPU of this process", "may use 0"]);
    }
}

#[test]
fn files_that_cannot_be_written_cost_no_run() {
    let folder = Folder::new("nowhere");
    for flag in ["--svg", "--json", "--csv"] {
        let line = format!("latency {flag}=/no/such/directory/file");
        folder.refused(&line, &["/no/such/directory/file", "nothing was run"]);
    }
    folder.refused("latency --svg=both --json=both", &["both", "nothing was run"]);
    fs::create_dir(folder.0.join("x")).unwrap();
    folder.refused("latency --svg=both --csv=x/../both", &["both", "nothing was run"]);
    assert_eq!(folder.files(), 1, "the folder x alone");
}

/// A short run that requests no priority.
const SHORT: &str = "latency --duration 480ms --slice 20ms --priority none";

#[test]
fn a_run_writes_what_it_was_asked_for() {
    let folder = Folder::new("latency");
    let said = folder.good(&format!("{SHORT} --svg=r.svg --json=r.json --csv=r.csv --histogram"));
    holds(&said, &["warming up", "Measuring costs a sample", "By average here", "cell, us"]);
    holds(&said, &["Published: list < heap"]);
    let svg = folder.read("r.svg");
    assert!(svg.starts_with("<svg") && svg.contains("rb-cached/hook"), "{svg}");
    // Five of the six turns count, for each of the four structures.
    let csv = folder.read("r.csv");
    assert_eq!(csv.lines().filter(|line| line.contains(",samples,")).count(), 20, "{csv}");
    let report = folder.json("r.json");
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
    let output = run(&format!("{SHORT} --fail-if max(worst~lateness)~>~1ns"));
    assert_eq!(output.status.code(), Some(1));
    holds(&stderr(&output), &["max(worst lateness) > 1ns"]);
}

#[test]
fn without_privileges_it_says_so_and_goes_on() {
    let output = shell(
        "exec setpriv --reuid 65534 --clear-groups --bounding-set -all --inh-caps -all \"$0\" latency \
         --duration 480ms --slice 20ms --mlock",
    );
    // The test is skipped if the user is not root, if setpriv is missing, or if the user `nobody`
    // cannot reach the program.
    if output.status.success() {
        holds(&stdout(&output), &["no SCHED_FIFO 80", "Order of the structures"]);
    }
}

/// A run that was started and has printed its first line.
struct Begun {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

fn begin(args: &[&str]) -> Begun {
    let mut child = Command::new(PROGRAM)
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

/// Returns the next line that starts with `begin`, or `None` at the end.
fn line(out: &mut impl BufRead, begin: &str) -> Option<String> {
    out.lines().map(Result::unwrap).find(|line| line.starts_with(begin))
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Returns the processes whose command line is the command line of a load of `parent`, and all
/// processes in their process groups.
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

/// Returns the name of a process in `ps` and `top`.
fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Returns whether a process has ended; a zombie counts as ended.
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
        // A run that ends by itself could have ended by now.
        let mut loads = loads_of(pid);
        if let Some(name) = name {
            // The kernel shows the command line of a new program a moment after its start.
            soon("no load was seen", || {
                loads_of(pid).into_iter().any(|load| name_of(load) == "tickwright-load")
            });
            // The processes are the load and the processes that the load forks, once these are
            // visible.
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
    let command = format!(
        "chrt -f 1 true 2>&- || exit 77; exec chrt -f 1 '{PROGRAM}' latency --priority none --duration 1h --load syscalls"
    );
    let mut child = Command::new("sh").args(["-c", &command]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    if line(&mut out, "warming up").is_none() {
        // If real-time priority is not allowed, the run has no priority to give up.
        assert_eq!(child.wait().unwrap().code(), Some(77));
        return;
    }
    // The policy is the 41st word of the line; 0 is the usual policy.
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
    let folder = Folder::new("killed");
    let to = |kind: &str| format!("--{kind}={}", folder.0.join(kind).display());
    let mut run = begin(&["--duration", "1h", &to("json"), &to("svg")]);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert_eq!(folder.files(), 0);
}

#[test]
fn a_stopped_process_tells_the_gap_and_averages_nothing() {
    let mut run = begin(&["--duration", "1h", "--structures", "list/hook,rb/hook", "--slice", "100ms"]);
    let pid = run.child.id();
    // The first line is printed after the warm-up turns.
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
        // The process could have written the first line before the stop.
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
