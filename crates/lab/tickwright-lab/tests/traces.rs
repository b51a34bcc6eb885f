//! Tests of traces on the command line: import, export, describe, replay, recommend.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

mod command;

use command::{Folder, PROGRAM, holds, stderr, stdout};

/// Returns a trace of three thousand timers of 50 ms. Two of every three timers are cancelled after
/// 10 ms, and the third expires.
fn csv() -> String {
    let mut events: Vec<(u64, String)> = Vec::new();
    for timer in 0..3000_u64 {
        let now = timer * 1_000_000;
        events.push((now, format!("{now},arm,{timer},{},,worker,0,,server.c:7", now + 50_000_000)));
        let (end, kind) =
            if timer % 3 == 0 { (now + 50_100_000, "fire") } else { (now + 10_000_000, "cancel") };
        events.push((end, format!("{end},{kind},{timer},,,worker,0,,")));
    }
    events.sort();
    let lines: Vec<String> = events.into_iter().map(|(_, line)| line).collect();
    format!("time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site\n{}\n", lines.join("\n"))
}

/// Creates a folder with `mine.twt`, the trace of [`csv`].
fn with_trace(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("mine.csv", csv());
    let said = folder.good("import mine.csv");
    holds(&said, &["6000 events", "tickwright describe mine.twt"]);
    folder
}

impl Folder {
    /// Returns the output of a command, with one blank between words.
    #[track_caller]
    fn page(&self, line: &str) -> String {
        self.good(line).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn a_trace_goes_from_csv_to_a_recommendation() {
    let folder = with_trace("whole");
    let page = folder.page("describe mine.twt");
    holds(&page, &["33.3 % end by expiry, 66.7 % by cancel", "server.c:7 3,000 100.0 %"]);
    // A cancelled timer had 40 of its 50 ms left.
    holds(&page, &["worker 3,000 2,000 1,000", "part of the delay that was left 2,000 80 % 80 % 80 %"]);
    assert_eq!(folder.good("export mine.twt").lines().count(), 6001);
    let lines = folder.good("export mine.twt --form jsonl");
    let first = r#"{"time_ns":0,"kind":"arm","timer":0,"deadline_ns":50000000"#;
    assert!(lines.starts_with(first), "{lines:.200}");
    let replay = "replay mine.twt --rounds 1 --structures heap4/slab,wheel/hook,binary-heap --json";
    let replay: Value = serde_json::from_str(&folder.good(replay)).unwrap();
    assert_eq!(replay["experiment"], "replay");
    let named = |name: &str| {
        let all = replay["series"].as_array().unwrap();
        all.iter().filter(|series| series["name"] == name).count()
    };
    assert_eq!((named("replay"), named("insert"), named("re-arm")), (3, 15, 0));
    let advice = folder.page("recommend mine.twt --rounds 1 --within 1s");
    holds(&advice, &["It does not matter for you: timers take", "mine.twt (CRC-32 "]);
    holds(&advice, &["The current structure is assumed to be binary-heap"]);
}

#[test]
fn a_profile_needs_no_trace() {
    let folder = Folder::new("profile");
    folder.write("p.toml", "timers = 20\nexpire = 1\ncancel = 1\ndelays = [{ ms = 100 }]\n");
    let text = folder.good("recommend p.toml --rounds 1 --structures heap4,list --markdown");
    holds(&text, &["## Verdict", "| fastest of ours |"]);
    holds(&folder.page("describe p.toml"), &["pending timers: median 20 (p99 20"]);
    folder.write("p.toml", "timers = 20\n");
    folder.refused("recommend p.toml", &["'p.toml': no wait ends"]);
    folder.refused("recommend", &["name a trace or a profile"]);
}

/// Each command that reads a file refuses every output that would replace the file.
#[test]
fn no_command_replaces_a_file_that_it_reads() {
    let folder = with_trace("inputs");
    folder.good("describe mine.twt --json=r.json");
    folder.write("p.toml", "timers = 20\nexpire = 1\ndelays = [{ ms = 100 }]\n");
    folder.write("s.toml", folder.good("list --scenario periodic"));
    folder.write("x.toml", folder.good("list --scenario xenomai"));
    folder.write("a.toml", folder.good("list --scenario adversary"));
    let mut cases = vec![
        ("import mine.csv", "mine.csv", "--out "),
        ("export mine.twt", "mine.twt", "--out "),
        ("report r.json", "r.json", "--out "),
    ];
    for flag in ["--json=", "--csv=", "--markdown=", "--svg="] {
        cases.extend([
            ("show r.json", "r.json", flag),
            ("compare r.json r.json", "r.json", flag),
            ("describe mine.twt", "mine.twt", flag),
            ("replay mine.twt", "mine.twt", flag),
            ("recommend mine.twt", "mine.twt", flag),
            ("recommend p.toml", "p.toml", flag),
            ("bench s.toml", "s.toml", flag),
            ("bench --worst a.toml", "a.toml", flag),
            ("reproduce xenomai --scenario x.toml", "x.toml", flag),
        ]);
    }
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        cases.push(("record --only poll", "mine.csv -- cat mine.csv", "--out "));
    }
    for (line, file, flag) in cases {
        let name = file.split(' ').next().unwrap();
        let before = fs::read(folder.0.join(name)).unwrap();
        let said = format!("{} names './{name}', which the command reads", flag.trim_end_matches(['=', ' ']));
        folder.refused(&format!("{line} {flag}./{file}"), &[&said]);
        assert!(fs::read(folder.0.join(name)).unwrap() == before, "{line} {flag}");
    }
}

#[test]
fn a_trace_of_waits_alone_gets_no_figures_and_says_what_to_do() {
    let folder = Folder::new("waits");
    folder.write("waits.csv", csv().replace(",worker,0,,", ",worker,0,epoll,"));
    folder.good("import waits.csv");
    let advice = folder.page("recommend waits.twt");
    holds(&advice, &["Only waits and sleeps were seen"]);
    holds(&advice, &["`perf record -a -e 'timer:hrtimer_*' -o perf.data -- PROGRAM`"]);
    assert!(!advice.contains("fastest of ours"), "{advice}");
    let found: Value = serde_json::from_str(&folder.good("recommend waits.twt --json")).unwrap();
    assert_eq!(found["findings"][1]["about"], "next");
    assert_eq!(found["series"].as_array().map(Vec::len), Some(0));
}

/// An import counts the events that it could not read and the events that the source lost. Every
/// page about the trace states these counts, and the results have the numbers.
#[test]
fn what_is_missing_in_a_trace_is_said_on_every_page() {
    let folder = Folder::new("gaps");
    let mut text = String::new();
    for at in 0..200_u64 {
        let (s, ms, timer) = (100 + at / 100, at % 100 * 10, at % 5 + 1);
        text += &format!(
            "a-7 [000] d..1. {s}.{ms:03}000: timer_start: timer={timer:016x} function=f expires=900 [timeout=25] cpu=0\r\n\
             a-7 [000] d..1. {s}.{ms:03}500: timer_cancel: timer={timer:016x}\r\n"
        );
    }
    text += "CPU:1 [4711 EVENTS DROPPED]\r\n";
    text += "a-7 [000] d..1. 102.500000: timer_start: timer=0000000000000001 function=f expi\r\n";
    folder.write("mine.txt", text);
    let said = folder.good("import mine.txt --hz 250");
    assert!(said.starts_with("taken for text of the Linux kernel's timer events\n"), "{said}");
    holds(&said, &["400 events", "1 timer events could not be read"]);
    let missing = [
        "the source lost 4711 events: figures are too low",
        "1 timer events could not be read and are left out",
    ];
    for (command, more) in [
        ("describe", ""),
        ("replay", "--rounds 1"),
        ("recommend", "--rounds 1 --within 1s --structures heap4/slab"),
    ] {
        holds(&folder.page(&format!("{command} mine.twt {more}")), &missing);
        folder.good(&format!("{command} mine.twt --json=found.json {more}"));
        let found = folder.json("found.json");
        let figure = |name: &str| {
            let all = found["series"].as_array().unwrap();
            all.iter().find(|series| series["name"] == name).and_then(|series| series["samples"][0].as_f64())
        };
        let figures = ["losses", "lost events", "unreadable events"].map(figure);
        assert_eq!(figures, [Some(1.0), Some(4711.0), Some(1.0)], "{command}");
        let notes = found["notes"].as_array().unwrap();
        assert!(missing.iter().all(|missing| notes.iter().any(|note| note == missing)), "{notes:?}");
        holds(&folder.page("show found.json"), &missing[1..]);
        folder.good("report found.json --out page.html");
        holds(&folder.read("page.html"), &missing);
    }
    // An export contains the same counts, and an import of the export restores them.
    let rows = [
        ",lost,,,,,,,,4711,the kernel's buffer was full",
        ",remark,,,,,,,,1,timer events could not be read and are left out",
    ];
    holds(&folder.good("export mine.twt --form csv"), &rows);
    let rows = [r#""kind":"lost","count":4711,"note":""#, r#""kind":"remark","count":1,"note":""#];
    holds(&folder.good("export mine.twt --form jsonl"), &rows);
    folder.good("export mine.twt --out again.csv");
    folder.good("import again.csv");
    holds(&folder.page("describe again.twt"), &missing);
}

#[test]
fn what_cannot_be_imported_says_why_and_leaves_no_half_of_a_trace() {
    let folder = Folder::new("import");
    folder.write("mine.csv", csv());
    folder.write("mine.twt", "precious");
    folder.refused("import mine.csv", &["'mine.twt' exists: name the file"]);
    folder
        .refused("import mine.csv --out ./mine.csv", &["--out names './mine.csv', which the command reads"]);
    assert_eq!(folder.read("mine.csv"), csv());
    let guessed = "it was taken for text of the Linux kernel's timer events: --source names another";
    let cases: [(&str, &[u8], &[&str]); 8] = [
        ("no.txt", b"nothing of a timer\n", &["'no.txt' cannot be imported: line 1: no line is a", guessed]),
        ("calls.txt", b"1795218604.8 close(3) = 0\n", &["it lists system calls", "perf record -a"]),
        // A packed source is read without unpacking it first.
        ("bad.gz", b"\x1f\x8b\x08rubbish", &["'bad.gz' cannot be read: it cannot be unpacked"]),
        ("bad.csv", b"time_ns,kind,timer\n5,melt,7\n", &["line 2: kind is 'melt'"]),
        ("none.txt", b"", &["it is empty"]),
        ("heading.csv", b"time_ns,kind,timer\n", &["'heading.csv' cannot be imported: it has 0 events"]),
        (
            "time.csv",
            b"time,kind,timer\n5,fire,7\n",
            &[
                "line 1: there is no column 'time_ns': it has time,kind,timer, and the columns are time_ns,kind",
            ],
        ),
        (
            "unit.csv",
            b"time_ns,kind,timer,deadline_ns\n5,arm,7,5 ms\n",
            &["line 2: deadline_ns is '5 ms': invalid digit"],
        ),
    ];
    for (name, content, words) in cases {
        folder.write(name, content);
        folder.refused(&format!("import {name} --out new.twt"), words);
        assert!(!folder.0.join("new.twt").exists(), "{name}");
    }
    // The error after a wrong guess says how to correct the guess.
    let output = folder.run("import mine.csv --source chrome --out new.twt");
    let said = stderr(&output);
    assert!(said.contains("cannot be imported") && !said.contains("taken for"), "{said}");
    assert_eq!((output.status.code(), folder.read("mine.twt").as_str()), (Some(2), "precious"));
}

/// The trace has three thousand time-outs of epoll, one timer of `timeout`, and a queue that has no
/// event.
#[test]
fn a_filter_that_leaves_nothing_or_too_little_is_named() {
    let folder = Folder::new("filter");
    let waits = csv().replace(",worker,0,,", ",worker,0,epoll,");
    folder.write("one.csv", waits.clone() + "4000000000,arm,9000,5000000000,,timeout,0,posix-timer,\n");
    folder.good("import one.csv");
    for command in ["describe", "recommend", "replay"] {
        let none = ["--base '!epoll,!posix-timer' leaves no event of one.twt", "epoll (6000 events)"];
        folder.refused(&format!("{command} one.twt --base !epoll,!posix-timer"), &none);
    }
    for more in ["", "--base !epoll"] {
        let said = folder.page(&format!("recommend one.twt {more}"));
        assert!(!said.contains("of a CPU") && !said.contains("fastest of ours"), "{said}");
    }
    let said = folder.page("recommend one.twt");
    holds(&said, &["Too few timers to recommend: beside waits, timers were started once", "needs 100"]);
    let said = folder.page("recommend one.twt --base !epoll");
    holds(&said, &["Too short to judge: 1 events in ", "--base '!epoll' leaves 1 of 6001 events"]);
    holds(&said, &["no wait ended"]);
    assert!(!said.contains("end by"), "no share of an empty base: {said}");
    let replayed = folder.page("replay one.twt --base !epoll --rounds 1 --structures heap4/slab");
    let (_, tables) = replayed.split_once(" All operations ").unwrap();
    assert!(!tables.contains('%'), "{replayed}");
}

#[test]
fn a_damaged_trace_is_read_up_to_the_damage_and_says_where() {
    let folder = with_trace("damage");
    let whole = fs::read(folder.0.join("mine.twt")).unwrap();
    folder.write("cut.twt", &whole[..whole.len() * 3 / 4]);
    let cut = "cut.twt: the file ends within a block";
    let page = folder.page("describe cut.twt");
    holds(&page, &[&format!("note {cut}, which begins at byte"), "; 4096 events in"]);
    folder.broken("export cut.twt", &[&format!("exporting {cut}")]);
    folder.write("empty.twt", "");
    folder.write("foreign.twt", "hello, this is no trace");
    for command in ["describe", "replay", "recommend", "export"] {
        folder.refused(&format!("{command} empty.twt"), &["'empty.twt' cannot be read: the file is empty"]);
        let others = "`tickwright import` reads others, `tickwright show` prints results";
        let words = ["'foreign.twt' cannot be read: ", others];
        folder.refused(&format!("{command} foreign.twt"), &words);
    }
    folder.refused("describe absent.twt", &["'absent.twt' cannot be read: No such file"]);
    folder.refused("replay -", &["write it to a file"]);
    folder.refused("describe .", &["it is a folder"]);
    folder.refused("describe mine.twt --base libuv", &["has no queue 'libuv'"]);
}

#[cfg(feature = "parquet")]
#[test]
fn a_trace_becomes_a_parquet_file_up_to_its_damage() {
    let folder = with_trace("parquet");
    let bytes = |name: &str| fs::read(folder.0.join(name)).unwrap();
    // The export gives the same file in three ways: by the name's extension, by the flag, and to a
    // pipe.
    assert_eq!(folder.good("export mine.twt --out mine.parquet"), "");
    folder.good("export mine.twt --form parquet --out mine.bin");
    let file = bytes("mine.parquet");
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1") && file.len() < 80_000, "{}", file.len());
    assert_eq!(file, bytes("mine.bin"));
    assert_eq!(file, folder.run("export mine.twt --form parquet").stdout);
    let whole = bytes("mine.twt");
    folder.write("cut.twt", &whole[..whole.len() * 3 / 4]);
    folder.broken("export cut.twt --out cut.parquet", &["exporting cut.twt: the file ends within a block"]);
    let cut = bytes("cut.parquet");
    assert!(cut.starts_with(b"PAR1") && cut.ends_with(b"PAR1"));
    folder
        .refused("export mine.twt --out absent/mine.parquet", &["absent/mine.parquet", "cannot be written"]);
}

/// The error comes before the trace is read, because the error does not depend on the trace.
#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_it() {
    let folder = Folder::new("no-parquet");
    for words in ["--form parquet", "--out mine.parquet"] {
        let remedy = ["--features parquet", "--form csv"];
        folder.refused(&format!("export sample:bind9 {words}"), &remedy);
    }
    assert!(!folder.0.join("mine.parquet").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let folder = with_trace("full");
    if Path::new("/dev/full").exists() {
        let form = if cfg!(feature = "parquet") { "parquet" } else { "csv" };
        for line in ["import mine.csv".to_owned(), format!("export mine.twt --form {form}")] {
            folder.broken(&format!("{line} --out /dev/full"), &["/dev/full", "No space"]);
        }
    }
}

/// The trace, which the project received for checks, comes from a machine that sends a file by scp.
#[test]
fn it_does_not_matter_for_a_kernel_that_sends_a_file() {
    let Ok(path) = std::env::var("TICKWRIGHT_KERNEL_TRACE") else {
        eprintln!("skipped: TICKWRIGHT_KERNEL_TRACE names no file");
        return;
    };
    let folder = Folder::new("kernel");
    folder.good(&format!("import {} -o kernel.twt", path.replace(' ', "~")));
    holds(&folder.page("recommend kernel.twt"), &["It does not matter for you: timers take "]);
}

/// Runs a shell in a folder, where `$0` is the program.
#[cfg(unix)]
fn shell_in(folder: &Folder, words: &[&str], line: &str) -> Output {
    let (first, rest) = words.split_first().unwrap();
    let mut command = Command::new(first);
    command.args(rest).args(["-c", line, PROGRAM]).current_dir(&folder.0).output().unwrap()
}

/// Every file of the command is written as a whole or not at all. A limit of the shell simulates a
/// full disk, because a write beyond the limit fails.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file_and_no_other() {
    let folder = with_trace("disk");
    folder.good("describe mine.twt --json=r.json");
    let before = folder.files();
    let limited = |words: &str| {
        // One block is too small for each of these files.
        let line = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {words}");
        let output = shell_in(&folder, &["sh"], &line);
        assert_eq!(output.status.code(), Some(3), "{words}: {}", stderr(&output));
    };
    for words in [
        "export mine.twt --out ",
        "export mine.twt --form jsonl --out ",
        #[cfg(feature = "parquet")]
        "export mine.twt --form parquet --out ",
        "import mine.csv --out ",
        "describe mine.twt --json=",
        "describe mine.twt --csv=",
        "show r.json --markdown=",
        "show r.json --svg=",
        "report r.json --out ",
    ] {
        folder.write("out", "good");
        limited(&format!("{words}out"));
        assert_eq!(folder.read("out"), "good", "{words}");
        fs::remove_file(folder.0.join("out")).unwrap();
        assert_eq!(folder.files(), before, "{words}: a draft is left");
    }
    // The rule also holds for manual pages.
    limited("man .");
    assert_eq!(folder.files(), before);
}

/// A mount point can be written but not replaced. A draft can be created without /proc.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_replaced_is_written_in_place() {
    let folder = with_trace("mounted");
    let alone = |line: &str| shell_in(&folder, &["unshare", "-rm", "sh"], line);
    folder.write("target", "an old file");
    folder.write("out", "");
    if Command::new("unshare").arg("--version").output().is_err()
        || !alone("mount --bind target out").status.success()
    {
        eprintln!("skipped: a process may mount nothing here");
        return;
    }
    folder.good("describe mine.twt --json=r.json");
    let before = folder.files();
    let mut commands = vec![("show r.json --json=out", &b"{"[..]), ("export mine.twt -o out", b"time_ns,")];
    if cfg!(target_env = "gnu") {
        commands.push(("record -o out -- sleep 0.001", b"\x89TWT"));
    }
    for (words, begin) in commands {
        let output = alone(&format!("mount --bind target out && exec \"$0\" {words}"));
        assert!(output.status.success(), "{words}: {output:?}");
        let target = fs::read(folder.0.join("target")).unwrap();
        assert!(target.starts_with(begin) && target.len() > 300, "{words}: {} bytes", target.len());
        assert_eq!((folder.files(), folder.read("out").len()), (before, 0), "{words}");
    }
    let output = alone("mount -t tmpfs none /proc && exec \"$0\" show r.json --json=out");
    assert!(output.status.success(), "{output:?}");
    assert!(folder.read("out") == folder.read("r.json"));
}

/// Output to a descriptor that a shell opened goes to the descriptor's file, which is not replaced.
#[cfg(target_os = "linux")]
#[test]
fn the_name_of_a_descriptor_replaces_no_file() {
    let folder = Folder::new("descriptor");
    folder.good("describe sample:bind9 --json=r.json");
    let result = folder.read("r.json");
    for (words, rest) in [
        ("show r.json --json=/dev/stdout >> out", &result),
        ("show r.json --json=/dev/fd/1 >> out", &result),
        ("show r.json --json=/proc/self/fd/3 3>> out", &result),
        ("export sample:bind9 -o /dev/stdout >> out", &folder.good("export sample:bind9")),
        ("report r.json -o /dev/stdout >> out", &folder.good("report r.json -o -")),
    ] {
        let line = format!("echo before > out; ln -f out other; \"$0\" {words}");
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &line, PROGRAM]).current_dir(&folder.0);
        assert!(shell.stdout(Stdio::null()).status().unwrap().success(), "{words}");
        let other = folder.read("other");
        assert!(other == format!("before\n{rest}"), "{words}: {other:.300}");
    }
}

/// If a result cannot be written to any file after a run, it is printed.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_saved_is_printed() {
    let folder = Folder::new("printed");
    let tables = folder.good("describe sample:bind9 --json=r.json");
    let output = folder.run("show r.json --json=/dev/full");
    assert_eq!((output.status.code(), stdout(&output)), (Some(3), tables + &folder.read("r.json")));
}

/// The trace has a queue, a thread and a site whose names would change a terminal's title and break
/// a table.
#[test]
fn names_of_a_trace_reach_no_terminal_and_no_markdown_as_they_are() {
    let folder = Folder::new("names");
    let evil = "\u{1b}]0;mine\u{7}\u{1b}[2J\u{202e}\u{200f}`|x`";
    let line = |time: u64, what: &str| format!("{time},{what},1,{},,{evil}t,0,{evil}q,{evil}s\n", time + 500);
    let mut text = String::from("time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site\n");
    for at in 0..200 {
        text += &(line(at * 1000, "arm") + &line(at * 1000 + 600, "fire"));
    }
    folder.write("evil.csv", text);
    folder.good("import evil.csv");
    let is_evil = |letter: char| letter.is_control() && letter != '\n' || "\u{202e}\u{200f}".contains(letter);
    let clean = |line: &str| {
        let output = folder.run(line);
        for text in [stdout(&output), stderr(&output)] {
            assert!(!text.contains(is_evil), "{line}: {text}");
        }
        stdout(&output)
    };
    let shown = ["t", "q", "s"]
        .map(|name| format!("\\u{{1b}}]0;mine\\u{{7}}\\u{{1b}}[2J\\u{{202e}}\\u{{200f}}`|x`{name}"));
    holds(&clean("describe evil.twt"), &shown.each_ref().map(String::as_str));
    let markdown = clean("describe evil.twt --markdown");
    let rows: Vec<&str> =
        markdown.lines().filter(|line| line.starts_with('|') && line.contains("mine")).collect();
    assert_eq!(rows.len(), 2, "{markdown}");
    for row in rows {
        assert!(row.contains("\\`\\|x\\`") && !row.replace("\\|", "").contains("|x"), "{row}");
    }
    clean("describe evil.twt --json=evil.json");
    clean("show evil.json");
    clean("describe evil.twt --base other");
    clean("recommend evil.twt --rounds 6 --within 10ms --markdown");
}
