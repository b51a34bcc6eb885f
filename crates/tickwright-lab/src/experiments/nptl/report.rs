//! The tables beside the published ratios, the plots, and what follows.

use serde::Serialize;

use super::column::Column;
use super::figures::{micros, times};
use super::ladder::Ladder;
use super::plot::{self, Panel, Series};
use super::published::{self, RATIOS};
use super::syscalls::Counted;
use super::table::{By, Sample, Table};
use super::{alive, echo, knobs, syscalls, targets, work};
use crate::clock::Calibration;
use crate::host::Host;
use crate::output::{SCHEMA, table};
use crate::result::Finding;

/// All that was run; what was left out is none.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) clock: Calibration,
    pub(crate) published: [published::Ratio; 3],
    pub(crate) seed: u64,
    /// Threads that looked at themselves before anything was timed.
    pub(crate) verified: u64,
    pub(crate) table: Option<Table>,
    pub(crate) targets: Vec<Finding>,
    pub(crate) ladder: Option<Ladder>,
    pub(crate) syscalls: Option<Counted>,
    pub(crate) knobs: Vec<knobs::Row>,
    pub(crate) work: Option<work::Outcome>,
    pub(crate) io: Vec<echo::Row>,
    pub(crate) alive: Vec<alive::Row>,
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) interrupted: bool,
    /// Shown without the large tables.
    #[serde(skip)]
    pub(crate) brief: bool,
}

/// A line of the CSV: one run of a cell.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    schema: u32,
    column: Column,
    round: usize,
    toplevel: usize,
    children: usize,
    starts: u64,
    ns: u64,
}

fn maybe(ns: Option<f64>) -> String {
    ns.map_or("-".into(), micros)
}

impl Report {
    pub(crate) fn new(host: Host, clock: Calibration, seed: u64) -> Self {
        Self {
            experiment: "nptl",
            notes: host.doubts(),
            host,
            clock,
            published: RATIOS,
            seed,
            verified: 0,
            table: None,
            targets: Vec::new(),
            ladder: None,
            syscalls: None,
            knobs: Vec::new(),
            work: None,
            io: Vec::new(),
            alive: Vec::new(),
            interrupted: false,
            brief: false,
        }
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let Some(table) = &self.table else { return Vec::new() };
        let line = |&Sample { round, column, toplevel, children, ns }: &Sample| Line {
            schema: SCHEMA,
            column,
            round,
            toplevel,
            children,
            starts: table.starts,
            ns,
        };
        table.samples.iter().map(line).collect()
    }

    /// The two summaries as a picture.
    pub(crate) fn svg(&self) -> String {
        let panels: Vec<Panel> =
            self.table.iter().flat_map(|table| By::BOTH.map(|by| panel(table, by))).collect();
        plot::svg(&panels, "us")
    }

    pub(crate) fn text(&self) -> String {
        let mut out = format!("clock  {}\n", self.clock);
        for note in &self.notes {
            out += &format!("note   {note}\n");
        }
        if self.verified > 0 {
            out += &format!(
                "{} threads looked at themselves first: own id, registered, on a stack of their own.\n",
                self.verified
            );
        }
        if let Some(table) = &self.table {
            out += &self.table_text(table);
        }
        let mut section =
            |text: Option<String>| out += &text.map_or(String::new(), |text| format!("\n{text}"));
        section((!self.targets.is_empty() && !self.brief).then(|| targets::text(&self.targets)));
        section(self.ladder.as_ref().map(Ladder::text));
        section(self.syscalls.as_ref().map(syscalls::text));
        section((!self.knobs.is_empty()).then(|| knobs::text(&self.knobs)));
        section(self.work.as_ref().map(work::text));
        section((!self.io.is_empty()).then(|| echo::text(&self.io)));
        section((!self.alive.is_empty()).then(|| alive::text(&self.alive)));
        out
    }

    fn table_text(&self, table: &Table) -> String {
        let mut out = format!(
            "\nCreate and join, us for one: {} creations in a cell; P threads create, each keeps C at once and joins in order; the thread returns at once.\n",
            table::count(usize::try_from(table.starts).unwrap_or(usize::MAX))
        );
        for column in &table.columns {
            out += &format!("  {:<11} {}\n", column.name(), column.label());
        }
        if !self.brief {
            for &column in &table.columns {
                out += &format!("\n{}\n", grid(table, column));
            }
        }
        for by in By::BOTH {
            if table.keys(by).len() > 1 || !self.brief {
                out += &format!("\n{}\n", summary(table, by));
            }
        }
        out + "\n" + &ratios(table)
    }
}

/// All cells of one column.
fn grid(table: &Table, column: Column) -> String {
    let heading = table.children.iter().map(|c| format!("C={c}"));
    let mut rows = table::new([column.name().to_owned()].into_iter().chain(heading));
    for &p in &table.toplevel {
        let cells = table.children.iter().map(|&c| maybe(table.cell(column, p, c)));
        rows.add_row([format!("P={p}")].into_iter().chain(cells));
    }
    table::show(&rows)
}

fn panel(table: &Table, by: By) -> Panel {
    let series = |&column: &Column| Series {
        name: column.name().to_owned(),
        figures: table.summary(column, by).into_iter().map(|ns| ns.map(|ns| ns / 1000.0)).collect(),
    };
    let (title, across) = match by {
        By::Toplevel => ("Least time over C, by threads that create", "threads that create (P)"),
        By::Children => ("Least time over P, by threads kept at once", "threads kept by each (C)"),
    };
    Panel {
        title: format!("{title}: us to create and join one"),
        across: across.into(),
        keys: table.keys(by).to_vec(),
        series: table.columns.iter().map(series).collect(),
    }
}

/// A published summary as a table and as a plot.
fn summary(table: &Table, by: By) -> String {
    let panel = panel(table, by);
    let key = match by {
        By::Toplevel => 'P',
        By::Children => 'C',
    };
    let heading = panel.keys.iter().map(|n| format!("{key}={n}"));
    let mut rows = table::new(["us".to_owned()].into_iter().chain(heading));
    for &column in &table.columns {
        let cells = table.summary(column, by).into_iter().map(maybe);
        rows.add_row([column.name().to_owned()].into_iter().chain(cells));
    }
    let plot = plot::text(&panel.series, &panel.keys, "us");
    format!("{}\n{}\n{plot}", panel.title, table::show(&rows))
}

/// The published ratios beside ours.
fn ratios(table: &Table) -> String {
    let mut rows = table::new(["times as long", "published", "here"]);
    let mut any = false;
    for published::Ratio { slow, fast, times: published } in RATIOS {
        let models = published::model_of(slow).zip(published::model_of(fast));
        let Some((slow_model, fast_model)) = models else { continue };
        let ratio = table.ratio(Column::Ours(slow_model), Column::Ours(fast_model));
        any |= ratio.is_some();
        rows.add_row([
            format!("{slow} ({}) to {fast} ({})", slow_model.name(), fast_model.name()),
            format!("{published:.0}x"),
            ratio.as_ref().map_or("-".into(), times),
        ]);
    }
    if any {
        format!("{}\nHere: sums of the least times over C, round by round.\n", table::show(&rows))
    } else {
        String::new()
    }
}
