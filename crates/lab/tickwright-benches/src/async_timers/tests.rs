use super::lane::Work;
use super::late::Resting;
use super::library::Library;
use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;
use crate::stats::Verdict;

#[test]
fn every_lane_runs_and_its_targets_are_judged() {
    let words = ["--rounds", "6", "--operations", "100", "--sleeps", "3", "--races", "5", "--n", "1000"];
    let args: AsyncArgs = request::words(&words).unwrap();
    // The lanes read the system's clock instead of this meter.
    let report = conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(0)).unwrap();
    let lanes = report.series.iter().filter(|series| series.name == "async").count();
    assert_eq!(lanes, Lane::all(1000).len());
    assert_eq!(report.series.len(), lanes + 10 + 5, "lateness of five libraries, idle and busy; races");
    for series in &report.series[..lanes] {
        assert!(series.samples.len() == 6 && series.samples.iter().all(|ns| *ns > 0.0), "{series:?}");
    }
}

#[test]
fn targets_compare_round_by_round() {
    let ns = |lane: Lane| match (lane.work, lane.library) {
        (Work::Reset(_), Library::Slot) => 9.0,
        (Work::Pending(2), Library::Pinned) => 30.0,
        (_, Library::Ours) => 40.0,
        (_, Library::Slot) => 20.0,
        (Work::Pending(_), Library::Pingora) => 70.0,
        _ => 200.0,
    };
    let samples = |lane: Lane| (0..9).map(|round| ns(lane) + f64::from(round) / 10.0).collect();
    let rows = Lane::all(100_000).into_iter().map(|lane| (lane, samples(lane))).collect();
    let late = [false, true].map(|busy| Late {
        library: Library::Ours,
        busy,
        rounds: vec![(1..=100).map(|at| at * if busy { 9_000 } else { 1_000 }).collect(); 6],
    });
    let resting = Resting { library: Library::Ours, future: 48, heap: 64.0, wakes: Some(0) };
    let raced = Lost { library: Library::Pingora, sleeps: 1_000_000, lost: 3 };
    let data = Data { rows, late: late.to_vec(), lost: vec![raced], resting: vec![resting] };
    let args: AsyncArgs = request::words(&[]).unwrap();
    let plan = args.plan().unwrap();
    let findings = args.findings(&plan, &data);
    let missed: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.verdict != Verdict::Held)
        .map(|finding| finding.about.as_str())
        .collect();
    let expected = [1, 2].map(|threads| Work::Pending(threads).name());
    let expected = expected.map(|work| format!("{work}: tickwright to pingora-timeout, ratio"));
    assert_eq!(missed[..2], expected);
    let slot = format!("{}: tickwright, slot to tokio, pinned, ratio", Work::Pending(2).name());
    assert_eq!(missed[2..], [slot.as_str(), "sleeps that nobody wakes: pingora-timeout"]);
    insta::assert_snapshot!(crate::render::sections(&args.sections(&plan, &data, &findings)));
    assert!(
        args.findings(&plan, &Data::default()).iter().all(|finding| finding.verdict == Verdict::NotShown)
    );
}
