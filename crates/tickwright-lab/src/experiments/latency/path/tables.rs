//! The report on ticks: tables, the published order, and the N at which another structure overtakes
//! the list.

use super::sample::{Cell, Row, Ticks};
use crate::experiments::crossover::{Crossover, Point};
use crate::experiments::latency::order::{Entry, Order};
use crate::experiments::latency::structures::PUBLISHED;
use crate::render::Format;
use crate::result::{self, Axis, Finding, Plot, Section, Table, Unit, labels};
use crate::stats::{median, summarise};

fn word(unit: Unit) -> &'static str {
    if unit == Unit::Ns { "ns" } else { "instructions" }
}

fn timers(n: usize) -> String {
    format!("{n} timer{}", if n == 1 { "" } else { "s" })
}

/// The first section of both reports.
fn opening(ticks: &Ticks) -> Section {
    Section::new("").text(format!("{}\n{} ticks in the oracle's order", ticks.counter, ticks.verified))
}

/// The four published structures in one storage, compared by one figure.
struct Compared {
    about: String,
    order: Order,
}

impl Compared {
    fn of(cell: &Cell, storage: &str, what: &str, samples: fn(&Row) -> &Vec<f64>) -> Option<Self> {
        let published = PUBLISHED.stored(storage);
        let four = cell.rows.iter().filter(|row| published.iter().any(|id| id == row.structure));
        let entry = |row: &Row| {
            let rounds = samples(row).clone();
            Some(Entry { id: row.structure, average: median(&rounds)?, rounds })
        };
        let entries: Vec<Entry> = four.filter_map(entry).collect();
        let about = format!("{what} by {storage}, {}, {}", timers(cell.population), word(cell.unit));
        let whole = entries.len() == published.len();
        whole.then(|| Self { about, order: Order::of(&entries, &published) })
    }
}

/// All comparisons: those in ns come first, and the largest population comes first. With two
/// timers, a tick has something to compare.
fn compared(cells: &[Cell]) -> Vec<Compared> {
    let mut found = Vec::new();
    for unit in [Unit::Ns, Unit::Instructions] {
        for cell in cells.iter().rev().filter(|cell| cell.unit == unit) {
            for storage in ["hook", "slab"] {
                found.extend(Compared::of(cell, storage, "tick", |row| &row.tick));
                // Instruction counts have no figure for the time to the callback.
                found.extend(Compared::of(cell, storage, "to the callback", |row| &row.to_callback));
            }
        }
    }
    found
}

pub(super) fn path_findings(cells: &[Cell]) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        compared(cells).iter().map(|compared| compared.order.finding(&*compared.about)).collect();
    if found.is_empty() {
        let few = "not all published structures took part";
        found.push(Finding::stated("the order of ticks", few).published(&*PUBLISHED.words));
    }
    found
}

pub(super) fn path(ticks: &Ticks, _: &[Finding]) -> Vec<Section> {
    let mut all = vec![opening(ticks)];
    all.extend(ticks.cells.iter().map(costs));
    for unit in [Unit::Ns, Unit::Instructions] {
        all.push(Section::new("").plot(growth(&ticks.cells, unit)));
    }
    let mut table = Table::new();
    for name in ["order of", "here", "verdict"] {
        table = table.column(name, Format::Text);
    }
    for compared in compared(&ticks.cells) {
        let family = |id: &&'static str| id.split_once('/').map_or(*id, |(family, _)| family);
        let here = compared.order.by_average.iter().map(family).collect::<Vec<_>>().join(" < ");
        table.row([compared.about.into(), here.into(), compared.order.verdict.words().into()]);
    }
    let published = format!("Published: {} ({}).", PUBLISHED.words, PUBLISHED.source);
    let order = Section::new("The published order").table(table);
    if !order.blocks.is_empty() {
        all.push(order.text(published));
    }
    all.retain(|section| !section.blocks.is_empty());
    all
}

/// The section on the cost of a tick over each structure at one population.
fn costs(cell: &Cell) -> Section {
    let unit = word(cell.unit);
    let off = median(&cell.overhead.tick).map_or("-".into(), |off| Format::Ns.write(off));
    let what = if cell.unit == Unit::Ns { "the loop and its readings of the counter" } else { "the loop" };
    let mut table = Table::new().column("structure", Format::Text);
    for name in ["to the callback", "whole tick", "from", "to"] {
        table = table.column(name, Format::Ns);
    }
    for row in &cell.rows {
        let tick = summarise(row.tick.iter().copied());
        table.row([
            row.structure.into(),
            median(&row.to_callback).into(),
            tick.map(|tick| tick.median).into(),
            tick.map(|tick| tick.interval.low).into(),
            tick.map(|tick| tick.interval.high).into(),
        ]);
    }
    Section::new(format!("{unit} of a tick, {}", timers(cell.population)))
        .text(format!("Medians, with a 95 % interval of the tick's. Taken off: {off} for {what}."))
        .table(table)
}

/// The cost of a tick over N, in one unit.
fn growth(cells: &[Cell], unit: Unit) -> Plot {
    let of_unit = || cells.iter().filter(|cell| cell.unit == unit);
    let x = Axis::log("timers", Format::Count);
    let plot =
        Plot::new("A tick of the handler", x, Axis::log(format!("{} of a tick", word(unit)), Format::Ns));
    let ids = of_unit().next().into_iter().flat_map(|cell| &cell.rows).map(|row| row.structure);
    ids.fold(plot, |plot, id| {
        let tick = |cell: &Cell| median(&cell.rows.iter().find(|row| row.structure == id)?.tick);
        plot.curve(id, of_unit().filter_map(|cell| Some((cell.population as f64, tick(cell)?))))
    })
}

/// The list against one rival, over all populations.
struct Crossing {
    rival: &'static str,
    unit: Unit,
    crossover: Crossover<&'static str>,
}

/// The list against each rival in the same storage.
fn crossings(cells: &[Cell]) -> Vec<Crossing> {
    let storage = |id: &'static str| id.split_once('/').map(|(_, storage)| storage);
    let mut found = Vec::new();
    for unit in [Unit::Ns, Unit::Instructions] {
        let of_unit = || cells.iter().filter(move |cell| cell.unit == unit);
        let ids: Vec<&'static str> = of_unit()
            .next()
            .map_or_else(Vec::new, |cell| cell.rows.iter().map(|row| row.structure).collect());
        let (lists, rivals): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| id.starts_with("list/"));
        for list in lists {
            for &rival in rivals.iter().filter(|rival| storage(rival) == storage(list)) {
                let points = of_unit().filter_map(|cell| {
                    let tick =
                        |id| cell.rows.iter().find(|row| row.structure == id).map(|row| row.tick.as_slice());
                    Point::of(cell.population, tick(list)?, &[(rival, tick(rival)?)])
                });
                found.push(Crossing { rival, unit, crossover: Crossover { list, points: points.collect() } });
            }
        }
    }
    found
}

impl Crossing {
    /// Returns a short text: the N from which on the list is slower.
    fn here(&self) -> String {
        match self.crossover.slower() {
            Some(n) => format!("slower from N = {n} on"),
            None => "not shown to be slower at the largest N".into(),
        }
    }
}

/// The first finding names the structure that overtakes the list at the smallest N, in ns. The
/// choice of the queue for few timers depends on this finding.
pub(super) fn crossover_findings(cells: &[Cell]) -> Vec<Finding> {
    let crossings = crossings(cells);
    let earliest = crossings
        .iter()
        .filter_map(|crossing| Some((crossing.crossover.slower()?, crossing)))
        .filter(|(_, crossing)| crossing.unit == Unit::Ns)
        .min_by_key(|(n, _)| *n);
    let here = match earliest {
        Some((n, of)) => {
            format!("N = {n}: {} by {} overtakes {}", of.rival, word(of.unit), of.crossover.list)
        }
        None => "no structure is shown to overtake the list".into(),
    };
    let first = Finding::stated("from how many timers on the list is not the fastest", here)
        .published(format!("with two timers the list wakes up earliest ({})", PUBLISHED.source));
    let finding = |crossing: &Crossing| {
        let Crossing { rival, unit, crossover: Crossover { list, .. } } = crossing;
        let of = labels([("list", (*list).into()), ("rival", (*rival).into())]);
        Finding::stated(format!("{list} beside {rival}, {}", word(*unit)), crossing.here()).labelled(of)
    };
    [first].into_iter().chain(crossings.iter().map(finding)).collect()
}

pub(super) fn crossover(ticks: &Ticks, _: &[Finding]) -> Vec<Section> {
    let crossings = crossings(&ticks.cells);
    let mut all = vec![opening(ticks)];
    for group in crossings.chunk_by(|a, b| (a.unit, a.crossover.list) == (b.unit, b.crossover.list)) {
        all.push(beside(group));
    }
    all
}

/// A table of one list and all its rivals: the list's ticks, and their ratio to each rival's.
fn beside(crossings: &[Crossing]) -> Section {
    let Some(Crossing { unit, crossover: first, .. }) = crossings.first() else { return Section::new("") };
    let (unit, list) = (word(*unit), first.list);
    let mut table = Table::new().column("N", Format::Count).column(format!("{list}, {unit}"), Format::Ns);
    for crossing in crossings {
        table = table.column(format!("/ {}", crossing.rival), Format::Fixed(2));
    }
    for (at, point) in first.points.iter().enumerate() {
        let ratios = crossings.iter().map(|crossing| {
            result::Cell::maybe(crossing.crossover.points.get(at).map(|point| point.ratio.median))
        });
        table.row([point.n.into(), point.list_ns.into()].into_iter().chain(ratios));
    }
    let x = Axis::log("timers", Format::Count);
    let y = Axis::linear(format!("{list} to the rival, {unit}"), Format::Ratio);
    let plot = Plot::new(format!("A tick of {list} beside its rivals; above 1 the list is slower"), x, y);
    let plot = crossings.iter().fold(plot, |plot, crossing| {
        let points = crossing.crossover.points.iter().map(|point| (point.n as f64, point.ratio.median));
        plot.curve(crossing.rival, points)
    });
    let words = crossings
        .iter()
        .map(|crossing| format!("{}: {}", crossing.rival, crossing.crossover.words(crossing.rival)));
    Section::new(format!("{unit} of a tick with N timers; the list's as a multiple of each rival's"))
        .table(table)
        .plot(plot)
        .text(words.collect::<Vec<_>>().join("\n"))
}
