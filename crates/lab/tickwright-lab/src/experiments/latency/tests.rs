use core::time::Duration;

use super::lane::{FIGURES, Lane, row};
use super::overhead::Overhead;
use super::plan::{Data, Plan};
use super::rights::{Priority, parse_cpu, ranges};
use super::run::{RunArgs, checks};
use super::slice::{Gap, Seen};
use super::structures::PUBLISHED;
use super::{LatencyArgs, Mode};
use crate::experiment::Experiment;
use crate::experiments::request;
use crate::render;
use crate::result::{Condition, Report};
use crate::stats::Verdict;

fn args(words: &[&str]) -> RunArgs {
    request::words(&[&["--priority", "none"], words].concat()).unwrap()
}

fn plan(words: &[&str]) -> Plan {
    args(words).plan().unwrap()
}

fn refused(words: &[&str]) -> String {
    let error = args(words).plan().unwrap_err();
    assert_eq!(error.code(), 2);
    error.to_string()
}

#[test]
fn a_mode_is_a_command_and_none_is_a_run() {
    let mode = |words: &[&str]| request::words::<LatencyArgs>(words).unwrap().mode;
    assert!(mode(&["-i", "2ms", "-D", "5s", "-m", "-p", "80", "-a", "0", "-q", "-H", "-c", "0"]).is_none());
    assert!(matches!(mode(&["run", "-c", "1"]), Some(Mode::Run(_))));
    assert!(matches!(mode(&["versus-cyclictest"]), Some(Mode::VersusCyclictest(_))));
    assert!(request::words::<LatencyArgs>(&["--interval", "1ms", "run"]).is_err());
}

#[test]
fn priorities_are_from_1_to_99() {
    assert_eq!("none".parse(), Ok(Priority::NONE));
    assert_eq!("99".parse::<Priority>().unwrap().get(), 99);
    for wrong in ["0", "100", "-1", "300", "high", ""] {
        let message = wrong.parse::<Priority>().unwrap_err();
        assert!(message.contains("from 1 to 99"), "{message}");
    }
}

#[test]
fn processors_are_named_by_ranges() {
    assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
    assert_eq!(ranges(&[]), "");
    assert!(parse_cpu("-1").unwrap_err().contains("may use 0"));
    assert!(parse_cpu("99999999").is_err());
}

#[test]
fn turns_are_short_and_many() {
    let long = plan(&[]);
    assert_eq!((long.slice, long.turns()), (Duration::from_millis(250), 19));
    assert_eq!((long.turn().points, long.turn().host_period), (250, 10_000_000));
    assert_eq!(plan(&["--duration", "3s", "--interval", "250us"]).turns(), 8);
    assert_eq!(plan(&["--interval", "100ms"]).slice, Duration::from_secs(2));
}

#[test]
fn times_that_do_not_fit_together_are_refused_with_what_would() {
    let short = refused(&["--duration", "100ms", "--interval", "10ms"]);
    assert!(short.contains("at least 1s600ms"), "{short}");
    let slice = refused(&["--interval", "10ms", "--slice", "1ms"]);
    assert!(slice.contains("shorter than an interval of 10ms"), "{slice}");
    assert_eq!(plan(&["--interval", "1us", "--slice", "16s", "--duration", "10h"]).turn().points, 16_000_000);
    let many = refused(&["--interval", "1us", "--slice", "17s", "--duration", "10h"]);
    assert!(many.contains("16777216 at most"), "{many}");
}

#[test]
fn what_was_published_is_read_and_is_what_takes_part() {
    let ids: Vec<&str> = plan(&[]).structures.iter().map(|structure| structure.id).collect();
    assert_eq!(ids, PUBLISHED.stored("hook"));
    assert!(PUBLISHED.order.len() == 4 && PUBLISHED.source.contains("2016"));
}

#[test]
fn the_short_runs_for_check_can_be_planned() {
    let runs = checks().unwrap();
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|args| args.plan().is_ok()));
}

/// Returns data with `turns` turns of each structure. `lateness` returns the samples of one turn,
/// in ns. The first structure was stopped once.
fn data(plan: &Plan, turns: u64, lateness: impl Fn(usize, u64) -> Vec<u64>) -> Data {
    let lane = |(at, structure)| {
        let mut lane = Lane::new(structure, 300, 1000);
        for turn in 0..turns {
            let gaps = match (at, turn) {
                (0, 1) => vec![Gap { ns: 3_000_000, periods: 3, stopped: true }],
                _ => Vec::new(),
            };
            let overruns = gaps.iter().map(|gap| gap.periods).sum();
            let seen = Seen { lateness: lateness(at, turn), overruns, gaps, host_ticks: 25, wakes: 275 };
            lane.add(&seen);
            lane.rows.push(row(&seen));
        }
        lane
    };
    let overhead = Overhead { clock_ns: 21.0, note_ns: 3.0 };
    let lanes = plan.structures.iter().copied().enumerate().map(lane).collect();
    Data { lanes, granted: Priority::NONE, overhead, cpu_percent: 1.25 }
}

/// Returns samples in the published order: each structure is 1.5 times as late as the structure
/// before it.
fn published(at: usize, turn: u64) -> Vec<u64> {
    let usual = [10_000, 15_000, 22_500, 33_750][at];
    (0..250).map(|sample| usual + turn * 10 + sample % 7 * 300).chain([usual * 6]).collect()
}

#[test]
fn a_report_shows_lateness_the_histogram_and_the_order() {
    let args = args(&["--histogram"]);
    let plan = args.plan().unwrap();
    let one_cell = |at, turn| published(at, turn).into_iter().map(|ns| ns / 5_000 * 5_000).collect();
    let data = data(&plan, 8, one_cell);
    let findings = args.findings(&plan, &data);
    let first = &findings[0];
    assert_eq!(first.here, "the published order, every step of it shown");
    assert_eq!((first.verdict, findings.len()), (Verdict::Held, 7));
    insta::assert_snapshot!(render::sections(&args.sections(&plan, &data, &findings)));
}

#[test]
fn a_limit_on_the_worst_lateness_counts_gaps() {
    let args = args(&[]);
    let plan = args.plan().unwrap();
    let data = data(&plan, 2, published);
    let series = args.series(&plan, &data);
    assert_eq!(series.len(), 4 * FIGURES.len());
    let worst = |structure: usize| {
        let of = series.iter().filter(|series| series.name == "worst lateness");
        of.map(|series| series.samples.clone()).nth(structure).unwrap()
    };
    assert_eq!(worst(0), [60_000.0, 3_000_000.0]);
    assert_eq!(worst(1), [90_000.0, 90_000.0]);
    let condition: Condition = "max(worst lateness[structure=list/hook]) > 2ms".parse().unwrap();
    let report = Report { series, ..empty() };
    assert_eq!(condition.fulfilled(&report).unwrap().len(), 1);
}

fn empty() -> Report {
    crate::experiment::conduct(&args(&["--structures", "list/hook", "-D", "2ms", "--slice", "1ms", "-q"]))
        .unwrap()
}

#[test]
fn without_samples_there_are_no_figures() {
    let args = args(&[]);
    let plan = args.plan().unwrap();
    let mut data = data(&plan, 0, published);
    let findings = args.findings(&plan, &data);
    assert_eq!(findings[0].here, "fewer than two published structures took part");
    let text = render::sections(&args.sections(&plan, &data, &findings));
    assert!(text.contains("list/hook") && !text.contains("NaN"), "{text}");
    // A structure without samples is not the earliest one.
    data.lanes[1].add(&Seen { lateness: vec![7000], ..Seen::default() });
    assert_eq!(data.order().by_average, ["heap2/hook"]);
}
