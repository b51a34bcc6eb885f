use super::*;
use crate::experiment::Experiment;
use crate::tour::{plan, reproductions};

#[test]
fn every_part_has_a_command_that_a_user_can_type() {
    for part in plan().into_iter().chain(reproductions()) {
        if let Err(error) = parse(&part.command) {
            panic!("{}: {}: {error}", part.name, part.command);
        }
    }
}

#[test]
fn a_part_runs_its_command_and_its_report_names_it() {
    const COMMAND: &str = "bench hold-exp-sparse --n 3 --rounds 2 --operations 10 --structures 'heap4/*'";
    let report = report_of(COMMAND).unwrap();
    assert_eq!(report.command, format!("tickwright {COMMAND}"));
    let ran: Vec<String> =
        report.series.iter().map(|series| series.labels["structure"].to_string()).collect();
    assert!(ran.starts_with(&["heap4/slab".into(), "heap4/hook".into()]), "{ran:?}");
    assert!(report.series.iter().all(|series| series.labels["n"] == 3_u32.into()));
    assert!(report_of("list").unwrap_err().to_string().contains("no part of the tour"));
}

/// The advice is about the structures that README and docs/structures.md recommend, from one timer
/// to a million.
#[test]
fn the_contenders_are_those_that_the_pages_recommend() {
    let Ok(Command::Bench(args)) = parse(&plan()[0].command) else { panic!("the first part is a bench") };
    let plan = Bench::new(*args).unwrap().plan().unwrap().timed;
    let n: Vec<usize> = plan.parts.iter().map(|part| part.population).collect();
    assert_eq!((n.first(), n.last()), (Some(&1), Some(&1_000_000)));
    assert!(n.windows(2).all(|two| two[1] / two[0] <= 10), "{n:?}");
    let ids: Vec<&str> = plan.parts[0].structures.iter().map(|(structure, _)| structure.id).collect();
    for id in ["flat/slab", "fixed-delay/slab", "wheel/slab", "coarse/slab", "ladder/slab"] {
        assert!(ids.contains(&id), "{id} is recommended");
    }
    for id in ["heap4/slab", "list/hook", "wheel/hook", "coarse/hook", "rb-cached/hook", "binary-heap"] {
        assert!(ids.contains(&id), "{id} is recommended, or its rival");
    }
}
