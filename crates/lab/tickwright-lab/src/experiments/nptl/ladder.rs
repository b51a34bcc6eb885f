//! Changes M:N from NGPT's design to this project's, one setting at a time, until the published
//! order is reversed.

use super::column::{Cell, Column};
use super::lanes::{self, Lane};
use super::model::{Knobs, Model, Ways};
use crate::render::Format;
use crate::result::{Axis, Finding, Plot, Section, default};
use crate::stats::{self, Summary};

/// The lanes of the ladder, and the cell in which they are timed.
#[derive(Debug, Clone)]
pub(crate) struct Ladder {
    pub(crate) cell: Cell,
    /// One-to-one, then the steps. Each step changes one setting more than the previous step.
    pub(crate) lanes: Vec<Lane>,
}

type Turn = (&'static str, fn(&mut Ways));

/// The settings that change, in the order of the steps.
const TURNS: [Turn; 6] = [
    ("stacks used again", |ways| ways.reuses_stacks = true),
    ("idle workers woken by a futex", |ways| ways.knobs.pipe_wake = false),
    ("no name formatted", |ways| ways.formats_names = false),
    ("no system call at a switch", |ways| ways.knobs.sigmask_per_switch = false),
    ("a queue for each worker", |ways| ways.knobs.global_queue = false),
    ("guard pages: this project's way", |ways| ways.guards = true),
];

/// Returns the lanes: one-to-one, NGPT's design, and each step from it to our design.
pub(crate) fn lanes(base: Knobs) -> Vec<Lane> {
    let mut many = Ways::NGPT;
    let mut lanes = vec![Lane::new("as it is", Column::Ours(Model::OneToOne), base)];
    let mut step = |name: String, many| {
        let knobs = Knobs { many: Some(many), ..base };
        lanes.push(Lane::new(name, Column::Ours(Model::ManyToMany), knobs));
    };
    step("0: NGPT's way".to_owned(), many);
    for (at, (turned, turn)) in (1..).zip(TURNS) {
        turn(&mut many);
        step(format!("{at}: {turned}"), many);
    }
    lanes
}

impl Ladder {
    fn steps(&self) -> &[Lane] {
        self.lanes.get(1..).unwrap_or_default()
    }

    /// Returns a step's time divided by the time of one-to-one threads. If the ratio is above 1,
    /// the published order holds.
    fn ratio(&self, step: &Lane) -> Option<Summary> {
        stats::ratios(&step.ns, &self.lanes.first()?.ns)
    }

    /// Returns the time of NGPT's design divided by the time of one-to-one threads.
    pub(crate) fn first(&self) -> Option<Summary> {
        self.ratio(self.steps().first()?)
    }

    /// Returns the time of this project's design divided by the time of one-to-one threads.
    pub(crate) fn last(&self) -> Option<Summary> {
        self.ratio(self.steps().last()?)
    }

    fn is_ahead(&self, step: &Lane) -> bool {
        self.ratio(step).is_some_and(|ratio| ratio.median < 1.0)
    }

    /// Returns the first step from which on M:N takes less time than one-to-one, by medians.
    pub(crate) fn flips(&self) -> Option<usize> {
        let after = self.steps().iter().rposition(|step| !self.is_ahead(step)).map_or(0, |last| last + 1);
        (after < self.steps().len()).then_some(after)
    }

    /// Returns a finding about the step at which the order is reversed.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.first()?;
        let here = match self.flips() {
            Some(0) => "from the start, with all of NGPT's ways".to_owned(),
            Some(at) => format!("at step {}", self.steps()[at].name),
            None => "at no step".to_owned(),
        };
        Some(Finding::stated("where M:N overtakes one-to-one for good, from NGPT's way to ours", here))
    }

    pub(super) fn section(&self, published: f64) -> Section {
        let Cell { toplevel, children, starts } = self.cell;
        let y = Axis::log("ns to create and join one", Format::Thousands);
        let plot = Plot::new("From NGPT's way to ours", Axis::linear("step", Format::Count), y);
        let curve = |of: &dyn Fn(usize) -> Option<f64>| {
            let steps = (0..self.steps().len()).filter_map(|at| Some((at as f64, of(at)?)));
            steps.collect::<Vec<_>>()
        };
        let many = curve(&|at| self.steps()[at].median());
        let one = curve(&|_| self.lanes.first()?.median());
        let count = Format::Count.write(starts as f64);
        Section::new("From NGPT's way of M:N to ours, one knob after another")
            .text(format!("P = {toplevel}, C = {children}, {count} creations."))
            .table(default::table(&lanes::series("ladder", &self.lanes).iter().collect::<Vec<_>>()))
            .text(self.said(published))
            .plot(plot.curve("m:n", many).curve("one-to-one", one))
    }

    /// Returns a text that states where the published order holds, and which step reverses it.
    fn said(&self, published: f64) -> String {
        let Some(first) = self.first() else { return "Interrupted before the first round.".into() };
        let (was, is) = (Format::Ratio.write(published), Format::Ratio.write(first.median));
        let mut said =
            format!("Published: M:N takes {was} as long as one-to-one. NGPT's way here, by medians: {is}.\n");
        let gains = self.steps().windows(2).filter_map(|pair| {
            Some((pair[1].name.as_str(), stats::ratios(&pair[0].ns, &pair[1].ns)?.median))
        });
        let most = gains.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((name, gain)) = most.filter(|(_, gain)| *gain > 1.0) {
            said += &format!("The step that saves most is {name} ({}).\n", Format::Ratio.write(gain));
        }
        said + &match self.flips() {
            Some(0) => {
                "The order is the other way round from the start: all of NGPT's ways together do not make \
                        M:N lose on this machine."
                    .to_owned()
            }
            Some(at) if first.median < 1.0 => {
                format!(
                    "M:N is ahead with NGPT's way, then behind, and for good at step {}.",
                    self.steps()[at].name
                )
            }
            Some(at) => format!("The order flips at step {}.", self.steps()[at].name),
            None if self.steps().iter().any(|step| self.is_ahead(step)) => {
                "The order does not flip for good: M:N is ahead on the way, and behind at the last step."
                    .to_owned()
            }
            None => "The order does not flip: at no step M:N is ahead of one-to-one.".to_owned(),
        }
    }
}
