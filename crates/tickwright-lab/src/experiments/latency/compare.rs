//! Beside cyclictest: the same period, priority and clock, run alternately.
//!
//! Both are read through cells of a microsecond, cyclictest's own resolution, with percentiles
//! interpolated within a cell. Ours runs without the host tick, which cyclictest does not have. The
//! processor time of a cyclictest includes its start and its report, so that of one with a single
//! loop is taken away.

mod tool;

use core::fmt::Write;
use core::time::Duration;

use comfy_table::CellAlignment;
use serde::Serialize;

use self::tool::Tool;
use super::clock::{System, no_slack};
use super::load::Generator;
use super::plan::{Plan, PlanFacts};
use super::rights::Granted;
use super::run::thread_cpu;
use super::slice::{Drive, Seen, Turn};
use super::span;
use crate::duration;
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output::{self, OutputArgs, Run, table};
use crate::progress::Progress;
use crate::stats::{self, Summary};
use crate::structures::registry;

/// Runs of each: an interval of the median needs six.
const ROUNDS: u32 = 8;
/// Cells of a microsecond; the last takes what is above, and a figure that falls into it is none.
const CELLS: usize = 10_000;
/// How far apart two tools may be that measure the same.
const ALIKE: f64 = 0.10;

/// One run of one tool.
#[derive(Debug, Clone, Serialize)]
struct Leg {
    tool: &'static str,
    round: u32,
    samples: u64,
    median_us: f64,
    p99_us: f64,
    cpu_percent: f64,
}

impl Leg {
    fn new(tool: &'static str, round: u32, cells: &[u64], cpu: Duration, length: Duration) -> Self {
        let cpu_percent = cpu.as_secs_f64() / length.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0;
        let (median_us, p99_us) = (percentile(cells, 0.5), percentile(cells, 0.99));
        Self { tool, round, samples: cells.iter().sum(), median_us, p99_us, cpu_percent }
    }
}

/// The value below which `share` of the samples lie, interpolated within its cell; NaN of nothing,
/// and in the last cell, which has no end.
fn percentile(cells: &[u64], share: f64) -> f64 {
    let wanted = cells.iter().sum::<u64>() as f64 * share;
    let mut below = 0.0;
    for (cell, count) in cells.iter().enumerate().filter(|(_, count)| **count > 0) {
        let count = *count as f64;
        if below + count >= wanted && cell + 1 < cells.len() {
            return cell as f64 + (wanted - below) / count;
        }
        below += count;
    }
    f64::NAN
}

/// A figure of ours as a share of cyclictest's.
#[derive(Debug, Clone, Serialize)]
struct Ratio {
    of: &'static str,
    ours: f64,
    cyclictest: f64,
    /// Round by round.
    ratio: Option<Summary>,
    /// Cyclictest's odd rounds over its even ones: what is no difference of tools.
    itself: Option<Summary>,
    verdict: String,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(skip)]
    host: Host,
    plan: PlanFacts,
    cyclictest: String,
    ratios: Vec<Ratio>,
    legs: Vec<Leg>,
    notes: Vec<String>,
}

/// Runs both in turns and compares. Without cyclictest it says so and is done.
///
/// # Errors
/// What cyclictest cannot do, a run of it that fails, or Ctrl-C.
pub(super) fn execute(plan: &Plan, to: &OutputArgs) -> Result<(), LabError> {
    let Some(tool) = Tool::find() else {
        return output::print("cyclictest is not installed (Debian: rt-tests): the comparison is skipped\n");
    };
    let call = tool.call(plan)?;
    let points = points(plan)?;
    let files = to.open()?;
    let structure = *plan.structures.first().ok_or_else(|| LabError::usage("no structure"))?;
    let period = plan.turn().period;
    let mut notes = plan.notes.clone();
    notes.extend(no_slack().err());
    // The least of three: only disturbance makes a start dearer.
    let mut startup = Duration::MAX;
    for _ in 0..3 {
        startup = startup.min(call.run(1, CELLS)?.1);
    }
    let load = (!plan.load.is_empty()).then(|| Generator::start(&plan.load, plan.duration)).transpose()?;
    let turn = Turn { period, points, host_period: 0 };
    let mut system = System::new(plan.clock, plan.driver)?;
    let mut seen = Seen::new(points);
    let mut legs: Vec<Leg> = Vec::new();
    let mut priority = 0;
    let progress = Progress::steps((2 * ROUNDS).into(), "cyclictest");
    let length = Duration::from_nanos(points.saturating_mul(period));
    // Who comes first alternates too.
    let turns = (0..ROUNDS).flat_map(|round| [round % 2, (round + 1) % 2].map(|ours| (round, ours == 0)));
    for (round, ours) in turns {
        let (tool, cells, cpu) = if ours {
            let (granted, refused) = Granted::ask(plan.wish());
            priority = granted.priority;
            if round == 0 {
                notes.extend(refused);
            }
            let before = thread_cpu();
            let drive = Drive { turn, host: &mut system, seen: &mut seen, stop: &interrupt::requested };
            registry::visit(structure, drive)?;
            let cpu = thread_cpu().saturating_sub(before);
            drop(granted);
            ("tickwright", in_cells(&seen.lateness), cpu)
        } else {
            // What it inherits.
            let _ = no_slack();
            match call.run(points, CELLS) {
                // Ctrl-C at a terminal reached it too.
                Err(_) if interrupt::requested() => break,
                ran => ran.map(|(cells, cpu)| ("cyclictest", cells, cpu.saturating_sub(startup)))?,
            }
        };
        // What was cut short is no leg.
        if interrupt::requested() {
            break;
        }
        legs.push(Leg::new(tool, round, &cells, cpu, length));
        progress.step();
    }
    drop(progress);
    notes.extend(load.and_then(Generator::end));
    let host = Host::read();
    notes.extend(host.doubts());
    let ratios = compare(&legs);
    let report =
        Report { host, plan: facts(plan, priority, length), cyclictest: call.words(), ratios, legs, notes };
    let run = Run { interrupted: interrupt::requested(), host: &report.host };
    files.finish(run, || text(&report, plan), &report, &report.legs)
}

/// The plan as it was run: a run of ours is one turn of `length`, without a host tick.
fn facts(plan: &Plan, priority: u8, length: Duration) -> PlanFacts {
    PlanFacts { host_hz: 0, slice_ms: length.as_secs_f64() * 1e3, ..plan.facts(priority) }
}

/// Periods in a run of a tool: an equal share of the time.
///
/// # Errors
/// When that is too short for a p99.
fn points(plan: &Plan) -> Result<u64, LabError> {
    const LEAST: u64 = 100;
    let period = plan.period.as_nanos().max(1);
    let points = u64::try_from((plan.duration / (2 * ROUNDS)).as_nanos() / period).unwrap_or(u64::MAX);
    if points > Seen::MOST {
        return Err(LabError::usage(format!(
            "--duration {} is too long: {ROUNDS} runs of each tool have {points} periods of {}, of which {} at most are kept",
            duration::show(plan.duration),
            span::show(plan.period),
            Seen::MOST
        )));
    }
    Some(points).filter(|points| *points >= LEAST).ok_or_else(|| {
        let least = plan.period.saturating_mul(2 * ROUNDS).saturating_mul(LEAST as u32);
        LabError::usage(format!(
            "--duration {} is too short: {ROUNDS} runs of each tool with {LEAST} periods of {} take at least {}",
            duration::show(plan.duration),
            span::show(plan.period),
            duration::show(least)
        ))
    })
}

/// As cyclictest counts.
fn in_cells(lateness: &[u64]) -> Vec<u64> {
    let mut cells = vec![0; CELLS];
    for ns in lateness {
        let us = usize::try_from(ns / 1000).unwrap_or(CELLS);
        cells[us.min(CELLS - 1)] += 1;
    }
    cells
}

/// A figure of a leg.
type Figure = (&'static str, fn(&Leg) -> f64, f64);

/// The figures that are compared, and how much more than 1 the ratio may be. Less processor time is
/// always welcome.
const FIGURES: [Figure; 3] = [
    ("median, us", |leg| leg.median_us, ALIKE),
    ("p99, us", |leg| leg.p99_us, ALIKE),
    ("CPU, %", |leg| leg.cpu_percent, 0.0),
];

fn compare(legs: &[Leg]) -> Vec<Ratio> {
    let of = |tool: &str, figure: fn(&Leg) -> f64| -> Vec<f64> {
        let mut rounds: Vec<&Leg> = legs.iter().filter(|leg| leg.tool == tool).collect();
        rounds.sort_by_key(|leg| leg.round);
        rounds.into_iter().map(figure).collect()
    };
    let middle = |values: &[f64]| stats::summarise(values.iter().copied()).map_or(f64::NAN, |s| s.median);
    FIGURES
        .into_iter()
        .map(|(name, figure, over)| {
            let (ours, theirs) = (of("tickwright", figure), of("cyclictest", figure));
            let odd: Vec<f64> = theirs.iter().copied().skip(1).step_by(2).collect();
            let even: Vec<f64> = theirs.iter().copied().step_by(2).collect();
            let (ratio, itself) = (stats::ratios(&ours, &theirs), stats::ratios(&odd, &even));
            let verdict = verdict(ratio.as_ref(), itself.as_ref(), over);
            Ratio { of: name, ours: middle(&ours), cyclictest: middle(&theirs), ratio, itself, verdict }
        })
        .collect()
}

/// Whether a ratio is near enough to 1, or why it is not. `over` is how much it may be above; 0
/// asks for at most 1.
fn verdict(ratio: Option<&Summary>, itself: Option<&Summary>, over: f64) -> String {
    let Some(ratio) = ratio else { return "no figures: nothing measured, or beyond the cells".into() };
    let least = if over > 0.0 { 1.0 - over } else { 0.0 };
    let within = (least..=1.0 + over).contains(&ratio.median);
    let target =
        if over > 0.0 { format!("within {:.0} %", over * 100.0) } else { "at most cyclictest's".into() };
    if within {
        return target;
    }
    let stats::Interval { low, high, .. } = ratio.interval;
    if low <= 1.0 + over && high >= least {
        return format!("not {target}, and not shown to differ: rounds lie from {low:.2} to {high:.2}");
    }
    let spread = itself.map_or(0.0, |itself| (itself.max - 1.0).abs().max((itself.min - 1.0).abs()));
    if (ratio.median - 1.0).abs() <= spread {
        return format!(
            "not {target}: cyclictest differs from itself by up to {:.0} % from round to round",
            spread * 100.0
        );
    }
    let reason = if over > 0.0 {
        "ours re-arms its queue before it reads the clock, cyclictest wakes a second thread 100 times a second; on an idle machine with a fixed \
         clock rate neither shows"
    } else {
        "shorter sleeps than it asked for, or a debug build"
    };
    format!("{:+.0} %, not {target}: {reason}", (ratio.median - 1.0) * 100.0)
}

fn text(report: &Report, plan: &Plan) -> String {
    let mut out = format!("{}\n", report.host);
    report.notes.iter().for_each(|note| out += &format!("note   {note}\n"));
    let structure = plan.structures.first().map_or("", |structure| structure.id);
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "\nours over {structure} and cyclictest in turns, {ROUNDS} each: {}, {} clock, priority {}\nalone: {}\n",
        span::show(plan.period),
        plan.clock.word(),
        report.plan.priority,
        report.cyclictest,
    );
    let mut figures =
        table::new(["median of rounds", "ours", "cyclictest", "ratio", "from", "to", "itself", "verdict"]);
    // The verdict is text.
    if let Some(verdict) = figures.column_mut(7) {
        verdict.set_cell_alignment(CellAlignment::Left);
    }
    for ratio in &report.ratios {
        let number = |of: Option<f64>| of.map_or("-".into(), |number| format!("{number:.2}"));
        figures.add_row(vec![
            ratio.of.to_owned(),
            format!("{:.3}", ratio.ours),
            format!("{:.3}", ratio.cyclictest),
            number(ratio.ratio.map(|s| s.median)),
            number(ratio.ratio.map(|s| s.interval.low)),
            number(ratio.ratio.map(|s| s.interval.high)),
            number(ratio.itself.map(|s| s.median)),
            ratio.verdict.clone(),
        ]);
    }
    out += &table::show(&figures);
    out += "\nitself: cyclictest's odd rounds over its even ones, what is no difference between the tools\n";
    out
}

#[cfg(test)]
mod tests;
