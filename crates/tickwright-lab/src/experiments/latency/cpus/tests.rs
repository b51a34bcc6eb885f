use super::*;
use crate::experiment::Experiment;
use crate::experiments::latency::by_cpu;
use crate::experiments::latency::lane::{FIGURES, row};
use crate::experiments::latency::overhead::Overhead;
use crate::experiments::latency::run::RunArgs;
use crate::experiments::latency::slice::{Gap, Seen};
use crate::experiments::latency::thread::name;
use crate::experiments::request;
use crate::render;
use crate::result::{Label, Series};

fn args() -> RunArgs {
    let words = ["--priority", "none", "--structures", "list/hook,rb/hook", "--duration", "2s"];
    request::words(&words).unwrap()
}

/// A plan for two CPUs, whether this machine has them or not.
fn plan() -> Plan {
    Plan { cpus: vec![0, 3], ..args().plan().unwrap() }
}

/// The measurements of one thread with `turns` turns of each structure.
fn measured(plan: &Plan, cpu: usize, turns: u64, seen: impl Fn(usize, u64) -> Seen) -> Measured {
    let mut lanes = plan.lanes();
    for (at, lane) in lanes.iter_mut().enumerate() {
        for turn in 0..turns {
            let seen = seen(at, turn);
            lane.add(&seen);
            lane.rows.push(row(&seen));
        }
    }
    Measured {
        cpu: Some(cpu),
        lanes,
        granted: Priority::USUAL,
        overhead: Overhead { clock_ns: 20.0 + cpu as f64, note_ns: 3.0 },
        cpu_percent: 1.5,
        interrupted: false,
    }
}

fn samples(lateness: impl IntoIterator<Item = u64>) -> Seen {
    Seen { lateness: lateness.into_iter().collect(), wakes: 10, host_ticks: 2, ..Seen::default() }
}

/// Two CPUs. The second thread wakes 20 us later than the first, has one more turn, and has a gap.
fn data(plan: &Plan) -> Data {
    let one =
        measured(plan, 0, 3, |at, turn| samples((0..6).map(|n| 10_000 + at as u64 * 5_000 + turn + 100 * n)));
    let other = measured(plan, 3, 4, |at, turn| {
        let seen = samples((0..2).map(|n| 30_000 + at as u64 * 5_000 + turn + 100 * n));
        let gaps = vec![Gap { ns: 2_000_000, periods: 2, stopped: false }];
        if (at, turn) == (1, 2) { Seen { gaps, overruns: 2, ..seen } } else { seen }
    });
    combine(vec![one, other])
}

#[test]
fn lanes_are_merged_over_all_cpus() {
    let data = data(&plan());
    assert_eq!((data.lanes.len(), data.by_cpu.len()), (2, 2));
    let of_cpus = |at: usize| data.by_cpu.iter().map(move |(_, lanes)| &lanes[at]);
    for (at, lane) in data.lanes.iter().enumerate() {
        let all = lane.all.running();
        // If a round is not complete on all CPUs, its samples and its gaps still count.
        assert_eq!(all.count(), 3 * 6 + 4 * 2);
        assert_eq!(lane.cells.counts().iter().sum::<u64>(), all.count());
        assert_eq!(all.min(), of_cpus(at).map(|lane| lane.all.running().min()).min().unwrap());
        assert_eq!(all.max(), of_cpus(at).map(|lane| lane.all.running().max()).max().unwrap());
        let sum: f64 = of_cpus(at).map(|lane| lane.all.running().total()).sum();
        assert!((all.total() - sum).abs() < 1e-6 * sum);
    }
    assert_eq!((data.lanes[0].overruns, data.lanes[0].gaps.len()), (0, 0));
    assert_eq!((data.lanes[1].overruns, data.lanes[1].gaps.len()), (2, 1));
    assert_eq!((data.granted, data.cpu_percent, data.overhead.clock_ns), (Priority::USUAL, 3.0, 23.0));
}

#[test]
fn a_round_counts_if_it_is_whole_on_all_cpus() {
    let data = data(&plan());
    let lanes = data.by_cpu.iter().flat_map(|(_, lanes)| lanes).chain(&data.lanes);
    assert!(lanes.into_iter().all(|lane| lane.rows.len() == 3));
    let figure = |name: &str| FIGURES.iter().position(|figure| figure.0 == name).unwrap();
    let [rb, last] = [1, 2];
    let of = |name: &str| data.lanes[rb].rows[last][figure(name)];
    // Six samples of 15,252 ns on average, and two of 35,052 ns.
    assert_eq!(of("average lateness"), (6.0 * 15_252.0 + 2.0 * 35_052.0) / 8.0);
    assert_eq!(of("min lateness"), 15_002.0);
    assert_eq!(of("worst lateness"), 2_000_000.0);
    assert!(of("median lateness").is_nan() && of("p99 lateness").is_nan());
    let counts = ["samples", "overruns", "gaps", "host ticks", "wake-ups"].map(of);
    assert_eq!(counts, [8.0, 2.0, 1.0, 4.0, 20.0]);
}

#[test]
fn a_turn_without_samples_on_one_cpu_keeps_the_figures_of_the_other() {
    let plan = plan();
    let empty = measured(&plan, 0, 1, |_, _| samples([]));
    let other = measured(&plan, 3, 1, |_, _| samples([7_000, 9_000]));
    let data = combine(vec![empty, other]);
    let row = data.lanes[0].rows[0];
    assert_eq!((row[0], row[1], row[4], row[5]), (8_000.0, 7_000.0, 9_000.0, 2.0));
}

#[test]
fn each_series_has_its_cpu_as_a_label() {
    let (args, plan) = (args(), plan());
    let all = args.series(&plan, &data(&plan));
    assert_eq!(all.len(), 2 * 2 * FIGURES.len());
    assert!(all.iter().all(|series| series.samples.len() == 3));
    let cpus = |series: &Series| series.labels["cpu"].clone();
    assert_eq!(all.iter().filter(|series| cpus(series) == Label::Whole(0)).count(), 2 * FIGURES.len());
    assert_eq!(all.iter().filter(|series| cpus(series) == Label::Whole(3)).count(), 2 * FIGURES.len());
    let report = crate::experiment::conduct(&args_of_a_moment()).unwrap();
    assert!(report.series.iter().all(|series| !series.labels.contains_key("cpu")));
    let report = crate::result::Report { series: all, ..report };
    let exceeds = |condition: &str| {
        let condition: crate::result::Condition = condition.parse().unwrap();
        condition.fulfilled(&report).unwrap().len()
    };
    assert_eq!(exceeds("max(worst lateness) > 500us"), 1, "the gap on CPU 3");
    assert_eq!(exceeds("max(worst lateness[cpu=0]) > 500us"), 0);
    assert_eq!(exceeds("max(worst lateness[cpu=3]) > 500us"), 1);
}

fn args_of_a_moment() -> RunArgs {
    let words = ["-q", "--priority", "none", "--structures", "list/hook", "-D", "2ms", "--slice", "1ms"];
    request::words(&words).unwrap()
}

#[test]
fn the_table_by_cpu_has_a_row_for_each_cpu_and_structure() {
    let plan = plan();
    insta::assert_snapshot!(render::sections(&[by_cpu::section(&data(&plan).by_cpu).unwrap()]));
    assert!(by_cpu::section(&[]).is_none());
}

#[test]
fn the_report_names_the_cpus() {
    let (args, plan) = (args(), plan());
    let data = data(&plan);
    let text = render::sections(&args.sections(&plan, &data, &args.findings(&plan, &data)));
    for words in
        ["SCHED_FIFO 80, load none, CPUs 0, 3", "The threads together used", "Wake-up lateness by CPU"]
    {
        assert!(text.replace('\n', " ").contains(words), "'{words}' is missing in: {text}");
    }
    let parameters = args.parameters(&plan);
    assert_eq!(parameters["cpus"], Label::from("0, 3"));
    assert!(!parameters.contains_key("cpu"));
    assert_eq!((name("rb/hook", None), name("rb/hook", Some(3))), ("rb/hook".into(), "rb/hook@cpu3".into()));
}

#[test]
fn cpus_and_cpu_exclude_each_other() {
    let both = request::words::<RunArgs>(&["--cpus", "0", "--cpu", "0"]).unwrap_err().to_string();
    assert!(both.contains("--cpus") && both.contains("cannot be used with"), "{both}");
}

#[test]
fn the_samples_of_a_turn_are_kept_for_each_cpu() {
    let long = Plan { slice: core::time::Duration::from_secs(1 << 14), ..plan() };
    let error = long.check().unwrap_err().to_string();
    assert!(error.contains("8388608 at most"), "{error}");
}

#[test]
fn equal_refusals_are_noted_once() {
    let asked = |cpu, refused: &[&str]| Asked {
        cpu,
        granted: Priority::NONE,
        refused: refused.iter().map(|why| (*why).to_owned()).collect(),
    };
    let all = [asked(0, &["no FIFO"]), asked(1, &["slack", "no FIFO"]), asked(3, &["slack", "no FIFO"])];
    assert_eq!(refusals(&all), ["no FIFO", "CPUs 1, 3: slack"]);
    assert_eq!(refusals(&[asked(0, &["pinned"]), asked(1, &[])]), ["CPU 0: pinned"]);
    assert_eq!(refusals(&[asked(2, &["no FIFO"])]), ["no FIFO"]);
}
