use super::*;
use crate::result::SCHEMA;

/// A report without results.
pub(super) fn report(experiment: &str) -> Report {
    Report {
        schema: SCHEMA,
        experiment: experiment.into(),
        command: format!("tickwright {experiment}"),
        interrupted: false,
        host: Host::default(),
        clock: None,
        seed: None,
        parameters: Default::default(),
        notes: Vec::new(),
        series: Vec::new(),
        findings: Vec::new(),
        sections: Vec::new(),
    }
}

#[test]
fn the_command_of_the_last_part_names_the_workload_that_it_runs() {
    let part = PLAN.iter().find(|part| part.name == "recommend").unwrap();
    let words: Vec<&str> = part.command.split(' ').map(|word| word.trim_matches('\'')).collect();
    assert_eq!(words.split_first(), Some((&"recommend", &RECORDED[..])));
}

#[test]
fn the_plan_fits_into_a_minute() {
    assert!(length(PLAN) < LONGEST, "{} s", length(PLAN).as_secs());
}
