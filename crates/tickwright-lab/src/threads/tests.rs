use super::*;
use crate::reproduce::nptl::Reached;

#[test]
fn every_lane_runs_and_its_targets_are_judged() {
    let turns = Turns { what: "test", rounds: 6, seed: 1 };
    let report = run(&turns, 100, OsClock::start()).unwrap();
    assert_eq!(report.rows.len(), Lane::ALL.len());
    assert!(
        report.rows.iter().all(|row| row.ns.len() == 6 && row.ns.iter().all(|ns| *ns > 0.0)),
        "{:?}",
        report.rows
    );
    assert!(report.targets.iter().all(|target| target.figure.is_some()));
    let text = report::text(&report);
    for lane in Lane::ALL {
        assert!(text.contains(lane.what()), "{text}");
    }
    assert_eq!(report::lines(&report).len(), 6 * Lane::ALL.len());
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
    let rows: Vec<Row> = Lane::ALL
        .iter()
        .map(|&lane| Row {
            what: lane.what(),
            ns: (0..9).map(|round| ns(lane) * f64::from(round + 1)).collect(),
        })
        .collect();
    let targets = targets(&rows);
    let reached: Vec<Reached> = targets.iter().map(Target::reached).collect();
    let (held, missed) = (Reached::Held, Reached::Missed);
    assert_eq!(reached, [held, held, held, held, held, missed, missed, held, held]);
    let few: Vec<Row> = rows.iter().map(|row| Row { what: row.what, ns: row.ns[..3].to_vec() }).collect();
    assert!(super::targets(&few).iter().all(|target| target.reached() == Reached::NotShown));
}
