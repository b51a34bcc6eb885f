//! The tables of the report, with the published table.

use super::cpu::Pin;
use super::published::ORIGINAL;
use super::registry::Asked;
use super::run::{Cell, Data, Plan};
use super::share::{self, Share};
use crate::duration;
use crate::experiments::request::word;
use crate::render::Format;
use crate::result::{Axis, Plot, Section, Series, Table, default};

pub(super) fn sections(plan: &Plan, data: &Data) -> Vec<Section> {
    let asked: Vec<Series> = data.asked.iter().flat_map(Asked::series).collect();
    let rates: Vec<Series> = data.cells.iter().map(Cell::rates).collect();
    let shown = |title: &str, series: &[Series]| {
        Section::new(title).table(default::table(&series.iter().collect::<Vec<_>>()))
    };
    vec![
        published(),
        shown("What a round trip asks of the tree", &asked),
        shown("Round trips here", &rates).text(how(plan)),
        Section::new("Does the tree matter to a ping-pong?")
            .table(matters(data))
            .plot(picture(data))
            .text(share::answer(data)),
    ]
    .into_iter()
    .filter(|section| !section.blocks.is_empty())
    .collect()
}

fn published() -> Section {
    let mut table = Table::new()
        .column("as printed", Format::Text)
        .columns(["odict", "sd", "avl", "sd", "odict per s", "avl per s"], Format::Thousands)
        .column("gain", Format::Change);
    for row in &ORIGINAL.rows {
        let ((odict, odict_sd), (avl, avl_sd)) = (row.odict, row.avl);
        let per_second = [odict / row.seconds, avl / row.seconds];
        let figures = [odict, odict_sd, avl, avl_sd].into_iter().chain(per_second).chain([row.gain()]);
        let what = format!("{} {}, in {} s", word(&row.method), row.machine, row.seconds);
        table.row([what.into()].into_iter().chain(figures.map(Into::into)));
    }
    Section::new(format!("Published by {}: round trips, {} samples", ORIGINAL.source, ORIGINAL.samples))
        .table(table)
        .text(ORIGINAL.url.as_str())
}

fn how(plan: &Plan) -> String {
    let pin = match plan.pin {
        Pin::None => "not pinned",
        Pin::Same => "pinned to one processor",
        Pin::Different => "pinned to two processors",
    };
    let length = duration::show(plan.duration);
    format!(
        "v1: 100 round trips per look at the clock, for {length}. v2: the power of two that takes {length}, again \
         and again.
Client and server {pin}; {} samples of {length} each way. from, to: the interval at 95 %; the \
         ratio is taken round by round.",
        plan.rounds
    )
}

/// Shows which share of a round trip a look-up takes, and how much the
/// choice of the tree changes.
fn matters(data: &Data) -> Table {
    let mut table = Table::new()
        .column("N", Format::Count)
        .columns(["round trip, ns", "look-up, avl", "look-up, odict"], Format::Ns)
        .columns(["look-up, %", "avl or odict, %", "from", "to"], Format::Fixed(2))
        .column(format!("{} %", share::MATTERS), Format::Text);
    for share in share::shares(data, &share::pairs(&data.cells)) {
        let choice = &share.choice;
        let times = [share.round_trip, share.avl, share.odict, share.look_up.median];
        let figures = times.into_iter().chain([choice.median, choice.interval.low, choice.interval.high]);
        let row = [share.population.into()].into_iter().chain(figures.map(Into::into));
        table.row(row.chain([share::MATTERS.judge(choice).words().into()]));
    }
    table
}

/// Plots times over the size of the registry.
fn picture(data: &Data) -> Plot {
    let shares = share::shares(data, &share::pairs(&data.cells));
    let axes = (Axis::log("tasks registered", Format::Count), Axis::log("for one", Format::Span));
    let plot = Plot::new("A round trip, and the look-up in it", axes.0, axes.1);
    let points = |of: fn(&Share) -> f64| shares.iter().map(move |share| (share.population as f64, of(share)));
    plot.curve("round trip", points(|share| share.round_trip))
        .curve("look-up, avl", points(|share| share.avl))
        .curve("look-up, odict", points(|share| share.odict))
}
