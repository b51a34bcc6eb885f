//! The experiment in little: for the tour, and for `check`.

use core::time::Duration;

use tickwright_threads::{Dictionary, LEAST_STACK};

use super::alive::{self, Order};
use super::cli::{NptlArgs, Starts, Threads};
use super::column::{Cell, Column};
use super::echo::{self, Load, Wire};
use super::model::{Knobs, Model};
use super::table::{self, Plan};
use super::turns::Turns;
use super::work::{self, Work};
use super::{knobs, ladder, verify};
use crate::clock::OsClock;
use crate::error::LabError;
use crate::interrupt;
use crate::models::scenario::Rounds;

/// The experiment as a part of the tour.
///
/// # Errors
/// As [`NptlArgs::execute`].
pub(crate) fn tour(_within: Duration) -> Result<(), LabError> {
    let args = NptlArgs {
        table: true,
        ladder: true,
        toplevel: Some(Threads(vec![1, 4, 20])),
        children: Some(Threads(vec![1, 10])),
        starts: Some(Starts::try_from(TOUR).map_err(LabError::usage)?),
        rounds: Some(Rounds::try_from(6).map_err(LabError::usage)?),
        brief: true,
        ..NptlArgs::default()
    };
    args.report()
}

/// Creations in a cell of the tour: all of it within two seconds.
const TOUR: i64 = 150;

/// Every model and peer under the original's rules with few threads; nothing is timed.
///
/// # Errors
/// What is wrong.
pub(crate) fn check() -> Result<String, String> {
    let clock = OsClock::start();
    let plan = Plan {
        columns: Column::all(),
        toplevel: vec![1, 3],
        children: vec![1, 4],
        starts: 50,
        rounds: 1,
        knobs: Knobs::default(),
        seed: 1,
    };
    let words = |error: LabError| error.to_string();
    let looked = verify::corners(&plan, clock)?;
    let table = table::run(&plan, clock).map_err(words)?;
    let turns = Turns { what: "check", rounds: 1, seed: 1 };
    let cell = Cell { toplevel: 2, children: 3, starts: 50 };
    let both = || vec![true, false];
    let asked = knobs::Plan {
        models: Model::ALL.to_vec(),
        guard: both(),
        stack: vec![LEAST_STACK, 1 << 20],
        cache: both(),
        registry: Dictionary::ALL.map(|(_, dictionary)| dictionary).to_vec(),
        base: plan.knobs,
    };
    let settings = knobs::run(&asked, cell, &turns, clock).map_err(words)?.len();
    let steps = ladder::run(plan.knobs, cell, &turns, clock).map_err(words)?.steps.len();
    let computing = Work { workload: 100, draws: 3, ..Work::default() };
    work::run(computing, &plan.columns, &plan.knobs, cell, &turns, clock).map_err(words)?;
    let load = |wire| Load { wire, connections: 3, in_flight: 2, messages: 5 };
    let loads = [load(Wire::Pipe), load(Wire::Socket)];
    echo::run(&plan.columns, &plan.knobs, &loads, &turns, clock).map_err(words)?;
    for model in Model::ALL {
        let outcome = alive::here(
            &Order { model, threads: 20, stack: LEAST_STACK, guard: true, workers: None },
            |_| (),
        );
        if let Some(why) = outcome.stopped {
            return Err(format!("{}, 20 threads at once: {why}", model.name()));
        }
    }
    if interrupt::requested() {
        return Err("interrupted".into());
    }
    let runs = table.samples.len() + settings + steps;
    Ok(format!("{looked} threads looked at themselves, {runs} runs joined all that they created"))
}
