//! `--counters`: the counts per wake-up as series, and as a table.

use super::lane::Lane;
use super::plan::Data;
use crate::hardware::EVENTS;
use crate::render::Format;
use crate::result::{Cell, Section, Series, Table, Unit};
use crate::stats;

/// The samples of the event at `at` in [`EVENTS`], one for each turn.
fn samples(lane: &Lane, at: usize) -> Vec<f64> {
    lane.counted.iter().map(|turn| turn.counts[at]).collect()
}

/// The series of a structure: one series for each event that was counted.
pub(super) fn series(cpu: Option<usize>, lane: &Lane) -> impl Iterator<Item = Series> {
    EVENTS.into_iter().enumerate().filter_map(move |(at, event)| {
        let samples = samples(lane, at);
        let name = format!("{event} per wake-up");
        let series = || Series::new(name, Unit::Count, lane.labels(cpu)).of(samples.iter().copied());
        samples.iter().any(|count| count.is_finite()).then(series)
    })
}

/// The reasons to doubt the counts.
pub(super) fn doubt(data: &Data) -> Option<String> {
    let turns = data.lanes.iter().flat_map(|lane| &lane.counted);
    let (all, without) = (turns.clone().count(), turns.clone().filter(|turn| turn.share == 0.0).count());
    let least = turns.map(|turn| turn.share).filter(|share| *share > 0.0).fold(1.0, f64::min);
    let part = least * 100.0;
    match (all, without) {
        (0, _) => None,
        (_, 1..) => Some(format!(
            "the hardware counters did not run in {without} of {all} turns: other programs held them"
        )),
        _ if least < 1.0 => Some(format!(
            "the hardware counters took turns with those of others: they ran {part:.1} % of the time at least, and \
             the counts are scaled to the whole"
        )),
        _ => None,
    }
}

/// The table of the counts; `None` without counters.
pub(super) fn section(data: &Data) -> Option<Section> {
    let scope = data.counting?;
    let mut table = Table::new().column("per wake-up", Format::Text);
    for (event, digits) in EVENTS.into_iter().zip([0, 0, 2, 2]) {
        table = table.column(event, Format::Fixed(digits));
    }
    let mut table = table.column("instructions per cycle", Format::Fixed(2));
    for lane in &data.lanes {
        let medians: [Option<f64>; EVENTS.len()] =
            core::array::from_fn(|at| stats::median(&samples(lane, at)));
        let per_cycle = medians[0].zip(medians[1]).map(|(instructions, cycles)| instructions / cycles);
        let figures = medians.into_iter().chain([per_cycle]).map(Cell::maybe);
        table.row([lane.structure.id.into()].into_iter().chain(figures));
    }
    let words = format!(
        "Counted {scope}. Each figure is the median of the turns. A turn's counts are divided by its wake-ups, \
         those of the host tick included; the start of the turn is counted too."
    );
    Some(Section::new("Hardware counters").text(words).table(table))
}

#[cfg(test)]
mod tests;
