//! Tests of traces on the command line: import, export, describe, replay, recommend.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

mod folder;

use folder::Folder;

impl Folder {
    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tickwright")).args(args).current_dir(&self.0).output().unwrap()
    }

    fn good(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail with this code, and returns its standard error.
    fn refused(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }
}

/// Three thousand timers of 50 ms. Of each three, two are cancelled after 10 ms and one expires.
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

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_trace_goes_from_csv_to_a_recommendation() {
    let folder = Folder::new("whole");
    folder.write("mine.csv", csv());
    let said = folder.good(&["import", "mine.csv"]);
    assert!(said.contains("6000 events") && said.contains("tickwright describe mine.twt"), "{said}");
    let page = words(&folder.good(&["describe", "mine.twt"]));
    assert!(page.contains("33.3 % end by expiry, 66.7 % by cancel"), "{page}");
    assert!(page.contains("server.c:7 3,000 100.0 %") && page.contains("worker 3,000 2,000 1,000"), "{page}");
    // A cancelled timer had 40 of its 50 ms left.
    assert!(page.contains("part of the delay that was left 2,000 80 % 80 % 80 %"), "{page}");
    assert_eq!(folder.good(&["export", "mine.twt"]).lines().count(), 6001);
    let lines = folder.good(&["export", "mine.twt", "--form", "jsonl"]);
    assert!(
        lines.starts_with(r#"{"time_ns":0,"kind":"arm","timer":0,"deadline_ns":50000000"#),
        "{lines:.200}"
    );
    let fast = ["--rounds", "1", "--structures", "heap4/slab,wheel/hook,binary-heap", "--json"];
    let replay = folder.good(&[&["replay", "mine.twt"], &fast[..]].concat());
    let replay: serde_json::Value = serde_json::from_str(&replay).unwrap();
    assert_eq!(replay["experiment"], "replay");
    let named = |name: &str| {
        let all = replay["series"].as_array().unwrap();
        all.iter().filter(|series| series["name"] == name).count()
    };
    assert_eq!((named("replay"), named("insert"), named("re-arm")), (3, 15, 0));
    let advice = words(&folder.good(&["recommend", "mine.twt", "--rounds", "1", "--within", "1s"]));
    assert!(advice.contains("It does not matter for you: timers take"), "{advice}");
    assert!(advice.contains("mine.twt (CRC-32 "), "{advice}");
    assert!(advice.contains("The current structure is assumed to be binary-heap"), "{advice}");
}

#[test]
fn a_profile_needs_no_trace() {
    let folder = Folder::new("profile");
    folder.write("p.toml", "timers = 20\nexpire = 1\ncancel = 1\ndelays = [{ ms = 100 }]\n");
    let asked = ["recommend", "p.toml", "--rounds", "1", "--structures", "heap4,list", "--markdown"];
    let text = folder.good(&asked);
    assert!(text.contains("## Verdict") && text.contains("| fastest of ours |"), "{text}");
    assert!(words(&folder.good(&["describe", "p.toml"])).contains("pending timers: 20 (p99 20"));
    folder.write("p.toml", "timers = 20\n");
    let why = folder.refused(&["recommend", "p.toml"], 2);
    assert!(why.contains("'p.toml': no wait ends"), "{why}");
    let why = folder.refused(&["recommend"], 2);
    assert!(why.contains("name a trace or a profile"), "{why}");
}

#[test]
fn a_trace_of_waits_alone_gets_no_figures_and_says_what_to_do() {
    let folder = Folder::new("waits");
    folder.write("waits.csv", csv().replace(",worker,0,,", ",worker,0,epoll,"));
    folder.good(&["import", "waits.csv"]);
    let advice = words(&folder.good(&["recommend", "waits.twt"]));
    assert!(advice.contains("Only waits and sleeps were seen"), "{advice}");
    assert!(advice.contains("`perf record -a -e 'timer:hrtimer_*' -o perf.data -- PROGRAM`"), "{advice}");
    assert!(!advice.contains("fastest of ours"), "{advice}");
    let found: serde_json::Value =
        serde_json::from_str(&folder.good(&["recommend", "waits.twt", "--json"])).unwrap();
    assert_eq!(found["findings"][1]["about"], "next");
    assert_eq!(found["series"].as_array().map(Vec::len), Some(0));
}

/// An import counts what it could not read, and what the source lost. Every page on the trace says
/// so, and the results have the numbers.
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
    let said = folder.good(&["import", "mine.txt", "--hz", "250"]);
    assert!(said.starts_with("taken for text of the Linux kernel's timer events\n"), "{said}");
    assert!(said.contains("400 events") && said.contains("1 timer events could not be read"), "{said}");
    let [lost, unread] = [
        "the source lost 4711 events: figures are too low",
        "1 timer events could not be read and are left out",
    ];
    let fast = ["--rounds", "1", "--within", "1s", "--structures", "heap4/slab"];
    for (command, more) in [("describe", &[][..]), ("replay", &fast[..2]), ("recommend", &fast[..])] {
        let page = words(&folder.good(&[&[command, "mine.twt"], more].concat()));
        assert!(page.contains(lost) && page.contains(unread), "{command}: {page}");
        let file = format!("{command}.json");
        folder.good(&[&[command, "mine.twt", &format!("--json={file}")], more].concat());
        let found = fs::read_to_string(folder.0.join(&file)).unwrap();
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let figure = |name: &str| {
            let all = found["series"].as_array().unwrap();
            all.iter().find(|series| series["name"] == name).map(|series| series["samples"][0].clone())
        };
        assert_eq!(figure("losses"), Some(1.0.into()), "{command}");
        assert_eq!(figure("lost events"), Some(4711.0.into()), "{command}");
        assert_eq!(figure("unreadable events"), Some(1.0.into()), "{command}");
        let notes = found["notes"].as_array().unwrap();
        assert!(
            notes.iter().any(|note| note == lost) && notes.iter().any(|note| note == unread),
            "{notes:?}"
        );
        assert!(words(&folder.good(&["show", &file])).contains(unread), "{command}");
        folder.good(&["report", &file, "--out", "page.html"]);
        let page = fs::read_to_string(folder.0.join("page.html")).unwrap();
        assert!(page.contains(lost) && page.contains(unread), "{command}");
    }
    // An export has the same, and brings it back.
    for (form, rows) in [
        (
            "csv",
            [
                ",lost,,,,,,,,4711,the kernel's buffer was full",
                ",remark,,,,,,,,1,timer events could not be read and are left out",
            ],
        ),
        (
            "jsonl",
            ["\"kind\":\"lost\",\"count\":4711,\"note\":\"", "\"kind\":\"remark\",\"count\":1,\"note\":\""],
        ),
    ] {
        let text = folder.good(&["export", "mine.twt", "--form", form]);
        assert!(rows.iter().all(|row| text.contains(row)), "{form}: {text}");
    }
    folder.good(&["export", "mine.twt", "--out", "again.csv"]);
    folder.good(&["import", "again.csv"]);
    let page = words(&folder.good(&["describe", "again.twt"]));
    assert!(page.contains(lost) && page.contains(unread), "{page}");
    // A packed source is read as it is; a wrong guess says how to correct it.
    let said = folder.refused(&["import", "mine.txt", "--source", "chrome", "--out", "x.twt"], 2);
    assert!(said.contains("cannot be imported") && !said.contains("taken for"), "{said}");
    folder.write("no.txt", "nothing of a timer\n");
    let said = folder.refused(&["import", "no.txt"], 2);
    let words = "it was taken for text of the Linux kernel's timer events: --source names another";
    assert!(said.contains(words), "{said}");
    folder.write("calls.txt", "1795218604.8 close(3) = 0\n");
    let said = folder.refused(&["import", "calls.txt"], 2);
    assert!(said.contains("it lists system calls") && said.contains("perf record -a"), "{said}");
    folder.write("bad.txt.gz", b"\x1f\x8b\x08rubbish");
    let said = folder.refused(&["import", "bad.txt.gz"], 2);
    assert!(said.contains("'bad.txt.gz' cannot be read: it cannot be unpacked"), "{said}");
}

#[test]
fn a_damaged_trace_is_read_up_to_the_damage_and_says_where() {
    let folder = Folder::new("damage");
    folder.write("mine.csv", csv());
    folder.good(&["import", "mine.csv", "--out", "whole.twt"]);
    let whole = fs::read(folder.0.join("whole.twt")).unwrap();
    folder.write("cut.twt", &whole[..whole.len() * 3 / 4]);
    let page = words(&folder.good(&["describe", "cut.twt"]));
    assert!(page.contains("note cut.twt: the file ends within a block, which begins at byte"), "{page}");
    assert!(page.contains("; 4096 events in"), "{page}");
    let why = folder.refused(&["export", "cut.twt"], 3);
    assert!(why.contains("exporting cut.twt: the file ends within a block"), "{why}");
    for (name, content, why) in [
        ("empty.twt", &b""[..], "the file is empty"),
        ("foreign.twt", b"hello, this is no trace", "`tickwright import` reads others"),
    ] {
        folder.write(name, content);
        for command in ["describe", "replay", "recommend", "export"] {
            let said = folder.refused(&[command, name], 2);
            assert!(said.contains(&format!("'{name}' cannot be read: ")) && said.contains(why), "{said}");
        }
    }
    let said = folder.refused(&["describe", "absent.twt"], 2);
    assert!(said.contains("'absent.twt' cannot be read: No such file"), "{said}");
    assert!(folder.refused(&["replay", "-"], 2).contains("write it to a file"));
    assert!(folder.refused(&["describe", "."], 2).contains("it is a folder"));
    let said = folder.refused(&["describe", "whole.twt", "--base", "libuv"], 2);
    assert!(said.contains("has no queue 'libuv'"), "{said}");
}

#[test]
fn an_import_replaces_no_file_that_was_not_named_and_leaves_no_half_of_a_trace() {
    let folder = Folder::new("import");
    folder.write("mine.csv", csv());
    folder.write("mine.twt", "precious");
    assert!(folder.refused(&["import", "mine.csv"], 2).contains("'mine.twt' exists: name the file"));
    folder.write("wrong.txt", "nothing of interest\n");
    let said = folder.refused(&["import", "wrong.txt", "--out", "new.twt"], 2);
    assert!(said.contains("'wrong.txt' cannot be imported: line 1: no line is a timer event"), "{said}");
    assert!(!folder.0.join("new.twt").exists());
    folder.write("bad.csv", "time_ns,kind,timer\n5,melt,7\n");
    let said = folder.refused(&["import", "bad.csv"], 2);
    assert!(said.contains("line 2: kind is 'melt'"), "{said}");
    folder.write("none.txt", "");
    assert!(folder.refused(&["import", "none.txt"], 2).contains("it is empty"));
}

#[cfg(feature = "parquet")]
#[test]
fn a_trace_becomes_a_parquet_file_up_to_its_damage() {
    let folder = Folder::new("parquet");
    folder.write("mine.csv", csv());
    folder.good(&["import", "mine.csv"]);
    // The export gives the same file in three ways: by the name's extension, by the flag, and to a
    // pipe.
    assert_eq!(folder.good(&["export", "mine.twt", "--out", "mine.parquet"]), "");
    folder.good(&["export", "mine.twt", "--form", "parquet", "--out", "mine.bin"]);
    let file = fs::read(folder.0.join("mine.parquet")).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1") && file.len() < 80_000, "{}", file.len());
    assert_eq!(file, fs::read(folder.0.join("mine.bin")).unwrap());
    assert_eq!(file, folder.run(&["export", "mine.twt", "--form", "parquet"]).stdout);
    let whole = fs::read(folder.0.join("mine.twt")).unwrap();
    folder.write("cut.twt", &whole[..whole.len() * 3 / 4]);
    let why = folder.refused(&["export", "cut.twt", "--out", "cut.parquet"], 3);
    assert!(why.contains("exporting cut.twt: the file ends within a block"), "{why}");
    let cut = fs::read(folder.0.join("cut.parquet")).unwrap();
    assert!(cut.starts_with(b"PAR1") && cut.ends_with(b"PAR1"));
    let why = folder.refused(&["export", "mine.twt", "--out", "absent/mine.parquet"], 2);
    assert!(why.contains("absent/mine.parquet") && why.contains("cannot be written"), "{why}");
}

/// Before the trace is read: the answer does not depend on it.
#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_it() {
    let folder = Folder::new("no-parquet");
    for words in [&["--form", "parquet"][..], &["--out", "mine.parquet"]] {
        let said = folder.refused(&[&["export", "sample:bind9"], words].concat(), 2);
        assert!(said.contains("--features parquet") && said.contains("--form csv"), "{said}");
    }
    assert!(!folder.0.join("mine.parquet").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let folder = Folder::new("full");
    folder.write("mine.csv", csv());
    if Path::new("/dev/full").exists() {
        let said = folder.refused(&["import", "mine.csv", "--out", "/dev/full"], 3);
        assert!(said.contains("/dev/full") && said.contains("No space"), "{said}");
        folder.good(&["import", "mine.csv"]);
        let form = if cfg!(feature = "parquet") { "parquet" } else { "csv" };
        let said = folder.refused(&["export", "mine.twt", "--form", form, "--out", "/dev/full"], 3);
        assert!(said.contains("/dev/full") && said.contains("No space"), "{said}");
    }
}

/// The trace that the project was given for checks: a machine that sends a file by scp.
#[test]
fn it_does_not_matter_for_a_kernel_that_sends_a_file() {
    let Ok(path) = std::env::var("TICKWRIGHT_KERNEL_TRACE") else {
        eprintln!("skipped: TICKWRIGHT_KERNEL_TRACE names no file");
        return;
    };
    let folder = Folder::new("kernel");
    folder.good(&["import", &path, "-o", "kernel.twt"]);
    let said = words(&folder.good(&["recommend", "kernel.twt"]));
    assert!(said.contains("It does not matter for you: timers take "), "{said}");
}

/// Every file of the command is written whole or not at all. A limit of the shell stands for a full
/// disk: a write beyond it fails.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file_and_no_other() {
    let folder = Folder::new("disk");
    folder.write("mine.csv", csv());
    folder.good(&["import", "mine.csv"]);
    folder.good(&["describe", "mine.twt", "--json=r.json"]);
    let before = fs::read_dir(&folder.0).unwrap().count();
    let limited = |words: &str, blocks: u32| {
        let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {words}");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_tickwright")]).current_dir(&folder.0);
        command.output().unwrap()
    };
    for words in [
        "export mine.twt --out",
        "export mine.twt --form jsonl --out",
        #[cfg(feature = "parquet")]
        "export mine.twt --form parquet --out",
        "import mine.csv --out",
        "describe mine.twt --json=",
        "describe mine.twt --csv=",
        "show r.json --markdown=",
        "show r.json --svg=",
        "report r.json --out",
    ] {
        folder.write("out", "good");
        let gap = if words.ends_with('=') { "" } else { " " };
        // One block is too few for each of them.
        let output = limited(&format!("{words}{gap}out"), 1);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{words}: {said}");
        assert_eq!(fs::read_to_string(folder.0.join("out")).unwrap(), "good", "{words}");
        fs::remove_file(folder.0.join("out")).unwrap();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), before, "{words}: a draft is left");
    }
    // Manual pages are files too.
    let output = limited("man .", 1);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), before);
}

/// A mount point can be written but not replaced, and a draft needs no /proc.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_replaced_is_written_in_place() {
    let folder = Folder::new("mounted");
    let alone = |line: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", line, env!("CARGO_BIN_EXE_tickwright")]).current_dir(&folder.0);
        command.output()
    };
    folder.write("mine.csv", csv());
    folder.write("target", "an old file");
    folder.write("out", "");
    if !alone("mount --bind target out").is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a process may mount nothing here");
        return;
    }
    folder.good(&["import", "mine.csv"]);
    folder.good(&["describe", "mine.twt", "--json=r.json"]);
    let files = || fs::read_dir(&folder.0).unwrap().count();
    let before = files();
    let mut commands = vec![("show r.json --json=out", &b"{"[..]), ("export mine.twt -o out", b"time_ns,")];
    if cfg!(target_env = "gnu") {
        commands.push(("record -o out -- sleep 0.001", b"\x89TWT"));
    }
    for (words, begin) in commands {
        let output = alone(&format!("mount --bind target out && exec \"$0\" {words}")).unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
        let target = fs::read(folder.0.join("target")).unwrap();
        assert!(target.starts_with(begin) && target.len() > 300, "{words}: {} bytes", target.len());
        assert_eq!((files(), fs::read(folder.0.join("out")).unwrap().len()), (before, 0), "{words}");
    }
    let output = alone("mount -t tmpfs none /proc && exec \"$0\" show r.json --json=out").unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read(folder.0.join("out")).unwrap() == fs::read(folder.0.join("r.json")).unwrap());
}

/// A descriptor that a shell opened is written through: the file behind it stays the same file.
#[cfg(target_os = "linux")]
#[test]
fn the_name_of_a_descriptor_replaces_no_file() {
    let folder = Folder::new("descriptor");
    folder.good(&["describe", "sample:bind9", "--json=r.json"]);
    let result = fs::read_to_string(folder.0.join("r.json")).unwrap();
    for (words, rest) in [
        ("show r.json --json=/dev/stdout >> out", &result),
        ("show r.json --json=/dev/fd/1 >> out", &result),
        ("show r.json --json=/proc/self/fd/3 3>> out", &result),
        ("export sample:bind9 -o /dev/stdout >> out", &folder.good(&["export", "sample:bind9"])),
        ("report r.json -o /dev/stdout >> out", &folder.good(&["report", "r.json", "-o", "-"])),
    ] {
        let line = format!("echo before > out; ln -f out other; \"$0\" {words}");
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &line, env!("CARGO_BIN_EXE_tickwright")]).current_dir(&folder.0);
        assert!(shell.stdout(Stdio::null()).status().unwrap().success(), "{words}");
        let other = fs::read_to_string(folder.0.join("other")).unwrap();
        assert!(other == format!("before\n{rest}"), "{words}: {other:.300}");
    }
}

/// What no file takes after a run is printed.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_saved_is_printed() {
    let folder = Folder::new("printed");
    let tables = folder.good(&["describe", "sample:bind9", "--json=r.json"]);
    let result = fs::read_to_string(folder.0.join("r.json")).unwrap();
    let output = folder.run(&["show", "r.json", "--json=/dev/full"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), tables + &result);
}

/// A queue, a thread and a site whose names would retitle a terminal and break a table.
#[test]
fn names_of_a_trace_reach_no_terminal_and_no_markdown_as_they_are() {
    let folder = Folder::new("names");
    let evil = "\u{1b}]0;mine\u{7}\u{1b}[2J\u{202e}\u{200f}`|x`";
    let line = |time: u64, what: &str| format!("{time},{what},1,{},,{evil}t,0,{evil}q,{evil}s\n", time + 500);
    let mut text = String::from("time_ns,kind,timer,deadline_ns,period_ns,thread,cpu,base,site\n");
    for at in 0..200 {
        text += &line(at * 1000, "arm");
        text += &line(at * 1000 + 600, "fire");
    }
    folder.write("evil.csv", text);
    folder.good(&["import", "evil.csv"]);
    let clean = |words: &[&str]| {
        let output = folder.run(words);
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(
                !text.contains(|letter: char| {
                    letter.is_control() && letter != '\n' || ['\u{202e}', '\u{200f}'].contains(&letter)
                }),
                "{words:?}: {text}"
            );
        }
        String::from_utf8(output.stdout).unwrap()
    };
    let page = clean(&["describe", "evil.twt"]);
    for name in ["t", "q", "s"] {
        assert!(
            page.contains(&format!("\\u{{1b}}]0;mine\\u{{7}}\\u{{1b}}[2J\\u{{202e}}\\u{{200f}}`|x`{name}")),
            "{name}: {page}"
        );
    }
    let markdown = clean(&["describe", "evil.twt", "--markdown"]);
    let rows: Vec<&str> =
        markdown.lines().filter(|line| line.starts_with('|') && line.contains("mine")).collect();
    assert_eq!(rows.len(), 2, "{markdown}");
    for row in rows {
        assert!(row.contains("\\`\\|x\\`") && !row.replace("\\|", "").contains("|x"), "{row}");
    }
    clean(&["describe", "evil.twt", "--json=evil.json"]);
    clean(&["show", "evil.json"]);
    clean(&["describe", "evil.twt", "--base", "other"]);
    clean(&["recommend", "evil.twt", "--rounds", "6", "--within", "10ms", "--markdown"]);
}
