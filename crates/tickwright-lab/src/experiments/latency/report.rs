//! What a run says when it is over.

use core::fmt::Write;

use serde::Serialize;

use super::histogram;
use super::lane::{Lane, Row, us};
use super::order::{Entry, Order, PUBLISHED, PUBLISHED_WORDS, Verdict};
use super::overhead::Overhead;
use super::plan::{Plan, PlanFacts};
use super::plot::{self, Curve};
use super::run::Outcome;
use super::slice::Gap;
use super::span;
use crate::duration;
use crate::error::LabError;
use crate::output::{Files, RowsFile, Run, table};

/// The files of a run beside its results.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) gnuplot: Option<RowsFile>,
    pub(super) svg: Option<RowsFile>,
    pub(super) hdr: Option<RowsFile>,
}

/// A structure's figures.
#[derive(Debug, Serialize)]
struct Figures {
    structure: &'static str,
    samples: u64,
    min_us: f64,
    avg_us: f64,
    stddev_us: f64,
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
    overruns: u64,
    gaps: Vec<Gap>,
    host_ticks: u64,
    wakes: u64,
    /// Middle of a cell in us, and its samples; cells without any are left out.
    histogram: Vec<(f64, u64)>,
}

impl Figures {
    fn of(lane: &Lane) -> Self {
        let running = lane.all.running();
        // Of no samples, as after an early Ctrl-C, there are no figures: not the best ones.
        let some = |figure: f64| if running.count() > 0 { us(figure) } else { f64::NAN };
        let percentile = |percent| some(lane.all.percentile(percent) as f64);
        Self {
            structure: lane.structure.id,
            samples: running.count(),
            min_us: some(running.min() as f64),
            avg_us: some(running.avg()),
            stddev_us: some(running.stddev()),
            p50_us: percentile(50.0),
            p90_us: percentile(90.0),
            p99_us: percentile(99.0),
            p999_us: percentile(99.9),
            max_us: some(running.max() as f64),
            overruns: lane.overruns,
            gaps: lane.gaps.clone(),
            host_ticks: lane.host_ticks,
            wakes: lane.wakes,
            histogram: lane.cells.filled().collect(),
        }
    }
}

/// All of it.
#[derive(Debug, Serialize)]
struct Report<'a> {
    plan: PlanFacts,
    overhead: Overhead,
    /// Share of one processor that the measuring thread used, in percent.
    cpu_percent: f64,
    structures: Vec<Figures>,
    order: &'a Order,
    slices: Vec<&'a Row>,
    notes: Vec<String>,
}

/// Prints the summary and writes the files.
///
/// # Errors
/// A file that cannot be written after all, a lateness over the limit, or Ctrl-C.
pub(super) fn finish(
    plan: &Plan,
    outcome: &Outcome,
    files: &Files,
    extras: &Extras,
    histogram: bool,
    limit_us: Option<f64>,
) -> Result<(), LabError> {
    let host = &outcome.host;
    let entries: Vec<Entry> = outcome.lanes.iter().map(Entry::of).collect();
    let order = Order::of(&entries, &PUBLISHED);
    let mut notes = outcome.notes.clone();
    notes.extend(host.doubts());
    if outcome.hdr.lost > 0 {
        notes.push(format!("{} slices are missing in the log", outcome.hdr.lost));
    }
    let curves: Vec<Curve<'_>> = outcome.lanes.iter().map(curve).collect();
    let structures: Vec<Figures> = outcome.lanes.iter().map(Figures::of).collect();
    let worst = structures.iter().map(|figures| figures.max_us).fold(0.0, f64::max);
    let gaps: usize = structures.iter().map(|figures| figures.gaps.len()).sum();
    let report = Report {
        plan: plan.facts(outcome.priority),
        overhead: outcome.overhead,
        cpu_percent: cpu_percent(outcome),
        structures,
        order: &order,
        slices: outcome.lanes.iter().flat_map(|lane| &lane.rows).collect(),
        notes,
    };
    let text = || {
        let mut text = format!("\n{host}\n");
        report.notes.iter().for_each(|note| text += &format!("note   {note}\n"));
        text += &summary(plan, outcome, &order, &curves);
        if histogram {
            text += &cells(&outcome.lanes);
        }
        text
    };
    let rows = outcome.lanes.iter().flat_map(|lane| &lane.rows);
    let finished = files.finish(Run { interrupted: outcome.interrupted, host }, text, &report, rows);
    // The pictures are as good as the table, also when a signal ended the run.
    if let Some(file) = &extras.gnuplot {
        file.text(&gnuplot(plan, &outcome.lanes))?;
    }
    if let Some(file) = &extras.svg {
        file.text(&plot::svg(&title(plan, outcome), &averages(&order), &curves))?;
    }
    if let Some(file) = &extras.hdr {
        file.text(&outcome.hdr.text())?;
    }
    finished?;
    judge(worst, gaps, limit_us)
}

/// Holds the worst sample against the limit. A gap is later than any.
///
/// # Errors
/// [`LabError::Failed`] with both figures.
pub(super) fn judge(worst_us: f64, gaps: usize, limit_us: Option<f64>) -> Result<(), LabError> {
    match limit_us {
        Some(limit) if worst_us > limit => Err(LabError::failed(format!(
            "the latest sample was {worst_us:.3} us late, over the limit of {limit} us"
        ))),
        Some(limit) if gaps > 0 => {
            Err(LabError::failed(format!("{gaps} gaps were seen, which are over the limit of {limit} us")))
        }
        _ => Ok(()),
    }
}

fn curve(lane: &Lane) -> Curve<'_> {
    Curve { id: lane.structure.id, average_us: lane.average(), cells: &lane.cells }
}

fn cpu_percent(outcome: &Outcome) -> f64 {
    outcome.cpu.as_secs_f64() / outcome.wall.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0
}

fn title(plan: &Plan, outcome: &Outcome) -> String {
    let loads: Vec<&str> = plan.load.iter().map(|load| load.word()).collect();
    let load = if loads.is_empty() { "no load of ours".into() } else { format!("load {}", loads.join(", ")) };
    let scheduled = if outcome.priority == 0 {
        "normal scheduling".into()
    } else {
        format!("SCHED_FIFO {}", outcome.priority)
    };
    format!(
        "Wake-up lateness of one periodic timer: {}, {}, {}, {scheduled}, {load}",
        span::show(plan.period),
        plan.clock.word(),
        plan.driver.word()
    )
}

/// Columns of a histogram in the summary.
const WIDTH: usize = 60;

fn summary(plan: &Plan, outcome: &Outcome, order: &Order, curves: &[Curve<'_>]) -> String {
    let mut out = format!("\n{}\n", title(plan, outcome));
    let Overhead { clock_ns, note_ns } = outcome.overhead;
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "{} structures in turns of {}, in random order, the first of each thrown away; host tick {}\n\
         measuring costs a sample {:.0} ns: {clock_ns:.0} ns to read the clock, {note_ns:.0} ns to note the lateness; \
         the thread used {:.2} % of a processor\n",
        outcome.lanes.len(),
        duration::show(plan.slice()),
        if plan.host_hz == 0 { "off".into() } else { format!("at {} Hz", plan.host_hz) },
        clock_ns + note_ns,
        cpu_percent(outcome),
    );
    let heading = [
        "lateness, us",
        "samples",
        "min",
        "avg",
        "median",
        "p99",
        "p99.9",
        "max",
        "stddev",
        "overruns",
        "gaps",
    ];
    let mut figures = table::new(heading);
    for lane in &outcome.lanes {
        let f = Figures::of(lane);
        let number = |us: f64| if us.is_nan() { "-".into() } else { format!("{us:.3}") };
        figures.add_row(vec![
            f.structure.to_owned(),
            f.samples.to_string(),
            number(f.min_us),
            number(f.avg_us),
            number(f.p50_us),
            number(f.p99_us),
            number(f.p999_us),
            number(f.max_us),
            number(f.stddev_us),
            f.overruns.to_string(),
            f.gaps.len().to_string(),
        ]);
    }
    out += &table::show(&figures);
    let (lines, low, high) = plot::blocks(curves, WIDTH);
    let _ = writeln!(out, "\n\nhistogram from {low} to {high} us, height by the logarithm of the count");
    for (curve, line) in curves.iter().zip(lines) {
        let _ = writeln!(out, "{:<16}|{line:<WIDTH$}|", curve.id);
    }
    for lane in outcome.lanes.iter().filter(|lane| !lane.gaps.is_empty()) {
        let periods: u64 = lane.gaps.iter().map(|gap| gap.periods).sum();
        let longest = lane.gaps.iter().map(|gap| gap.ns).max().unwrap_or(0);
        let _ = writeln!(
            out,
            "gaps of {}: {}, the longest {:.3} s; {periods} periods are overruns and no samples",
            lane.structure.id,
            lane.gaps.len(),
            longest as f64 / 1e9
        );
    }
    out += &ordered(order);
    out
}

/// The order in a line, for the picture.
fn averages(order: &Order) -> String {
    format!("averages: {}; {}", order.by_average.join(" < "), order.words())
}

fn ordered(order: &Order) -> String {
    let mut out = String::new();
    if order.by_average.len() < 2 {
        return out;
    }
    // Writing to a string does not fail.
    let _ = writeln!(out, "\norder of the averages: {}", order.by_average.join(" < "));
    if order.verdict != Verdict::NotAsked {
        let _ = writeln!(out, "published in 2016:     {PUBLISHED_WORDS}");
    }
    let _ = writeln!(out, "{}.", order.words());
    for pair in &order.pairs {
        let Some(difference) = pair.difference_us else { continue };
        let _ = writeln!(
            out,
            "  {:<15} before {:<15} by {:>8.3} us ({:.1} %) in the median of {} rounds; p = {:.2e}, {}",
            pair.earlier,
            pair.later,
            difference.median,
            pair.percent,
            difference.samples,
            pair.p,
            if pair.shown { "shown" } else { "not shown" }
        );
    }
    out
}

fn cells(lanes: &[Lane]) -> String {
    let mut out = String::from("\n");
    let mut table =
        table::new(core::iter::once("cell, us").chain(lanes.iter().map(|lane| lane.structure.id)));
    let count = lanes.iter().map(|lane| lane.cells.counts().len()).max().unwrap_or(0);
    for at in 0..count {
        let counts: Vec<u64> = lanes.iter().filter_map(|lane| lane.cells.counts().get(at)).copied().collect();
        if counts.iter().any(|count| *count > 0) {
            let middle = lanes.first().map_or(0.0, |lane| lane.cells.middle_us(at));
            let row = core::iter::once(format!("{middle:.3}")).chain(counts.iter().map(u64::to_string));
            table.add_row(row.collect::<Vec<_>>());
        }
    }
    out += &table::show(&table);
    out += "\n";
    out
}

fn gnuplot(plan: &Plan, lanes: &[Lane]) -> String {
    let mut out = format!(
        "# tickwright latency: samples + 1 over lateness in us, period {}, cells of {}\n\
         # plot for [i=0:{}] FILE index i with steps title columnheader(1); set logscale y\n",
        span::show(plan.period),
        span::show(plan.bucket),
        lanes.len().saturating_sub(1)
    );
    for lane in lanes {
        let running = lane.all.running();
        // Two empty lines begin the next data set.
        let _ = writeln!(
            out,
            "\n\n\"{}\"\n# {} samples, min {:.3}, avg {:.3}, max {:.3}",
            lane.structure.id,
            running.count(),
            us(running.min() as f64),
            us(running.avg()),
            us(running.max() as f64)
        );
        histogram::gnuplot(&mut out, &lane.cells);
    }
    out
}
