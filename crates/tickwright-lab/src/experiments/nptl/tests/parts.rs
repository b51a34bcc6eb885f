//! What the parts beside the table compute and say.

use std::fs;
use std::path::PathBuf;

use tickwright_threads::{Dictionary, LEAST_STACK};

use crate::clock::OsClock;
use crate::experiments::nptl::alive::{self, Order, Outcome};
use crate::experiments::nptl::child::Errand;
use crate::experiments::nptl::cli::{on_or_off, stack};
use crate::experiments::nptl::column::{Cell, Column};
use crate::experiments::nptl::echo::{self, Load, Wire};
use crate::experiments::nptl::ladder::{self, Ladder};
use crate::experiments::nptl::limits::{self, Limit};
use crate::experiments::nptl::model::{Knobs, Model};
use crate::experiments::nptl::syscalls::{self, Counted};
use crate::experiments::nptl::turns::Turns;
use crate::experiments::nptl::work::{self, Work};
use crate::experiments::nptl::{knobs, targets};
use crate::result::Finding;
use crate::stats;
use crate::stats::Bound;

const TURNS: Turns = Turns { what: "test", rounds: 2, seed: 1 };
const CELL: Cell = Cell { toplevel: 2, children: 3, starts: 20 };

#[test]
fn turns_take_each_lane_once_a_round_and_drop_the_first() {
    let mut count = [0; 3];
    let names = ["a", "b", "c"].map(str::to_owned);
    let samples = TURNS
        .run(&names, |lane| {
            count[lane] += 1;
            Ok((lane, count[lane]))
        })
        .unwrap();
    assert_eq!(samples, [[(0, 2), (0, 3)], [(1, 2), (1, 3)], [(2, 2), (2, 3)]]);
    let once = Turns { rounds: 1, ..TURNS }.run(&names, Ok).unwrap();
    assert_eq!(once, [[0], [1], [2]], "one round is kept");
}

#[test]
fn the_ladder_goes_from_ngpt_to_ours() {
    let steps = ladder::steps();
    assert_eq!(steps.first().unwrap().knobs, tickwright_threads::Knobs::ngpt());
    assert_eq!(steps.last().unwrap().knobs, tickwright_threads::Knobs::ours());
    for pair in steps.windows(2) {
        assert_ne!(pair[0].knobs, pair[1].knobs, "{}", pair[1].turned);
    }
}

fn made_up(times: [f64; 7]) -> Ladder {
    let mut steps = ladder::steps();
    for (step, times) in steps.iter_mut().zip(times) {
        step.ns = (0..6).map(|round| times * (1000.0 + f64::from(round))).collect();
    }
    let one_to_one = (0..6).map(|round| 1000.0 + f64::from(round)).collect();
    Ladder { toplevel: 1, children: 10, starts: 100, one_to_one, steps }
}

#[test]
fn the_ladder_names_the_step_that_flips_the_order() {
    let flips = made_up([4.0, 3.0, 2.0, 0.9, 0.5, 0.1, 0.1]);
    assert_eq!(flips.flips(), Some(3));
    assert!(flips.text().contains("flips at step 3: no name formatted."), "{}", flips.text());
    let back = made_up([4.0, 0.9, 2.0, 0.9, 0.5, 0.1, 0.1]);
    assert_eq!(back.flips(), Some(3), "for good");
    let from_the_start = made_up([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]);
    assert_eq!(from_the_start.flips(), Some(0));
    assert!(from_the_start.text().contains("the other way round from the start"));
    assert!(from_the_start.text().contains("all of NGPT's ways together"));
    let there_and_back = made_up([0.9, 2.0, 0.9, 0.9, 0.5, 0.1, 0.1]);
    assert!(there_and_back.text().contains("flips for good, after M:N was ahead with NGPT's way at step 2"));
    let lost_again = made_up([4.0, 0.9, 0.9, 0.9, 0.5, 0.1, 1.5]);
    assert_eq!(lost_again.flips(), None);
    assert!(lost_again.text().contains("at the last step it is not."), "{}", lost_again.text());
    let tied = made_up([1.0; 7]).text();
    assert!(tied.contains("at no step M:N is ahead") && tied.contains("by medians"), "{tied}");
    assert!(!tied.contains("saves most"), "{tied}");
    let never = made_up([4.0; 7]);
    assert_eq!(never.flips(), None);
    assert!(never.text().contains("does not flip") && never.text().contains("NGPT's way here: 4.00x"));
    let mut few = flips;
    few.one_to_one.truncate(3);
    assert!(few.text().contains("by medians"), "three rounds show nothing");
    few.one_to_one.clear();
    assert!(few.text().contains("Interrupted"));
}

#[test]
fn the_ladder_and_the_knobs_run_in_every_model() {
    let clock = OsClock::start();
    let ladder = ladder::run(Knobs::default(), CELL, &TURNS, clock).unwrap();
    assert!(ladder.steps.iter().all(|step| step.ns.len() == 2) && ladder.one_to_one.len() == 2);
    let plan = knobs::Plan {
        models: Model::ALL.to_vec(),
        guard: vec![true, false],
        stack: vec![LEAST_STACK],
        cache: vec![false],
        registry: vec![Dictionary::Avl, Dictionary::None],
        base: Knobs::default(),
    };
    let rows = knobs::run(&plan, CELL, &TURNS, clock).unwrap();
    assert!(rows.iter().all(|row| row.ns.len() == 2), "{rows:?}");
    for model in Model::ALL {
        let settings: Vec<&str> =
            rows.iter().filter(|row| row.model == model).map(|row| row.setting.as_str()).collect();
        assert_eq!(settings[..4], ["as it is", "guard on", "guard off", "stack 16k"]);
        assert_eq!(settings.contains(&"stack cache off"), model.has_cache());
        assert!(settings.ends_with(&["registry avl", "registry none"]), "{settings:?}");
    }
}

#[test]
fn work_comes_to_one_result_in_every_model() {
    let work = Work { workload: 100, workcost: 3, draws: 4 };
    let outcome = work::run(work, &Column::all(), &Knobs::default(), CELL, &TURNS, OsClock::start()).unwrap();
    let alone = (0..CELL.toplevel)
        .flat_map(|toplevel| (0..10).map(move |start| work.thread(toplevel, start, || unreachable!())));
    assert_eq!(outcome.result, alone.fold(0u32, u32::wrapping_add));
    assert!(outcome.rows.iter().all(|row| row.column != Column::Tokio && row.ns.len() == 2));
    assert!(work::text(&outcome).contains(&format!("Result: {:08x}", outcome.result)));
}

#[test]
fn a_draw_computes_or_sleeps() {
    let work = Work { workload: 75, workcost: 1, draws: 10 };
    let mut sleeps = 0;
    for start in 0..1000 {
        work.thread(0, start, || sleeps += 1);
    }
    assert!((2000..3000).contains(&sleeps), "a quarter of 10,000 draws: {sleeps}");
    let idle = Work { workload: 0, ..work };
    assert_eq!(idle.thread(0, 1, || ()), 0, "nothing is added");
}

#[test]
fn targets_are_a_table_with_a_verdict() {
    let figure = stats::summarise((0..9).map(|at| 93.0 + f64::from(at) * 0.01)).unwrap();
    let text = targets::text(&[Finding::bounded("speed", figure, Bound::AtLeast(80.0))]);
    assert!(text.contains("at least 80") && text.contains("93.04") && text.contains("held"), "{text}");
}

const STRACE: &str = "\
strace: Process 12 attached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           3       100         2 futex
 40.00    0.000200           2        90           clone3
  0.00    0.000000           0         7           mmap
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           2       197         2 total
";

#[test]
fn the_table_of_strace_is_read() {
    let calls = syscalls::parse(STRACE);
    let read: Vec<(&str, u64)> = calls.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(read, [("clone3", 90), ("futex", 100), ("mmap", 7)]);
    let more = syscalls::parse(&STRACE.replace(" 90 ", " 190 ").replace(" 100 ", " 104 "));
    let each = syscalls::per_creation(&calls, &more, 100);
    assert_eq!(each.len(), 1, "four futex calls in a hundred creations are noise: {each:?}");
    assert!((each["clone3"] - 1.0).abs() < 1e-9);
    assert!(syscalls::parse("strace: not found").is_empty());
    let rows = Counted::Rows(vec![syscalls::Row { column: Column::Std, calls: each }]);
    assert!(syscalls::text(&rows).contains("clone3 1.0"));
    assert!(syscalls::text(&Counted::Skipped("no strace".into())).contains("not counted: no strace"));
}

#[test]
fn errands_are_read_as_they_are_written() {
    let order = Order { model: Model::ManyToMany, threads: 5, stack: 16384, guard: false, workers: Some(3) };
    for (errand, words) in [
        (
            Errand::Create { column: Column::Ours(Model::ManyToMany), starts: 7, workers: None },
            "create:m:n:7:0",
        ),
        (Errand::Alive(order), "alive:mn:5:16384:false:3"),
    ] {
        assert_eq!(Errand::parse(words), Ok(errand));
        assert_eq!(crate::experiments::nptl::child::arguments(&errand).last().unwrap(), words);
    }
    for wrong in [
        "",
        "create",
        "create:std",
        "create:std:3",
        "create:pth:3:0",
        "alive:mn:5",
        "alive:mn:x:1:true:0",
        "sleep:1",
    ] {
        assert!(Errand::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn sizes_and_switches_are_read_and_refused() {
    assert_eq!(
        (stack("16k"), stack("1M"), stack("1G"), stack("65536")),
        (Ok(16384), Ok(1 << 20), Ok(1 << 30), Ok(65536))
    );
    for wrong in ["", "k", "0", "8k", "2G", "-1", "1T", "99999999999999999999"] {
        assert!(stack(wrong).unwrap_err().contains("16k to 1G"), "{wrong}");
    }
    assert_eq!((on_or_off("on"), on_or_off("off")), (Ok(true), Ok(false)));
    assert!(on_or_off("yes").is_err());
}

/// A machine made of files, gone when dropped.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("tickwright-limits-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn met(&self) -> String {
        limits::met(&limits::read(&self.0))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const FILES: [(&str, &str); 8] = [
    ("proc/loadavg", "0.00 0.01 0.05 2/32700 5\n"),
    ("proc/sys/kernel/threads-max", "190000\n"),
    ("proc/sys/kernel/pid_max", "4194304\n"),
    ("proc/sys/vm/max_map_count", "65530\n"),
    ("proc/self/status", "Name:\tx\nThreads:\t32000\n"),
    (
        "proc/self/limits",
        "Limit  Soft  Hard  Units\nMax processes             unlimited            unlimited            processes\n",
    ),
    ("proc/self/cgroup", "8:pids:/a/b\n0::/\n"),
    ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n"),
];

#[test]
fn the_limit_that_is_met_is_named() {
    let with = |name, changed: &[(&'static str, &'static str)]| {
        let mut files = FILES.to_vec();
        files.retain(|(path, _)| changed.iter().all(|(other, _)| other != path));
        files.extend(changed);
        Machine::new(name, &files).met()
    };
    assert!(with("none", &[]).starts_with("no limit that can be read is met (threads-max 32700 of 190000"));
    let pid = with("pid", &[("proc/sys/kernel/pid_max", "32768")]);
    assert!(pid.starts_with("pid_max is met (32700 of 32768); to raise it: sysctl kernel.pid_max"), "{pid}");
    let threads = with("threads", &[("proc/sys/kernel/threads-max", "32701")]);
    assert!(threads.starts_with("threads-max is met"), "{threads}");
    let maps: &'static str = Box::leak("x\n".repeat(65530).into_boxed_str());
    let mapped = with("maps", &[("proc/self/maps", maps)]);
    assert!(
        mapped.starts_with("max_map_count is met (65530 of 65530)") && mapped.contains("--guard off"),
        "{mapped}"
    );
    let user = with("user", &[("proc/self/limits", "Max processes   32000   unlimited   processes\n")]);
    assert!(user.starts_with("ulimit -u is met (32000 of 32000)"), "{user}");
    let roots = with("roots", &[("proc/self/limits", "Max processes   31999   unlimited   processes\n")]);
    assert!(roots.starts_with("no limit"), "who is beyond it is not bound by it: {roots}");
    let others = [
        ("proc/self/limits", "Max processes   32010   unlimited   processes\n"),
        ("proc/self/status", "Uid:\t7\t7\t7\t7\nThreads:\t5\n"),
        ("proc/8/status", "Uid:\t7\t7\t7\t7\nThreads:\t32000\n"),
        ("proc/9/status", "Uid:\t0\t0\t0\t0\nThreads:\t9\n"),
    ];
    assert!(
        with("others", &others).starts_with("ulimit -u is met (32000 of 32010)"),
        "all of the user count"
    );
    let space = [
        ("proc/self/status", "VmSize:\t1000 kB\nThreads:\t5\n"),
        ("proc/self/limits", "Max address space         1024000              unlimited            bytes\n"),
    ];
    assert!(with("space", &space).starts_with("ulimit -v is met (1024000 of 1024000)"));
    let group = [("sys/fs/cgroup/pids/a/pids.max", "32000"), ("sys/fs/cgroup/pids/a/pids.current", "32000")];
    let above = with("cgroup", &group);
    assert!(above.contains("write N into /sys/fs/cgroup/pids/a/pids.max"), "one level above: {above}");
    let two = [("sys/fs/cgroup/memory.max", "1000"), ("sys/fs/cgroup/memory.current", "990")];
    assert!(with("v2", &two).starts_with("cgroup memory is met (990 of 1000)"));
    let cached = [two[0], two[1], ("sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 900\n")];
    assert!(with("cache", &cached).starts_with("no limit"), "page cache is given back");
    let committed = [
        ("proc/sys/vm/overcommit_memory", "2\n"),
        (
            "proc/meminfo",
            "MemTotal: 1000 kB\nMemAvailable: 400 kB\nCommitLimit: 500 kB\nCommitted_AS: 499 kB\n",
        ),
    ];
    assert!(with("committed", &committed).starts_with("CommitLimit is met"));
    let unlimited = [("sys/fs/cgroup/memory.max", "max"), ("sys/fs/cgroup/memory.current", "990")];
    assert!(with("max", &unlimited).starts_with("no limit"));
    assert!(
        with("memory", &[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 9 kB\n")])
            .starts_with("memory is met")
    );
    assert_eq!(limits::met(&[]), "no limit that can be read is met ()");
}

#[test]
fn this_machine_has_limits() {
    let limits = limits::read(std::path::Path::new("/"));
    if cfg!(target_os = "linux") {
        assert!(limits.iter().any(|limit| limit.name == "max_map_count" && limit.used > 0), "{limits:?}");
    }
}

#[test]
fn threads_of_every_model_are_alive_together() {
    for model in Model::ALL {
        for guard in [false, true] {
            let outcome =
                alive::here(&Order { model, threads: 40, stack: LEAST_STACK, guard, workers: None }, |_| ());
            assert_eq!((outcome.alive, outcome.stopped), (40, None), "{model:?}");
        }
    }
}

#[test]
fn every_message_comes_back_in_every_model() {
    let load = |wire, connections, in_flight| Load { wire, connections, in_flight, messages: 30 };
    let loads =
        [load(Wire::Pipe, 1, 1), load(Wire::Pipe, 5, 40), load(Wire::Socket, 1, 7), load(Wire::Socket, 6, 3)];
    let rows = echo::run(&Column::all(), &Knobs::default(), &loads, &TURNS, OsClock::start()).unwrap();
    assert_eq!(rows.len(), 4 * (Model::ALL.len() + 1), "std, and each model");
    for row in &rows {
        assert!(
            row.samples.len() == 2 && row.samples.iter().all(|sample| sample.p50 <= sample.p99),
            "{row:?}"
        );
    }
    assert!(echo::text(&rows).contains("socket"));
}

#[test]
fn a_limit_is_part_of_the_outcome() {
    let order = Order { model: Model::OneToOne, threads: 1, stack: 1, guard: false, workers: None };
    let outcome = alive::here(&order, |_| ());
    assert!(outcome.stopped.unwrap().contains("16384"), "a stack of one byte");
    let limit = Limit { name: "pid_max".into(), used: 10, most: 10, raise: "more".into() };
    let row = alive::Row {
        model: Model::OneToOne,
        wanted: 20,
        stack: LEAST_STACK,
        guard: true,
        outcome: Outcome {
            alive: 10,
            stopped: Some("EAGAIN".into()),
            limits: vec![limit],
            ..Outcome::default()
        },
    };
    let died = alive::Row {
        outcome: Outcome { limits: Vec::new(), stopped: Some("killed".into()), ..row.outcome.clone() },
        ..row.clone()
    };
    let said = alive::text(&[died]);
    assert!(said.contains("after 10 of 20 or more: killed") && !said.contains("limit"), "{said}");
    assert_eq!(alive::goal(&row), None);
    let mut goal = alive::Row {
        model: Model::ManyToMany,
        wanted: 100_000,
        guard: false,
        outcome: Outcome { alive: 100_000, start_ns: 499_999_999, resident: 1 << 29, ..Outcome::default() },
        ..row.clone()
    };
    assert_eq!(alive::goal(&goal), Some(true));
    assert!(alive::text(&[goal.clone()]).contains("1 GiB: held"));
    goal.outcome.start_ns += 1;
    assert_eq!(alive::goal(&goal), Some(false));
    let text = alive::text(&[row]);
    assert!(
        text.contains("stopped at 10 of 20: EAGAIN") && text.contains("pid_max is met (10 of 10)"),
        "{text}"
    );
}
