use super::*;
use crate::experiment::Experiment;
use crate::experiments::bench::tests::bench;
#[cfg(feature = "rivals")]
use crate::experiments::bench::tests::planned;
use crate::experiments::bench::tests::report;

/// Each reading advances the clock by the same time, so all ratios are 1.
#[cfg(feature = "rivals")]
#[test]
fn a_report_shows_the_ratios_the_floors_and_what_is_dead() {
    let structures = "heap4/slab,ladder/slab,dary-heap4,dary-heap4-contract";
    let report = report(&["--matrix", "--quick", "--rounds", "6", "--structures", structures], 100);
    insta::assert_snapshot!(crate::render::sections(&report.sections));
    let floors = report.series.iter().filter(|series| series.labels["structure"] == "(floor)".into());
    let of_cells = report.findings.iter().filter(|finding| finding.labels.contains_key("measure"));
    assert!(floors.count() * 4 >= of_cells.count(), "a floor and four findings a cell");
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
fn the_calls_heed_the_arguments_and_belong_to_the_work() {
    let own = bench(&["--matrix", "--only", "calls"]);
    let plan = own.plan().unwrap();
    let calls = &plan.calls;
    assert_eq!((calls.structures.len(), calls.rounds, &calls.populations), (4, 5, &vec![MANY]));
    assert_eq!((own.seed(&plan), own.parameters(&plan)["budget"].clone()), (Some(calls.seed), 64_u32.into()));
    let other =
        bench(&["--matrix", "--only", "calls", "--rounds", "2", "--structures", "heap4/slab", "--quick"]);
    let less = other.plan().unwrap();
    assert_eq!((less.calls.structures.len(), less.calls.rounds), (1, 2));
    assert_ne!(own.workload(&plan), other.workload(&less), "fewer timers");
    let whole = bench(&["--matrix"]);
    let queues = bench(&["--matrix", "--only", "queues"]);
    assert_ne!(whole.workload(&whole.plan().unwrap()), queues.workload(&queues.plan().unwrap()));
}

#[test]
fn every_work_is_a_measure_of_its_scenario_with_a_bound_for_each_population() {
    for work in Matrix::built_in().unwrap().works {
        let scenario = work.scenario().unwrap();
        assert!(scenario.model.measures().contains(&work.measure), "{}", work.scenario);
        assert!(scenario.model.whole() || scenario.measures == [work.measure], "{}", work.scenario);
        assert_eq!(work.n.len(), work.at_most.len(), "{}", work.scenario);
        assert!(work.n.iter().map(|n| n.get()).is_sorted());
        assert!(scenario.run.floor.is_some(), "{}", work.scenario);
        let work::Bounds { published, contract, ours, .. } = &work.default;
        assert_eq!(published.len(), contract.len(), "{}", work.scenario);
        assert!(published.len().max(ours.len()) <= work.n.len(), "{}", work.scenario);
    }
}

/// All ratios are 1 under this clock, so a bound of 1 is held and a smaller one is missed.
#[test]
fn the_part_default_shows_the_goals_of_the_default_queue_alone() {
    let structures = "heap4/slab,ladder/slab,orx-4ary,btree-map";
    let words = ["--matrix", "--only", "default", "--quick", "--rounds", "6", "--structures", structures];
    let report = report(&words, 100);
    let titles: Vec<&str> = report.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["What DefaultQueue must reach", "Goals"]);
    // No structure under our contract ran, so there is one plot.
    let [plot] = &report.plots().collect::<Vec<_>>()[..] else { panic!("one plot") };
    assert_eq!(plot.title, "DefaultQueue to others as published");
    let points = plot.curves.iter().flat_map(|curve| &curve.points);
    assert_eq!(points.clone().count(), 11, "each cell that has a goal");
    assert!(points.clone().all(|point| point.1 == 1.0));
    assert_eq!(plot.curves[0].points[1].0, 16.0, "over the population");
    let bounds = |goal: &'static str| {
        let of = report.findings.iter().filter(|finding| finding.labels["goal"] == goal.into());
        of.map(|finding| finding.bound.unwrap().to_string()).collect::<Vec<_>>()
    };
    let published = ["0.85", "0.75", "0.85", "0.8", "0.85", "0.9", "0.85", "1", "0.9", "1", "0.85"];
    assert_eq!(bounds("DefaultQueue to others as published"), published.map(|x| format!("at most {x}")));
    let ours = bounds("DefaultQueue to the best of our others");
    assert_eq!((ours.len(), ours[0].as_str(), ours[1].as_str()), (11, "at most 1.25", "at most 1.1"));
    // In a network scenario, only heaps count as other structures "as published", even if another
    // structure is faster.
    let network = report.findings.iter().find(|finding| finding.about.starts_with("network")).unwrap();
    assert!(network.about.ends_with("ladder/slab to orx-4ary"), "{}", network.about);
    let drained = report.findings.iter().filter(|finding| finding.labels["goal"] == goals::PHASES.into());
    assert_eq!(
        drained.map(|finding| finding.bound.is_some()).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    assert_eq!(report.find("phase of a drain", &labels([])).unwrap().samples.len(), 100);
    assert!(bench(&words).plan().unwrap().calls.structures.is_empty());
}
