//! What ticks cost, as tables and files.

use core::fmt::Write;

use serde::Serialize;

use super::sample::{Cell, Row, Unit};
use crate::counter::Calibrated;
use crate::experiments::crossover::{Crossover, Point};
use crate::experiments::latency::order::{Entry, Order, PUBLISHED, PUBLISHED_WORDS};
use crate::host::Host;
use crate::output::{SCHEMA, table};
use crate::stats::{Summary, summarise};

/// All that was run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) experiment: &'static str,
    #[serde(skip)]
    pub(super) host: Host,
    pub(super) counter: Calibrated,
    /// Pointers of the program have so many bits.
    pub(super) bits: u32,
    pub(super) arch: &'static str,
    pub(super) rounds: usize,
    pub(super) ticks: usize,
    pub(super) seed: u64,
    /// Ticks whose order was the oracle's.
    pub(super) verified: usize,
    pub(super) paths: Vec<Path>,
    pub(super) crossovers: Vec<Crossing>,
    pub(super) notes: Vec<String>,
    #[serde(skip)]
    pub(super) interrupted: bool,
    #[serde(skip)]
    pub(super) lines: Vec<Line>,
}

/// The path of every structure at one population.
#[derive(Debug, Serialize)]
pub(super) struct Path {
    population: usize,
    unit: Unit,
    overhead: Option<Summary>,
    rows: Vec<Cost>,
    /// One for each storage in which the published four took part.
    orders: Vec<Compared>,
}

/// What a tick costs over one structure.
#[derive(Debug, Serialize)]
struct Cost {
    structure: &'static str,
    to_callback: Option<Summary>,
    tick: Option<Summary>,
}

/// The published four, compared.
#[derive(Debug, Serialize)]
struct Compared {
    /// To the callback, or the whole tick.
    what: &'static str,
    storage: &'static str,
    by_average: Vec<&'static str>,
    verdict: String,
}

/// The list against one rival.
#[derive(Debug, Serialize)]
pub(super) struct Crossing {
    rival: &'static str,
    unit: Unit,
    words: String,
    #[serde(flatten)]
    crossover: Crossover<&'static str>,
}

/// A line of the CSV: one sample.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    schema: u32,
    unit: Unit,
    population: usize,
    structure: &'static str,
    round: usize,
    to_callback: Option<f64>,
    tick: f64,
}

/// The samples as lines.
pub(super) fn lines(cells: &[Cell]) -> Vec<Line> {
    let mut lines = Vec::new();
    for cell in cells {
        for row in core::iter::once(&cell.overhead).chain(&cell.rows) {
            lines.extend(row.tick.iter().enumerate().map(|(round, &tick)| Line {
                schema: SCHEMA,
                unit: cell.unit,
                population: cell.population,
                structure: row.structure,
                round,
                to_callback: row.to_callback.get(round).copied(),
                tick,
            }));
        }
    }
    lines
}

fn summary(samples: &[f64]) -> Option<Summary> {
    summarise(samples.iter().copied())
}

impl Path {
    pub(super) fn of(cell: &Cell) -> Self {
        let cost = |row: &Row| Cost {
            structure: row.structure,
            to_callback: summary(&row.to_callback),
            tick: summary(&row.tick),
        };
        let orders = ["hook", "slab"].into_iter().flat_map(|storage| compared(cell, storage)).collect();
        Self {
            population: cell.population,
            unit: cell.unit,
            overhead: summary(&cell.overhead.tick),
            rows: cell.rows.iter().map(cost).collect(),
            orders,
        }
    }

    fn text(&self) -> String {
        let unit = self.unit.word();
        let s = if self.population == 1 { "" } else { "s" };
        let mut rows =
            table::new(["structure", &format!("to the callback, {unit}"), "whole tick", "from", "to"]);
        for row in &self.rows {
            let show = |figure: Option<f64>| figure.map_or("-".into(), table::ns);
            rows.add_row([
                row.structure.to_owned(),
                show(row.to_callback.map(|summary| summary.median)),
                show(row.tick.map(|summary| summary.median)),
                show(row.tick.map(|summary| summary.interval.low)),
                show(row.tick.map(|summary| summary.interval.high)),
            ]);
        }
        let off = self.overhead.map_or("-".into(), |summary| table::ns(summary.median));
        let what = match self.unit {
            Unit::Ns => "the loop and its readings of the counter",
            Unit::Instructions => "the loop",
        };
        let mut text = format!(
            "{} timer{s}, {unit} of a tick by median, with a 95 % interval; {what} took {off}, which is taken off\n{}\n",
            self.population,
            table::show(&rows)
        );
        for order in &self.orders {
            let _ = writeln!(
                text,
                "{}, {}: published {PUBLISHED_WORDS}; here {}; {}",
                order.storage,
                order.what,
                order.by_average.join(" < "),
                order.verdict
            );
        }
        text
    }
}

/// The published four in one storage: to the callback where that is known, and the whole tick.
fn compared(cell: &Cell, storage: &'static str) -> Vec<Compared> {
    let published: Vec<&'static str> = PUBLISHED
        .iter()
        .filter_map(|hook| {
            let family = hook.strip_suffix("/hook")?;
            cell.rows.iter().map(|row| row.structure).find(|id| id.split_once('/') == Some((family, storage)))
        })
        .collect();
    if published.len() < PUBLISHED.len() {
        return Vec::new();
    }
    let of = |what: &'static str, samples: fn(&Row) -> &Vec<f64>| {
        let four = cell.rows.iter().filter(|row| published.contains(&row.structure));
        let entries: Option<Vec<Entry>> = four
            .map(|row| {
                let slices = samples(row).clone();
                Some(Entry { id: row.structure, average: summary(&slices)?.median, slices })
            })
            .collect();
        let order = Order::of(&entries?, &published);
        Some(Compared { what, storage, by_average: order.by_average.clone(), verdict: order.words() })
    };
    [of("to the callback", |row| &row.to_callback), of("whole tick", |row| &row.tick)]
        .into_iter()
        .flatten()
        .collect()
}

/// The list against each rival of its storage, over all populations.
pub(super) fn crossings(cells: &[Cell]) -> Vec<Crossing> {
    let Some(first) = cells.first() else { return Vec::new() };
    let storage = |id: &str| id.split_once('/').map(|(_, storage)| storage.to_owned());
    let mut found = Vec::new();
    for rival in first.rows.iter().map(|row| row.structure).filter(|id| !id.starts_with("list/")) {
        let own = first
            .rows
            .iter()
            .map(|row| row.structure)
            .find(|id| id.starts_with("list/") && storage(id) == storage(rival));
        let Some(list) = own else { continue };
        let points = cells.iter().filter_map(|cell| {
            let tick = |id| cell.rows.iter().find(|row| row.structure == id).map(|row| row.tick.as_slice());
            Point::of(cell.population, tick(list)?, &[(rival, tick(rival)?)])
        });
        let crossover = Crossover { list, points: points.collect() };
        let words = crossover.words(rival);
        found.push(Crossing { rival, unit: first.unit, words, crossover });
    }
    found
}

/// All rivals of a list: the list's ticks, and how many times as long as the rival's they are.
fn crossing_text(crossings: &[&Crossing]) -> String {
    let Some(first) = crossings.first() else { return String::new() };
    let unit = first.unit.word();
    let mut heading = vec!["N".to_owned(), format!("{}, {unit}", first.crossover.list)];
    heading.extend(crossings.iter().map(|crossing| format!("/ {}", crossing.rival)));
    let mut rows = table::new(heading);
    for (at, point) in first.crossover.points.iter().enumerate() {
        let mut cells = vec![point.n.to_string(), table::ns(point.list_ns)];
        cells.extend(crossings.iter().map(|crossing| {
            crossing.crossover.points.get(at).map_or("-".into(), |point| format!("{:.2}", point.ratio.median))
        }));
        rows.add_row(cells);
    }
    let mut text = format!(
        "{unit} of a tick with N timers pending, and how many times as long as the rival the list takes\n{}\n",
        table::show(&rows)
    );
    for crossing in crossings {
        let _ = writeln!(text, "{}: {}", crossing.rival, crossing.words);
    }
    text
}

impl Report {
    /// As text.
    pub(super) fn text(&self) -> String {
        let mut text =
            format!("{}\n{}\n{} ticks in the oracle's order\n", self.host, self.counter, self.verified);
        for path in &self.paths {
            let _ = write!(text, "\n{}", path.text());
        }
        for unit in [Unit::Ns, Unit::Instructions] {
            for list in ["list/hook", "list/slab"] {
                let of = |c: &&Crossing| c.unit == unit && c.crossover.list == list;
                let crossings: Vec<&Crossing> = self.crossovers.iter().filter(of).collect();
                if !crossings.is_empty() {
                    let _ = write!(text, "\n{}", crossing_text(&crossings));
                }
            }
        }
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }
}
