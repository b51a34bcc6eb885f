//! Tables of the report: the published rates compared with ours.

use super::findings::{fell, network_matched};
use super::network::{Kind, Run, SEGMENT, Share, Traffic};
use super::oracle::level;
use super::published::Test;
use super::run::{Data, Plan};
use super::simple::Workload;
use super::subject::{Column, Outcome};
use crate::render::Format;
use crate::result::{Axis, Cell, Finding, Mark, Plot, Section, Series, Table, default, findings_table};

pub(super) fn sections(plan: &Plan, data: &Data, series: &[Series], findings: &[Finding]) -> Vec<Section> {
    let published = &plan.published;
    let named = |name: &str| series.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    let mut sections = vec![Section::new(published.title.clone()).text(format!("{}.", published.source))];
    if !data.simple.is_empty() {
        sections.push(simple(plan, data));
    }
    if !data.network.is_empty() {
        sections.extend(traffic(plan, &data.network, &named("matched")));
    }
    if !data.costs.is_empty() {
        sections.push(
            Section::new("Cost of a re-arm that stays, on one shard").table(default::table(&named("re-arm"))).text(
                "All but ours run on the lab's own shard. It has no second shard, no deferrable timers and no alarm: \
                 their costs are lower bounds.",
            ),
        );
    }
    let table = findings_table("", Format::Ratio, findings.get(1..).unwrap_or_default());
    sections.push(Section::new("In short").table(table));
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

/// Returns the published rates before and after the patch, then ours.
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

/// Returns a plot of the match rate over the gap between re-arms: by the formulas, as published,
/// and in this run.
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

fn traffic(plan: &Plan, runs: &[Run], timers: &[&Series]) -> [Section; 4] {
    let Traffic { connections, response, pause_ms, line_mbits, hz, .. } = plan.traffic;
    let outcomes: Vec<&Outcome> = runs.iter().map(|run| &run.server).collect();
    let server = Section::new("Networking: the server's timers")
        .text(format!(
            "{connections} connections, responses of {response} bytes, pauses of {pause_ms} ms, a line \
             of {line_mbits} Mbit/s, HZ={hz}."
        ))
        .table(rates(&plan.published.network, &outcomes));
    let mut usage = Table::new()
        .column("exchanges a second", Format::Fixed(1))
        .column("line busy, percent", Format::Fixed(0))
        .column("responses that share it", Format::Fixed(1));
    // All ways of re-arming have the same traffic.
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
        Section::new("Networking: every timer, match in percent").table(default::table_across("way", timers)),
        Section::new("Networking: the server's line").table(usage),
        shares(plan, runs),
    ]
}

/// Returns the match rate by the share of the traffic that is counted.
fn shares(plan: &Plan, runs: &[Run]) -> Section {
    let mut table = Table::new()
        .column("match, percent", Format::Text)
        .columns(Column::ALL.map(Column::title), Format::Fixed(1))
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

/// Returns a text that derives the match rates from the traffic.
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
         responses share the line. The factor follows from the granule. It is less where timers begin anew. A delayed acknowledgement below 63 ticks is on level 0 \
         and never gains. Receivers of streams arm it as often as senders arm the retransmission: so both ends \
         together show less.",
        traffic.line_mbits,
        2.0 * each,
        matched(1.0),
        matched(granule as f64),
    )
}
