//! Tables of the report: the experiment's own tables, and the published figures compared with ours.

use super::instrument::Op;
use super::run::{Lane, Mode, Plan, Wait};
use super::scenario::{Machine, Published, Row, family};
use super::verdict::{Acceptance, Prediction};
use crate::duration;
use crate::render::Format;
use crate::result::{
    Axis, Cell, Claim, Finding, Mark, Plot, Section, Series, Table, default, findings_table, labels,
};
use crate::stats::{self, Distribution, Verdict};

/// The percentiles in the tables.
const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// Returns the lanes and their median time per tick, in ascending order.
fn ranked(lanes: &[Lane]) -> Vec<(&Lane, f64)> {
    let mut ranked: Vec<_> =
        lanes.iter().filter_map(|lane| Some((lane, stats::median(&lane.per_tick)?))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}

fn acceptances<'l>(plan: &Plan, lanes: &'l [Lane]) -> Vec<(&'l Lane, Acceptance)> {
    let prediction = Prediction::of(&plan.params);
    lanes.iter().map(|lane| (lane, Acceptance::of(lane, &prediction, plan.mode))).collect()
}

/// Returns the main finding, a finding for each structure relative to the fastest structure, and
/// whether each run is accepted.
pub(super) fn findings(plan: &Plan, lanes: &[Lane]) -> Vec<Finding> {
    let acceptances = acceptances(plan, lanes);
    let published = |finding: Finding| match plan.published.machines.first() {
        Some(machine) => {
            let claim = claim(machine, lanes, &acceptances);
            finding.published(published_order(machine)).claimed(claim)
        }
        None => finding,
    };
    let mut findings = vec![published(answer(lanes, &acceptances))];
    if let [(best, _), others @ ..] = ranked(lanes).as_slice() {
        findings.extend(others.iter().filter_map(|(lane, ns)| {
            let [one, other] = [lane.structure.id, best.structure.id];
            let ratio = stats::ratios(&lane.per_tick, &best.per_tick)?;
            let of = labels([("structure", one.into()), ("beside", other.into())]);
            Some(Finding::ratio(format!("{one} to {other}"), ratio, format!("{ns:.0} ns")).labelled(of))
        }));
    }
    findings.extend(acceptances.iter().map(|(lane, acceptance)| {
        let about = format!("the counts of the experiment, {}", lane.structure.id);
        Finding::stated(about, acceptance.words()).judged(acceptance.verdict())
    }));
    findings
}

/// By the published figures, one structure is faster than each other published structure. Returns
/// whether this run shows the same, in the storage in which the structures ran here.
fn claim(machine: &Machine, lanes: &[Lane], acceptances: &[(&Lane, Acceptance)]) -> Claim {
    if acceptances.iter().any(|(_, acceptance)| acceptance.verdict() == Verdict::Missed) {
        return Claim::Open;
    }
    let rows = || machine.structures.iter();
    let least = rows().min_by(|a, b| a.per_tick().total_cmp(&b.per_tick())).map(|row| row.family.as_str());
    let lane = |family: &str, storage: &str| {
        lanes.iter().find(|lane| lane.structure.id.split_once('/') == Some((family, storage)))
    };
    let of = |storage: &'static str| {
        let first = lane(least?, storage)?;
        let others = rows().filter(|row| Some(row.family.as_str()) != least);
        let others: Option<Vec<&Lane>> = others.map(|row| lane(&row.family, storage)).collect();
        Some((first, others?))
    };
    let Some((first, others)) = of("hook").or_else(|| of("slab")) else { return Claim::Open };
    let slower = |lane: &&Lane| match stats::ratios(&lane.per_tick, &first.per_tick) {
        Some(ratio) => Claim::slower(Verdict::on(&ratio)),
        None => Claim::Open,
    };
    let claims: Vec<Claim> = others.iter().map(slower).collect();
    if claims.contains(&Claim::Fails) {
        Claim::Fails
    } else if claims.contains(&Claim::Open) || claims.is_empty() {
        Claim::Open
    } else {
        Claim::Holds
    }
}

/// Returns one line per machine, such as `Core i7: heap2 419 ns a tick, rb-cached 1.12x`.
fn published_order(machine: &Machine) -> String {
    let mut rows: Vec<(&str, f64)> =
        machine.structures.iter().map(|row| (row.family.as_str(), row.per_tick())).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    let Some((&(first, least), others)) = rows.split_first() else { return machine.name.clone() };
    let others: String = others.iter().map(|(name, ns)| format!(", {name} {:.2}x", ns / least)).collect();
    format!("{}: {first} {least:.0} ns a tick{others}", machine.name)
}

/// Finds the structure with the cheapest tick. If the run of a lane is not accepted, there is no
/// conclusion, because the lane's figures describe another workload.
fn answer(lanes: &[Lane], acceptances: &[(&Lane, Acceptance)]) -> Finding {
    let about = "the structure with the cheapest kernel tick, ~500 timers";
    let refused = acceptances.iter().filter(|(_, acceptance)| acceptance.verdict() == Verdict::Missed);
    let refused: Vec<&str> = refused.map(|(lane, _)| lane.structure.id).collect();
    if !refused.is_empty() {
        let here = format!("no conclusion: {} ran something else", refused.join(", "));
        return Finding::stated(about, here).judged(Verdict::NotShown);
    }
    match ranked(lanes).as_slice() {
        [] => Finding::stated(about, "nothing was measured").judged(Verdict::NotShown),
        [(only, ns)] => Finding::stated(about, format!("only {} ran: {ns:.0} ns a tick", only.structure.id)),
        [(best, ns), (next, next_ns), ..] => {
            let [one, other] = [best, next].map(|lane| lane.structure.id);
            let mut here = format!("{one} {ns:.0} ns a tick, next {other} {next_ns:.0} ns");
            // The structures are ordered by their medians over all slices. The ratio is the median
            // of the ratios of single slices, so it can contradict this order for structures that
            // tie.
            if let Some(ratio) = stats::ratios(&next.per_tick, &best.per_tick) {
                here += &format!("; slice by slice, {other} takes {:.2}x the time of {one}", ratio.median);
            }
            match stats::ratios(&best.per_tick, &next.per_tick) {
                Some(ratio) => Finding::ratio(about, ratio, here),
                None => Finding::stated(about, here).judged(Verdict::NotShown),
            }
        }
    }
}

pub(super) fn sections(plan: &Plan, lanes: &[Lane], series: &[Series], findings: &[Finding]) -> Vec<Section> {
    let named = |is: &dyn Fn(&str) -> bool| series.iter().filter(|one| is(&one.name)).collect::<Vec<_>>();
    let mut sections = vec![
        Section::new(plan.scenario.title.clone()).text(conditions(plan)),
        if plan.instrument {
            Section::new("Each operation, ns").table(operations(lanes))
        } else {
            Section::new("Calls")
                .table(default::table(&named(&|name| name.ends_with(" calls") || name == "ticks")))
        },
        accepted(plan, lanes),
        per_tick(plan, lanes, &named(&|name| name == "tick")),
        compared(plan, lanes, findings),
        beside_published(plan, lanes),
    ];
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

fn conditions(plan: &Plan) -> String {
    let Plan { params, scenario, .. } = plan;
    let time = match (plan.mode, plan.wait) {
        (Mode::Real, Wait::Sleep) => "real time, asleep until the next head, with a timer slack of 1 ns",
        (Mode::Real, Wait::Spin) => "real time, reading the clock until the next head",
        (Mode::Virtual, _) => "virtual time",
    };
    let timed = if plan.instrument {
        "Each sample holds one reading of the clock, which is not taken off: its cost is stated above."
    } else {
        "Timed by the slice, with no clock in it; the handler and its event log are included."
    };
    // Joins the lines, because the file's line breaks do not fit a terminal.
    let analysis = scenario.analysis.split_whitespace().collect::<Vec<_>>().join(" ");
    let analysis = if analysis.is_empty() { analysis } else { analysis + "\n" };
    format!(
        "{analysis}{} timers, half of them armed, {:.0} ticks a second; {time}; {} of it for each structure.\n{timed}",
        params.timers,
        Prediction::of(params).ticks_per_second,
        duration::show(plan.duration),
    )
}

/// Returns the figures that the experiment printed, and percentiles.
fn operations(lanes: &[Lane]) -> Table {
    let mut table = Table::new()
        .columns(["structure", "operation"], Format::Text)
        .column("samples", Format::Thousands)
        .columns(["min", "avg", "stddev"], Format::Ns)
        .columns(PERCENTILES.map(|(name, _)| name), Format::Ns)
        .column("max", Format::Ns);
    for lane in lanes {
        for (name, figures) in lane.stats.iter().flat_map(|stats| stats.rows()) {
            let running = figures.running();
            let mut row = vec![lane.structure.id.into(), name.into(), running.count().into()];
            if running.count() > 0 {
                row.extend([(running.min() as f64).into(), running.avg().into(), running.stddev().into()]);
                row.extend(PERCENTILES.map(|(_, percent)| figures.percentile(percent).into()));
                row.push(running.max().into());
            }
            table.row(row);
        }
    }
    table
}

/// Returns the measured counts compared with the model's predictions.
fn accepted(plan: &Plan, lanes: &[Lane]) -> Section {
    let mut table = Table::new()
        .column("", Format::Text)
        .column("head : insert", Format::Fixed(3))
        .column("pending", Format::Fixed(1))
        .column("wake-ups a tick", Format::Fixed(2))
        .columns(["ticks in order", "overruns"], Format::Thousands)
        .column("", Format::Text);
    let Prediction { head_to_insert, population, .. } = Prediction::of(&plan.params);
    table.row(["published".into(), plan.published.head_to_insert.into()]);
    table.row(["the model".into(), head_to_insert.into(), population.into(), 1.0.into()]);
    let acceptances = acceptances(plan, lanes);
    for (lane, acceptance) in &acceptances {
        table.row([
            lane.structure.id.into(),
            acceptance.head_to_insert.into(),
            acceptance.population.into(),
            acceptance.wakes_per_tick.into(),
            lane.total.ticks.into(),
            lane.overruns.into(),
            acceptance.words().into(),
        ]);
    }
    let late = acceptances.iter().any(|(_, acceptance)| !acceptance.keeps_up && !acceptance.too_short);
    let late = if late {
        "This host does not keep up: ticks share wake-ups, as on the Xplained board (0.82 wake-ups a tick), \
         and two heads are saved for each that does. `--wait spin` keeps up; `--mode virtual` always does."
    } else {
        ""
    };
    Section::new("Was it the experiment?").table(table).text(late)
}

/// The maximum number of points of a curve.
const POINTS: usize = 120;

/// Returns the time per tick, and how it varies during the run.
fn per_tick(plan: &Plan, lanes: &[Lane], ticks: &[&Series]) -> Section {
    let title = if plan.instrument { "Time in the queue per tick" } else { "Time of the handler per tick" };
    let y = Axis::log("ns per tick", Format::Ns);
    let mut plot = Plot::new("Time per tick, slice by slice", Axis::linear("slice", Format::Count), y)
        .marked(Mark::Dots);
    let timers = Prediction::of(&plan.params).population;
    let axes = (Axis::log("timers", Format::Count), Axis::log("ns per tick", Format::Ns));
    let mut by_structure = Plot::new("Time of a kernel's tick by structure", axes.0, axes.1);
    for (lane, ns) in ranked(lanes) {
        by_structure = by_structure.curve(lane.structure.id, [(timers, ns)]);
        let share = lane.per_tick.len().div_ceil(POINTS).max(1);
        let points = lane.per_tick.chunks(share).enumerate();
        let points = points.filter_map(|(at, ns)| Some(((at * share + 1) as f64, stats::median(ns)?)));
        plot = plot.curve(lane.structure.id, points);
    }
    Section::new(title).table(default::table(ticks)).plot(by_structure).plot(plot)
}

/// Returns each structure's time relative to the fastest structure, and the main finding.
fn compared(plan: &Plan, lanes: &[Lane], findings: &[Finding]) -> Section {
    let Some((answer, others)) = findings.split_first() else { return Section::default() };
    let ratios: Vec<Finding> = others.iter().filter(|finding| finding.figure.is_some()).cloned().collect();
    let calls: u64 = lanes.iter().flat_map(|lane| lane.total.counts).sum();
    let ticks: u64 = lanes.iter().map(|lane| lane.total.ticks).sum();
    let clock = if plan.instrument && ticks > 0 {
        format!(
            "The time of a tick holds {:.1} readings of the clock, which draw ratios towards 1. `--mode virtual` \
             without `--instrument` measures without.",
            calls as f64 / ticks as f64
        )
    } else {
        String::new()
    };
    Section::new("In short").table(findings_table("a tick", Format::Ratio, &ratios)).text(format!(
        "{}\n{}\n{clock}",
        answer.about,
        answer.lines().join("\n")
    ))
}

/// A figure that was published and is also measured here.
type Compared = (&'static str, fn(&Row) -> Option<f64>, fn(&Lane) -> Option<f64>);

/// The rows of the comparison with the published figures.
const COMPARED: [Compared; 7] = [
    ("head", |row| Some(row.avg[0]), |lane| average(lane.stats.as_ref()?.of(Op::Head))),
    ("second", |row| Some(row.avg[1]), |lane| average(lane.stats.as_ref()?.of(Op::Second))),
    ("insert", |row| Some(row.avg[2]), |lane| average(lane.stats.as_ref()?.of(Op::Insert))),
    ("remove", |row| Some(row.avg[3]), |lane| average(lane.stats.as_ref()?.of(Op::Remove))),
    ("overall", |row| Some(row.overall), |lane| average(lane.stats.as_ref()?.overall())),
    ("a tick", |row| Some(row.per_tick()), |lane| stats::median(&lane.per_tick)),
    // One percent of a second is 10,000 us. In virtual time, only the driver's sleeps take time, so
    // there is no figure.
    (
        "us a second",
        |row| Some(row.share_percent * 1e4),
        |lane| {
            let spent = lane.stats.as_ref()?.overall().running().total();
            Some(1e6 * spent / lane.total.elapsed_ns.max(1) as f64)
        },
    ),
];

fn average(figures: &Distribution) -> Option<f64> {
    (figures.running().count() > 0).then(|| figures.running().avg())
}

fn beside_published(plan: &Plan, lanes: &[Lane]) -> Section {
    let mut table = Table::new().columns(["ns", "structure"], Format::Text);
    let Published { source, machines, .. } = &plan.published;
    for name in machines.iter().map(|machine| machine.name.as_str()).chain(["here"]) {
        table = table.column(name, Format::Ns).column("x", Format::Fixed(2));
    }
    // The reference here is the first lane of the same family as the published reference.
    let reference = machines.first().and_then(|machine| machine.structures.first());
    let heap = lanes.iter().find(|lane| reference.is_some_and(|row| row.family == family(lane.structure.id)));
    for (name, theirs, ours) in COMPARED {
        for lane in lanes {
            let mut figures: Vec<(Option<f64>, Option<f64>)> = Vec::new();
            for machine in machines {
                let row = machine.structures.iter().find(|row| row.family == family(lane.structure.id));
                let number = |row: Option<&Row>| row.and_then(theirs).filter(|figure| figure.is_finite());
                figures.push((number(row), number(machine.structures.first())));
            }
            figures.push((ours(lane), heap.and_then(ours)));
            if figures.iter().all(|(figure, _)| figure.is_none()) {
                continue;
            }
            let ratio = |figure: Option<f64>, to: Option<f64>| Some(figure? / to.filter(|to| *to > 0.0)?);
            let cells = figures
                .into_iter()
                .flat_map(|(figure, to)| [Cell::maybe(figure), Cell::maybe(ratio(figure, to))]);
            table.row([name.into(), lane.structure.id.into()].into_iter().chain(cells));
        }
    }
    Section::new("Beside the published averages")
        .text(format!(
            "{source}. x: to the binary heap on the same machine. us a second: time in the queue, of a second of \
             the structure's clock."
        ))
        .table(table)
}
