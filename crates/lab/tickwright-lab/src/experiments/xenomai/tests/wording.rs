//! The texts and tables of the report.

use super::super::accepted;
use super::*;
use crate::experiment::conduct_plan;
use crate::render;
use crate::result::{Claim, Finding, Report};
use crate::stats::Verdict;

/// Returns the report of a run whose clock advances by 25 ns at each reading; all times follow from
/// this step.
fn report(more: &[&str]) -> Report {
    let (args, plan) = asked(more);
    conduct_plan(&args, &plan, &FakeMeter::steady(25)).expect("the structures are right")
}

#[test]
fn the_report_of_an_instrumented_run() {
    let report = report(&["--instrument", "--duration", "400ms", "--structures", "heap2/hook,rb/hook"]);
    insta::assert_snapshot!(render::sections(&report.sections));
    let headline = &report.findings[0];
    assert_eq!(headline.verdict, Verdict::NoDifferenceShown);
    assert_eq!(
        headline.here,
        "heap2/hook 152 ns a tick, next rb/hook 152 ns; slice by slice, rb/hook takes 1.00x the time of heap2/hook"
    );
    let published = headline.published.as_deref();
    assert_eq!(published, Some("Core i7: heap2 419 ns a tick, rb-cached 1.12x, rb 1.14x"));
    assert!(report.notes.iter().any(|note| note == Claim::MEANING), "{:?}", report.notes);
    assert_eq!(accepted(&report), Ok(()));
    let inserts = report.series.iter().find(|series| series.name == "insert").expect("it was timed");
    assert_eq!(inserts.samples, [25.0; 8]);
}

#[test]
fn without_instruments_no_sample_is_claimed() {
    let report = report(&["--duration", "100ms", "--structures", "list/slab"]);
    let text = render::sections(&report.sections);
    assert!(!text.contains("samples") && text.contains("Timed by the slice"), "{text}");
    assert!(report.series.iter().all(|series| series.name != "insert"));
}

/// Returns the findings for the given ns per tick: the main finding and the comparisons.
fn concluded(per_tick: &[&[f64]]) -> Vec<Finding> {
    let (args, plan) = asked(&[]);
    let lane = |(structure, ns): (_, &&[f64])| {
        let mut lane = Lane::new(structure, false);
        lane.per_tick = ns.to_vec();
        lane
    };
    args.findings(&plan, &STRUCTURES.iter().zip(per_tick).map(lane).collect())
}

#[test]
fn the_answer_follows_the_figures() {
    let [a, b, c] = [0, 1, 2].map(|at| STRUCTURES[at].id);
    let said = |per_tick: &[&[f64]], words: &str, verdict: Verdict| {
        let answer = &concluded(per_tick)[0];
        assert_eq!((answer.here.as_str(), answer.verdict), (words, verdict));
    };
    said(&[], "nothing was measured", Verdict::NotShown);
    said(&[&[300.0; 8]], &format!("only {a} ran: 300 ns a tick"), Verdict::Stated);
    // A difference of 10 % is a tie, even if it is the same in every round.
    let first = |one: &str, other: &str, ns: f64, ratio: &str| {
        format!(
            "{one} 100 ns a tick, next {other} {ns} ns; slice by slice, {other} takes {ratio}x the time of {one}"
        )
    };
    let tie = first(b, a, 110.0, "1.10");
    said(&[&[110.0; 8], &[100.0; 8]], &tie, Verdict::NoDifferenceShown);
    // The difference is large, but not in every round.
    let wild = [100.0, 500.0, 100.0, 500.0, 90.0, 500.0, 90.0, 500.0];
    let words = first(a, b, 300.0, "3.00");
    said(&[&[100.0; 8], &wild], &words, Verdict::NoDifferenceShown);
    // There are too few rounds for a conclusion.
    said(&[&[100.0; 3], &[300.0; 3]], &words, Verdict::NoDifferenceShown);
    // The ratio of the slices can be below 1, although the median of all slices is higher.
    let uneven: [&[f64]; 2] = [
        &[100.0, 100.0, 100.0, 100.0, 100.0, 400.0, 400.0, 400.0],
        &[90.0, 90.0, 110.0, 110.0, 110.0, 300.0, 300.0, 300.0],
    ];
    said(&uneven, &first(a, b, 110.0, "0.90"), Verdict::NoDifferenceShown);
    let least = first(a, c, 150.0, "1.50");
    let three: [&[f64]; 3] = [&[100.0; 8], &[200.0; 8], &[150.0; 8]];
    said(&three, &least, Verdict::Faster);
    let others: Vec<_> = concluded(&three)[1..3].iter().map(|f| (f.about.clone(), f.verdict)).collect();
    let slower = |id| (format!("{id} to {a}"), Verdict::Slower);
    assert_eq!(others, [slower(c), slower(b)]);
}

#[test]
fn slices_are_short_and_at_least_eight() {
    let of = |words: &[&str]| {
        let args: XenomaiArgs = request::words(words).expect("the words are right");
        args.plan().expect("the request is right").slice_ns()
    };
    assert_eq!(of(&["--duration", "3s"]), 375_000_000);
    assert_eq!(of(&["--duration", "2h"]), 2 * SECOND);
    assert_eq!(of(&["--duration", "2h", "--mode", "virtual"]), SECOND / 4);
}

#[cfg(feature = "rivals")]
#[test]
fn what_cannot_take_part_is_left_out_and_said_to_be() {
    let (_, plan) = asked(&["--structures", "delay-queue,heap4/slab"]);
    assert_eq!(request::ids(&plan.structures), "heap4/slab");
    assert!(plan.left_out[0].starts_with("delay-queue is left out"), "{:?}", plan.left_out);
    let args: XenomaiArgs = request::words(&["--structures", "delay-queue"]).expect("the words are right");
    assert_eq!(args.plan().expect_err("nothing is left").code(), 2);
}

#[test]
fn a_mistake_in_a_file_is_named() {
    let file = std::env::temp_dir().join(format!("tickwright-xenomai-{}.toml", std::process::id()));
    let text =
        include_str!("../../../../../../../scenarios/xenomai.toml").replace("count = 1000", "count = 1");
    std::fs::write(&file, text).expect("the temporary directory can be written");
    let error = Scenario::read(&file).expect_err("one timer is too few");
    let _ = std::fs::remove_file(&file);
    let words = error.to_string();
    assert_eq!(error.code(), 2);
    assert!(words.contains("count = 1") && words.contains("from 2 to 100000"), "{words}");
}
