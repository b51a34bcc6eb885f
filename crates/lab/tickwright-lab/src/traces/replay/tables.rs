//! The report of `replay`.

use super::data::{AT, Data, Row};
use crate::models::tape::KINDS;
use crate::render::Format;
use crate::result::{Axis, Cell, Finding, Mark, Plot, Section, Series, Table, Unit, labels};
use crate::structures::registry::{Structure, Ties};
use crate::traces::describe::workload_line;
use crate::traces::input::Gaps;

/// Returns every sample.
pub(crate) fn series(data: &Data) -> Vec<Series> {
    let of_row = |row: &Row| {
        let structure = || ("structure", row.structure.id.into());
        let operations = data.timed();
        let mut all = vec![
            Series::new("replay", Unit::Ns, labels([structure()]))
                .per("operation")
                .of(row.total_ns.iter().map(|ns| ns / operations)),
            Series::new("memory", Unit::Bytes, labels([structure()])).of([row.bytes as f64]),
            Series::new("idle wake-ups", Unit::Count, labels([structure()])).of([row.idle_wakes as f64]),
            Series::new("lateness", Unit::Ns, labels([structure()]))
                .of([(row.late_ticks * data.tick_ns) as f64]),
        ];
        for (kind, calls) in KINDS.iter().zip(&row.calls) {
            for (at, (name, _)) in AT.into_iter().enumerate().filter(|_| !calls.is_empty()) {
                let of = labels([structure(), ("at", name.into())]);
                let samples = calls.iter().map(|calls| calls[at]);
                all.push(Series::new(*kind, Unit::Ns, of).per("call").of(samples));
            }
        }
        all
    };
    data.rows.iter().flat_map(of_row).chain(data.gaps.series()).collect()
}

/// Returns a replay in which each structure has one made-up sample of every quantity. This replay
/// shows the series that a replay can have.
pub(crate) fn made_up(structures: &[&'static Structure], scale: u32) -> Data {
    let row = |structure: &&'static Structure| Row {
        structure,
        total_ns: vec![1.0],
        calls: core::array::from_fn(|_| vec![[1.0; AT.len()]]),
        bytes: 0,
        idle_wakes: 0,
        late_ticks: 0,
        compared_ns: 0,
    };
    let gaps = Gaps { losses: 1, lost: 1, unreadable: 1 };
    Data { rows: structures.iter().map(row).collect(), gaps, scale, ..Data::default() }
}

/// Returns the fastest structure, compared with the second fastest and with the standard library's
/// heap.
pub(super) fn findings(data: &Data) -> Vec<Finding> {
    let ranked = data.ranked();
    let Some((best, rest)) = ranked.split_first() else { return Vec::new() };
    let beside = |other: &&Row| {
        let ratio = best.ratio(other)?;
        let here = format!(
            "{} {} ns, {} {} ns an operation: {:.2}x",
            best.structure.id,
            Format::Ns.write(data.per_operation(best)),
            other.structure.id,
            Format::Ns.write(data.per_operation(other)),
            ratio.median
        );
        Some(Finding::ratio(format!("{} beside {}", best.structure.id, other.structure.id), ratio, here))
    };
    let heap = data.row("binary-heap").filter(|row| row.structure != best.structure);
    let next = rest.first().filter(|next| heap.is_none_or(|heap| heap.structure != next.structure));
    next.copied().iter().chain(heap.iter()).filter_map(beside).collect()
}

/// Returns the sections: the operations, the times, and the single calls.
pub(super) fn sections(data: &Data, _: &[Finding]) -> Vec<Section> {
    if data.ranked().is_empty() {
        return vec![workload(data).text("Interrupted before the first round: nothing was measured.")];
    }
    vec![workload(data), times(data), calls(data), percentiles(data)]
}

fn workload(data: &Data) -> Section {
    let counts = &data.counts;
    let mut words = workload_line(&data.profile);
    let kinds: Vec<String> = KINDS
        .iter()
        .zip(counts.kinds)
        .map(|(kind, count)| format!("{kind} {}", Format::Thousands.write(count as f64)))
        .collect();
    words += &format!(
        "\nReplayed{}: {}; ticks of {}; at most {} timers pending; {} deliveries; the earliest deadline changes {} times.",
        if data.scale > 1 { format!(" with {} copies", data.scale) } else { String::new() },
        kinds.join(", "),
        Format::Span.write(data.tick_ns as f64),
        counts.most,
        Format::Thousands.write(counts.deliveries as f64),
        Format::Thousands.write(counts.head_changes as f64),
    );
    let odd = [
        (counts.early, "expiries before their deadline count as removals"),
        (counts.too_late, "cancels after the deadline do nothing: the timer was delivered before"),
    ];
    if data.initial > 0 {
        words += &format!(
            "\n{} timers are pending when the profile begins; the {} operations until then are not timed.",
            Format::Thousands.write(data.initial as f64),
            Format::Thousands.write(data.untimed.iter().sum::<u64>() as f64)
        );
    }
    for (count, what) in odd.iter().filter(|(count, _)| *count > 0) {
        words += &format!("\n{count} {what}.");
    }
    Section::new("Workload").text(words)
}

fn times(data: &Data) -> Section {
    let ranked = data.ranked();
    let mut table = Table::new()
        .column("structure", Format::Text)
        .columns(["ns an operation", "from", "to"], Format::Ns)
        .column("to fastest", Format::Ratio)
        .column("of a CPU", Format::Percent)
        .column("worst call", Format::Span)
        .column("bytes", Format::Thousands)
        .column("idle wake-ups", Format::Thousands)
        .column("late by", Format::Span)
        .column("equal deadlines", Format::Text);
    for row in &ranked {
        let interval = data.interval(row);
        let ties = match row.structure.ties {
            Ties::Fifo => "as they came",
            _ => "any order",
        };
        table.row([
            row.structure.id.into(),
            data.per_operation(row).into(),
            Cell::from(interval.map(|interval| interval.low)),
            Cell::from(interval.map(|interval| interval.high)),
            Cell::from(ranked.first().and_then(|best| row.ratio(best)).map(|ratio| ratio.median)),
            data.shown_percent(row).into(),
            Cell::from(row.worst()),
            row.bytes.into(),
            row.idle_wakes.into(),
            (row.late_ticks * data.tick_ns).into(),
            ties.into(),
        ]);
    }
    Section::new("All operations").table(table)
}

fn calls(data: &Data) -> Section {
    let mut table = Table::new()
        .column("structure", Format::Text)
        .column("call", Format::Text)
        .columns(["p50", "p99", "p99.9", "p99.99", "worst"], Format::Ns);
    for row in data.ranked() {
        for (kind, name) in KINDS.iter().enumerate().filter(|(kind, _)| !row.calls[*kind].is_empty()) {
            let times = (0..AT.len()).map(|at| Cell::from(row.call(kind, at)));
            table.row([row.structure.id.into(), (*name).into()].into_iter().chain(times));
        }
    }
    Section::new("Single calls, in ns without the reading of the clock").table(table)
}

/// Returns the percentiles of the most frequent kind of operation, for the fastest structures.
fn percentiles(data: &Data) -> Section {
    let kind = data.commonest();
    let axes = (Axis::log("one call in", Format::Count), Axis::log("ns", Format::Ns));
    let plot = Plot::new(format!("Calls of {}: the slowest in so many", KINDS[kind]), axes.0, axes.1);
    let plot = data.ranked().into_iter().take(6).fold(plot.marked(Mark::Line), |plot, row| {
        let one_in = (0_usize..).zip([2.0, 100.0, 1000.0, 10_000.0]);
        plot.curve(row.structure.id, one_in.filter_map(|(at, x)| Some((x, row.call(kind, at)?))))
    });
    Section::new("").plot(plot)
}
