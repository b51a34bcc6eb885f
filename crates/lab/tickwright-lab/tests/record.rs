//! Tests of `tickwright record` on small C programs, on Python, and on files that cannot be
//! recorded. Without a compiler, the tests with C programs are skipped with a reason.
#![cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tickwright_trace::{Event, Reader, What};

mod command;

use command::{Folder, PROGRAM, stderr};

impl Folder {
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Compiles `tests/record/NAME.c`. Prints the reason and returns `None` if there is no
    /// compiler, or no library that `more` names.
    fn program(&self, name: &str, more: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/record/{name}.c"));
        let program = self.file(name);
        self.compiled(&source, &program, more).then_some(program)
    }

    /// Compiles a program. Returns `false`, and prints the reason, if even an empty program cannot
    /// be compiled with `more`. If only this program cannot be compiled, the test fails.
    fn compiled(&self, source: &Path, program: &Path, more: &[&str]) -> bool {
        let compile = |source: &Path, program: &Path| {
            let compiler = std::env::var_os("CC").unwrap_or("cc".into());
            Command::new(compiler).arg("-pthread").arg("-o").arg(program).arg(source).args(more).output()
        };
        let Ok(output) = compile(source, program) else {
            eprintln!("skipped: there is no C compiler");
            return false;
        };
        if output.status.success() {
            return true;
        }
        let nothing = self.file("nothing.c");
        fs::write(&nothing, "int main(void) { return 0; }\n").unwrap();
        let has_libraries =
            compile(&nothing, &self.file("nothing")).is_ok_and(|probe| probe.status.success());
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(!has_libraries && !more.is_empty(), "{}: {wrong}", source.display());
        eprintln!("skipped: {more:?} cannot be linked here, which {} needs", source.display());
        false
    }
}

fn record(out: &Path, options: &[&str], program: &[&str]) -> Output {
    Command::new(PROGRAM)
        .arg("record")
        .arg("--out")
        .arg(out)
        .args(options)
        .arg("--")
        .args(program)
        .output()
        .unwrap()
}

/// The events of a trace, by the name of their source.
struct Trace {
    by_source: HashMap<String, Vec<Event>>,
    threads: Vec<String>,
    sites: Vec<String>,
}

impl Trace {
    fn read(path: &Path) -> Self {
        let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
        let mut by_source: HashMap<String, Vec<Event>> = HashMap::new();
        for event in reader.read_to_end().unwrap() {
            let name = reader.header().bases[usize::from(event.base)].name.clone();
            by_source.entry(name).or_default().push(event);
        }
        let threads = reader.threads().iter().map(|(_, name)| name.to_owned()).collect();
        let sites = reader.sites().iter().map(|(_, name)| name.to_owned()).collect();
        Self { by_source, threads, sites }
    }

    fn of(&self, source: &str) -> &[Event] {
        self.by_source.get(source).map_or(&[], Vec::as_slice)
    }

    /// Returns the names of the events of a source, in order.
    fn names(&self, source: &str) -> Vec<&'static str> {
        self.of(source).iter().map(|event| event.what.name()).collect()
    }
}

#[test]
fn a_program_that_does_not_compile_is_skipped_only_where_its_library_is_missing() {
    let folder = Folder::new("compile");
    let (broken, program) = (folder.file("broken.c"), folder.file("broken"));
    fs::write(&broken, "int main(void) { return undeclared; }\n").unwrap();
    let missing = ["-lno_such_library_of_tickwright"];
    assert!(!folder.compiled(&broken, &program, &missing));
    let has_compiler = {
        let sound = folder.file("sound.c");
        fs::write(&sound, "int main(void) { return 0; }\n").unwrap();
        folder.compiled(&sound, &program, &[])
    };
    for more in [&[][..], &["-lm"]] {
        let tried = std::panic::catch_unwind(|| folder.compiled(&broken, &program, more));
        assert_eq!(tried.is_err(), has_compiler, "{more:?}");
    }
}

/// Runs a mode of `calls.c`, which must end with the exit code `code`. Returns the recorder's
/// output, and the trace.
fn calls(mode: &str, code: i32) -> Option<(String, Trace)> {
    let folder = Folder::new(mode);
    let program = folder.program("calls", &[])?;
    let out = folder.file("out.twt");
    let output = record(&out, &[], &[program.to_str().unwrap(), mode]);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    Some((stderr(&output), Trace::read(&out)))
}

#[test]
fn waits_time_out_or_are_woken() {
    let Some((_, trace)) = calls("waits", 0) else { return };
    for source in ["poll", "epoll", "select"] {
        assert_eq!(trace.names(source), ["arm", "fire", "arm", "cancel"], "{source}");
        let Some((deadline, 0)) = trace.of(source)[0].what.armed() else { panic!("{source}") };
        assert_eq!(deadline - trace.of(source)[0].time, 2_000_000, "{source}");
        assert!(trace.of(source)[1].time >= deadline, "{source}");
    }
    assert_eq!(trace.names("sleep"), ["arm", "fire"].repeat(4));
    assert_eq!(trace.names("cond"), ["arm", "fire"].repeat(2));
    assert_eq!(trace.names("sem"), ["arm", "fire", "arm", "cancel"]);
    assert!(trace.sites.iter().all(|site| site.starts_with("calls+0x")), "{:?}", trace.sites);
}

#[test]
fn timers_of_the_kernel_are_armed_moved_and_stopped() {
    let Some((_, trace)) = calls("timers", 0) else { return };
    assert_eq!(trace.names("timerfd"), ["arm", "rearm", "cancel", "arm", "cancel"], "the last by close");
    let names = trace.names("posix-timer");
    let turn = ["arm", "cancel"];
    assert_eq!(names, turn.repeat(3), "two by timer_delete, none of processor time");
    assert_eq!(trace.names("itimer"), ["arm", "cancel", "arm", "cancel"], "setitimer, alarm");
    let What::Arm { period, .. } = trace.of("timerfd")[0].what else { panic!() };
    assert_eq!(period, 5_000_000_000);
}

#[test]
fn a_timer_of_the_kernel_expires_without_a_call() {
    let Some((_, trace)) = calls("expiry", 0) else { return };
    let events = trace.of("timerfd");
    let fires = events.iter().filter(|event| event.what == What::Fire).count();
    assert!(fires >= 3, "{events:?}");
    let Some((deadline, 1_000_000)) = events[0].what.armed() else { panic!("{events:?}") };
    assert_eq!(events[1].time, deadline);
    assert_eq!(events[2].time, deadline + 1_000_000);
}

#[test]
fn a_deadline_that_has_passed_expires_when_it_is_armed() {
    let Some((_, trace)) = calls("past", 0) else { return };
    let events = trace.of("timerfd");
    assert_eq!(trace.names("timerfd")[..4], ["arm", "fire", "arm", "fire"]);
    for pair in [&events[..2], &events[2..4]] {
        assert_eq!(pair[1].time, pair[0].time, "{pair:?}");
    }
    let last = events.last().unwrap();
    assert_eq!(last.what, What::Cancel);
    assert!(events[4..].iter().all(|event| (events[2].time..=last.time).contains(&event.time)));
}

#[test]
fn a_child_of_a_vfork_does_not_close_its_parents_timers() {
    let Some((_, trace)) = calls("vforked", 0) else { return };
    assert_eq!(trace.names("timerfd"), ["arm", "rearm", "cancel", "arm", "cancel"]);
}

#[test]
fn threads_that_outlive_the_main_thread_are_recorded() {
    let Some((said, trace)) = calls("leaderless", 0) else { return };
    assert_eq!(trace.names("sleep"), ["arm", "fire"].repeat(200));
    assert!(said.contains(": 0 records lost"), "{}", said);
}

#[test]
fn children_and_threads_are_followed() {
    let Some((said, trace)) = calls("family", 0) else { return };
    // The recorded threads are the parent, a forked child, the program that the child executes, and
    // two threads.
    assert_eq!(trace.names("sleep").len(), 10, "{:?}", trace.threads);
    let timers: std::collections::HashSet<u64> = trace.of("sleep").iter().map(|event| event.timer).collect();
    assert_eq!(timers.len(), 5, "each thread of each process has its own");
    assert!(said.contains("3 processes"), "{}", said);
}

#[test]
fn a_cancelled_thread_leaves_its_wait() {
    let Some((_, trace)) = calls("cancelled", 0) else { return };
    assert_eq!(trace.names("cond").first(), Some(&"arm"));
    assert_eq!(trace.names("poll"), ["arm"]);
}

#[test]
fn errno_and_a_handler_in_a_wait_are_as_without_the_recorder() {
    let Some((_, trace)) = calls("signals", 0) else { return };
    // A signal handler sleeps during a sleep of its thread: the recording ends the outer sleep
    // together with the inner one.
    let names = trace.names("sleep");
    let count = |name| names.iter().filter(|found| **found == name).count();
    assert_eq!(count("arm"), count("fire") + count("cancel"), "{names:?}");
    assert!(count("arm") >= 10);
}

#[test]
fn a_killed_program_loses_nothing_that_it_recorded() {
    let Some((said, trace)) = calls("killed", 128 + 9) else { return };
    assert!(said.contains("signal 9"));
    assert_eq!(trace.names("sleep"), ["arm", "fire"].repeat(50));
}

#[test]
fn a_program_that_exits_at_once_keeps_its_code() {
    let Some((said, trace)) = calls("exit", 42) else { return };
    assert!(trace.by_source.is_empty());
    assert!(said.contains("no timer was armed"), "{}", said);
}

#[test]
fn sources_may_be_chosen() {
    let folder = Folder::new("only");
    let Some(program) = folder.program("calls", &[]) else { return };
    let out = folder.file("out.twt");
    let output = record(&out, &["--only", "poll,sem"], &[program.to_str().unwrap(), "waits"]);
    assert_eq!(output.status.code(), Some(0));
    let mut sources: Vec<String> = Trace::read(&out).by_source.into_keys().collect();
    sources.sort();
    assert_eq!(sources, ["poll", "sem"]);
    let output = record(&out, &["--only", "poll,clock"], &["true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("'clock'") && stderr(&output).contains("libevent"));
}

/// Runs `tests/record/loop_NAME.c` with the library of an event loop. The C file arms, moves and
/// cancels a timer, lets it expire, and lets a repeating timer expire three times.
fn event_loop(name: &str, library: &str, repeats: &[&'static str]) {
    let folder = Folder::new(name);
    let Some(program) = folder.program(&format!("loop_{name}"), &[library]) else { return };
    let out = folder.file("out.twt");
    let output = record(&out, &["--only", &format!("lib{name}")], &[program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let trace = Trace::read(&out);
    let source = format!("lib{name}");
    let first = trace.of(&source)[0].timer;
    let names = |is_first: bool| -> Vec<&'static str> {
        let events = trace.of(&source).iter().filter(|event| (event.timer == first) == is_first);
        events.map(|event| event.what.name()).collect()
    };
    assert_eq!(names(true), ["arm", "rearm", "cancel", "arm", "fire"]);
    assert_eq!(names(false)[..repeats.len()], *repeats, "{:?}", names(false));
}

#[test]
fn libevent_shows_its_timers() {
    let turn = ["arm", "fire"];
    event_loop("event", "-levent", &[turn, turn, turn].concat());
}

#[test]
fn libuv_shows_its_timers() {
    let turn = ["arm", "fire"];
    event_loop("uv", "-luv", &[turn, turn, turn].concat());
}

#[test]
fn libev_shows_its_timers() {
    event_loop("ev", "-lev", &["arm", "fire", "fire", "fire"]);
}

#[test]
fn python_is_recorded() {
    let python =
        ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|path| Path::new(path).exists());
    let Some(python) = python else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let folder = Folder::new("python");
    let out = folder.file("out.twt");
    let program = "import asyncio\n\
        async def main():\n  await asyncio.gather(*(asyncio.sleep(0.002 * n) for n in range(9)))\n\
        asyncio.run(main())";
    let output = record(&out, &[], &[python, "-c", program]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let names = Trace::read(&out).names("epoll");
    assert!(names.contains(&"arm") && names.contains(&"fire"), "{names:?}");
}

#[test]
fn what_cannot_be_recorded_is_named() {
    let folder = Folder::new("bad");
    let out = folder.file("out.twt");
    let refused = |program: &[&str], code: i32, word: &str| {
        let output = record(&out, &[], program);
        assert_eq!(output.status.code(), Some(code), "{program:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
        assert!(!out.exists(), "no file was touched");
    };
    refused(&["no-such-program-anywhere"], 127, "no such program");
    refused(&["/etc/passwd"], 126, "may be executed");
    if let Some(program) = folder.program("calls", &["-static"]) {
        refused(&[program.to_str().unwrap(), "exit"], 2, "perf record -a -e 'timer:hrtimer_*'");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_the_program_runs() {
    let output = record(Path::new("/dev/full"), &[], &["sh", "-c", "echo ran"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(output.stdout.is_empty(), "it did not run");
    assert!(stderr(&output).contains("/dev/full"), "{}", stderr(&output));
}

#[test]
fn children_that_outlive_the_program_are_recorded() {
    let folder = Folder::new("daemon");
    let out = folder.file("out.twt");
    let output = record(&out, &[], &["sh", "-c", "sleep 0.2 & exit 5"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert_eq!(Trace::read(&out).names("sleep"), ["arm", "fire"]);
}

/// Sends a signal only to the recorder. A terminal would send Ctrl-C to the program too.
fn signalled(name: &str, signal: &str, code: i32) {
    let folder = Folder::new(name);
    let out = folder.file("out.twt");
    let mut recorder = Command::new(PROGRAM)
        .args(["record", "--out", out.to_str().unwrap(), "--", "sh", "-c", "echo ready; exec sleep 1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    let sent = Command::new("kill").args([signal, &recorder.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(recorder.wait().unwrap().code(), Some(code));
    // The signal can arrive before the sleep. In both cases the trace is complete.
    let names = Trace::read(&out).names("sleep");
    assert!(names.iter().all(|name| ["arm", "cancel"].contains(name)), "{names:?}");
}

#[test]
fn a_signal_to_the_recorder_ends_the_program_and_the_trace() {
    signalled("signal", "-TERM", 128 + 15);
    signalled("interrupt", "-INT", 128 + 2);
}

/// Returns how often a process has gone to sleep, which the recorder does in each turn.
fn turns(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(u64::MAX)
}

/// `timeout` sends SIGTERM to the recorder and then to the group. The program gets only one of
/// these signals.
#[test]
fn several_signals_within_a_second_reach_the_program_once() {
    let folder = Folder::new("twice");
    // A shell that waits for a process sees a signal at the latest when that process ends.
    let program = "trap 'echo told' TERM INT; echo ready; while test -e go; do sleep 0.01; done";
    fs::write(folder.file("go"), "").unwrap();
    let mut recorder = Command::new(PROGRAM)
        .args(["record", "--only", "sem", "--", "sh", "-c", program])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(recorder.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        line
    };
    let id = recorder.id();
    let kill = |signal: &str| Command::new("kill").args([signal, &id.to_string()]).status().unwrap();
    assert_eq!(line(), "ready\n");
    kill("-TERM");
    assert_eq!(line(), "told\n");
    kill("-INT");
    let before = turns(id);
    // On a busy machine, the second signal can arrive so late that it ends the recorder.
    while turns(id) < before.saturating_add(5) && recorder.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    fs::remove_file(folder.file("go")).unwrap();
    assert_eq!(line(), "", "the program ends without a second signal");
    recorder.wait().unwrap();
}

#[test]
fn nothing_is_left_behind() {
    let folder = Folder::new("left");
    let out = folder.file("out.twt");
    let temporary = folder.file("tmp");
    fs::create_dir(&temporary).unwrap();
    let output = Command::new(PROGRAM)
        .env("TMPDIR", &temporary)
        .args(["record", "--out", out.to_str().unwrap(), "--", "sh", "-c", "sleep 0.001; exit 7"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}
