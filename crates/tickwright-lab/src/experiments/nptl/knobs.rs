//! What each knob costs in each model: the question of the replies.

use serde::Serialize;
use tickwright_threads::Dictionary;

use super::column::{Cell, Column};
use super::figures::{micros, times};
use super::model::{Knobs, Model};
use super::turns::Turns;
use super::{table as cells, verify};
use crate::clock::OsClock;
use crate::error::LabError;
use crate::output::table;
use crate::stats;

/// Which settings are compared with a model's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) models: Vec<Model>,
    pub(crate) guard: Vec<bool>,
    pub(crate) stack: Vec<usize>,
    pub(crate) cache: Vec<bool>,
    pub(crate) registry: Vec<Dictionary>,
    pub(crate) base: Knobs,
}

/// One model with one setting.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) model: Model,
    pub(crate) setting: String,
    #[serde(skip)]
    pub(crate) knobs: Knobs,
    /// ns to create and join one, round by round.
    pub(crate) ns: Vec<f64>,
}

impl Plan {
    /// Each model as it is, and with one knob at a time turned to each of its values.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let base = self.base;
        let mut settings = vec![("as it is".to_owned(), base)];
        let word = |on| if on { "on" } else { "off" };
        settings.extend(
            self.guard.iter().map(|&on| (format!("guard {}", word(on)), Knobs { guard: Some(on), ..base })),
        );
        settings.extend(
            self.stack
                .iter()
                .map(|&bytes| (format!("stack {}k", bytes >> 10), Knobs { stack: Some(bytes), ..base })),
        );
        settings.extend(
            self.cache
                .iter()
                .map(|&on| (format!("stack cache {}", word(on)), Knobs { cache: Some(on), ..base })),
        );
        settings.extend(self.registry.iter().map(|&dictionary| {
            (format!("registry {dictionary}"), Knobs { registry: Some(dictionary), ..base })
        }));
        let rows = self.models.iter().flat_map(|&model| {
            let row = |(setting, knobs): &(String, Knobs)| {
                let has = knobs.cache.is_none() || model.has_cache();
                has.then(|| Row { model, setting: setting.clone(), knobs: *knobs, ns: Vec::new() })
            };
            settings.iter().filter_map(row).collect::<Vec<_>>()
        });
        rows.collect()
    }
}

/// Times every row in one cell, after its threads have looked at themselves.
///
/// # Errors
/// A thread that was not created, not joined, or found something wrong.
pub(crate) fn run(plan: &Plan, cell: Cell, turns: &Turns, clock: OsClock) -> Result<Vec<Row>, LabError> {
    let mut rows = plan.rows();
    for row in &rows {
        let few = Cell { starts: cell.starts.min(50), ..cell };
        verify::run(row.model, &row.knobs, few, clock)
            .map_err(|why| LabError::failed(format!("{}: {why}", row.setting)))?;
    }
    let names: Vec<String> =
        rows.iter().map(|row| format!("{}, {}", row.model.name(), row.setting)).collect();
    let samples = turns.run(&names, |at| {
        let row = &rows[at];
        let ns = cells::create(Column::Ours(row.model), &row.knobs, cell, clock)?;
        Ok(ns as f64 / cell.starts as f64)
    })?;
    for (row, ns) in rows.iter_mut().zip(samples) {
        row.ns = ns;
    }
    Ok(rows)
}

/// The table.
pub(super) fn text(rows: &[Row]) -> String {
    let mut shown = table::new(["knobs", "setting", "us", "to the model as it is"]);
    if let Some(column) = shown.column_mut(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for row in rows {
        let own = rows.iter().find(|other| other.model == row.model).map_or(&row.ns, |own| &own.ns);
        let ratio = stats::ratios(&row.ns, own).map_or("-".into(), |ratio| times(&ratio));
        let us = stats::summarise(row.ns.iter().copied()).map_or("-".into(), |all| micros(all.median));
        shown.add_row([row.model.name().to_owned(), row.setting.clone(), us, ratio]);
    }
    table::show(&shown) + "\n"
}
