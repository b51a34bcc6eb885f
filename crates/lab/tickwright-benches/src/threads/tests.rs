use super::*;
use crate::clock::FakeMeter;
use crate::experiment::conduct_plan;

#[test]
fn every_lane_runs_and_its_targets_are_judged() {
    let args: ThreadsArgs =
        request::words(&["--rounds", "6", "--operations", "100", "--parked", "0"]).unwrap();
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
    let found = targets(&rows);
    let data = (rows, Parked::default());
    let sections = args.sections(&args.plan().unwrap(), &data, &found);
    insta::assert_snapshot!(crate::render::sections(&sections));
    let few: Vec<Row> = data.0.iter().map(|row| Row { lane: row.lane, ns: row.ns[..3].to_vec() }).collect();
    assert!(targets(&few).iter().all(|target| target.verdict == Verdict::NotShown));
    assert!(targets(&[]).iter().all(|target| target.verdict == Verdict::NotShown));
}

/// Our threads take less time than goroutines, and 2 us and 4,500 bytes more with two workers.
#[test]
fn targets_of_parked_threads_are_goroutines() {
    let samples = |figures: [f64; 3]| (0..6).map(|round| figures.map(|one| one + f64::from(round))).collect();
    let lanes = [[2_000.0, 1_000.0, 4_300.0], [4_000.0, 3_000.0, 4_500.0], [2_500.0, 1_400.0, 2_700.0]];
    let mut parked = Parked { n: 200_000, lanes: lanes.map(samples).to_vec() };
    let (held, missed) = (Verdict::Held, Verdict::Missed);
    let verdicts = |parked: &Parked| parked.targets().iter().map(|one| one.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(&parked), [held, held, held, missed, missed, missed, missed]);
    assert_eq!(
        parked.targets()[3].about,
        "200k parked, tickwright, 2 workers: create until parked, to Go, ratio"
    );
    assert_eq!(parked.series().count(), 9);

    parked.lanes.pop();
    assert_eq!(verdicts(&parked), [held, held, held, missed, missed, missed, missed]);
    let target = &parked.targets()[1];
    assert!(target.about.ends_with("(not run: go is not installed)"), "{}", target.about);
    assert_eq!(target.bound, Some(Bound::AtMost(1_500.0)));
    assert!(Parked::default().targets().is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn parked_threads_are_measured() {
    for workers in [1, 2] {
        let figures = parked::sample(workers, 1_000).unwrap();
        assert!(figures.iter().all(|figure| *figure > 0), "{figures:?}");
    }
}
