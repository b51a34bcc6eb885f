use super::*;
use crate::result::{Report, SCHEMA};

/// Returns a report without results.
pub(super) fn report(experiment: &str) -> Report {
    Report {
        schema: SCHEMA,
        experiment: experiment.into(),
        command: format!("tickwright {experiment}"),
        ..Report::default()
    }
}

/// The help says "about ten minutes".
#[test]
fn the_help_of_the_reproductions_states_their_length() {
    let mut command = crate::cli::command();
    let all = command.find_subcommand_mut("reproduce").and_then(|inner| inner.find_subcommand_mut("all"));
    let help = all.unwrap().render_long_help().to_string();
    let minutes = length(&reproductions()).as_secs() as f64 / 60.0;
    assert!(help.contains("about ten minutes") && (5.0..=20.0).contains(&minutes), "{minutes}: {help}");
    assert!(!help.contains("about a minute"), "{help}");
}

#[test]
fn the_plan_fits_into_a_minute() {
    let length = length(&plan());
    assert!(length < LONGEST, "{} s", length.as_secs());
}
