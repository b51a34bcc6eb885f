//! From NGPT's way of M:N to this project's, one knob at a time, until the published order is the
//! other way round.

use tickwright_threads as threads;

use super::column::{Cell, Column};
use super::lanes::{self, Lane, interval, time};
use super::model::{Knobs, Model};
use super::turns::Turns;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Axis, Finding, Plot, Section, Series, Table};
use crate::stats::{self, CONFIDENCE, Summary};

/// The ladder, with the figures of one-to-one from the same rounds.
#[derive(Debug, Clone)]
pub(crate) struct Ladder {
    pub(crate) cell: Cell,
    pub(crate) one_to_one: Lane,
    /// Each turns one knob more than the step before it.
    pub(crate) steps: Vec<Lane>,
}

type Turn = (&'static str, fn(&mut threads::Knobs));

/// What is turned, in this order.
const TURNS: [Turn; 6] = [
    ("stacks of ended threads used again", |knobs| knobs.recycle_stacks = true),
    ("idle workers woken by a futex, not by a pipe", |knobs| knobs.pipe_wake = false),
    ("no name formatted", |knobs| knobs.format_names = false),
    ("no system call at a switch", |knobs| knobs.sigmask_per_switch = false),
    ("a queue for each worker, no global lock", |knobs| knobs.global_queue = false),
    ("guard pages (this project's way)", |knobs| knobs.guard = true),
];

/// NGPT's way, and each step to ours.
pub(crate) fn steps(base: Knobs) -> Vec<Lane> {
    let mut many = threads::Knobs::ngpt();
    let step = |name: &str, many| {
        Lane::new(name, Column::Ours(Model::ManyToMany), Knobs { many: Some(many), ..base })
    };
    let mut steps = vec![step("NGPT's way", many)];
    for (turned, turn) in TURNS {
        turn(&mut many);
        steps.push(step(turned, many));
    }
    steps
}

/// Times one-to-one and every step by turns.
///
/// # Errors
/// Those of [`time`].
pub(crate) fn run(base: Knobs, cell: Cell, turns: &Turns, clock: OsClock) -> Result<Ladder, LabError> {
    let mut lanes = steps(base);
    lanes.insert(0, Lane::new("one-to-one", Column::Ours(Model::OneToOne), base));
    time(&mut lanes, cell, turns, clock)?;
    let steps = lanes.split_off(1);
    Ok(Ladder { cell, one_to_one: lanes.pop().unwrap_or_default(), steps })
}

impl Ladder {
    /// A step to one-to-one: above 1 the published order holds.
    fn ratio(&self, step: &Lane) -> Option<Summary> {
        stats::ratios(&step.ns, &self.one_to_one.ns)
    }

    /// NGPT's way to one-to-one.
    pub(crate) fn first(&self) -> Option<Summary> {
        self.steps.first().and_then(|step| self.ratio(step))
    }

    /// This project's way to one-to-one.
    pub(crate) fn last(&self) -> Option<Summary> {
        self.steps.last().and_then(|step| self.ratio(step))
    }

    /// The first step from which on M:N takes less than one-to-one, by medians.
    pub(crate) fn flips(&self) -> Option<usize> {
        let wins = |step| self.ratio(step).is_some_and(|ratio| ratio.median < 1.0);
        let after = self.steps.iter().rposition(|step| !wins(step)).map_or(0, |last| last + 1);
        (after < self.steps.len()).then_some(after)
    }

    /// How many times as fast a step is as the one before it.
    fn gain(&self, at: usize) -> Option<Summary> {
        let before = self.steps.get(at.checked_sub(1)?)?;
        stats::ratios(&before.ns, &self.steps[at].ns)
    }

    pub(super) fn series(&self) -> Vec<Series> {
        lanes::series("ladder", self.steps.iter().chain([&self.one_to_one]))
    }

    /// Where the order flips.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.first()?;
        let here = match self.flips() {
            Some(0) => "from the start, with all of NGPT's ways".to_owned(),
            Some(at) => format!("at step {at}: {}", self.steps[at].name),
            None => "at no step".to_owned(),
        };
        Some(Finding::stated("where M:N overtakes one-to-one for good, from NGPT's way to ours", here))
    }

    pub(super) fn section(&self, published: f64) -> Section {
        let Cell { toplevel, children, starts } = self.cell;
        let mut table = Table::new().column("step", Format::Text).column("M:N with", Format::Text);
        table = table.column("ns", Format::Thousands).column("gain", Format::Ratio);
        table = table.column("to one-to-one", Format::Ratio).column("from", Format::Ratio);
        table = table.column("to", Format::Ratio);
        let (mut many, mut one) = (Vec::new(), Vec::new());
        for (at, step) in self.steps.iter().enumerate() {
            let gain = self.gain(at).map(|gain| gain.median);
            let cells = [at.to_string().into(), step.name.as_str().into(), step.median().into(), gain.into()];
            table.row(cells.into_iter().chain(interval(self.ratio(step))));
            many.extend(step.median().map(|ns| (at as f64, ns)));
            one.extend(self.one_to_one.median().map(|ns| (at as f64, ns)));
        }
        table.row(["".into(), "one-to-one".into(), self.one_to_one.median().into()]);
        let y = Axis::log("ns to create and join one", Format::Thousands);
        let plot = Plot::new("From NGPT's way to ours", Axis::linear("step", Format::Count), y);
        let starts = count(usize::try_from(starts).unwrap_or(usize::MAX));
        Section::new("From NGPT's way of M:N to ours, one knob after another")
            .text(format!("P = {toplevel}, C = {children}, {starts} creations."))
            .table(table)
            .text(self.said(published))
            .plot(plot.curve("m:n", many).curve("one-to-one", one))
    }

    /// Where the published order holds, and which step turns it round. A statement that intervals
    /// do not show says so.
    fn said(&self, published: f64) -> String {
        let Some(first) = self.first() else { return "Interrupted before the first round.".into() };
        let mut said = format!(
            "Published: M:N takes {} as long as one-to-one. NGPT's way here: {}.",
            Format::Ratio.write(published),
            Format::Ratio.write(first.median)
        );
        let gains = (1..self.steps.len()).filter_map(|at| Some((at, self.gain(at)?)));
        let most = gains.max_by(|a, b| a.1.median.total_cmp(&b.1.median));
        if let Some((at, gain)) = most.filter(|(_, gain)| gain.median > 1.0) {
            let sure = by_medians(gain.interval.coverage >= CONFIDENCE && gain.interval.low > 1.0);
            let (name, gain) = (&self.steps[at].name, Format::Ratio.write(gain.median));
            said += &format!("\nThe step that saves most is {at}: {name} ({gain}){sure}.");
        }
        said += "\n";
        said + &self.order(&first)
    }

    fn order(&self, first: &Summary) -> String {
        let interval = |at: usize| {
            let ratio = self.ratio(&self.steps[at])?;
            (ratio.interval.coverage >= CONFIDENCE).then_some(ratio.interval)
        };
        let below = |at| interval(at).is_some_and(|interval| interval.high < 1.0);
        let above = |at| interval(at).is_some_and(|interval| interval.low > 1.0);
        let last = self.steps.len() - 1;
        let wins = |step| self.ratio(step).is_some_and(|ratio| ratio.median < 1.0);
        match self.flips() {
            Some(0) => format!(
                "Here the order is the other way round from the start{}: all of NGPT's ways together do not \
                 make M:N lose on this machine.",
                by_medians((0..=last).all(below))
            ),
            Some(at) => {
                let held =
                    if first.median < 1.0 { " for good, after M:N was ahead with NGPT's way" } else { "" };
                let sure = by_medians(above(at - 1) && (at..=last).all(below));
                format!("The order flips{held} at step {at}: {}{sure}.", self.steps[at].name)
            }
            None if self.steps.iter().any(wins) => format!(
                "The order does not flip for good: M:N was ahead on the way, and at the last step it is not{}.",
                by_medians(above(last))
            ),
            None => format!(
                "The order does not flip: at no step M:N is ahead of one-to-one{}.",
                by_medians((0..=last).all(above))
            ),
        }
    }
}

/// What is said behind a statement that intervals do not show.
fn by_medians(shown: bool) -> &'static str {
    if shown { "" } else { " (by medians; the intervals do not show it)" }
}
