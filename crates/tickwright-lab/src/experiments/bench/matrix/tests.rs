use super::*;
#[cfg(feature = "rivals")]
use crate::experiments::bench::tests::{planned, report};
use crate::models::scenario::Scenario;

/// Each reading moves the clock by the same time: all ratios are 1.
#[cfg(feature = "rivals")]
#[test]
fn a_report_shows_the_ratios_the_floors_and_what_is_dead() {
    let structures = "heap4/slab,adaptive/slab,dary-heap4";
    let report = report(&["--matrix", "--quick", "--rounds", "6", "--structures", structures], 100);
    insta::assert_snapshot!(crate::render::sections(&report.sections));
    let floors = report.series.iter().filter(|series| series.labels["structure"] == "(floor)".into());
    let of_cells = report.findings.iter().filter(|finding| finding.labels.contains_key("measure"));
    assert!(floors.count() * 2 >= of_cells.count(), "a floor and two findings a cell");
    assert!(report.findings.iter().all(|finding| finding.labels.contains_key("goal")));
    assert!(report.find("memory", &labels([("structure", "dary-heap4".into())])).is_some());
    let figures = report.series.iter().filter_map(|series| series.labels.get("figure"));
    assert!(figures.clone().count() > 0 && figures.clone().all(|figure| *figure == "worst".into()));
}

#[cfg(feature = "rivals")]
#[test]
fn a_structure_that_takes_too_long_is_left_out_of_that_work_alone() {
    for part in planned(&["--matrix", "--structures", "heap4/slab,btree-map,hash-wheel"]).timed.parts {
        let ticks = ["hold-exp-sparse", "periodic"].contains(&part.scenario.name.as_str());
        let with = part.structures.iter().any(|(structure, _)| structure.id == "hash-wheel");
        assert_eq!(with, !ticks, "{}", part.scenario.name);
    }
}

#[test]
fn every_work_is_a_measure_of_its_scenario_with_a_bound_for_each_population() {
    for work in works().unwrap() {
        let scenario = Scenario::find(&work.scenario).unwrap();
        assert!(scenario.measures.contains(&work.measure), "{}", work.scenario);
        assert_eq!(work.n.len(), work.at_most.len(), "{}", work.scenario);
        assert!(work.n.iter().map(|n| n.get()).is_sorted());
        assert!(scenario.run.floor.is_some(), "{}", work.scenario);
    }
}
