//! What the models are meant to reach, and whether they did.

use serde::Serialize;

use super::column::Column;
use super::model::Model;
use super::table::Table;
use crate::output::table;
use crate::stats::{CONFIDENCE, Summary};

/// On which side of its limit a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    AtMost,
    AtLeast,
}

/// A figure and its limit.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) side: Side,
    pub(crate) limit: f64,
    /// `x` or `ns`.
    pub(crate) unit: &'static str,
    pub(crate) figure: Option<Summary>,
}

/// Whether a target was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reached {
    Held,
    Missed,
    /// The interval holds the limit, or there are too few rounds for one.
    NotShown,
}

impl Reached {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "MISSED",
            Self::NotShown => "not shown",
        }
    }
}

impl Target {
    pub(crate) fn at_most(
        what: impl Into<String>,
        limit: f64,
        unit: &'static str,
        figure: Option<Summary>,
    ) -> Self {
        Self { what: what.into(), side: Side::AtMost, limit, unit, figure }
    }

    pub(crate) fn at_least(
        what: impl Into<String>,
        limit: f64,
        unit: &'static str,
        figure: Option<Summary>,
    ) -> Self {
        Self { what: what.into(), side: Side::AtLeast, limit, unit, figure }
    }

    pub(crate) fn reached(&self) -> Reached {
        let Some(figure) = self.figure.filter(|figure| figure.interval.coverage >= CONFIDENCE) else {
            return Reached::NotShown;
        };
        let (low, high) = (figure.interval.low, figure.interval.high);
        match self.side {
            Side::AtMost if high <= self.limit => Reached::Held,
            Side::AtMost if low > self.limit => Reached::Missed,
            Side::AtLeast if low >= self.limit => Reached::Held,
            Side::AtLeast if high < self.limit => Reached::Missed,
            _ => Reached::NotShown,
        }
    }
}

/// The targets of creation, in the cell that they are set for: P = 1, C = 10. None if it was not
/// measured.
pub(crate) fn of_table(table: &Table) -> Vec<Target> {
    let (p, c) = (1, 10);
    let ratio = |slow, fast| table.cell_ratio(slow, fast, p, c);
    let (one, many) = (Column::Ours(Model::OneToOne), Column::Ours(Model::ManyToMany));
    let all = [
        Target::at_least("m:n, times as fast as one-to-one", 80.0, "x", ratio(one, many)),
        Target::at_most("m:n to may", 0.25, "x", ratio(many, Column::May)),
        Target::at_most("m:n to tokio", 0.6, "x", ratio(many, Column::Tokio)),
        Target::at_most("one-to-one to std", 1.1, "x", ratio(one, Column::Std)),
    ];
    all.into_iter().filter(|target| target.figure.is_some()).collect()
}

pub(crate) fn text(targets: &[Target]) -> String {
    let mut rows = table::new(["target", "limit", "here", "from", "to", ""]);
    for target in targets {
        let side = match target.side {
            Side::AtMost => "<=",
            Side::AtLeast => ">=",
        };
        let shown = |value: f64| match target.unit {
            "ns" => table::ns(value),
            _ => format!("{value:.2}"),
        };
        let part = |pick: fn(&Summary) -> f64| {
            target.figure.as_ref().map_or("-".into(), |figure| shown(pick(figure)))
        };
        rows.add_row([
            target.what.clone(),
            format!("{side} {} {}", target.limit, target.unit),
            part(|figure| figure.median),
            part(|figure| figure.interval.low),
            part(|figure| figure.interval.high),
            target.reached().words().to_owned(),
        ]);
    }
    table::show(&rows) + "\n"
}
