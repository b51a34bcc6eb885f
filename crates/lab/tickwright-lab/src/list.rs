//! `tickwright list`: commands, structures, scenarios and experiments.

use serde::Serialize;

use crate::cli::{Audience, audience, command};
use crate::error::LabError;
use crate::experiments::row::Part;
use crate::models::scenario::Scenario;
use crate::output::table;
use crate::structures::registry::{Kind, LEFT_OUT, STRUCTURES, Structure, Ties, WITHOUT_RIVALS};
use crate::tour;
use crate::traces::samples::SAMPLES;

/// Everything that a user can name on the command line.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    commands: Vec<Audience>,
    structures: &'static [Structure],
    /// Structures that need a build with the feature `rivals`.
    left_out: &'static [&'static str],
    scenarios: Vec<Scenario>,
    experiments: Vec<Part>,
}

/// Collects the listing.
///
/// # Errors
/// If a built-in scenario has a mistake. The tests show that none has one.
pub(crate) fn listing() -> Result<Listing, LabError> {
    Ok(Listing {
        commands: audience(&command()),
        structures: STRUCTURES,
        left_out: &LEFT_OUT,
        scenarios: Scenario::built_in()?,
        experiments: tour::plan(),
    })
}

/// Formats the listing for the terminal.
pub(crate) fn show(listing: &Listing) -> String {
    let mut commands = table::text(["command", "for the", "what"]);
    for one in &listing.commands {
        commands.add_row([one.command.as_str(), one.whom, one.what.as_str()]);
    }
    let mut structures = table::text(["structure", "whose", "shape", "equal deadlines", "what"]);
    for s in listing.structures {
        let whose = if s.kind == Kind::Ours { "ours" } else { "baseline" };
        let ties = match s.ties {
            Ties::Fifo => "as they came",
            Ties::AnyOrder => "in any order",
            Ties::Granular => "by bucket, late within a bound",
        };
        structures.add_row([s.id, whose, s.shape.word(), ties, s.about]);
    }
    let mut scenarios = table::text(["scenario", "model", "what"]);
    for scenario in &listing.scenarios {
        scenarios.add_row([&scenario.name, scenario.model.name(), &scenario.title]);
    }
    let mut experiments = table::text(["part of the tour", "seconds", "alone"]);
    for part in &listing.experiments {
        experiments.add_row([
            part.name.to_owned(),
            part.seconds.to_string(),
            format!("tickwright {}", part.command),
        ]);
    }
    let mut samples = table::text(["sample", "what"]);
    for sample in SAMPLES {
        samples.add_row([format!("sample:{}", sample.name), sample.about.to_owned()]);
    }
    let mut tables =
        [commands, structures, scenarios, experiments, samples].map(|table| table::show(&table) + "\n");
    if !listing.left_out.is_empty() {
        tables[1] += &format!("not in this build: {}\n{WITHOUT_RIVALS}\n", listing.left_out.join(", "));
    }
    tables.join("\n")
}
