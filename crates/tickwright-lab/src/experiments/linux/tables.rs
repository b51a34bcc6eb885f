//! Tables of the report: the published rates beside ours.

use super::cost::{Cost, THREADS};
use super::findings::{fell, network_matched, samples, with};
use super::network::{ENDS, Kind, Run, SEGMENT, Share, Traffic};
use super::oracle::level;
use super::published::Test;
use super::run::{Data, Plan};
use super::simple::Workload;
use super::subject::{Column, Outcome};
use super::sweep::{DELAYS_MS, HZ, Point, STEPS_MS};
use crate::render::Format;
use crate::result::{Axis, Cell, Finding, Mark, Plot, Section, Table};
use crate::stats;

pub(super) fn sections(plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
    let published = &plan.published;
    let mut sections = vec![Section::new(published.title.clone()).text(format!("{}.", published.source))];
    if !data.simple.is_empty() {
        sections.push(simple(plan, data));
    }
    if !data.network.is_empty() {
        sections.extend(traffic(plan, &data.network));
    }
    sections.push(costs(&data.costs));
    sections.extend(sweep(plan, &data.sweep));
    let mut table = Table::new().columns(["", "published", "here", "verdict"], Format::Text);
    for finding in findings.iter().skip(1) {
        table.row([
            finding.about.clone().into(),
            finding.published.clone().unwrap_or_default().into(),
            finding.here.clone().into(),
            finding.verdict.words().into(),
        ]);
    }
    sections.push(Section::new("In short").table(table));
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

/// The published rates before and after the patch, then ours.
fn rates(test: &Test, outcomes: &[&Outcome]) -> Table {
    let mut table = Table::new()
        .column("percent of re-arms", Format::Text)
        .columns(["match", "requeue"], Format::Fixed(1))
        .column("recalc", Format::Fixed(4))
        .columns(["locks per million", "re-arms", "started anew"], Format::Thousands);
    for (name, rates) in [("before, 2016", test.before), ("after, 2016", test.after)] {
        let below = rates.recalculated_below.map(|most| format!("<{most}"));
        table.row([name.into(), rates.matched.into(), rates.requeued.into(), below.into()]);
    }
    for Outcome { column, counts, .. } in outcomes {
        table.row([
            format!("{}, here", column.title()).into(),
            counts.match_percent().into(),
            counts.percent(counts.requeued).into(),
            counts.percent(counts.recalculated).into(),
            counts.locks_per_million().into(),
            counts.rearms().into(),
            counts.started.into(),
        ]);
    }
    table
}

fn simple(plan: &Plan, data: &Data) -> Section {
    let work = &plan.work;
    let Workload { timers, hz, delay_ms, step_ms, .. } = *work;
    let (before, after) = work.expected();
    Section::new(format!("Simple: {timers} timers"))
        .text(format!(
            "Each timer is re-armed {delay_ms} ms ahead every {step_ms} ms at random, at HZ={hz} (level {}).",
            level(work.delay())
        ))
        .table(rates(&plan.published.simple, &data.simple.iter().collect::<Vec<_>>()))
        .text(format!("The formulas of random re-arms say {before:.1} % before and {after:.1} % after."))
        .plot(picture(plan, data))
}

/// Match rate over the gap between re-arms: by the formulas, as published, and in this run.
fn picture(plan: &Plan, data: &Data) -> Plot {
    let Plan { work, published, .. } = plan;
    let steps = (0..=30).map(|tenth| 0.1 * 10f64.powf(f64::from(tenth) / 10.0));
    let formulas: Vec<(f64, (f64, f64))> =
        steps.map(|step_ms| (step_ms, Workload { step_ms, ..*work }.expected())).collect();
    let here = data.simple.iter().filter_map(|outcome| Some((work.step_ms, outcome.counts.match_percent()?)));
    let test = published.simple;
    let theirs = [test.before.matched, test.after.matched].map(|share| (super::simple::STEP_MS, share));
    Plot::new(
        format!("Re-arms that stay in their bucket, {} ms ahead at HZ={}", work.delay_ms, work.hz),
        Axis::log("ms between two re-arms of a timer", Format::Text),
        Axis::linear("match, percent", Format::Fixed(0)),
    )
    .marked(Mark::Dots)
    .curve("formula, before", formulas.iter().map(|(step, (before, _))| (*step, *before)))
    .curve("formula, after", formulas.iter().map(|(step, (_, after))| (*step, *after)))
    .curve("here", here)
    .curve("published", theirs)
}

/// A table with one column of figures per way of re-arming.
fn by_column(first: &str, format: Format) -> Table {
    Table::new().column(first, Format::Text).columns(Column::ALL.map(Column::title), format)
}

fn traffic(plan: &Plan, runs: &[Run]) -> [Section; 4] {
    let Traffic { connections, response, pause_ms, line_mbits, hz, .. } = plan.traffic;
    let outcomes: Vec<&Outcome> = runs.iter().map(|run| &run.server).collect();
    let server = Section::new("Networking: the server's timers")
        .text(format!(
            "{connections} connections, responses of {response} bytes, pauses of {pause_ms} ms, a line \
             of {line_mbits} Mbit/s, HZ={hz}."
        ))
        .table(rates(&plan.published.network, &outcomes));
    let mut kinds = by_column("match, percent", Format::Fixed(1)).column("re-arms", Format::Thousands);
    let find = |column| runs.iter().find(|run| run.server.column == column);
    for (end, name) in ENDS.into_iter().enumerate().rev() {
        for kind in Kind::ALL {
            let of = |run: &Run| run.kinds[end][kind as usize];
            let shares =
                Column::ALL.map(|column| Cell::maybe(find(column).and_then(|run| of(run).match_percent())));
            let rearms = runs.last().map(|run| of(run).rearms()).into();
            let what = format!("{name}, {}", kind.name()).into();
            kinds.row([what].into_iter().chain(shares).chain([rearms]));
        }
    }
    let mut usage = Table::new()
        .column("exchanges a second", Format::Fixed(1))
        .column("line busy, percent", Format::Fixed(0))
        .column("responses that share it", Format::Fixed(1));
    // Each way has the same traffic.
    if let Some(Run { carried, .. }) = runs.last() {
        let elapsed = carried.elapsed_ns.max(1) as f64;
        usage.row([
            (carried.exchanges as f64 * 1e9 / elapsed).into(),
            (100.0 * carried.busy_ns as f64 / elapsed).into(),
            carried.shared_by().into(),
        ]);
    }
    [
        server,
        Section::new("Networking: every timer").table(kinds),
        Section::new("Networking: the server's line").table(usage),
        shares(plan, runs),
    ]
}

/// Match rate by the share of the traffic that is counted.
fn shares(plan: &Plan, runs: &[Run]) -> Section {
    let mut table = by_column("match, percent", Format::Fixed(1))
        .column("re-arms", Format::Thousands)
        .column("requeues to 1 in", Format::Fixed(1));
    for share in Share::ALL {
        let shares = network_matched(runs, share);
        let cells = (0..Column::ALL.len()).map(|at| Cell::maybe(shares.map(|shares| shares[at])));
        let rearms = runs.first().map(|run| run.counts(share).rearms());
        let fell = shares.map(|[before, after, ..]| fell(before, after));
        table.row([share.name().into()].into_iter().chain(cells).chain([rearms.into(), fell.into()]));
    }
    Section::new("Networking: which re-arms are counted").table(table).text(reasons(&plan.traffic))
}

/// Text that derives the match rates from the traffic.
fn reasons(traffic: &Traffic) -> String {
    let delay = Kind::Retransmit.delay(traffic.hz);
    let (level, each) = (level(delay), traffic.acknowledgements_per_tick());
    let granule = 1u64 << (3 * level);
    // A tick without a re-arm causes no requeue.
    let matched = |ticks: f64| 100.0 * (1.0 - 1.0 / (each * ticks).max(1.0));
    format!(
        "By arithmetic: {} Mbit/s are {:.1} segments of {SEGMENT} bytes a tick, and {each:.1} acknowledgements. One \
         response alone on the line then matches {:.1} % before: only the first re-arm of a tick asks for a new \
         deadline. It matches {:.1} % after: only the first of a granule does (retransmission after {delay} ticks: \
         level {level}, {granule} ticks a granule).\n\
         So the match before follows from the line and from one acknowledgement for two segments. It is less where \
         responses share the line. The factor follows from the granule. It is less where timers begin anew, and \
         stays when each system call is acknowledged once. A delayed acknowledgement below 63 ticks is on level 0 \
         and never gains. Receivers of streams arm it as often as senders arm the retransmission: so both ends \
         together show less.",
        traffic.line_mbits,
        2.0 * each,
        matched(1.0),
        matched(granule as f64),
    )
}

fn costs(costs: &[Cost]) -> Section {
    let mut table = Table::new()
        .column("ns per re-arm in place", Format::Text)
        .columns(THREADS.map(with), Format::Ns)
        .column("rate of two to one", Format::Ratio);
    for column in Column::ALL {
        let [one, two] = THREADS.map(|threads| stats::median(samples(costs, column, threads)?));
        if one.or(two).is_some() {
            let rate = one.zip(two).map(|(one, two)| 2.0 * one / two);
            table.row([column.title().into(), one.into(), two.into(), rate.into()]);
        }
    }
    let table = Section::new("Cost of a re-arm that stays, on one shard").table(table);
    if table.blocks.is_empty() {
        return table;
    }
    table.text(
        "All but ours run on the lab's own shard. It has no second shard, no deferrable timers and no alarm: their \
         costs are lower bounds.",
    )
}

/// One table per clock rate, then the points that meet both published figures.
fn sweep(plan: &Plan, points: &[Point]) -> Vec<Section> {
    let test = &plan.published.simple;
    let mut sections = Vec::new();
    for hz in HZ {
        let mut table = Table::new()
            .column("delay", Format::Span)
            .column("level", Format::Count)
            .column("way", Format::Text)
            .columns(STEPS_MS.map(|step| format!("{step} ms")), Format::Fixed(1));
        for delay in DELAYS_MS {
            let of = |point: &&Point| point.hz == hz && point.delay_ms == delay;
            let Some(level) = points.iter().find(of).map(|point| point.level) else { continue };
            for column in [Column::Before, Column::Ours] {
                let share = |point: &Point| if column == Column::Ours { point.ours } else { point.before };
                let at = |step: f64| points.iter().filter(of).find(|point| point.step_ms == step).map(share);
                let head = [(delay as f64 * 1e6).into(), u64::from(level).into(), column.title().into()];
                table.row(head.into_iter().chain(STEPS_MS.map(|step| Cell::maybe(at(step)))));
            }
        }
        sections.push(Section::new(format!("Sweep at HZ={hz}: match in percent, by the gap")).table(table));
    }
    if !points.is_empty() {
        let met = points.iter().filter(|point| point.is_published(test));
        let met: Vec<String> = met
            .map(|point| format!("HZ={}, {} ms every {} ms", point.hz, point.delay_ms, point.step_ms))
            .collect();
        sections.push(Section::new("Sweep: within one point of both published figures").text(format!(
            "{} of {} points meet {} % and {} %: {}.",
            met.len(),
            points.len(),
            test.before.matched,
            test.after.matched,
            if met.is_empty() { "none".to_owned() } else { met.join("; ") }
        )));
    }
    sections
}
