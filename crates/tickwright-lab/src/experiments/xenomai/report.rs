//! The figures in the experiment's own form, with what was added since: percentiles, the clock's
//! cost, the published figures beside ours.

use core::fmt::Write as _;

use comfy_table::Table;
use serde::Serialize;

use super::instrument::Op;
use super::published::{HOSTS, family};
use super::run::{Lane, Mode, Outcome, Plan, Wait};
use super::scenario::Scenario;
use super::verdict::{Acceptance, Prediction, clock_in_a_tick, conclusion, reference, standings};
use crate::clock::Calibration;
use crate::duration;
use crate::output::{SCHEMA, table};
use crate::stats::{Distribution, Summary};

/// The percentiles that are stated.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// All that a report is made of.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// What it is about.
    pub(crate) scenario: &'a Scenario,
    /// What was asked for.
    pub(crate) plan: &'a Plan,
    /// What came of it.
    pub(crate) outcome: &'a Outcome,
    /// What the clock costs.
    pub(crate) clock: Calibration,
    /// What this process could not have.
    pub(crate) lost: &'a [String],
}

impl Report<'_> {
    /// Whether each lane was the experiment, in their order.
    pub(crate) fn acceptances(&self) -> Vec<(&'static str, Acceptance)> {
        let prediction = Prediction::of(&self.plan.params);
        let lanes = self.outcome.lanes.iter();
        lanes.map(|lane| (lane.structure.id, Acceptance::of(lane, &prediction, self.plan.mode))).collect()
    }

    /// The report as text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.heading(&mut out);
        for lane in &self.outcome.lanes {
            let _ = write!(out, "\n{}", as_published(lane));
        }
        self.acceptance(&mut out);
        if self.plan.instrument {
            let _ = writeln!(out, "\nPercentiles, ns\n{}", table::show(&self.percentiles()));
        }
        let _ = writeln!(out, "\n{}, ns\n{}", self.per_tick_title(), table::show(&self.standings()));
        let _ = writeln!(
            out,
            "\nBeside the published averages, ns (in brackets: to the binary heap of the same machine)\n{}",
            table::show(&self.beside_published())
        );
        let _ = writeln!(out, "\n{}", self.conclusion());
        out
    }

    /// What the figures show, and what the clock did to them.
    fn conclusion(&self) -> String {
        let acceptances = self.acceptances();
        let refused = acceptances.iter().filter(|(_, acceptance)| !acceptance.failures.is_empty());
        let refused: Vec<_> = refused.map(|(id, _)| *id).collect();
        let lanes = &self.outcome.lanes;
        let mut words = conclusion(lanes, &refused);
        if self.plan.instrument
            && let Some(ns) = clock_in_a_tick(lanes, self.clock.cost_ns)
        {
            let without = match self.plan.mode {
                Mode::Real => "`--mode virtual` measures",
                Mode::Virtual => "`--mode virtual` alone measures",
            };
            let _ = write!(
                words,
                " About {ns:.0} ns of each tick are the clock's own readings, which draws ratios towards 1; {without} without."
            );
        }
        words
    }

    fn heading(&self, out: &mut String) {
        let Plan { params, mode, wait, duration, .. } = self.plan;
        let time = match (mode, wait) {
            (Mode::Real, Wait::Sleep) => "real time, asleep until the next head",
            (Mode::Real, Wait::Spin) => "real time, reading the clock until the next head",
            (Mode::Virtual, _) => "virtual time",
        };
        let prediction = Prediction::of(params);
        let _ = writeln!(
            out,
            "{}\n\n{}\n\n{} timers, half of them armed, {:.0} ticks a second; {time}; {} of it for each structure, seed {}",
            self.scenario.title,
            self.scenario.analysis.trim(),
            params.timers,
            prediction.ticks_per_second,
            duration::show(*duration),
            params.seed
        );
        if self.plan.instrument {
            let _ =
                writeln!(out, "Each sample holds one clock reading, which is not taken off: {}.", self.clock);
        } else {
            let _ = writeln!(
                out,
                "Timed by the slice, with no clock in it; the handler and its event log are included."
            );
        }
        for lost in self.lost {
            let _ = writeln!(out, "Note: {lost}.");
        }
    }

    fn acceptance(&self, out: &mut String) {
        let Prediction { head_to_insert, population, .. } = Prediction::of(&self.plan.params);
        let _ = writeln!(
            out,
            "\nWas it the experiment? The model says head : insert {head_to_insert:.3} (published: 2.827) and population {population:.0}."
        );
        let acceptances = self.acceptances();
        for ((id, acceptance), lane) in acceptances.iter().zip(&self.outcome.lanes) {
            let verified = &lane.verified;
            let _ = writeln!(
                out,
                "{id}: {acceptance}; {} ticks verified in order, {} overruns accounted for",
                verified.ticks, verified.overruns
            );
        }
        if acceptances.iter().any(|(_, acceptance)| !acceptance.keeps_up && !acceptance.too_short) {
            let _ = writeln!(
                out,
                "This host does not keep up: ticks share wake-ups, as on the Xplained board (0.82 wake-ups per tick), and two heads are \
                 saved for each that does. `--wait spin` keeps up; `--mode virtual` always does."
            );
        }
    }

    fn percentiles(&self) -> Table {
        let mut table = table::new(["structure", "operation", "p50", "p90", "p99", "p99.9", "max"]);
        for lane in &self.outcome.lanes {
            for (name, figures) in lane.stats.iter().flat_map(|stats| stats.rows()) {
                let mut row = vec![lane.structure.id.to_owned(), name.to_owned()];
                row.extend(PERCENTILES.map(|p| figures.percentile(p).to_string()));
                row.push(figures.running().max().to_string());
                table.add_row(row);
            }
        }
        table
    }

    fn per_tick_title(&self) -> &'static str {
        if self.plan.instrument { "Time in the queue per tick" } else { "Time of the handler per tick" }
    }

    fn standings(&self) -> Table {
        let mut table = table::new([
            "structure",
            "median",
            "least",
            "most",
            "slices",
            "to the least, by slices",
            "verdict",
        ]);
        for standing in standings(&self.outcome.lanes) {
            let Summary { median, min, max, samples, .. } = standing.per_tick;
            let (ratio, verdict) = standing.to_best.map_or_else(
                || ("1".into(), ""),
                |(ratio, verdict)| {
                    (
                        format!(
                            "{:.2} ({:.2}..{:.2})",
                            ratio.median, ratio.interval.low, ratio.interval.high
                        ),
                        verdict.words(),
                    )
                },
            );
            table.add_row([
                standing.lane.structure.id.to_owned(),
                table::ns(median),
                table::ns(min),
                table::ns(max),
                samples.to_string(),
                ratio,
                verdict.to_owned(),
            ]);
        }
        table
    }

    fn beside_published(&self) -> Table {
        let mut table = table::new(["operation", "structure", HOSTS[0].name, HOSTS[1].name, "this machine"]);
        let lanes = &self.outcome.lanes;
        let heap = reference(lanes);
        for (name, published, ours) in COLUMNS {
            for lane in lanes {
                let mut row = vec![name.to_owned(), lane.structure.id.to_owned()];
                row.extend(HOSTS.iter().map(|host| {
                    let of = |family| published(host.of(family)?);
                    related(of(family(lane.structure.id)), of(super::published::REFERENCE))
                }));
                row.push(related(ours(lane), heap.and_then(ours)));
                if row[2..].iter().any(|cell| cell != NONE) {
                    table.add_row(row);
                }
            }
        }
        table
    }

    /// The report for other programs.
    pub(crate) fn json(&self) -> Json<'_> {
        let Plan { params, mode, wait, duration, .. } = self.plan;
        Json {
            experiment: &self.scenario.name,
            mode: *mode,
            wait: *wait,
            duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
            seed: params.seed,
            timers: params.timers,
            clock: self.clock,
            lost: self.lost,
            prediction: Prediction::of(params),
            structures: self
                .outcome
                .lanes
                .iter()
                .zip(self.acceptances())
                .map(|(lane, (structure, acceptance))| JsonLane {
                    structure,
                    acceptance,
                    ticks: lane.total.ticks,
                    wakes: lane.total.wakes,
                    overruns: lane.verified.overruns,
                    elapsed_ns: lane.total.elapsed_ns,
                    per_tick_ns: &lane.per_tick,
                    operations: operations(lane),
                })
                .collect(),
            conclusion: self.conclusion(),
        }
    }

    /// One row per structure and slice that had ticks.
    pub(crate) fn csv(&self) -> impl Iterator<Item = Raw> {
        self.outcome.lanes.iter().flat_map(|lane| {
            let slices = (1..).zip(&lane.per_tick).filter(|(_, ns)| ns.is_finite());
            slices.map(|(slice, &ns_per_tick)| Raw {
                schema: SCHEMA,
                structure: lane.structure.id,
                slice,
                ns_per_tick,
            })
        })
    }
}

/// A slice of one structure, for `--csv`.
#[derive(Debug, Serialize)]
pub(crate) struct Raw {
    schema: u32,
    structure: &'static str,
    /// Those of the same number belong to the same round.
    slice: usize,
    ns_per_tick: f64,
}

type OfPublished = fn(&super::published::Published) -> Option<f64>;
type OfOurs = fn(&Lane) -> Option<f64>;

/// What the comparison with the published figures has rows for.
const COLUMNS: [(&str, OfPublished, OfOurs); 7] = [
    ("head", |p| p.avg[Op::Head as usize], |lane| average(lane, Op::Head)),
    ("second", |p| p.avg[Op::Second as usize], |lane| average(lane, Op::Second)),
    ("insert", |p| p.avg[Op::Insert as usize], |lane| average(lane, Op::Insert)),
    ("remove", |p| p.avg[Op::Remove as usize], |lane| average(lane, Op::Remove)),
    ("overall", |p| Some(p.overall), |lane| some_avg(lane.stats.as_ref()?.overall())),
    (
        "a tick",
        |p| Some(p.per_tick()),
        |lane| Some(crate::stats::summarise(lane.per_tick.iter().copied())?.median),
    ),
    ("% of the time", |p| Some(p.share), share),
];

const NONE: &str = "-";

fn average(lane: &Lane, op: Op) -> Option<f64> {
    some_avg(lane.stats.as_ref()?.of(op))
}

/// Sum of all operations, percent of the time that passed; in virtual time nothing else did.
fn share(lane: &Lane) -> Option<f64> {
    let spent = lane.stats.as_ref()?.overall().running().total();
    Some(100.0 * spent / lane.total.elapsed_ns.max(1) as f64)
}

fn some_avg(figures: &Distribution) -> Option<f64> {
    (figures.running().count() > 0).then(|| figures.running().avg())
}

fn figure(value: f64) -> String {
    if value < 1.0 { format!("{value:.2}") } else { table::ns(value) }
}

fn related(value: Option<f64>, to: Option<f64>) -> String {
    match (value, to) {
        (None, _) => NONE.into(),
        (Some(value), Some(to)) if to > 0.0 => format!("{} ({:.2})", figure(value), value / to),
        (Some(value), _) => figure(value),
    }
}

/// What the experiment calls a structure.
fn title(structure: &str) -> String {
    let name = match family(structure) {
        "list" => "sorted list",
        "heap2" => "binary heap",
        "heap4" => "4-ary heap",
        "rb" => "red-black tree",
        "rb-cached" => "red-black tree, tracking head",
        "avl" => "AVL tree",
        "wheel" => "timing wheel",
        _ => return structure.to_owned(),
    };
    format!("{name} ({structure})")
}

/// The block that the experiment printed for a structure.
fn as_published(lane: &Lane) -> String {
    let mut out = format!("{}:\n", title(lane.structure.id));
    let Some(stats) = &lane.stats else {
        for op in Op::ALL {
            let _ = writeln!(out, "{}: {} calls", op.name(), lane.total.counts[op as usize]);
        }
        let _ = writeln!(out, "{} ticks in {:.3} s", lane.total.ticks, lane.total.wall.as_secs_f64());
        return out;
    };
    for (name, figures) in stats.rows() {
        let figures = figures.running();
        let _ = match figures.count() {
            0 => writeln!(out, "{name}: 0 samples"),
            samples => writeln!(
                out,
                "{name}: {samples} samples, {} ns < {:.0} ns < {} ns, stddev {:.0} ns",
                figures.min(),
                figures.avg(),
                figures.max(),
                figures.stddev()
            ),
        };
    }
    let spent = stats.overall().running().total();
    let elapsed = lane.total.elapsed_ns;
    let percent = share(lane).unwrap_or_default();
    let _ = writeln!(out, "overall run-time: {spent:.0}/{elapsed} ns, i.e: {percent:.6}%");
    out
}

fn operations(lane: &Lane) -> Vec<Row> {
    let Some(stats) = &lane.stats else { return Vec::new() };
    stats
        .rows()
        .map(|(operation, figures)| {
            let running = figures.running();
            let [p50_ns, p90_ns, p99_ns, p999_ns] = PERCENTILES.map(|p| figures.percentile(p));
            Row {
                structure: lane.structure.id,
                operation,
                samples: running.count(),
                min_ns: running.min(),
                avg_ns: running.avg(),
                max_ns: running.max(),
                stddev_ns: running.stddev(),
                p50_ns,
                p90_ns,
                p99_ns,
                p999_ns,
            }
        })
        .collect()
}

/// One operation of one structure.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    structure: &'static str,
    operation: &'static str,
    samples: u64,
    min_ns: u64,
    avg_ns: f64,
    max_ns: u64,
    stddev_ns: f64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
}

/// One structure.
#[derive(Debug, Serialize)]
pub(crate) struct JsonLane<'a> {
    structure: &'static str,
    acceptance: Acceptance,
    ticks: u64,
    wakes: u64,
    overruns: u64,
    elapsed_ns: u64,
    per_tick_ns: &'a [f64],
    operations: Vec<Row>,
}

/// The whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    experiment: &'a str,
    mode: Mode,
    wait: Wait,
    duration_ns: u64,
    seed: u64,
    timers: u32,
    clock: Calibration,
    lost: &'a [String],
    prediction: Prediction,
    structures: Vec<JsonLane<'a>>,
    conclusion: String,
}
