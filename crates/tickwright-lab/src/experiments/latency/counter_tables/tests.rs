use super::*;
use crate::experiment::{Experiment, conduct};
use crate::experiments::latency::counters::PerWake;
use crate::experiments::latency::overhead::Overhead;
use crate::experiments::latency::rights::Priority;
use crate::experiments::latency::run::RunArgs;
use crate::experiments::request;
use crate::hardware::Counted;
use crate::render;
use crate::result::Better;

/// A short run that asks for no priority.
const SHORT: [&str; 9] =
    ["-q", "--priority", "none", "--structures", "list/hook,rb/hook", "-D", "100ms", "--slice", "10ms"];

fn args(words: &[&str]) -> RunArgs {
    request::words(&[&SHORT[..], words].concat()).unwrap()
}

/// Data with three turns of ten wake-ups each. Branch misses are not counted.
fn data(share: impl Fn(u64) -> f64) -> Data {
    let mut lanes = args(&[]).plan().unwrap().lanes();
    for (at, lane) in lanes.iter_mut().enumerate() {
        for turn in 0..3 {
            let instructions = 20_000.0 + 5_000.0 * at as f64 + 10.0 * turn as f64;
            let counts = [instructions, 10_000.0, 45.0, f64::NAN];
            lane.counted.push(PerWake::of(Counted { counts, share: share(turn) }, 10));
        }
    }
    let (granted, overhead) = (Priority::NONE, Overhead::NONE);
    Data { lanes, by_cpu: Vec::new(), granted, overhead, counting: Some("in user space"), cpu_percent: 0.0 }
}

#[test]
fn counts_are_divided_by_the_wake_ups() {
    let data = data(|_| 1.0);
    let all: Vec<Series> = data.lanes.iter().flat_map(|lane| series(None, lane)).collect();
    let names: Vec<&str> = all.iter().map(|series| series.name.as_str()).collect();
    let each = ["instructions per wake-up", "cycles per wake-up", "cache misses per wake-up"];
    // An event that was never counted has no series.
    assert_eq!(names, [each, each].concat());
    assert_eq!(all[0].samples, [2_000.0, 2_001.0, 2_002.0]);
    assert!(all.iter().all(|series| series.better == Better::Lower));
    assert!(PerWake::of(Counted { counts: [1.0; 4], share: 1.0 }, 0).counts[0].is_nan());
}

#[test]
fn the_table_has_medians_and_instructions_per_cycle() {
    insta::assert_snapshot!(render::sections(&[section(&data(|_| 1.0)).unwrap()]));
    assert!(section(&Data { counting: None, ..data(|_| 1.0) }).is_none());
}

#[test]
fn counts_of_a_part_of_the_time_are_said_to_be() {
    assert_eq!(doubt(&data(|_| 1.0)), None);
    let scaled = doubt(&data(|turn| if turn == 1 { 0.25 } else { 1.0 })).unwrap();
    assert!(scaled.contains("25.0 % of the time") && scaled.contains("scaled"), "{scaled}");
    let none = doubt(&data(|turn| if turn == 1 { 0.0 } else { 1.0 })).unwrap();
    assert!(none.contains("did not run in 2 of 6 turns"), "{none}");
}

#[test]
fn a_run_has_counts_or_a_note() {
    let report = conduct(&args(&["--counters"])).unwrap();
    let counts = report.series.iter().filter(|series| series.name == "instructions per wake-up");
    let counted = counts.flat_map(|series| &series.samples).any(|count| *count > 0.0);
    let noted = report.notes.iter().any(|note| note.contains("hardware counters"));
    assert!(counted || noted, "{:?}", report.notes);
    assert_eq!(report.parameters["counters"], true.into());
    let without = conduct(&args(&[])).unwrap();
    assert!(without.series.iter().all(|series| !series.name.contains("per wake-up")));
    assert!(!without.parameters.contains_key("counters"));
}
