use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;

#[test]
fn every_lane_runs_and_its_targets_are_judged() {
    let args: ThreadsArgs = request::words(&["--rounds", "6", "--operations", "100"]).unwrap();
    // The lanes read the system's clock instead of this meter.
    let report = conduct_plan(&args, &args.plan().unwrap(), &FakeMeter::steady(0)).unwrap();
    assert_eq!(report.series.len(), Lane::ALL.len());
    for series in &report.series {
        assert!(series.samples.len() == 6 && series.samples.iter().all(|ns| *ns > 0.0), "{series:?}");
    }
    assert!(report.findings.iter().all(|finding| finding.figure.is_some()));
}

#[test]
fn targets_compare_round_by_round() {
    let ns = |lane: Lane| match lane {
        Lane::OneToOne => 20_000.0,
        Lane::Std => 19_000.0,
        Lane::May => 500.0,
        Lane::Tokio => 400.0,
        Lane::Switch => 25.0,
        Lane::WakeAcross | Lane::Futex => 5000.0,
        _ => 100.0,
    };
    let samples = |lane: Lane| (0..9).map(|round| ns(lane) * f64::from(round + 1)).collect();
    let rows: Vec<Row> = Lane::ALL.iter().map(|&lane| Row { lane, ns: samples(lane) }).collect();
    let verdicts: Vec<Verdict> = targets(&rows).iter().map(|target| target.verdict).collect();
    let (held, missed) = (Verdict::Held, Verdict::Missed);
    assert_eq!(verdicts, [held, held, held, held, held, missed, missed, held, held]);
    let args: ThreadsArgs = request::words(&[]).unwrap();
    let sections = args.sections(&args.plan().unwrap(), &rows, &targets(&rows));
    insta::assert_snapshot!(crate::render::sections(&sections));
    let few: Vec<Row> = rows.iter().map(|row| Row { lane: row.lane, ns: row.ns[..3].to_vec() }).collect();
    assert!(targets(&few).iter().all(|target| target.verdict == Verdict::NotShown));
    assert!(targets(&[]).iter().all(|target| target.verdict == Verdict::NotShown));
}
