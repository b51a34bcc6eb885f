//! Tests of what scripts rely on: exit codes, messages, and which output goes to which stream or
//! file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn tickwright(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tickwright")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Requires a failure with `code`, with all of `words` on standard error and nothing on standard
/// output.
#[track_caller]
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let output = tickwright(args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert_eq!(stdout(&output), "", "nothing ran");
    for word in words {
        assert!(message.contains(word), "'{word}' is missing in: {message}");
    }
}

/// The argument `--json=FILE`, or another flag with its file.
fn to(flag: &str, file: &Path) -> String {
    format!("{flag}={}", file.display())
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tickwright-{}-{name}", std::process::id()))
}

const SHORT: [&str; 10] =
    ["bench", "hold", "--scenario", "periodic", "--n", "2,16", "--rounds", "6", "--operations", "100"];

fn short(more: &[&str]) -> Output {
    tickwright(&[&SHORT, more].concat())
}

#[test]
fn unknown_names_are_refused_with_their_neighbours() {
    refused(&["bench", "hold", "--structures", "lits/*"], 2, &["no structure matches 'lits/*'", "'list/"]);
    refused(&["bench", "hold", "--scenario", "hold-exp-spars"], 2, &["'hold-exp-sparse'"]);
    refused(&["bench", "hold", "--baseline", "btreemap"], 2, &["'btree-map'"]);
    refused(&["bench", "hold", "--rouds", "3"], 2, &["--rounds"]);
    refused(&["bnech"], 2, &["bench"]);
}

#[test]
fn counts_out_of_range_are_refused_with_the_range() {
    refused(&["bench", "hold", "--n", "0"], 2, &["'0'", "from 1 to 16777216"]);
    refused(&["bench", "hold", "--rounds=-3"], 2, &["'-3'", "from 1 to 1000"]);
    refused(&["bench", "hold", "--rounds", "-3"], 2, &["'-3'", "from 1 to 1000"]);
    refused(&["bench", "hold", "--operations", "-1"], 2, &["'-1'", "from 1 to 100000000"]);
    refused(&["bench", "hold", "--seed", "-1"], 2, &["'-1'", "from 0 to"]);
    refused(&["bench", "hold", "--n", "-500"], 2, &["'-500'", "from 1 to 16777216"]);
    refused(&["bench", "memory", "--n", "-500"], 2, &["'-500'", "from 1 to 16777216"]);
    refused(&["reproduce", "xenomai", "--duration", "-5s"], 2, &["'-5s'", "between 1ms and 168h"]);
    refused(&["bench", "registry", "--n", "0"], 2, &["'0'", "from 1 to 16777216"]);
    refused(&["bench", "registry", "--threads", "-1"], 2, &["'-1'", "from 0 to 100000"]);
    refused(&["bench", "registry", "--structures", "avl"], 2, &["'avl'", "avl-hook"]);
    refused(&["bench", "c-peers", "--n", "-500"], 2, &["'-500'", "from 1 to 16777216"]);
    refused(&["bench", "heap", "--n", "-5"], 2, &["'-5'", "from 1 to 16777216"]);
    refused(&["bench", "heap", "--n", "0"], 2, &["'0'", "from 1 to 16777216"]);
    refused(&["bench", "heap", "--seed", "-1"], 2, &["'-1'", "from 0 to"]);
    refused(&["reproduce", "xenomai", "--seed", "-1"], 2, &["'-1'", "from 0 to"]);
    refused(&["bench", "hold", "--operations", "99999999999999999999"], 2, &["from 1 to 100000000"]);
}

#[test]
fn what_cannot_be_asked_of_threads_is_refused_before_anything_starts() {
    let cases: [(&[&str], &[&str]); 22] = [
        (&["--toplevel", "0"], &["'0'", "from 1 to 1000"]),
        (&["--toplevel", "5..2"], &["'5..2'", "from 1 to 1000"]),
        (&["--children", "-1"], &["'-1'", "from 1 to 1000"]),
        (&["--toplevel", "1000", "--children", "101"], &["101000", "100000", "nothing was run"]),
        (&["--starts", "0"], &["'0'", "from 1 to 100000000"]),
        (&["--rounds", "1001"], &["'1001'", "from 1 to 1000"]),
        (&["--workers", "0"], &["'0'", "from 1 to 255"]),
        (&["--only", "alive", "--n", "-1"], &["'-1'", "from 1 to 16777216"]),
        (&["--models", "pth"], &["'pth'", "one-to-one", "tokio"]),
        (&["--only", "tables"], &["'tables'", "ladder", "alive"]),
        (&["--stack", "1k"], &["'1k'", "16k to 1G"]),
        (&["--guard", "yes"], &["'yes'", "neither on nor off"]),
        (&["--only", "work", "--workload", "101"], &["'101'", "from 0 to 100"]),
        (&["--workcost", "5"], &["--workcost is an option of work", "--only work", "nothing was run"]),
        (&["--only", "io", "--in-flight", "501"], &["'501'", "from 1 to 500"]),
        (&["--registry", "btree"], &["\"btree\"", "rb, avl or none"]),
        (&["--only", "alive", "--stack-cache", "on"], &["--stack-cache is an option of knobs"]),
        (&["--only", "work", "--models", "tokio"], &["--only work needs one of --models", "std", "may"]),
        (&["--only", "io", "--models", "may,tokio"], &["--only io needs one of --models", "std"]),
        (&["--only", "knobs", "--models", "std"], &["--only knobs needs", "one-to-one"]),
        (&["--only", "alive", "--models", "may"], &["--only alive needs", "one-to-one"]),
        (&["--guard", "on"], &["--guard is an option of knobs or alive", "nothing was run"]),
    ];
    for (args, words) in cases {
        refused(&[&["reproduce", "nptl"], args].concat(), 2, words);
    }
    refused(&["bench", "threads", "--operations", "99"], 2, &["'99'", "from 100 to 10000000"]);
}

#[test]
fn threads_alive_together_are_a_childs() {
    let args = ["reproduce", "nptl", "--only", "alive", "--n", "50", "--csv"];
    let output = tickwright(&args);
    let report = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
    let alive: Vec<&str> = report.lines().filter(|line| line.contains("alive together")).collect();
    assert!(alive.len() == 4 && alive.iter().all(|line| line.contains(",50")), "every model: {report}");
    let unknown = tickwright(&["nptl-child", "{\"sleep\":1}"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn the_table_of_threads_is_printed_and_drawn() {
    let picture = temporary("threads.svg");
    let small = "reproduce nptl --only table --toplevel 1..3 --children 1 --starts 5";
    let small: Vec<&str> = small.split(' ').collect();
    let output = tickwright(&[&small[..], &[&to("--svg", &picture)]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("least time over C") && stdout(&output).contains("published"));
    let svg = fs::read_to_string(&picture).unwrap();
    fs::remove_file(&picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn a_mistake_in_a_scenario_file_names_file_line_and_key() {
    let path = temporary("wrong.toml");
    fs::write(&path, "name = \"x\"\nmodle = \"hold\"\n").unwrap();
    let file = path.to_str().unwrap();
    refused(&["bench", "hold", "--scenario", file], 2, &[file, "line 2", "modle"]);
    fs::remove_file(&path).unwrap();
    refused(&["bench", "hold", "--scenario", file], 2, &[file, "cannot be read"]);
}

#[test]
fn an_output_path_that_cannot_be_written_costs_no_run() {
    let args = [&SHORT[..], &["--json=/no/such/directory/r.json"]].concat();
    refused(&args, 2, &["/no/such/directory/r.json", "nothing was run"]);
    let args = [&SHORT[..], &["--json", "--csv"]].concat();
    refused(&args, 2, &["standard output"]);
}

#[test]
fn one_file_for_both_outputs_is_refused() {
    let file = temporary("both");
    let [json, csv] = [to("--json", &file), to("--csv", &file)];
    let name = file.to_str().unwrap();
    refused(&[&SHORT[..], &[&json, &csv]].concat(), 2, &[name, "nothing was run"]);
    assert!(!file.exists());
}

#[test]
fn a_name_that_is_wrong_leaves_no_file() {
    let file = temporary("none.json");
    let wrong: [&[&str]; 6] = [
        &["bench", "hold", "--scenario", "hold-exp-spars"],
        &["bench", "hold", "--structures", "lits/*"],
        &["bench", "hold", "--baseline", "btreemap"],
        &["bench", "memory", "--structures", "lits/*"],
        &["bench", "adversary", "--structures", "lits/*"],
        &["reproduce", "xenomai", "--structures", "lits/*"],
    ];
    for args in wrong {
        refused(&[args, &[&to("--json", &file)]].concat(), 2, &["nearest"]);
        assert!(!file.exists(), "{args:?}");
    }
}

#[test]
fn the_heap_is_tested_and_says_so_in_every_form() {
    let output = tickwright(&["bench", "heap", "--n", "1k", "--seed", "5"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("are right"), "{}", stdout(&output));
    let output = tickwright(&["bench", "heap", "--n", "1k", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let count =
        |at: usize| (report["series"][at]["name"].as_str(), report["series"][at]["samples"][0].as_f64());
    assert_eq!((count(5), count(6)), ((Some("removed"), Some(100.0)), (Some("popped"), Some(1000.0))));
}

#[test]
fn the_experiment_writes_its_slices_in_every_mode() {
    let (json, csv) = (temporary("x.json"), temporary("x.csv"));
    let args =
        ["reproduce", "xenomai", "--mode", "virtual", "--duration", "200ms", "--structures", "heap2/*"];
    let [to_json, to_csv] = [to("--json", &json), to("--csv", &csv)];
    let files = [to_json.as_str(), &to_csv];
    for more in [&[][..], &["--instrument"]] {
        let args = [&args[..], &files, more].concat();
        let output = tickwright(&args);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let rows = fs::read_to_string(&csv).unwrap();
        let ticks = rows.lines().filter(|row| row.contains(",tick,ns,")).count();
        assert_eq!(ticks, 2 * 8, "{rows}");
        let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(report["command"], format!("tickwright {}", args.join(" ")));
    }
    fs::remove_file(&json).unwrap();
    fs::remove_file(&csv).unwrap();
}

fn linux<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["reproduce", "linux", "--only", "network"], more].concat()
}

/// If the host has no room for sockets, the command skips the networking part, prints the reason,
/// and runs the rest.
#[cfg(unix)]
#[test]
fn without_sockets_the_rest_of_the_experiment_runs() {
    let command = format!(
        "ulimit -n 32; exec '{}' reproduce linux --only simple,network --duration 10ms --connections 40",
        env!("CARGO_BIN_EXE_tickwright")
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("networking is left out: sockets: "), "{text}");
    assert!(text.contains("Simple: 1000 timers"), "{text}");
}

#[test]
fn the_linux_experiment_refuses_what_it_cannot_do() {
    refused(&linux(&["--hz", "60"]), 2, &["100, 250, 300, 1000"]);
    refused(&linux(&["--delay", "150h", "--hz", "1000", "--duration", "0s"]), 2, &["1ms"]);
    refused(&["reproduce", "linux", "--delay", "168h", "--hz", "1000", "--n", "0"], 2, &["--n"]);
    refused(&linux(&["--step", "-1"]), 2, &["0.001"]);
    refused(&linux(&["--line", "0"]), 2, &["--line", "from 1 to 1000000"]);
    refused(&linux(&["--log", "-"]), 2, &["--log needs a file"]);
    refused(&["reproduce", "linux", "--only", "cost", "--log", "x"], 2, &["--log is for networking"]);
    let both = temporary("both");
    let path = both.to_str().unwrap();
    refused(&linux(&["--log", path, &to("--csv", &both)]), 2, &["name another file"]);
    let _ = fs::remove_file(both);
}

/// A path may consist of any bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_file_name_that_is_no_text_is_one_all_the_same() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let mut to_json = OsString::from(to("--json", &temporary("bytes")));
    to_json.push(OsString::from_vec(vec![0xff]));
    let output = Command::new(env!("CARGO_BIN_EXE_tickwright"))
        .args(["reproduce", "linux", "--only", "simple", "--n", "1", "--duration", "1ms"])
        .arg(&to_json)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut path = temporary("bytes").into_os_string();
    path.push(OsString::from_vec(vec![0xff]));
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(report["command"].as_str().unwrap().contains("--only simple"));
    fs::remove_file(&path).unwrap();
}

/// Lists every re-arm of the run, with its values.
#[test]
fn the_linux_experiment_logs_its_traffic() {
    let log = temporary("rearms.csv");
    let path = log.to_str().unwrap();
    let output =
        tickwright(&linux(&["--duration", "30ms", "--connections", "3", "--pause", "1", "--log", path]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&log).unwrap();
    let _ = fs::remove_file(log);
    assert!(
        text.starts_with(
            "column,at_ns,end,connection,timer,tick,deadline,first_of_call,interrupted\nbefore,"
        ),
        "{text:.200}"
    );
    assert!(text.contains("\nours,") && text.contains(",server,2,retransmit,"), "{text:.2000}");
    assert!(stdout(&output).contains("replayed for each"));
}

#[test]
fn the_scheduler_experiment_refuses_what_it_cannot_do() {
    let refused = |experiment: &str, args: &[&str], words: &[&str]| {
        refused(&[&["reproduce", experiment], args].concat(), 2, words);
    };
    for n in ["0", "-5"] {
        refused("asterisk", &["--n", n], &[n, "from 1 to 16777216"]);
    }
    refused("asterisk", &["--structures", "lits"], &["\"lits\"", "list, "]);
    refused("asterisk", &["--mode", "theirs"], &["faithful, ours"]);
    refused("asterisk", &["--only", "tables"], &["'tables'", "crossover"]);
    refused("asterisk", &["--budget", "0s"], &["between 1ms and 168h"]);
    refused("asterisk", &["--rounds", "0"], &["from 1 to 1000"]);
    refused(
        "asterisk-beat",
        &["--duration", "1s", "--interval", "100ms"],
        &["--interval is too long", "nothing was run"],
    );
    refused("asterisk-beat", &["--calls", "0"], &["1..=100000"]);
}

#[cfg(unix)]
#[test]
fn the_scheduler_experiment_shows_the_published_times_beside_its_own() {
    let csv = temporary("asterisk.csv");
    let args = ["reproduce", "asterisk", "--only", "table,comparisons", "--n", "100,1k", "--rounds", "2"];
    let to_csv = to("--csv", &csv);
    let more = ["--structures", "list,wheel", &to_csv];
    let output = tickwright(&[&args[..], &more].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for word in ["list, 2009", "heap, scanned here", "wheel here", "Can a heap degrade to a list?", "101.8 %"]
    {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
    let rows = fs::read_to_string(&csv).unwrap();
    fs::remove_file(&csv).unwrap();
    let times = rows
        .lines()
        .filter(|row| row.contains("\"mode\"") || row.contains("faithful") || row.contains("ours"));
    assert_eq!(times.count(), 6 * 2 * 2 * 2, "{rows}");
}

#[test]
fn a_beat_goes_into_a_picture() {
    let svg = temporary("beat.svg");
    let args = ["reproduce", "asterisk-beat", "--duration", "100ms", "--interval", "2ms"];
    let output = tickwright(&[&args[..], &["--structures", "wheel", &to("--svg", &svg)]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("2000 calls a second over wheel") && text.contains("mean lateness: "), "{text}");
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg "));
    fs::remove_file(&svg).unwrap();
}

#[test]
fn a_run_prints_tables_without_colours_when_nobody_looks() {
    let output = short(&[]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "progress is for terminals");
    assert!(!text.contains('\u{1b}'));
    for word in [
        "host ",
        "one reading costs",
        "list/slab",
        "n=16",
        "(harness alone)",
        "re-arm in one step",
        "head alone",
    ] {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
}

#[test]
fn results_go_to_files_beside_the_tables() {
    let (json, csv) = (temporary("r.json"), temporary("r.csv"));
    let output = short(&[&to("--json", &json), &to("--csv", &csv), "--seed", "5"]);
    assert!(stdout(&output).contains("list/slab"));
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((report["schema"].as_u64(), report["interrupted"].as_bool()), (Some(2), Some(false)));
    assert_eq!((&report["seed"], &report["experiment"]), (&5.into(), &"bench hold".into()));
    assert_eq!(report["series"][0]["samples"].as_array().unwrap().len(), 6);
    assert!(report["host"]["cores"].as_u64() >= Some(1));
    let rows = fs::read_to_string(&csv).unwrap();
    let heading = "schema,experiment,series,unit,per,n,scenario,structure,sample,value,interrupted\n";
    assert!(rows.starts_with(heading), "{rows:.200}");
    fs::remove_file(&json).unwrap();
    fs::remove_file(&csv).unwrap();
}

#[test]
fn a_result_is_shown_again_as_it_was_printed() {
    let json = temporary("again.json");
    let first = stdout(&short(&[&to("--json", &json)]));
    let file = json.to_str().unwrap();
    let shown = tickwright(&["show", file]);
    assert_eq!((shown.status.code(), stdout(&shown)), (Some(0), first));
    assert!(stdout(&tickwright(&["show", file, "--markdown"])).starts_with("# bench hold\n"));
    refused(&["show", "/no/such/file"], 2, &["'/no/such/file' cannot be read"]);
    fs::write(&json, "{\"schema\": 1, \"command\": \"tickwright bench hold\"}").unwrap();
    refused(&["show", file], 2, &[file, "schema 1", "`tickwright bench hold --json=FILE`"]);
    fs::remove_file(&json).unwrap();
}

/// The second run seems to take twice as long: its samples are the doubled samples of the first
/// run.
#[test]
fn two_results_are_compared() {
    let (first, second) = (temporary("first.json"), temporary("second.json"));
    assert!(short(&[&to("--json", &first), "--structures", "list/*,btree-map"]).status.success());
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&first).unwrap()).unwrap();
    let files = [first.to_str().unwrap(), second.to_str().unwrap()];
    let compare = |more: &[&str]| tickwright(&[&["compare", files[0], files[1]], more].concat());
    fs::write(&second, report.to_string()).unwrap();
    let same = compare(&["--fail-if-worse"]);
    assert_eq!(same.status.code(), Some(0), "{}", String::from_utf8_lossy(&same.stderr));
    assert!(stdout(&same).contains("No difference is shown between"), "{}", stdout(&same));
    for series in report["series"].as_array_mut().unwrap() {
        if series["labels"]["structure"] == "list/hook" {
            for sample in series["samples"].as_array_mut().unwrap() {
                *sample = (sample.as_f64().unwrap() * 2.0).into();
            }
        }
    }
    fs::write(&second, report.to_string()).unwrap();
    let slower = compare(&["--fail-if-worse"]);
    assert_eq!(slower.status.code(), Some(1));
    let said = String::from_utf8_lossy(&slower.stderr).into_owned();
    assert!(said.contains("shown to be worse: ") && !said.contains("list/slab"), "{said}");
    assert!(stdout(&slower).contains("2.00x"), "{}", stdout(&slower));
    report["experiment"] = "bench memory".into();
    fs::write(&second, report.to_string()).unwrap();
    refused(&["compare", files[0], files[1]], 2, &["`bench hold`", "`bench memory`"]);
    fs::remove_file(&first).unwrap();
    fs::remove_file(&second).unwrap();
}

#[test]
fn results_become_one_page() {
    let (json, page) = (temporary("page.json"), temporary("page.html"));
    assert!(short(&[&to("--json", &json)]).status.success());
    let files = [json.to_str().unwrap(), page.to_str().unwrap()];
    let made = tickwright(&["report", files[0], files[0], "--out", files[1]]);
    assert!(made.status.success() && stdout(&made).contains("2 results"), "{}", stdout(&made));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("list/slab") && !text.contains("<script"));
    fs::remove_file(&page).unwrap();
    refused(&["report"], 2, &["<FILES>"]);
    refused(&["report", "/no/such/file", "-o", files[1]], 2, &["'/no/such/file' cannot be read"]);
    refused(&["report", files[0], "-o", "/no/such/folder/p.html"], 2, &["/no/such/folder/p.html"]);
    assert!(!page.exists());
    fs::remove_file(&json).unwrap();
}

#[test]
fn a_run_is_kept_under_a_name_and_compared_with() {
    let state = temporary("state");
    let run = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tickwright"))
            .args([&SHORT[..], more].concat())
            .env("XDG_STATE_HOME", &state)
            .output()
            .unwrap()
    };
    let unknown = run(&["--against", "main"]);
    assert_eq!((unknown.status.code(), stdout(&unknown)), (Some(2), String::new()));
    assert!(run(&["--save", "main"]).status.success());
    let again = run(&["--against", "main"]);
    assert!(stdout(&again).contains("this run beside main"), "{}", stdout(&again));
    let failed = run(&["--fail-if", "min(pop and insert[structure=list/slab]) >= 0ns"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(!stdout(&failed).is_empty(), "the result is printed first");
    refused(&[&SHORT[..], &["--fail-if", "worst(x) > 1"]].concat(), 2, &["a condition is like"]);
    fs::remove_dir_all(&state).unwrap();
}

#[test]
fn json_alone_is_all_of_standard_output() {
    let report: serde_json::Value = serde_json::from_str(&stdout(&short(&["--json"]))).unwrap();
    assert_eq!(report["command"], format!("tickwright {} --json", SHORT.join(" ")));
}

#[test]
fn every_comparison_writes_its_cells_with_what_was_typed() {
    let commands: [(&str, &[&str], &str); 4] = [
        ("network", &["--n", "20", "--operations", "100"], "exchange"),
        ("one-shot", &["--n", "20", "--operations", "100"], "turnover"),
        ("reads", &["--n", "20", "--operations", "100"], "exchange and peek"),
        ("expire", &["--n", "20"], "expire"),
    ];
    for (command, more, measure) in commands {
        let args = [
            &["bench", command, "--rounds", "6", "--structures", "heap4/*,timer-queue,nexus-timer", "--json"],
            more,
        ]
        .concat();
        let output = tickwright(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(report["command"], format!("tickwright {}", args.join(" ")));
        let series = report["series"].as_array().unwrap();
        let last = series.iter().rfind(|series| series["labels"]["structure"] == "heap4/slab").unwrap();
        assert_eq!(
            (&last["name"], &last["unit"], &last["per"]),
            (&measure.into(), &"ns".into(), &"operation".into())
        );
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings[0]["verdict"], "stated", "which of ours is fastest: {}", findings[0]);
        let found = findings.iter().find(|found| found["labels"]["beside"] == "baseline").unwrap();
        assert!(found["figure"]["median"].is_f64() && found["verdict"].is_string(), "{found}");
    }
    refused(&["bench", "expire", "--operations", "5"], 2, &["--operations"]);
    refused(&["bench", "network", "--scenario", "periodic"], 2, &["tickwright bench hold"]);
    refused(&["bench", "hold", "--scenario", "periodic", "--scenario", "periodic"], 2, &["two scenarios"]);
    refused(&["bench", "reads", "--baseline", "timer-queue"], 2, &["'timer-queue'", "lower bound"]);
}

#[test]
fn an_attack_has_a_row_per_call() {
    let csv = temporary("a.csv");
    let args = ["bench", "adversary", "--n", "50", "--rounds", "1", "--structures", "list/hook"];
    let output = tickwright(&[&args[..], &[&to("--csv", &csv), "--pattern", "same-tick,edges8"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout(&output).contains("advance(64)"), "{}", stdout(&output));
    let rows = fs::read_to_string(&csv).unwrap();
    assert!(
        rows.starts_with(
            "schema,experiment,series,unit,per,calls,figure,n,pattern,structure,sample,value,interrupted\n"
        ),
        "{rows}"
    );
    // There are four figures for each of six kinds of calls, under two attacks.
    assert_eq!(rows.lines().count(), 1 + 4 * 6 * 2);
    fs::remove_file(&csv).unwrap();
    refused(&["bench", "adversary", "--pattern", "sidways"], 2, &["same-tick"]);
    refused(&["bench", "adversary", "--budget", "0"], 2, &["from 1 to"]);
}

#[test]
fn the_scheduler_is_set_beside_its_parts() {
    let csv = temporary("s.csv");
    let args = ["bench", "scheduler", "--n", "100,1k", "--rounds", "6", "--operations", "1k"];
    let output = tickwright(&[&args[..], &[&to("--csv", &csv), "--structures", "heap4,rb/*"]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for word in ["add, ns", "delete, ns", "bare queue", "bytes each", "rb: a delete by id takes"] {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
    let rows = fs::read_to_string(&csv).unwrap();
    fs::remove_file(&csv).unwrap();
    let heading = "schema,experiment,series,unit,per,n,part,structure,sample,value,interrupted\n";
    assert!(rows.starts_with(heading), "{rows:.200}");
    assert_eq!(rows.lines().count(), 1 + 2 * 2 * (6 * 6 + 1), "{rows}");
    refused(&["bench", "scheduler", "--structures", "lits"], 2, &["\"lits\"", "heap4"]);
}

#[test]
fn memory_is_weighed_without_the_callers_keys() {
    let args = ["bench", "memory", "--structures", "list/*,orx-4ary", "--n", "500", "--json"];
    let report: serde_json::Value = serde_json::from_str(&stdout(&tickwright(&args))).unwrap();
    let bytes = |name: &str, structure: &str| {
        let of = |s: &&serde_json::Value| s["name"] == name && s["labels"]["structure"] == structure;
        report["series"].as_array().unwrap().iter().find(of).unwrap()["samples"][0].as_f64().unwrap()
    };
    // A hook node of the list holds two links, expiry, owner and payload.
    assert_eq!(bytes("pending", "list/hook"), 40.0);
    assert!(bytes("pending", "list/slab") < 40.0, "indices are shorter than pointers");
    assert!((16.0..40.0).contains(&bytes("pending", "orx-4ary")));
    assert_eq!(bytes("empty, heap", "list/hook"), 0.0);
    assert_eq!(report["command"], format!("tickwright {}", args.join(" ")));
}

#[test]
fn check_passes_and_judges_the_queues_of_others() {
    let output = tickwright(&["check"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("contract list/slab: 21 clauses kept"), "{text}");
    assert!(text.contains("BROKEN"), "bitwheel fires early: {text}");
}

#[test]
fn the_list_and_the_manuals_come_from_the_same_data() {
    let listing: serde_json::Value = serde_json::from_str(&stdout(&tickwright(&["list", "--json"]))).unwrap();
    for key in ["structures", "scenarios", "experiments"] {
        assert!(!listing[key].as_array().unwrap().is_empty(), "{key}");
    }
    let schemas: serde_json::Value =
        serde_json::from_str(&stdout(&tickwright(&["list", "--schema"]))).unwrap();
    assert!(schemas["result"]["$defs"]["Series"]["properties"]["unit"].is_object());
    assert!(schemas["scenario"]["properties"]["name"].is_object());
    assert!(stdout(&tickwright(&["list"])).contains("hold-uniform-dense"));
    assert!(stdout(&tickwright(&["man"])).contains(".TH tickwright"));
    assert!(stdout(&tickwright(&["completions", "bash"])).contains("--structures"));
}

#[test]
fn a_built_in_scenario_is_a_template_for_a_file() {
    let output = tickwright(&["list", "--scenario", "network"]);
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("revisit = 773  # mean ticks between"), "{text}");
    let file = temporary("template.toml");
    fs::write(&file, text.replace("name = \"network\"", "name = \"mine\"")).unwrap();
    let asked = ["bench", "network", "--scenario", file.to_str().unwrap(), "--n", "3", "--structures", "rb"];
    let output = tickwright(&[&asked[..], &["--rounds", "1", "--operations", "10"]].concat());
    assert!(stdout(&output).contains("mine, exchange"), "{output:?}");
    fs::remove_file(file).unwrap();
    assert!(stdout(&tickwright(&["list", "--scenario", "xenomai"])).contains("period_mean_us"));
    refused(&["list", "--scenario", "netwrk"], 2, &["'netwrk'", "'network'"]);
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwright"));
    let output = command.arg("list").stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(141), "as if SIGPIPE had ended it");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_file_for_results_stands_behind_an_equals_sign() {
    refused(&[&SHORT[..], &["--json", "r.json"]].concat(), 2, &["'r.json'", "say --json=r.json"]);
}

#[cfg(unix)]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for command in ["--help", "--version", "bench hold --help", "list", "man"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tickwright"))
            .args(command.split(' '))
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{command}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"), "{command}");
    }
}

/// A shell starts the command with redirections.
#[cfg(unix)]
fn redirected(words: &str, redirections: &str) -> Output {
    let line = format!("exec \"$0\" {words} {redirections}");
    Command::new("sh").args(["-c", &line, env!("CARGO_BIN_EXE_tickwright")]).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_is_an_error() {
    for words in [
        "--help",
        "list",
        "list --scenario network",
        "man",
        "completions bash",
        "describe sample:bind9",
        "describe sample:bind9 --json",
        "describe sample:bind9 --svg",
        "export sample:bind9",
        "export sample:bind9 --form parquet",
    ] {
        let output = redirected(words, ">&-");
        assert_eq!(output.status.code(), Some(3), "{words}: {output:?}");
        assert!(!output.stderr.is_empty(), "{words}");
        // What the user sends away on purpose is no error.
        assert_eq!(redirected(words, ">/dev/null").status.code(), Some(0), "{words}");
    }
}

#[cfg(unix)]
#[test]
fn exit_codes_are_true_when_no_message_can_be_printed() {
    for redirections in ["2>&-", "2>/dev/full", "2>/dev/full >/dev/full", "2>&- >&-"] {
        assert_eq!(redirected("describe nothere.twt", redirections).status.code(), Some(2), "{redirections}");
        assert_eq!(redirected("no-such-command", redirections).status.code(), Some(2), "{redirections}");
    }
    assert_eq!(redirected("list", ">/dev/full 2>/dev/full").status.code(), Some(3));
    #[cfg(target_os = "linux")]
    for redirections in ["2>&-", "2>/dev/full"] {
        let code =
            |words: &str| redirected(&format!("record -o /dev/null -- {words}"), redirections).status.code();
        assert_eq!(code("sh -c 'exit 5'"), Some(5), "{redirections}");
        assert_eq!(code("no-such-program-anywhere"), Some(127), "{redirections}");
    }
}

#[test]
fn every_record_is_shown_and_drawn() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    let names = fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path());
    let names: Vec<PathBuf> =
        names.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert!(names.len() > 20, "{names:?}");
    for path in names {
        let file = path.to_str().unwrap();
        for form in [&["show", file][..], &["show", file, "--markdown"], &["report", file, "--out", "-"]] {
            let output = tickwright(form);
            assert!(output.status.success() && output.stdout.len() > 500, "{form:?}: {output:?}");
        }
        let output = tickwright(&["show", file, "--svg"]);
        if output.status.success() {
            assert!(stdout(&output).contains("<path"), "{file}");
        } else {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(3) && said.contains("has no plot"), "{file}: {said}");
        }
    }
}

#[test]
fn one_population_is_drawn() {
    let output = short(&["--svg"]);
    let svg = stdout(&output);
    let size = svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let height: f64 = size.split(' ').nth(1).and_then(|height| height.parse().ok()).unwrap_or(0.0);
    assert!(output.status.success() && height > 100.0, "{output:?}");
}

#[test]
fn exit_codes_are_on_every_page() {
    let folder = temporary("pages");
    fs::create_dir(&folder).unwrap();
    assert!(tickwright(&["man", folder.to_str().unwrap()]).status.success());
    let pages: Vec<_> = fs::read_dir(&folder).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        assert!(text.contains("Exit codes:") && text.contains("143"), "{}", page.display());
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(stdout(&tickwright(&["bench", "hold", "--help"])).contains("Exit codes:"));
}

#[cfg(unix)]
#[test]
fn a_scenario_without_an_end_is_refused() {
    refused(&["reproduce", "xenomai", "--scenario", "/dev/zero"], 2, &["/dev/zero", "more than 1048576"]);
    let link = temporary("zero.toml");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    let name = link.to_str().unwrap();
    refused(&["bench", "hold", "--scenario", name], 2, &[name, "more than 1048576"]);
    fs::remove_file(&link).unwrap();
}

#[test]
fn a_scenario_sends_no_escape_sequences() {
    let path = temporary("escapes.toml");
    let own = include_str!("../../../scenarios/periodic.toml");
    let evil = own.replacen("name = \"periodic\"", "name = \"\\u001b[31mred\\u001b]0;title\\u0007\"", 1);
    assert_ne!(own, evil);
    fs::write(&path, evil).unwrap();
    let file = path.to_str().unwrap();
    let args = ["bench", "hold", "--scenario", file, "--n", "2", "--rounds", "1", "--operations", "10"];
    let output = tickwright(&args);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("u{1b}[31mred") && !text.contains(['\u{1b}', '\u{7}']), "{text}");
    // For a mistake in a file, the parser shows the line.
    fs::write(&path, "name = \"\u{1b}[31mred\"\nmodle = 1\n").unwrap();
    let output = tickwright(&["bench", "hold", "--scenario", file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&output.stderr).contains('\u{1b}'));
    fs::remove_file(&path).unwrap();
}

#[test]
fn one_round_has_no_interval() {
    let args =
        ["bench", "hold", "--scenario", "periodic", "--n", "2,16", "--operations", "10", "--rounds", "1"];
    let text = stdout(&tickwright(&args));
    assert!(text.contains("too few rounds") && !text.contains("NaN"), "{text}");
    assert!(text.contains("round by round"), "the table says what a ratio is: {text}");
}

/// Asks for the networking part alone, on a host without room for sockets.
#[cfg(unix)]
#[test]
fn a_part_that_was_asked_for_alone_and_left_out_is_an_error() {
    let command = format!(
        "ulimit -n 32; exec '{}' reproduce linux --only network --duration 10ms --connections 40",
        env!("CARGO_BIN_EXE_tickwright")
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("networking is left out: sockets: "));
}

/// If the system refuses memory, the command reports no wrong size and does not abort. The limit
/// counts data only, so the size of the program does not matter.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_refused_is_an_error_that_says_so() {
    let limited = |kib: u32, args: &str| {
        let command = format!("ulimit -d {kib}; exec '{}' {args}", env!("CARGO_BIN_EXE_tickwright"));
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{args}: {said} {}", stdout(&output));
        assert_eq!(stdout(&output), "", "no figure of what was refused");
        said
    };
    // At each of these limits a different allocation is the first to fail.
    for kib in [40_000, 30_000, 15_000] {
        let said = limited(kib, "bench memory --n 1M --structures heap4/hook");
        for word in ["heap4/hook", "1000000 timers", "fewer timers", "ulimit -v"] {
            assert!(said.contains(word), "'{word}' is missing in: {said}");
        }
    }
    for args in [
        "bench heap --n 16M",
        "bench hold --n 16M",
        "bench scheduler --n 16M",
        "reproduce asterisk --only table --n 16M",
    ] {
        let said = limited(40_000, args);
        assert!(said.contains("fewer timers") && said.contains("limit of memory"), "{args}: {said}");
    }
}

#[cfg(target_os = "linux")]
mod helenos {
    use std::io::Read;

    use super::*;

    const SHORT: [&str; 8] = ["reproduce", "helenos", "--duration", "1ms", "--n", "3", "--rounds", "2"];

    #[test]
    fn what_cannot_be_run_is_refused_with_the_range() {
        let refused =
            |args: &[&str], words: &[&str]| refused(&[&["reproduce", "helenos"], args].concat(), 2, words);
        refused(&["--n", "0"], &["'0'", "from 1 to 1000000"]);
        refused(&["--n", "2M"], &["'2M'", "from 1 to 1000000"]);
        refused(&["--rounds", "1"], &["'1'", "from 2 to 1000"]);
        refused(&["--spin", "-1"], &["'-1'", "from 0 to 1000000"]);
        refused(&["--duration", "0s"], &["between 1ms and 168h"]);
        refused(&["--transport", "tcp"], &["'tcp'", "futex"]);
        refused(&["--pin", "both"], &["'both'", "different"]);
        refused(&["--serve", "pipe"], &["--parent"]);
        refused(&["--parent", "1"], &["starts itself"]);
    }

    #[test]
    fn every_channel_works_between_processes() {
        let output = tickwright(&[&SHORT[..], &["--tasks", "processes", "--csv", "--pin", "none"]].concat());
        let (rows, said) = (stdout(&output), String::from_utf8_lossy(&output.stderr).into_owned());
        assert!(output.status.success(), "{said}");
        let calls = rows.lines().filter(|row| row.starts_with("2,reproduce helenos,round trips,per_second"));
        let calls: Vec<&str> = calls.collect();
        for transport in ["futex", "pipe", "socket"] {
            // There are two dictionaries, two methods and two samples.
            assert_eq!(calls.iter().filter(|row| row.contains(transport)).count(), 8, "{rows}");
        }
    }

    #[test]
    fn an_emulator_that_is_not_there_is_skipped_with_a_word() {
        let output = Command::new(env!("CARGO_BIN_EXE_tickwright"))
            .args(SHORT)
            .args(["--only", "calls,perf,emulated", "--transport", "pipe"])
            .env("PATH", "/nowhere")
            .output()
            .unwrap();
        let text = stdout(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("TCG user mode: skipped, qemu-"), "{text}");
        assert!(text.contains("perf bench sched pipe, threads: skipped, it is not in the PATH"), "{text}");
    }

    /// A server inherits standard error, so the stream ends when both processes have ended.
    #[test]
    fn a_server_does_not_outlive_a_client_that_is_killed() {
        for transport in ["futex", "pipe", "socket"] {
            let mut client = Command::new(env!("CARGO_BIN_EXE_tickwright"))
                .args(["reproduce", "helenos", "--n", "3", "--duration", "1h", "--tasks", "processes"])
                .args(["--transport", transport])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = client.stderr.take().unwrap();
            while children(client.id()).is_empty() {
                assert!(client.try_wait().unwrap().is_none(), "the client has ended");
                std::thread::yield_now();
            }
            client.kill().unwrap();
            client.wait().unwrap();
            let mut text = String::new();
            said.read_to_string(&mut text).unwrap();
            assert_eq!(text, "");
        }
    }

    fn children(process: u32) -> String {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok()).collect()
    }
}
