//! The plan of a run: a checked request.

use clap::ValueEnum;

use super::column::{Cell, Column};
use super::model::Knobs;
use super::turns::Turns;
use crate::experiment::Parameters;
use crate::experiments::request;

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Part {
    /// Each model and peer in each of 20 x 10 cells, and the two published summaries
    Table,
    /// M:N from NGPT's way to ours, one knob after another, beside one-to-one
    Ladder,
}

impl Part {
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Returns the default number of threads created in a sample.
    pub(super) fn starts(self) -> u64 {
        match self {
            Self::Table => 1000,
            Self::Ladder => 10_000,
        }
    }

    /// Returns the default number of samples per lane.
    pub(super) fn rounds(self) -> usize {
        match self {
            Self::Table => 1,
            Self::Ladder => 9,
        }
    }
}

/// What is run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Part>,
    pub(crate) columns: Vec<Column>,
    /// P: the numbers of threads that create.
    pub(crate) toplevel: Vec<usize>,
    /// C: the numbers of threads that each creator keeps at once.
    pub(crate) children: Vec<usize>,
    pub(crate) starts: Option<u64>,
    pub(crate) rounds: Option<usize>,
    pub(crate) seed: u64,
    /// The settings that apply to every part.
    pub(crate) knobs: Knobs,
}

impl Plan {
    pub(crate) fn turns(&self, part: Part, what: &'static str) -> Turns {
        Turns { what, rounds: self.rounds.unwrap_or(part.rounds()), seed: self.seed }
    }

    /// Returns the cell of all parts except the table: the first P and the last C, by default 1 and
    /// 10.
    pub(crate) fn cell(&self, part: Part) -> Cell {
        let (toplevel, children) = (self.toplevel.first(), self.children.last());
        Cell {
            toplevel: toplevel.copied().unwrap_or(1),
            children: children.copied().unwrap_or(1),
            starts: self.starts.unwrap_or(part.starts()),
        }
    }

    /// Returns the request as text, for the report.
    pub(super) fn parameters(&self) -> Parameters {
        let parts: Vec<String> = self.parts.iter().map(|part| part.name()).collect();
        let models: Vec<&str> = self.columns.iter().map(|column| column.name()).collect();
        let mut all = request::parameters([
            ("only", parts.join(",").into()),
            ("models", models.join(",").into()),
            ("toplevel", request::list(&self.toplevel).into()),
            ("children", request::list(&self.children).into()),
            ("workers", self.knobs.workers().into()),
        ]);
        for &part in &self.parts {
            let of = |what: &str| format!("{} of {}", what, part.name());
            all.insert(of("rounds"), self.turns(part, "").rounds.into());
            all.insert(of("starts"), self.cell(part).starts.into());
        }
        all
    }
}
