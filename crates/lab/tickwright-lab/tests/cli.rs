//! Tests of behavior that scripts rely on: exit codes, messages, and which output goes to which
//! stream or file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

mod command;

use command::{Folder, PROGRAM, failed, good, holds, passed, refused, run, shell, stderr, stdout, words};

const SHORT: &str = "bench periodic --n 2,16 --rounds 6 --operations 100";

fn short(more: &str) -> String {
    format!("{SHORT} {more}")
}

#[test]
fn a_wrong_request_is_refused_with_a_range_a_neighbour_or_a_remedy() {
    const TIMERS: &str = "from 1 to 16777216";
    let why = if cfg!(feature = "rivals") { "lower bound" } else { "--features rivals" };
    let cases: &[(&str, &[&str])] = &[
        ("bench hold --structures lits/*", &["no structure matches 'lits/*'", "'list/"]),
        ("bench hold-exp-spars", &["'hold-exp-sparse'"]),
        ("bench hold --baseline btreemap", &["'btree-map'"]),
        ("bench hold --rouds 3", &["--rounds"]),
        ("bnech", &["bench"]),
        ("bench --worst --pattern sidways", &["same-tick"]),
        ("list --scenario netwrk", &["'netwrk'", "'network'"]),
        ("bench hold --n 0", &["'0'", TIMERS]),
        ("bench hold --rounds=-3", &["'-3'", "from 1 to 1000"]),
        ("bench hold --rounds -3", &["'-3'", "from 1 to 1000"]),
        ("bench hold --operations -1", &["'-1'", "from 1 to 100000000"]),
        ("bench hold --operations 99999999999999999999", &["from 1 to 100000000"]),
        ("bench hold --seed -1", &["'-1'", "from 0 to"]),
        ("bench hold --n -500", &["'-500'", TIMERS]),
        ("bench --memory --n -500", &["'-500'", TIMERS]),
        ("bench --worst --budget 0", &["from 1 to"]),
        ("bench expire --operations 5", &["--operations"]),
        ("reproduce xenomai --duration -5s", &["'-5s'", "between 1ms and 168h"]),
        ("reproduce xenomai --seed -1", &["'-1'", "from 0 to"]),
        ("bench memory", &["tickwright bench --memory"]),
        ("bench network --pattern later", &["--worst"]),
        ("bench reads --baseline timer-queue", &["'timer-queue'", why]),
        // The name of a file for results must follow an equals sign.
        (&short("--json r.json"), &["'r.json'", "say --json=r.json"]),
        (&short("--fail-if worst(x)~>~1"), &["a condition is like"]),
        ("report", &["<FILES>"]),
        ("reproduce nptl --toplevel 0", &["'0'", "from 1 to 1000"]),
        ("reproduce nptl --toplevel 5..2", &["'5..2'", "from 1 to 1000"]),
        ("reproduce nptl --children -1", &["'-1'", "from 1 to 1000"]),
        ("reproduce nptl --toplevel 1000 --children 101", &["101000", "100000", "nothing was run"]),
        ("reproduce nptl --starts 0", &["'0'", "from 1 to 100000000"]),
        ("reproduce nptl --rounds 1001", &["'1001'", "from 1 to 1000"]),
        ("reproduce nptl --workers 0", &["'0'", "from 1 to 255"]),
        ("reproduce nptl --models pth", &["'pth'", "one-to-one", "std"]),
        ("reproduce nptl --only tables", &["'tables'", "table", "ladder"]),
        ("reproduce linux --only network --hz 60", &["100, 250, 300, 1000"]),
        ("reproduce linux --only network --delay 150h --hz 1000 --duration 0s", &["1ms"]),
        ("reproduce linux --delay 168h --hz 1000 --n 0", &["--n"]),
        ("reproduce linux --only network --step -1", &["0.001"]),
        ("reproduce linux --only network --line 0", &["--line", "from 1 to 1000000"]),
        ("reproduce asterisk --n 0", &["0", "from 1 to 16777216"]),
        ("reproduce asterisk --n -5", &["-5", "from 1 to 16777216"]),
        ("reproduce asterisk --structures lits", &["\"lits\"", "list, "]),
        ("reproduce asterisk --mode theirs", &["faithful, ours"]),
        ("reproduce asterisk --budget 0s", &["between 1ms and 168h"]),
        ("reproduce asterisk --rounds 0", &["from 1 to 1000"]),
    ];
    refused("", cases);
    #[cfg(target_os = "linux")]
    refused(
        "reproduce helenos",
        &[
            ("--n 0", &["'0'", "from 1 to 1000000"]),
            ("--n 2M", &["'2M'", "from 1 to 1000000"]),
            ("--rounds 1", &["'1'", "from 2 to 1000"]),
            ("--spin -1", &["'-1'", "from 0 to 1000000"]),
            ("--duration 0s", &["between 1ms and 168h"]),
            ("--pin both", &["'both'", "different"]),
        ],
    );
}

#[test]
fn a_mistake_in_a_scenario_file_names_file_line_and_key() {
    let folder = Folder::new("wrong");
    folder.write("wrong.toml", "name = \"x\"\nmodle = \"hold\"\n");
    folder.refused("bench wrong.toml", &["wrong.toml", "line 2", "modle"]);
    folder.refused("bench absent.toml", &["absent.toml", "cannot be read"]);
    folder.write("other.toml", good("list --scenario periodic").replace("seed = 1", "seed = 2"));
    folder.refused("bench periodic other.toml", &["two scenarios", "'periodic'", "'other.toml'"]);
}

/// Each kind of file names the command that reads it.
#[test]
fn a_file_of_another_kind_is_named_with_its_command() {
    let folder = Folder::new("kinds");
    folder.write("p.toml", "timers = 20\nexpire = 1\ndelays = [{ ms = 100 }]\n");
    folder.write("s.toml", good("list --scenario periodic"));
    folder.write("a.toml", good("list --scenario adversary"));
    folder.write("x.toml", good("list --scenario xenomai"));
    let profile = "'p.toml' is a profile, which `tickwright recommend p.toml`, `describe` and `replay` read";
    let scenario = "'s.toml' is a scenario, which `tickwright bench s.toml` reads";
    let attacks = "'a.toml' is a file of attacks, which `tickwright bench --worst a.toml` reads";
    let ticks = "`tickwright reproduce xenomai --scenario x.toml` reads";
    for (command, own) in [
        ("bench", "s.toml"),
        ("bench --worst", "a.toml"),
        ("reproduce xenomai --scenario", "x.toml"),
        ("recommend", "p.toml"),
        ("describe", "p.toml"),
    ] {
        let files = [("p.toml", profile), ("s.toml", scenario), ("a.toml", attacks), ("x.toml", ticks)];
        for (file, words) in files.into_iter().filter(|(file, _)| *file != own) {
            folder.refused(&format!("{command} {file}"), &[words, "; this command takes "]);
        }
    }
    folder.good("export sample:bind9 --out t.csv");
    folder.good("import t.csv");
    for command in ["report", "show", "compare t.twt", "reproduce xenomai --scenario"] {
        let output = folder.run(&format!("{command} t.twt"));
        failed(command, &output, &["if it is a trace of timers, `tickwright describe`, `recommend`"]);
    }
    folder.refused("report t.twt", &["'t.twt' cannot be read: it is no text in UTF-8"]);
}

/// A scenario needs no prose, and a short run says what it left out.
#[test]
fn a_scenario_without_an_analysis_runs_and_a_short_run_says_so() {
    let folder = Folder::new("short");
    let own = good("list --scenario periodic");
    let (before, after) = own.split_once("analysis = \"\"\"").unwrap();
    let (_, after) = after.split_once("\"\"\"").unwrap();
    folder.write("s.toml", format!("{before}{after}"));
    let line = "bench s.toml --quick --rounds 1 --operations 10 --structures list/hook";
    let said = folder.good(line);
    holds(&said, &["a short run, as --quick says: at most 9 rounds of 10k operations", "up to 10k"]);
    holds(&said, &["; periodic without n="]);
    assert!(!good(SHORT).contains("short run"));
}

#[test]
fn a_wrong_request_leaves_no_file() {
    let folder = Folder::new("none");
    let cases: [(&str, &[&str]); 9] = [
        ("bench hold-exp-spars --json=r", &["nearest"]),
        ("bench hold --structures lits/* --json=r", &["nearest"]),
        ("bench hold --baseline btreemap --json=r", &["nearest"]),
        ("bench --memory --structures lits/* --json=r", &["nearest"]),
        ("bench --worst --structures lits/* --json=r", &["nearest"]),
        ("reproduce xenomai --structures lits/* --json=r", &["nearest"]),
        (&short("--json=/no/such/directory/r.json"), &["/no/such/directory/r.json", "nothing was run"]),
        (&short("--json --csv"), &["standard output"]),
        (&short("--json=both --csv=both"), &["'both'", "nothing was run"]),
    ];
    for (line, words) in cases {
        folder.refused(line, words);
        assert_eq!(folder.files(), 0, "{line}");
    }
}

#[test]
fn the_table_of_threads_is_printed_and_drawn() {
    let folder = Folder::new("threads");
    let line = "reproduce nptl --only table --toplevel 1..3 --children 1 --starts 5 --svg=r.svg";
    holds(&folder.good(line), &["least time over C", "published"]);
    let svg = folder.read("r.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn the_experiment_writes_its_slices_in_every_mode() {
    let folder = Folder::new("slices");
    for more in ["", " --instrument"] {
        let line =
            "reproduce xenomai --mode virtual --duration 200ms --structures heap2/* --json=r.json --csv=r.csv"
                .to_owned() + more;
        folder.good(&line);
        let rows = folder.read("r.csv");
        assert_eq!(rows.lines().filter(|row| row.contains(",tick,ns,")).count(), 2 * 8, "{rows}");
        // The verdict and its published figure are in the table too.
        let verdict = rows.lines().find(|row| row.contains("the structure with the cheapest")).unwrap();
        holds(verdict, &["\"Core i7: heap2 419 ns a tick, "]);
        assert_eq!(folder.json("r.json")["command"], format!("tickwright {line}"));
    }
}

/// A path can consist of any bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_file_name_that_is_no_text_is_one_all_the_same() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new("bytes");
    let line = "reproduce linux --only simple --n 1 --duration 1ms";
    let mut command = Command::new(PROGRAM);
    command.args(words(line)).arg(OsString::from_vec(b"--json=\xff".to_vec())).current_dir(&folder.0);
    passed(line, &command.output().unwrap());
    let text = fs::read_to_string(folder.0.join(OsString::from_vec(vec![0xff]))).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    holds(report["command"].as_str().unwrap(), &["--only simple"]);
}

#[cfg(unix)]
#[test]
fn the_scheduler_experiment_shows_the_published_times_beside_its_own() {
    let folder = Folder::new("asterisk");
    let line = "reproduce asterisk --n 100,1k --rounds 2 --structures list,wheel";
    let text = folder.good(&format!("{line} --csv=r.csv"));
    holds(&text, &["list, 2009", "heap here", "wheel here", "101.8 %"]);
    let rows = folder.read("r.csv");
    let times = rows
        .lines()
        .filter(|row| row.contains(",sample,") && (row.contains("faithful") || row.contains("ours")));
    assert_eq!(times.count(), 4 * 2 * 2 * 2, "{rows}");
}

#[test]
fn a_run_prints_tables_without_colours_when_nobody_looks() {
    let output = run(SHORT);
    let text = passed(SHORT, &output);
    assert!(output.stderr.is_empty(), "progress is for terminals");
    assert!(!text.contains('\u{1b}'));
    holds(&text, &["host ", "one reading costs", "list/slab", "n=16", "(harness alone)"]);
    holds(&text, &["re-arm in one step", "head alone"]);
}

#[test]
fn results_go_to_files_beside_the_tables() {
    let folder = Folder::new("beside");
    holds(&folder.good(&short("--json=r.json --csv=r.csv --seed 5")), &["list/slab"]);
    let report = folder.json("r.json");
    assert_eq!((report["schema"].as_u64(), report["interrupted"].as_bool()), (Some(2), Some(false)));
    assert_eq!((&report["seed"], &report["experiment"]), (&5.into(), &"bench hold".into()));
    assert_eq!(report["series"][0]["samples"].as_array().unwrap().len(), 6);
    assert!(report["host"]["cores"].as_u64() >= Some(1));
    let rows = folder.read("r.csv");
    let heading = "schema,experiment,series,unit,per,n,scenario,structure,sample,value,interrupted,kind,";
    assert!(rows.starts_with(heading), "{rows:.200}");
}

#[test]
fn a_result_is_shown_again_as_it_was_printed() {
    let folder = Folder::new("again");
    let first = folder.good(&short("--json=r.json"));
    assert_eq!(folder.good("show r.json"), first);
    assert!(folder.good("show r.json --markdown").starts_with("# bench hold\n"));
    folder.refused("show /no/such/file", &["'/no/such/file' cannot be read"]);
    folder.write("r.json", "{\"schema\": 1, \"command\": \"tickwright bench hold\"}");
    folder.refused("show r.json", &["r.json", "schema 1", "`tickwright bench hold --json=FILE`"]);
}

/// The samples of the second run are the doubled samples of the first run, so the second run seems
/// to take twice as long.
#[test]
fn two_results_are_compared() {
    let folder = Folder::new("two");
    folder.good(&short("--json=1.json --structures list/*,btree-map"));
    let mut report = folder.json("1.json");
    folder.write("2.json", report.to_string());
    holds(&folder.good("compare 1.json 2.json --fail-if-worse"), &["No difference is shown between"]);
    for series in report["series"].as_array_mut().unwrap() {
        if series["labels"]["structure"] == "list/hook" {
            for sample in series["samples"].as_array_mut().unwrap() {
                *sample = (sample.as_f64().unwrap() * 2.0).into();
            }
        }
    }
    folder.write("2.json", report.to_string());
    let slower = folder.run("compare 1.json 2.json --fail-if-worse");
    assert_eq!(slower.status.code(), Some(1));
    let said = stderr(&slower);
    assert!(said.contains("shown to be worse: ") && !said.contains("list/slab"), "{said}");
    holds(&stdout(&slower), &["2.00x"]);
    assert!(!stdout(&slower).contains("workload"), "both have the same");
    report["workload"] = "0123456789abcdef".into();
    report["seed"] = 7.into();
    folder.write("2.json", report.to_string());
    let doubt = ["different workloads (", "and 0123456789abcdef): seed", "what differs may be the work"];
    holds(&folder.good("compare 1.json 2.json"), &doubt);
    report.as_object_mut().unwrap().remove("workload");
    report["experiment"] = "bench memory".into();
    folder.write("2.json", report.to_string());
    folder.refused("compare 1.json 2.json", &["`bench hold`", "`bench memory`"]);
}

#[test]
fn results_become_one_page() {
    let folder = Folder::new("page");
    folder.good(&short("--json=r.json"));
    folder.refused("report /no/such/file -o p.html", &["'/no/such/file' cannot be read"]);
    folder.refused("report r.json -o /no/such/folder/p.html", &["/no/such/folder/p.html"]);
    assert_eq!(folder.files(), 1);
    holds(&folder.good("report r.json r.json --out p.html"), &["2 results"]);
    let text = folder.read("p.html");
    assert!(text.starts_with("<!doctype html>") && text.contains("list/slab") && !text.contains("<script"));
}

#[test]
fn a_condition_decides_the_exit_code() {
    let folder = Folder::new("condition");
    let output = folder.run(&short("--fail-if min(pop~and~insert[structure=list/slab])~>=~0ns"));
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.is_empty(), "the result is printed first");
}

/// A limit on something that the run does not measure is refused before the run, because a run
/// prints its tables first.
#[test]
fn a_condition_about_nothing_is_refused_before_the_run() {
    let none = ["there is no such series", "nothing was run"];
    let labels = "the labels of pop and insert are: n 2, 16; scenario periodic; structure ";
    refused(
        SHORT,
        &[
            (
                "--fail-if p99(insrt)~>~5ns",
                &[&none[..], &["those of this result are: ", "pop and insert"]].concat(),
            ),
            ("--fail-if p99(pop~and~insert[n=17])~>~5ns", &[&none[..], &[labels]].concat()),
            ("--fail-if p99(pop~and~insert)~>~5B", &["is not in the unit of the limit", "nothing was run"]),
            ("--fail-if p99(pop~and~insert)~>~5", &["no number with a unit, one of ns, us, ms, s, B"]),
        ],
    );
    let others = [
        "replay sample:bind9",
        "recommend sample:bind9",
        "reproduce xenomai",
        "reproduce zephyr",
        "reproduce asterisk",
        "bench --memory",
        #[cfg(target_os = "linux")]
        "latency",
        #[cfg(target_os = "linux")]
        "latency versus-cyclictest",
    ];
    for line in others {
        refused(line, &[("--fail-if p99(insrt)~>~5ns", &none)]);
    }
    // A limit on something that the run measures is not refused.
    let line = "replay sample:bind9 --rounds 1 --structures heap4/slab";
    good(&format!("{line} --fail-if max(insert[at=max,structure=heap4/slab])~>~1000s"));
    good("reproduce asterisk --n 100 --rounds 1 --structures list --fail-if max(add[n=100])~>~1000s");
    good("bench --memory --n 500 --structures list/hook --fail-if max(pending)~>~1MiB");
    good("reproduce zephyr --n 1,2 --rounds 1 --operations 10 --fail-if max(insert[order=rising])~>~1000s");
    good("reproduce xenomai --mode virtual --duration 1ms --fail-if max(ticks)~>~1000000count");
}

#[test]
fn json_alone_is_all_of_standard_output() {
    let line = short("--json");
    let report: Value = serde_json::from_str(&good(&line)).unwrap();
    assert_eq!(report["command"], format!("tickwright {line}"));
}

#[test]
fn every_comparison_writes_its_cells_with_what_was_typed() {
    for (command, more, measure) in [
        ("network", "--n 20 --operations 100", "with hints"),
        ("one-shot", "--n 20 --operations 100", "with hints"),
        ("reads", "--n 20 --operations 100", "exchange and peek"),
        ("expire", "--n 20", "expire"),
    ] {
        let line =
            format!("bench {command} --rounds 6 --structures heap4/*,btree-map,orx-4ary --json {more}");
        let report: Value = serde_json::from_str(&good(&line)).unwrap();
        assert_eq!(report["command"], format!("tickwright {line}"));
        let series = report["series"].as_array().unwrap();
        let last = series.iter().rfind(|series| series["labels"]["structure"] == "heap4/slab").unwrap();
        let about = ["name", "unit", "per"].map(|key| last[key].as_str().unwrap());
        assert_eq!(about, [measure, "ns", "operation"]);
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings[0]["verdict"], "stated", "which of ours is fastest: {}", findings[0]);
        let found = findings.iter().find(|found| found["labels"]["beside"] == "baseline").unwrap();
        assert!(found["figure"]["median"].is_f64() && found["verdict"].is_string(), "{found}");
    }
}

#[test]
fn an_attack_has_a_row_per_call() {
    let folder = Folder::new("attack");
    let line = "bench --worst --n 50 --rounds 1 --structures list/hook --csv=a.csv";
    holds(&folder.good(&format!("{line} --pattern same-tick,edges8")), &["advance(64)"]);
    let rows = folder.read("a.csv");
    let heading =
        "schema,experiment,series,unit,per,calls,figure,n,pattern,structure,sample,value,interrupted,kind,";
    assert!(rows.starts_with(heading), "{rows}");
    // There are four figures for each of six kinds of calls, under two attacks.
    assert_eq!(rows.lines().filter(|row| row.contains(",false,sample,")).count(), 4 * 6 * 2);
}

#[test]
fn memory_is_weighed_without_the_callers_keys() {
    let line = "bench --memory --structures list/*,orx-4ary --n 500 --json";
    let report: Value = serde_json::from_str(&good(line)).unwrap();
    let bytes = |name: &str, structure: &str| {
        let of = |s: &&Value| s["name"] == name && s["labels"]["structure"] == structure;
        report["series"].as_array().unwrap().iter().find(of).unwrap()["samples"][0].as_f64().unwrap()
    };
    // A hook node of the list holds two links, expiry, owner and payload.
    assert_eq!(bytes("pending", "list/hook"), 40.0);
    assert!(bytes("pending", "list/slab") < 40.0, "indices are shorter than pointers");
    assert!((16.0..40.0).contains(&bytes("pending", "orx-4ary")));
    assert_eq!(bytes("empty, heap", "list/hook"), 0.0);
    assert_eq!(report["command"], format!("tickwright {line}"));
}

#[test]
fn check_passes_for_every_structure() {
    let text = good("check");
    for structure in ["list/slab", "wheel/hook", "binary-heap", "orx-4ary"] {
        holds(&text, &[&format!("structure {structure}: 5000 mixed operations")]);
    }
    assert_eq!(text.contains("structure hash-wheel: "), cfg!(feature = "rivals"), "{text}");
}

#[test]
fn what_the_build_leaves_out_is_listed() {
    assert_eq!(good("list").contains("--features rivals"), cfg!(not(feature = "rivals")));
    let listing: Value = serde_json::from_str(&good("list --json")).unwrap();
    let names = listing["left_out"].as_array().unwrap();
    assert_eq!(names.contains(&"dary-heap4".into()), cfg!(not(feature = "rivals")), "{names:?}");
}

#[test]
fn the_list_and_the_manuals_come_from_the_same_data() {
    let listing: Value = serde_json::from_str(&good("list --json")).unwrap();
    for key in ["structures", "scenarios", "experiments"] {
        assert!(!listing[key].as_array().unwrap().is_empty(), "{key}");
    }
    let schemas: Value = serde_json::from_str(&good("list --schema")).unwrap();
    assert!(schemas["result"]["$defs"]["Series"]["properties"]["unit"].is_object());
    assert!(schemas["scenario"]["properties"]["name"].is_object());
    for (line, word) in [
        ("list", "hold-uniform-dense"),
        ("man", ".TH tickwright"),
        ("completions bash", "--structures"),
        ("list --scenario xenomai", "period_mean_us"),
        ("bench --help", "Exit codes:"),
    ] {
        holds(&good(line), &[word]);
    }
}

#[test]
fn a_built_in_scenario_is_a_template_for_a_file() {
    let folder = Folder::new("template");
    let text = good("list --scenario network");
    holds(&text, &["revisit = 773  # mean ticks between"]);
    folder.write("mine.toml", text.replace("name = \"network\"", "name = \"mine\""));
    let line = "bench mine.toml --n 3 --structures rb --rounds 1 --operations 10";
    holds(&stdout(&folder.run(line)), &["mine, exchange"]);
    let text = good("list --scenario adversary").replace("budget = 64", "budget = 9");
    folder.write("attacks.toml", &text);
    let line = "bench --worst attacks.toml --n 50 --structures rb/hook --rounds 1 --pattern later";
    holds(&folder.good(line), &["advance(9)"]);
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(PROGRAM).arg("list").stdout(writer).stderr(Stdio::piped()).output().unwrap();
    let code = output.status.code();
    assert_eq!((code, stderr(&output)), (Some(141), String::new()), "as if SIGPIPE had ended it");
}

#[cfg(unix)]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for command in ["--help", "--version", "bench --help", "list", "man"] {
        let output = redirected(command, ">/dev/full");
        assert_eq!(output.status.code(), Some(3), "{command}");
        holds(&stderr(&output), &["standard output"]);
    }
}

/// A shell starts the command with redirections.
#[cfg(unix)]
fn redirected(words: &str, redirections: &str) -> Output {
    shell(&format!("exec \"$0\" {words} {redirections}"))
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
        #[cfg(feature = "parquet")]
        "export sample:bind9 --form parquet",
    ] {
        let output = redirected(words, ">&-");
        assert_eq!(output.status.code(), Some(3), "{words}: {output:?}");
        assert!(!output.stderr.is_empty(), "{words}");
        // Output that the user discards on purpose is not an error.
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
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../records");
    let names = fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path());
    let names: Vec<PathBuf> =
        names.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert!(names.len() > 20, "{names:?}");
    for path in names {
        let file = path.to_str().unwrap().replace(' ', "~");
        for line in
            [format!("show {file}"), format!("show {file} --markdown"), format!("report {file} --out -")]
        {
            assert!(good(&line).len() > 500, "{line}");
        }
        let output = run(&format!("show {file} --svg"));
        if output.status.success() {
            assert!(stdout(&output).contains("<path"), "{file}");
        } else {
            assert_eq!(output.status.code(), Some(3), "{file}: {output:?}");
            holds(&stderr(&output), &["has no plot"]);
            holds(&stdout(&output), &["\nbuild "]);
        }
    }
}

#[test]
fn one_population_is_drawn() {
    let svg = good(&short("--svg"));
    let size = svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let height: f64 = size.split(' ').nth(1).and_then(|height| height.parse().ok()).unwrap_or(0.0);
    assert!(height > 100.0, "{svg}");
}

#[test]
fn exit_codes_are_on_every_page() {
    let folder = Folder::new("pages");
    folder.good("man .");
    assert!(folder.files() > 10);
    for page in fs::read_dir(&folder.0).unwrap() {
        let text = fs::read_to_string(page.unwrap().path()).unwrap();
        holds(&text, &["Exit codes:", "143"]);
    }
}

#[cfg(unix)]
#[test]
fn a_scenario_without_an_end_is_refused() {
    let folder = Folder::new("endless");
    folder.refused("reproduce xenomai --scenario /dev/zero", &["/dev/zero", "more than 1048576"]);
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("zero.toml")).unwrap();
    folder.refused("bench zero.toml", &["zero.toml", "more than 1048576"]);
}

#[test]
fn a_scenario_sends_no_escape_sequences() {
    let folder = Folder::new("escapes");
    let own = include_str!("../../../../scenarios/periodic.toml");
    let evil = own.replacen("name = \"periodic\"", "name = \"\\u001b[31mred\\u001b]0;title\\u0007\"", 1);
    assert_ne!(own, evil);
    folder.write("e.toml", &evil);
    let text = folder.good("bench e.toml --n 2 --rounds 1 --operations 10");
    assert!(text.contains("u{1b}[31mred") && !text.contains(['\u{1b}', '\u{7}']), "{text}");
    // If a file has a mistake, the parser shows the line.
    folder.write("e.toml", "name = \"\u{1b}[31mred\"\nmodle = 1\n");
    let output = folder.run("bench e.toml");
    failed("a mistake", &output, &[]);
    assert!(!stderr(&output).contains('\u{1b}'));
}

#[test]
fn one_round_has_no_interval() {
    let text = good("bench periodic --n 2,16 --operations 10 --rounds 1");
    // The table says what a ratio is.
    holds(&text, &["too few rounds", "round by round"]);
    assert!(!text.contains("NaN"), "{text}");
}

/// If the system refuses memory, the command reports no wrong size and does not abort. The limit
/// applies only to data, so the size of the program does not matter.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_refused_is_an_error_that_says_so() {
    let limited = |kib: u32, line: &str, words: &[&str]| {
        let output = shell(&format!("ulimit -d {kib}; exec \"$0\" {line}"));
        let code = output.status.code();
        assert_eq!(
            (code, stdout(&output)),
            (Some(4), String::new()),
            "no figure of what was refused: {line}"
        );
        holds(&stderr(&output), words);
    };
    // At each of these limits a different allocation is the first to fail.
    for kib in [40_000, 30_000, 15_000] {
        let words = ["heap4/hook", "1000000 timers", "fewer timers", "ulimit -v"];
        limited(kib, "bench --memory --n 1M --structures heap4/hook", &words);
    }
    for line in ["bench hold --n 16M", "reproduce asterisk --n 16M"] {
        limited(40_000, line, &["fewer timers", "limit of memory"]);
    }
}
