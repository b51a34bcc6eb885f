//! The tables of the report, with the published table.

use super::cpu::Pin;
use super::published::ORIGINAL;
use super::registry::Tree;
use super::run::{Cell, Data, Plan};
use super::share::{self, Pair, Share};
use crate::duration;
use crate::experiments::request::word;
use crate::render::Format;
use crate::result::{Axis, Plot, Section, Table};
use crate::stats::median;
use crate::stats::welch::mean_and_deviation;

pub(super) fn sections(plan: &Plan, data: &Data) -> Vec<Section> {
    vec![
        published(),
        asked(data),
        rates("Round trips per s here", &data.cells).text(how(plan, data)),
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
    let mut table = Table::new().column("as printed", Format::Text);
    for column in ["odict", "sd", "avl", "sd", "odict per s", "avl per s"] {
        table = table.column(column, Format::Thousands);
    }
    let mut table = table.column("gain", Format::Change);
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

/// Shows the work that a round trip causes in each tree.
fn asked(data: &Data) -> Section {
    let mut table = Table::new()
        .column("asked", Format::Text)
        .column("N", Format::Count)
        .column("look-ups", Format::Fixed(0))
        .column("comparisons each", Format::Fixed(1))
        .column("most", Format::Fixed(0))
        .column("ns per look-up", Format::Ns);
    for asked in &data.asked {
        table.row([
            word(&asked.tree).into(),
            asked.population.into(),
            asked.look_ups.into(),
            asked.comparisons.into(),
            asked.most.into(),
            median(&asked.samples).into(),
        ]);
    }
    Section::new("What a round trip asks of the tree").table(table)
}

fn how(plan: &Plan, data: &Data) -> String {
    let pin = match plan.pin {
        Pin::None => "not pinned",
        Pin::Same => "pinned to one processor",
        Pin::Different => "pinned to two processors",
    };
    let length = duration::show(plan.duration);
    format!(
        "gain: the mean of odict to that of avl, with the interval of Welch's test at 95 %, and its p.\nv1: 100 \
         round trips per look at the clock, for {length}. v2: the power of two that takes {length}, again and \
         again.\nVirtualisation: {}; client and server {pin}; {} samples of {length} each way.",
        data.virtualisation, plan.rounds
    )
}

/// The tables of the original, with Welch's test. If there is nothing to compare, the section only
/// shows rates.
fn rates(title: &str, cells: &[Cell]) -> Section {
    let trees = [Tree::Odict, Tree::OdictCalls].map(|tree| (tree, share::pairs(cells, tree)));
    let mut section = Section::new(title);
    if trees.iter().all(|(_, pairs)| pairs.is_empty()) {
        return section.table(alone(cells));
    }
    for (tree, pairs) in trees {
        section = section.table(beside_avl(tree, &pairs));
    }
    section
}

fn beside_avl(tree: Tree, pairs: &[Pair]) -> Table {
    let mut table = Table::new().column("method", Format::Text).column("N", Format::Count);
    for column in [&word(&tree), "sd", "avl", "sd"] {
        table = table.column(column, Format::Thousands);
    }
    for column in ["gain", "from", "to"] {
        table = table.column(column, Format::Change);
    }
    let mut table = table.column("p", Format::Fixed(3)).column("faster", Format::Text);
    for pair in pairs {
        let test = &pair.test;
        let faster = match test.differs() {
            false => "not shown".to_owned(),
            true if test.difference > 0.0 => word(&tree),
            true => word(&Tree::Avl),
        };
        let rates = [pair.odict.0, pair.odict.1, pair.avl.0, pair.avl.1];
        let gain = [test.difference, test.low, test.high].map(|rate| pair.percent(rate));
        let figures = rates.into_iter().chain(gain).chain([test.p]);
        let row =
            [word(&pair.method).into(), pair.population.into()].into_iter().chain(figures.map(Into::into));
        table.row(row.chain([faster.into()]));
    }
    table
}

fn alone(cells: &[Cell]) -> Table {
    let mut table = Table::new()
        .column("method", Format::Text)
        .column("structure", Format::Text)
        .column("N", Format::Count)
        .column("mean", Format::Thousands)
        .column("sd", Format::Thousands);
    for cell in cells.iter().filter(|cell| !cell.samples.is_empty()) {
        let both = mean_and_deviation(&cell.samples);
        table.row([
            word(&cell.method).into(),
            word(&cell.tree).into(),
            cell.population.into(),
            both.map(|both| both.0).or(cell.samples.first().copied()).into(),
            both.map(|both| both.1).into(),
        ]);
    }
    table
}

/// Shows which share of a round trip a look-up takes, and how much the
/// choice of the tree changes.
fn matters(data: &Data) -> Table {
    let mut table = Table::new().column("N", Format::Count);
    for column in ["round trip, ns", "look-up, avl", "look-up, odict"] {
        table = table.column(column, Format::Ns);
    }
    table = table.column("look-up, %", Format::Fixed(2)).column("avl or odict, %", Format::Fixed(2));
    table = table.column("from", Format::Fixed(2)).column("to", Format::Fixed(2));
    let mut table = table.column(format!("{} %", share::MATTERS), Format::Text);
    for share in share::shares(data, &share::pairs(&data.cells, Tree::Odict)) {
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
    let shares = share::shares(data, &share::pairs(&data.cells, Tree::Odict));
    let axes = (Axis::log("tasks registered", Format::Count), Axis::log("for one", Format::Span));
    let plot = Plot::new("A round trip, and the look-up in it", axes.0, axes.1);
    let points = |of: fn(&Share) -> f64| shares.iter().map(move |share| (share.population as f64, of(share)));
    plot.curve("round trip", points(|share| share.round_trip))
        .curve("look-up, avl", points(|share| share.avl))
        .curve("look-up, odict", points(|share| share.odict))
}
