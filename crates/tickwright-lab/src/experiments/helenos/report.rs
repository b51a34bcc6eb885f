//! The tables, the published ones beside.

use serde::Serialize;

use super::beside::{Emulated, Perf};
use super::channel::Transport;
use super::cpu::Pin;
use super::figures::rates;
use super::link::Tasks;
use super::published::{self, ROWS};
use super::registry::Tree;
use super::run::{Cell, Plan, Results};
use super::timing::Method;
use super::verdict;
use crate::clock::Calibration;
use crate::duration;
use crate::host::Host;
use crate::output::{SCHEMA, table};
use crate::render::Format;
use crate::stats;
use crate::stats::welch::mean_and_deviation;

/// All that was run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    #[serde(skip)]
    pub(crate) host: Host,
    /// As the processor and the firmware name it.
    pub(crate) virtualisation: String,
    pub(crate) clock: Calibration,
    pub(crate) published: [published::Row; 4],
    pub(crate) pin: Pin,
    pub(crate) plan: Plan,
    pub(crate) results: Results,
    pub(crate) perf: Vec<Perf>,
    pub(crate) emulated: Option<Emulated>,
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) brief: bool,
}

/// A line of the CSV: one sample.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    schema: u32,
    transport: Transport,
    tasks: Tasks,
    pin: Pin,
    population: usize,
    method: Method,
    tree: Tree,
    sample: usize,
    round_trips_per_second: f64,
}

impl Report {
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.results.cells.iter().flat_map(|cell| {
            cell.samples.iter().enumerate().map(|(at, &rate)| Line {
                schema: SCHEMA,
                transport: cell.transport,
                tasks: cell.tasks,
                pin: self.pin,
                population: cell.population,
                method: cell.method,
                tree: cell.tree,
                sample: at + 1,
                round_trips_per_second: rate,
            })
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut parts = vec![format!(
            "virtualisation: {}; client and server {}; {} samples of {} each way",
            self.virtualisation,
            self.pin.words(),
            self.plan.samples,
            duration::show(self.plan.duration)
        )];
        parts.extend(self.notes.iter().map(|note| format!("note: {note}")));
        parts.push(published_table());
        parts.push(touches(&self.results));
        let [all, calls] =
            [Tree::Odict, Tree::OdictCalls].map(|tree| (tree, verdict::pairs(&self.results, tree)));
        for (tree, pairs) in [&all, &calls].into_iter().filter(|(_, pairs)| !pairs.is_empty()) {
            parts.push(rates(pairs, *tree, self.plan.duration, "here"));
        }
        let (_, all) = all;
        if all.is_empty() && calls.1.is_empty() {
            parts.push(single(&self.results.cells));
        }
        if let Some(emulated) = &self.emulated {
            parts.push(emulated.text(self.plan.duration));
        }
        parts.extend(self.perf.iter().map(|perf| perf.text(&self.results)));
        parts.push(verdict::answer(&verdict::shares(&self.results, &all), &all));
        let between = if self.brief { "\n" } else { "\n\n" };
        parts.join(between).trim_end().to_owned() + "\n"
    }
}

fn published_table() -> String {
    let mut rows =
        table::new(["published, 2018", "odict", "sd", "avl", "sd", "odict per s", "avl per s", "odict"]);
    for row in &ROWS {
        let unit = if row.seconds() > 1.0 { "per 10 s" } else { "per s" };
        rows.add_row([
            format!("{} {}, {unit}", row.method.name(), row.machine),
            Format::Thousands.write(row.odict.0),
            Format::Thousands.write(row.odict.1),
            Format::Thousands.write(row.avl.0),
            Format::Thousands.write(row.avl.1),
            Format::Thousands.write(row.odict.0 / row.seconds()),
            Format::Thousands.write(row.avl.0 / row.seconds()),
            format!("{:+.1} %", row.gain()),
        ]);
    }
    table::show(&rows)
}

fn touches(results: &Results) -> String {
    let mut rows =
        table::new(["asked per round trip", "N", "look-ups", "comparisons each", "most", "ns per look-up"]);
    for touch in &results.touches {
        let alone =
            results.look_ups.iter().find(|l| (l.tree, l.population) == (touch.tree, touch.population));
        let ns = alone.and_then(|alone| stats::summarise(alone.samples.iter().copied()));
        rows.add_row([
            touch.tree.name().to_owned(),
            table::count(touch.population),
            format!("{:.0}", touch.look_ups),
            format!("{:.1}", touch.comparisons),
            touch.most.to_string(),
            ns.map_or("-".into(), |ns| table::ns(ns.median)),
        ]);
    }
    table::show(&rows)
}

/// Where there is nothing to compare.
fn single(cells: &[Cell]) -> String {
    let mut rows = table::new(["round trips per s", "N", "mean", "sd"]);
    for cell in cells {
        let (mean, deviation) = match (mean_and_deviation(&cell.samples), cell.samples.first()) {
            (Some((mean, deviation)), _) => {
                (Format::Thousands.write(mean), Format::Thousands.write(deviation))
            }
            (None, Some(&only)) => (Format::Thousands.write(only), "-".into()),
            (None, None) => continue,
        };
        rows.add_row([
            format!(
                "{} {} {} {}",
                cell.tree.name(),
                cell.method.name(),
                cell.transport.name(),
                cell.tasks.name()
            ),
            table::count(cell.population),
            mean,
            deviation,
        ]);
    }
    table::show(&rows)
}
