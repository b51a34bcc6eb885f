//! From NGPT's way of M:N to this project's, one knob at a time, until the published order is the
//! other way round.

use serde::Serialize;
use tickwright_threads as threads;

use super::column::{Cell, Column};
use super::figures::{micros, times};
use super::model::{Knobs, Model};
use super::turns::Turns;
use super::{table as cells, verify};
use crate::clock::OsClock;
use crate::error::LabError;
use crate::output::table;
use crate::stats::{self, CONFIDENCE, Summary};

/// A step: what is turned, on top of the steps before it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    pub(crate) turned: &'static str,
    #[serde(skip)]
    pub(crate) knobs: threads::Knobs,
    /// ns to create and join one, round by round.
    pub(crate) ns: Vec<f64>,
}

/// The ladder, with the figures of one-to-one from the same rounds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Ladder {
    pub(crate) toplevel: usize,
    pub(crate) children: usize,
    pub(crate) starts: u64,
    pub(crate) one_to_one: Vec<f64>,
    pub(crate) steps: Vec<Step>,
}

/// The published order: M:N took so many times as long as one-to-one.
pub(crate) const PUBLISHED: f64 = 4.0;

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
pub(crate) fn steps() -> Vec<Step> {
    let mut knobs = threads::Knobs::ngpt();
    let mut steps = vec![Step { turned: "NGPT's way", knobs, ns: Vec::new() }];
    for (turned, turn) in TURNS {
        turn(&mut knobs);
        steps.push(Step { turned, knobs, ns: Vec::new() });
    }
    steps
}

/// Times one-to-one and every step by turns, after the threads of each have looked at themselves.
///
/// # Errors
/// A thread that was not created, not joined, or found something wrong.
pub(crate) fn run(base: Knobs, cell: Cell, turns: &Turns, clock: OsClock) -> Result<Ladder, LabError> {
    let mut steps = steps();
    let mut names = vec!["one-to-one".to_owned()];
    names.extend(steps.iter().map(|step| step.turned.to_owned()));
    let lane_of = |lane: usize| match lane.checked_sub(1).and_then(|at| steps.get(at)) {
        Some(step) => (Model::ManyToMany, Some(step.knobs)),
        None => (Model::OneToOne, None),
    };
    for (lane, name) in names.iter().enumerate() {
        let (model, many) = lane_of(lane);
        let few = Cell { starts: cell.starts.min(50), ..cell };
        verify::run(model, &Knobs { many, ..base }, few, clock)
            .map_err(|why| LabError::failed(format!("{name}: {why}")))?;
    }
    let mut samples = turns.run(&names, |lane| {
        let (model, many) = lane_of(lane);
        let ns = cells::create(Column::Ours(model), &Knobs { many, ..base }, cell, clock)?;
        Ok(ns as f64 / cell.starts as f64)
    })?;
    let rest = samples.split_off(1);
    for (step, ns) in steps.iter_mut().zip(rest) {
        step.ns = ns;
    }
    let Cell { toplevel, children, starts } = cell;
    Ok(Ladder { toplevel, children, starts, one_to_one: samples.pop().unwrap_or_default(), steps })
}

impl Ladder {
    /// A step to one-to-one: above 1 the published order holds.
    fn ratio(&self, step: &Step) -> Option<Summary> {
        stats::ratios(&step.ns, &self.one_to_one)
    }

    /// The first step from which on M:N takes less than one-to-one, by medians.
    pub(crate) fn flips(&self) -> Option<usize> {
        let wins = |step| self.ratio(step).is_some_and(|ratio| ratio.median < 1.0);
        let after = self.steps.iter().rposition(|step| !wins(step)).map_or(0, |last| last + 1);
        (after < self.steps.len()).then_some(after)
    }

    /// The step that makes M:N faster by the greatest factor, with it.
    fn most(&self) -> Option<(usize, Summary)> {
        let gain = |at: usize| Some((at, stats::ratios(&self.steps[at - 1].ns, &self.steps[at].ns)?));
        let gains = (1..self.steps.len()).filter_map(gain);
        gains.max_by(|a, b| a.1.median.total_cmp(&b.1.median)).filter(|(_, gain)| gain.median > 1.0)
    }

    pub(super) fn text(&self) -> String {
        let Self { toplevel, children, starts, .. } = self;
        let starts = table::count(usize::try_from(*starts).unwrap_or(usize::MAX));
        let mut rows = table::text(["step", "M:N with", "us", "to one-to-one"]);
        for column in rows.column_iter_mut().skip(2) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
        let us = |ns: &[f64]| {
            stats::summarise(ns.iter().copied()).map_or("-".into(), |summary| micros(summary.median))
        };
        for (at, step) in self.steps.iter().enumerate() {
            let ratio = self.ratio(step).map_or("-".into(), |ratio| times(&ratio));
            rows.add_row([at.to_string(), step.turned.to_owned(), us(&step.ns), ratio]);
        }
        rows.add_row([String::new(), "one-to-one".into(), us(&self.one_to_one), "1".into()]);
        format!(
            "From NGPT's way to ours, one knob after another (P = {toplevel}, C = {children}, {starts} creations)\n{}\n{}\n",
            table::show(&rows),
            self.said()
        )
    }

    fn said(&self) -> String {
        let Some(first) = self.steps.first().and_then(|step| self.ratio(step)) else {
            return "Interrupted before the first round.".into();
        };
        let began = format!(
            "Published: M:N takes {PUBLISHED:.0}x as long as one-to-one; NGPT's way here: {}.",
            times(&first)
        );
        let most = self.most().map_or(String::new(), |(at, gain)| {
            let sure = by_medians(gain.interval.coverage >= CONFIDENCE && gain.interval.low > 1.0);
            format!(
                " The step that saves most is {at}: {} ({:.1}x{sure}).",
                self.steps[at].turned, gain.median
            )
        });
        let is = |at: usize, holds: fn(f64) -> bool| {
            self.ratio(&self.steps[at]).is_some_and(|ratio| {
                ratio.interval.coverage >= CONFIDENCE
                    && holds(ratio.interval.low)
                    && holds(ratio.interval.high)
            })
        };
        let below: fn(f64) -> bool = |times| times < 1.0;
        let above: fn(f64) -> bool = |times| times > 1.0;
        let last = self.steps.len() - 1;
        let end = match self.flips() {
            Some(0) => format!(
                "Here the order is the other way round from the start{}: all of NGPT's ways together do not make M:N lose on this machine.",
                by_medians((0..=last).all(|at| is(at, below)))
            ),
            Some(at) => {
                let held =
                    if first.median < 1.0 { " for good, after M:N was ahead with NGPT's way" } else { "" };
                let sure = by_medians(is(at - 1, above) && (at..=last).all(|at| is(at, below)));
                format!("The order flips{held} at step {at}: {}{sure}.", self.steps[at].turned)
            }
            None if self
                .steps
                .iter()
                .any(|step| self.ratio(step).is_some_and(|ratio| ratio.median < 1.0)) =>
            {
                format!(
                    "The order does not flip for good: M:N was ahead on the way, and at the last step it is not{}.",
                    by_medians(is(last, above))
                )
            }
            None => format!(
                "The order does not flip: at no step M:N is ahead of one-to-one{}.",
                by_medians((0..=last).all(|at| is(at, above)))
            ),
        };
        format!("{began}{most} {end}")
    }
}

/// What is said behind a statement that intervals do not show.
fn by_medians(shown: bool) -> &'static str {
    if shown { "" } else { " (by medians; the intervals do not show it)" }
}
