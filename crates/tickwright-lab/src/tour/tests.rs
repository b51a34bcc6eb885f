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
fn the_plan_fits_into_a_minute() {
    assert!(length(PLAN) < LONGEST, "{} s", length(PLAN).as_secs());
}
