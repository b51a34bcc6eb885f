//! The tables beside the published ones, and what goes into files.

use core::fmt::Write;

use serde::Serialize;

use super::cost::{Cost, THREADS};
use super::counts::Counts;
use super::network::{ENDS, Kind, Logged, Run, SEGMENT, Traffic};
use super::oracle::level;
use super::outcome::{Column, Outcome};
use super::published::{self, Published, Rates};
use super::simple::Workload;
use super::sweep::{DELAYS_MS, Point, STEPS_MS};
use crate::clock::Calibration;
use crate::host::Host;
use crate::output::table;

/// All that was run; what was left out is none.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) clock: Calibration,
    pub(crate) simple: Option<Simple>,
    pub(crate) network: Option<Network>,
    pub(crate) costs: Vec<Cost>,
    pub(crate) sweep: Vec<Point>,
    /// Why a part was left out, and what makes figures doubtful.
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) interrupted: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Simple {
    pub(crate) published: Published,
    pub(crate) workload: Workload,
    pub(crate) outcomes: Vec<Outcome>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Network {
    pub(crate) published: Published,
    pub(crate) traffic: Traffic,
    pub(crate) runs: Vec<Run>,
    /// The traffic of the last run on every way of re-arming.
    pub(crate) replays: Vec<Replayed>,
}

/// A way of re-arming on traffic that was noted: the shares of it that [`super::network::Share`]
/// names.
#[derive(Debug, Serialize)]
pub(crate) struct Replayed {
    pub(crate) column: Column,
    pub(crate) server: Counts,
    pub(crate) server_calls: Counts,
    pub(crate) both: Counts,
}

/// A line of the log of re-arms.
#[derive(Debug, Serialize)]
pub(crate) struct LogLine {
    column: Column,
    at_ns: u64,
    end: &'static str,
    connection: u32,
    timer: Kind,
    tick: u64,
    deadline: u64,
    first_of_call: bool,
}

impl LogLine {
    pub(crate) fn new(column: Column, entry: Logged) -> Self {
        let Logged { at_ns, now, deadline, connection, server, kind, first_of_call } = entry;
        Self {
            column,
            at_ns,
            end: ENDS[usize::from(server)],
            connection,
            timer: kind,
            tick: now,
            deadline,
            first_of_call,
        }
    }
}

/// A line of the CSV: a column of one of the two tests.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    test: &'static str,
    column: Column,
    timers: String,
    matched: u64,
    requeued: u64,
    started: u64,
    recalculated: u64,
    locks: u64,
    lost_races: u64,
    elapsed_ns: u64,
}

impl Report {
    pub(crate) fn new(host: Host, clock: Calibration) -> Self {
        Self {
            experiment: "linux",
            notes: host.doubts(),
            host,
            clock,
            simple: None,
            network: None,
            costs: Vec::new(),
            sweep: Vec::new(),
            interrupted: false,
        }
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let line = |test, timers: String, outcome: &Outcome, counts: &Counts| Line {
            test,
            column: outcome.column,
            timers,
            matched: counts.matched,
            requeued: counts.requeued,
            started: counts.started,
            recalculated: counts.recalculated,
            locks: counts.locks,
            lost_races: counts.lost_races,
            elapsed_ns: outcome.elapsed_ns,
        };
        let simple = self.simple.iter().flat_map(|simple| &simple.outcomes);
        let mut lines: Vec<Line> =
            simple.map(|outcome| line("simple", "all".into(), outcome, &outcome.counts)).collect();
        for run in self.network.iter().flat_map(|network| &network.runs) {
            lines.push(line("network", "server".into(), &run.server, &run.server.counts));
            for (end, kinds) in ENDS.into_iter().zip(&run.kinds) {
                for (kind, counts) in Kind::ALL.into_iter().zip(kinds) {
                    lines.push(line("network", format!("{end}, {}", kind.name()), &run.server, counts));
                }
            }
        }
        lines
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "clock  {}", self.clock)?;
        for note in &self.notes {
            writeln!(out, "note   {note}")?;
        }
        if let Some(simple) = &self.simple {
            writeln!(out, "\n{}", simple.text())?;
        }
        if let Some(network) = &self.network {
            writeln!(out, "\n{}", network.text())?;
        }
        if !self.costs.is_empty() {
            writeln!(out, "\n{}", costs(&self.costs))?;
        }
        if !self.sweep.is_empty() {
            writeln!(out, "\n{}", sweep(&self.sweep))?;
        }
        Ok(())
    }
}

/// Percent with as many digits as the published ones have.
fn percent(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(0.0) => "0".into(),
        Some(value) if value < 0.1 => format!("{value:.4}"),
        Some(value) => format!("{value:.1}"),
    }
}

/// Percent of re-arms that may come late before nothing is concluded.
const MOST_LATE: f64 = 1.0;

/// The published columns before and after, and ours beside each.
fn rates(published: &Published, outcomes: &[&Outcome]) -> String {
    let mut heading = vec!["percent of re-arms".to_owned(), "before, 2016".into(), "after, 2016".into()];
    heading.extend(outcomes.iter().map(|outcome| format!("{} here", outcome.column.title())));
    let mut table = table::new(heading);
    let [before, after] = [&published.before, &published.after];
    let below = |rates: &Rates| rates.recalculated_below.map_or("-".into(), |most| format!("<{most}"));
    let mut row = |what: &str, of: [String; 2], here: &dyn Fn(&Counts) -> String| {
        let mut cells = vec![what.to_owned()];
        cells.extend(of);
        cells.extend(outcomes.iter().map(|outcome| here(&outcome.counts)));
        table.add_row(cells);
    };
    let one = |value: f64| format!("{value:.1}");
    row("match", [one(before.matched), one(after.matched)], &|counts| {
        percent(counts.percent(counts.matched))
    });
    row("requeue", [one(before.requeued), one(after.requeued)], &|counts| {
        percent(counts.percent(counts.requeued))
    });
    row("recalc", [below(before), below(after)], &|counts| percent(counts.percent(counts.recalculated)));
    let none = || ["-".to_owned(), "-".to_owned()];
    row("locks per million", none(), &|counts| {
        counts.locks_per_million().map_or("-".into(), |locks| format!("{locks:.0}"))
    });
    row("re-arms", none(), &|counts| counts.rearms().to_string());
    row("started anew", none(), &|counts| counts.started.to_string());
    table::show(&table)
}

/// Whether the direction and the size of the published change are there, in words. `matched` are
/// percents by column.
fn change(published: &Published, matched: impl Fn(Column) -> Option<f64>) -> String {
    let [before, after, ours] = match [Column::Before, Column::After, Column::Ours].map(&matched) {
        [Some(before), Some(after), Some(ours)] => [before, after, ours],
        _ => return "No conclusion: a column is missing.".into(),
    };
    let factor = |before: f64, after: f64| (100.0 - before) / (100.0 - after);
    let theirs = factor(published.before.matched, published.after.matched);
    let here = factor(before, after);
    let requeues = match here {
        // A gain that the printed digits do not show is none.
        _ if after < before + 0.05 => "The direction is NOT reproduced: match did not rise".to_owned(),
        here if here > 1000.0 => "The direction is reproduced: requeues fell to none".into(),
        here => {
            let alike = (0.5..=2.0).contains(&(here / theirs));
            let size = if alike { "and the size" } else { "but NOT the size" };
            format!(
                "The direction is reproduced {size}: requeues fell to 1/{here:.1}, published 1/{theirs:.1}"
            )
        }
    };
    let least = if ours >= after { "at least as often as" } else { "LESS often than" };
    format!("{requeues} (match {before:.1} to {after:.1} %). Ours matches {least} the patch: {ours:.1} %.")
}

impl Simple {
    fn text(&self) -> String {
        let Workload { timers, hz, delay_ms, step_ms, .. } = self.workload;
        let outcomes: Vec<&Outcome> = self.outcomes.iter().collect();
        let (before, after) = self.workload.expected();
        format!(
            "Simple: {timers} timers re-armed {delay_ms} ms ahead every {step_ms} ms at random, HZ={hz} (level {})\n{}\n\
             The formulas of random re-arms say {before:.1} % before and {after:.1} % after.\n{}",
            super::oracle::level(self.workload.delay()),
            rates(&self.published, &outcomes),
            self.conclusion()
        )
    }

    /// Only from a host that kept up.
    fn conclusion(&self) -> String {
        let late = |outcome: &Outcome| 100.0 * outcome.late as f64 / outcome.counts.rearms().max(1) as f64;
        let worst = self.outcomes.iter().map(late).fold(0.0, f64::max);
        if worst > MOST_LATE {
            return format!(
                "No conclusion: the host was busy, {worst:.1} % of the re-arms of a column came more than a tick late, and so too many in one tick."
            );
        }
        change(&self.published, |column| {
            let counts = self.outcomes.iter().find(|outcome| outcome.column == column)?.counts;
            counts.percent(counts.matched)
        })
    }
}

impl Network {
    fn text(&self) -> String {
        let Traffic { connections, response, pause_ms, line_mbits, hz, .. } = self.traffic;
        let outcomes: Vec<&Outcome> = self.runs.iter().map(|run| &run.server).collect();
        let changed =
            |share: fn(&Replayed) -> Counts| change(&self.published, |column| self.matched(column, share));
        format!(
            "Networking: {connections} connections over loopback, responses of {response} bytes, pauses of {pause_ms} ms, \
             a line of {line_mbits} Mbit/s, HZ={hz}\nThe server's timers:\n{}\n{}\n{}\n\n\
             The traffic of the last run, replayed for each\n{}\nThe server's timers: {}\nThose of both ends: {}\n{}",
            rates(&self.published, &outcomes),
            self.kinds(),
            self.usage(),
            self.replayed(),
            changed(|replay| replay.server),
            changed(|replay| replay.both),
            self.reasons()
        )
    }

    /// Match by end and timer.
    fn kinds(&self) -> String {
        let mut heading = vec!["match, percent".to_owned()];
        heading.extend(self.runs.iter().map(|run| format!("{} here", run.server.column.title())));
        heading.push("re-arms".into());
        let mut table = table::new(heading);
        for (end, name) in ENDS.into_iter().enumerate().rev() {
            for kind in Kind::ALL {
                let of = |run: &Run| run.kinds[end][kind as usize];
                let mut row = vec![format!("{name}, {}", kind.name())];
                row.extend(self.runs.iter().map(|run| percent(of(run).percent(of(run).matched))));
                row.push(self.runs.last().map_or("-".into(), |run| of(run).rearms().to_string()));
                table.add_row(row);
            }
        }
        table::show(&table)
    }

    /// How the runs used the line.
    fn usage(&self) -> String {
        let of = |what: &dyn Fn(&Run) -> String| self.runs.iter().map(what).collect::<Vec<_>>().join(", ");
        let elapsed = |run: &Run| run.server.elapsed_ns.max(1) as f64;
        format!(
            "Exchanges a second: {}. Line busy, percent: {}; then shared by so many responses: {}.",
            of(&|run| format!("{:.1}", run.exchanges as f64 * 1e9 / elapsed(run))),
            of(&|run| format!("{:.0}", 100.0 * run.line.busy_ns as f64 / elapsed(run))),
            of(&|run| run.line.shared_by().map_or("-".into(), |by| format!("{by:.1}")))
        )
    }

    fn matched(&self, column: Column, share: impl Fn(&Replayed) -> Counts) -> Option<f64> {
        let counts = share(self.replays.iter().find(|replay| replay.column == column)?);
        counts.percent(counts.matched)
    }

    /// Match by the share of the traffic that is counted.
    fn replayed(&self) -> String {
        let mut heading = vec!["match, percent".to_owned()];
        heading.extend(self.replays.iter().map(|replay| format!("{} here", replay.column.title())));
        heading.extend(["re-arms".into(), "requeues fell to".into()]);
        let mut table = table::new(heading);
        let mut row = |what: &str, share: &dyn Fn(&Replayed) -> Counts| {
            let mut row = vec![what.to_owned()];
            row.extend(Column::ALL.map(|column| percent(self.matched(column, share))));
            row.push(self.replays.first().map_or(0, |replay| share(replay).rearms()).to_string());
            let requeued = |at: Column| {
                self.matched(at, share).map(|matched| 100.0 - matched).filter(|&rest| rest > 0.0)
            };
            let factor = requeued(Column::Before).zip(requeued(Column::After));
            row.push(factor.map_or("-".into(), |(before, after)| format!("1/{:.1}", before / after)));
            table.add_row(row);
        };
        row("server", &|replay| replay.server);
        row("server, each system call acknowledged once", &|replay| replay.server_calls);
        row("both ends under one kernel", &|replay| replay.both);
        table::show(&table)
    }

    /// What follows from what.
    fn reasons(&self) -> String {
        let Traffic { hz, line_mbits, .. } = self.traffic;
        let delay = Kind::Retransmit.delay(hz);
        let (level, each) = (level(delay), self.traffic.acknowledgements_per_tick());
        let granule = 1u64 << (3 * level);
        // A tick without a re-arm requeues nothing.
        let matched = |ticks: f64| 100.0 * (1.0 - 1.0 / (each * ticks).max(1.0));
        format!(
            "By arithmetic: {line_mbits} Mbit/s are {:.1} segments of {SEGMENT} bytes a tick, {each:.1} acknowledgements. For one response alone on the line that is \
             {:.1} % before, as only the first re-arm of a tick asks for a new deadline, and {:.1} % after, as only the first of a granule does \
             (retransmission after {delay} ticks: level {level}, {granule} ticks a granule).\n\
             So the match before follows from the line and from one acknowledgement for two segments, less where responses share the line; the factor follows from the \
             granule, less where timers begin anew, and stays when each system call is acknowledged once. A delayed acknowledgement below 63 ticks is on level 0, and never gains: \
             receivers of streams arm it as often as senders arm the retransmission, which is why both ends together show less.",
            2.0 * each,
            matched(1.0),
            matched(granule as f64),
        )
    }
}

fn costs(costs: &[Cost]) -> String {
    let mut heading = vec!["ns per re-arm in place".to_owned()];
    heading.extend(Column::ALL.map(|column| column.title().to_owned()));
    heading.push("ours / locked".into());
    let mut table = table::new(heading);
    let of = |column, threads| costs.iter().find(|cost| cost.column == column && cost.threads == threads);
    let mut words = Vec::new();
    for threads in THREADS {
        let mut row = vec![format!("{threads} thread{}, one shard", if threads == 1 { "" } else { "s" })];
        row.extend(Column::ALL.map(|column| {
            of(column, threads)
                .and_then(Cost::summary)
                .map_or("-".into(), |summary| table::ns(summary.median))
        }));
        let ratio = of(Column::Ours, threads)
            .zip(of(Column::Locked, threads))
            .and_then(|(ours, locked)| ours.against(locked));
        row.push(ratio.map_or("-".into(), |(ratio, verdict)| {
            let [low, high] = [ratio.interval.low, ratio.interval.high];
            words.push(format!("{threads}: {:.2} to {:.2}, {}", low, high, verdict.words()));
            format!("{:.2}x", ratio.median)
        }));
        table.add_row(row);
    }
    let scale: Vec<String> = Column::ALL
        .into_iter()
        .filter_map(|column| {
            let [one, two] = THREADS.map(|threads| of(column, threads).and_then(Cost::summary));
            let (one, two) = (one?, two?);
            Some(format!("{} {:.2}x", column.title(), 2.0 * one.median / two.median))
        })
        .collect();
    format!(
        "{}\nThe interval of ours / locked, by threads: {}.\nRe-arms a second with two threads, against one: {}.\n\
         All but ours run on the lab's own shard, which has one shard, one wheel and no alarm: their costs are lower bounds.",
        table::show(&table),
        words.join("; "),
        scale.join(", ")
    )
}

/// A table per clock rate: match before -> ours; a star where both are within a point of the
/// published ones.
fn sweep(points: &[Point]) -> String {
    let mut parts = Vec::new();
    for hz in super::sweep::HZ {
        let mut heading = vec!["delay \\ step, ms".to_owned()];
        heading.extend(STEPS_MS.map(|step| step.to_string()));
        let mut table = table::new(heading);
        for delay in DELAYS_MS {
            let of =
                |step: f64| points.iter().find(|p| p.hz == hz && p.delay_ms == delay && p.step_ms == step);
            let any = points.iter().find(|point| point.hz == hz && point.delay_ms == delay);
            let Some(level) = any.map(|point| point.level) else { continue };
            let mut row = vec![format!("{delay} (level {level})")];
            row.extend(STEPS_MS.map(|step| {
                of(step).map_or("-".into(), |point| {
                    let star = if point.is_published() { "*" } else { "" };
                    format!("{:.1}>{:.1}{star}", point.before, point.ours)
                })
            }));
            table.add_row(row);
        }
        if table.row_count() > 0 {
            parts.push(format!("HZ={hz}, match in percent, before>ours\n{}", table::show(&table)));
        }
    }
    let stars = points.iter().filter(|point| point.is_published()).count();
    parts.push(format!(
        "* within one point of both published figures ({} > {}): {stars} of {} points.",
        published::SIMPLE.before.matched,
        published::SIMPLE.after.matched,
        points.len()
    ));
    parts.join("\n\n")
}
