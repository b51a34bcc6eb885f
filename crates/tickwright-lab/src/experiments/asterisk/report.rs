//! The tables beside the published ones, the verdicts, and the answers to what the reviewers asked.

use core::fmt::Write;
use core::time::Duration;

use serde::Serialize;

use super::beat::Beat;
use super::column::{Column, Mode};
use super::comparisons::{self, Sequence};
use super::published::{self, ROWS};
use super::table::{Figure, Table, What};
use crate::clock::Calibration;
use crate::duration;
use crate::experiments::crossover::Crossover;
use crate::host::Host;
use crate::output::{SCHEMA, table};
use crate::stats::{CONFIDENCE, Interval, Verdict};

/// All that was run; what was left out is none.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) experiment: &'static str,
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) clock: Calibration,
    pub(crate) published: [published::Row; 7],
    pub(crate) budget: Duration,
    pub(crate) seed: u64,
    /// Events of the scripts in virtual time, all as sorting gives them.
    pub(crate) verified: usize,
    pub(crate) table: Option<Table>,
    pub(crate) crossovers: Vec<Crossover<Column>>,
    pub(crate) comparisons: Vec<comparisons::Row>,
    pub(crate) beat: Option<Beat>,
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    pub(crate) interrupted: bool,
    /// Shown without adds and deletes apart.
    #[serde(skip)]
    pub(crate) brief: bool,
}

/// A line of the CSV: one sample, or a figure that the power law gives.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    schema: u32,
    mode: Mode,
    structure: &'static str,
    n: usize,
    /// None for what is extrapolated.
    round: Option<usize>,
    add_ns: f64,
    del_ns: f64,
}

/// A time as the published ones are written.
pub(crate) fn span(ns: f64) -> String {
    let digits = |value: f64| match value {
        v if v < 1.0 => format!("{v:.3}"),
        v if v < 10.0 => format!("{v:.2}"),
        v => format!("{v:.1}"),
    };
    match ns {
        ns if ns < 1e6 => format!("{} us", digits(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

fn shown(figure: Option<Figure>) -> String {
    match figure {
        None => "-".into(),
        Some(Figure { ns, extrapolated }) => span(ns) + if extrapolated { "~" } else { "" },
    }
}

impl Report {
    pub(crate) fn new(host: Host, clock: Calibration, budget: Duration, seed: u64) -> Self {
        Self {
            experiment: "asterisk",
            notes: host.doubts(),
            host,
            clock,
            published: ROWS,
            budget,
            seed,
            verified: 0,
            table: None,
            crossovers: Vec::new(),
            comparisons: Vec::new(),
            beat: None,
            interrupted: false,
            brief: false,
        }
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(table) = &self.table {
            for cell in &table.cells {
                let line = |round, add_ns, del_ns| Line {
                    schema: SCHEMA,
                    mode: cell.column.mode(),
                    structure: cell.column.title(),
                    n: cell.n,
                    round,
                    add_ns,
                    del_ns,
                };
                for (round, sample) in (1..).zip(&cell.samples) {
                    lines.push(line(Some(round), sample.add_ns as f64, sample.del_ns as f64));
                }
                let figure = |what| table.figure(cell.column, cell.n, what);
                if let (true, Some(add), Some(del)) =
                    (cell.samples.is_empty(), figure(What::Add), figure(What::Del))
                {
                    lines.push(line(None, add.ns, del.ns));
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
        writeln!(
            out,
            "\nThe calls: a new context; N adds with random delays from 0 to 60 s; then N deletes by id, in the order of the adds. Nothing runs, \
             no thread waits.\nEvery sample: N were pending, each due its delay after its add, and each was deleted once. In virtual time {} events \
             ran as sorting orders them.",
            self.verified
        )?;
        if let Some(table) = &self.table {
            for mode in [Mode::Faithful, Mode::Ours] {
                let columns = table.columns_of(mode);
                if !columns.is_empty() {
                    writeln!(out, "\n{}", times(table, mode, &columns, self.brief))?;
                }
            }
            writeln!(out, "\n{}", percentages(table))?;
            write!(out, "{}", growths(table, self.budget, self.interrupted))?;
            for mode in [Mode::Faithful, Mode::Ours] {
                write!(out, "{}", shape(table, mode))?;
            }
        }
        for crossover in &self.crossovers {
            writeln!(out, "\n{}", crossing(crossover, self.brief))?;
        }
        if !self.comparisons.is_empty() {
            writeln!(out, "\n{}", compared(&self.comparisons))?;
        }
        if let Some(beat) = &self.beat {
            writeln!(out, "\n{}", beat.text())?;
        }
        Ok(())
    }
}

/// The times of a mode, the published ones to the left of the faithful ones.
fn times(table: &Table, mode: Mode, columns: &[Column], brief: bool) -> String {
    let mut parts = vec![match mode {
        Mode::Faithful => {
            "Faithful: a mutex for each call, an allocation for each entry, ids in a hash table, 8 bytes of /dev/urandom for each delay"
                .to_owned()
        }
        Mode::Ours => "Ours: the scheduler of this project with plain callbacks, delays drawn before".to_owned(),
    }];
    for what in What::ALL.into_iter().filter(|what| !brief || *what == What::Total) {
        let mut heading = vec![format!("{}, N =", what.word())];
        if mode == Mode::Faithful {
            heading.extend(["list, 2009".to_owned(), "heap, 2009".into()]);
        }
        heading.extend(columns.iter().map(|column| format!("{} here", column.title())));
        let mut rows = table::new(heading);
        for &n in &table.sizes {
            let mut cells = vec![table::count(n)];
            if mode == Mode::Faithful {
                let row = published::row_of(n);
                let printed = |times: fn(&published::Row) -> &published::Times| {
                    row.map_or("-".into(), |row| {
                        let times = times(row);
                        let seconds = match what {
                            What::Add => times.add,
                            What::Del => times.del,
                            What::Total => times.total,
                        };
                        span(seconds * 1e9)
                    })
                };
                cells.push(printed(|row| &row.list));
                cells.push(printed(|row| &row.heap));
            }
            cells.extend(columns.iter().map(|&column| shown(table.figure(column, n, what))));
            rows.add_row(cells);
        }
        parts.push(table::show(&rows));
    }
    parts.join("\n\n")
}

/// What is set beside the list of its mode.
fn rivals(table: &Table, mode: Mode) -> Option<(Column, Vec<Column>)> {
    let columns = table.columns_of(mode);
    let list = columns.iter().copied().find(|column| column.is_list())?;
    Some((list, columns.into_iter().filter(|column| !column.is_list()).collect()))
}

/// Totals in percent of the list's.
fn percentages(table: &Table) -> String {
    let modes: Vec<_> = [Mode::Faithful, Mode::Ours]
        .into_iter()
        .filter_map(|mode| rivals(table, mode).filter(|(_, rivals)| !rivals.is_empty()))
        .collect();
    if modes.is_empty() {
        return String::new();
    }
    let mut heading = vec!["% of list, N =".to_owned(), "heap, 2009".into()];
    for (list, rivals) in &modes {
        let then = if list.mode() == Mode::Faithful { " as then" } else { "" };
        heading.extend(rivals.iter().map(|column| format!("{}{then}", column.title())));
    }
    let mut rows = table::new(heading);
    for &n in &table.sizes {
        let mut cells = vec![
            table::count(n),
            published::row_of(n).map_or("-".into(), |row| format!("{:.1}", row.percent)),
        ];
        for (list, rivals) in &modes {
            cells.extend(rivals.iter().map(|&column| {
                let [one, whole] = [column, *list].map(|column| table.figure(column, n, What::Total));
                one.zip(whole).map_or("-".into(), |(one, whole)| {
                    let mark = if one.extrapolated || whole.extrapolated { "~" } else { "" };
                    let percent = 100.0 * one.ns / whole.ns;
                    if percent < 0.1 { format!("{percent:.3}{mark}") } else { format!("{percent:.1}{mark}") }
                })
            }));
        }
        rows.add_row(cells);
    }
    table::show(&rows) + "\n"
}

/// What "~" means, column by column.
fn growths(table: &Table, budget: Duration, interrupted: bool) -> String {
    let mut parts = Vec::new();
    for growth in &table.growths {
        let missing = table
            .sizes
            .iter()
            .any(|&n| table.figure(growth.column, n, What::Total).is_some_and(|figure| figure.extrapolated));
        if missing {
            let on: Vec<String> = growth.add.on.iter().map(|&n| table::count(n)).collect();
            parts.push(format!(
                "{}: add ~ N^{:.2}, del ~ N^{:.2}, fitted on N = {}",
                growth.column.name(),
                growth.add.exponent,
                growth.del.exponent,
                on.join(", ")
            ));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "~ {}would take more than --budget {}, and is extrapolated (too low where caches are too small for it). {}.\n",
        if interrupted { "was not reached, or " } else { "" },
        duration::show(budget),
        parts.join("; ")
    )
}

/// By so much a column must lead where there are too few rounds for an interval.
const BY_FAR: f64 = 3.0;

/// How the list stands to `column` at `n`, and in words. None where that is not known.
fn standing(table: &Table, list: Column, column: Column, n: usize) -> Option<(Verdict, String)> {
    let title = column.title();
    if let Some((ratio, verdict)) =
        table.ratio(list, column, n).filter(|(ratio, _)| ratio.interval.coverage >= CONFIDENCE)
    {
        let Interval { low, high, .. } = ratio.interval;
        let words =
            format!("list / {title} {:.2} ({low:.2} to {high:.2}, {})", ratio.median, verdict.words());
        return Some((verdict, words));
    }
    let [list, other] = [list, column].map(|column| table.figure(column, n, What::Total));
    let (list, other) = (list?, other?);
    let ratio = list.ns / other.ns;
    let why = if list.extrapolated || other.extrapolated {
        "extrapolated"
    } else {
        "too few rounds for an interval"
    };
    let verdict = match ratio {
        ratio if ratio > BY_FAR => Verdict::Slower,
        ratio if ratio < 1.0 / BY_FAR => Verdict::Faster,
        _ => Verdict::NoDifferenceShown,
    };
    Some((verdict, format!("list / {title} {ratio:.1} ({why})")))
}

/// The heap that is compared in the shape: what was published.
fn heap_of(rivals: &[Column]) -> Option<Column> {
    let named = |title: &str| rivals.iter().copied().find(|column| column.title() == title);
    named("heap").or_else(|| named("heap2")).or_else(|| named("heap4"))
}

/// Does the published shape hold?
fn shape(table: &Table, mode: Mode) -> String {
    let Some((list, heap)) = rivals(table, mode).and_then(|(list, rivals)| Some((list, heap_of(&rivals)?)))
    else {
        return String::new();
    };
    let name = match mode {
        Mode::Faithful => "faithful",
        Mode::Ours => "ours",
    };
    let (mut words, mut small, mut large, mut against, mut open) = (Vec::new(), false, false, false, false);
    for &n in &table.sizes {
        let to_lose = match n {
            ..=100 => false,
            1000.. => true,
            _ => continue,
        };
        let Some((found, said)) = standing(table, list, heap, n) else { continue };
        if to_lose {
            large = true
        } else {
            small = true
        }
        against |= found == if to_lose { Verdict::Faster } else { Verdict::Slower };
        open |= to_lose && found == Verdict::NoDifferenceShown;
        words.push(format!("N = {}: {said}", table::count(n)));
    }
    let verdict = match () {
        () if !small || !large => "needs an N up to 100 and one from 1k on",
        () if against => "does NOT hold",
        () if open => "is not shown at every N",
        () => "holds",
    };
    format!(
        "The published shape (the list wins or ties up to N = 100, and loses to the heap from 1k on) {verdict}, {name}:\n  {}\n",
        words.join("\n  ")
    )
}

fn crossing(crossover: &Crossover<Column>, brief: bool) -> String {
    let mut rows =
        table::new(["N", "list, ns", "best, ns", "best", "list / best, by rounds", "from", "to", ""]);
    for point in &crossover.points {
        rows.add_row([
            point.n.to_string(),
            table::ns(point.list_ns),
            table::ns(point.best_ns),
            point.best.title().to_owned(),
            format!("{:.2}", point.ratio.median),
            format!("{:.2}", point.ratio.interval.low),
            format!("{:.2}", point.ratio.interval.high),
            point.verdict.words().to_owned(),
        ]);
    }
    let mode = match crossover.list.mode() {
        Mode::Faithful => "faithful",
        Mode::Ours => "ours",
    };
    let rows = if brief { String::new() } else { table::show(&rows) + "\n" };
    format!(
        "Crossover, {mode}: ns of an add and its delete with up to N pending\n{rows}{}",
        crossover.words("the best")
    )
}

fn compared(rows: &[comparisons::Row]) -> String {
    let mut heading = vec!["most (mean) comparisons".to_owned()];
    heading.extend(Sequence::ALL.map(|sequence| sequence.word().to_owned()));
    let mut shown = table::new(heading);
    for structure in ["list", "heap", "rb"] {
        for del in [false, true] {
            let mut cells = vec![format!("{structure}, {}", if del { "del" } else { "add" })];
            cells.extend(Sequence::ALL.map(|sequence| {
                let row = rows.iter().find(|row| row.structure == structure && row.sequence == sequence);
                row.map_or("-".into(), |row| {
                    let calls = if del { row.del } else { row.add };
                    format!("{} ({:.1})", calls.most, calls.mean)
                })
            }));
            shown.add_row(cells);
        }
    }
    let n = rows.first().map_or(1, |row| row.n);
    let (add, del) = comparisons::heap_bounds(n);
    let most = |pick: fn(&comparisons::Row) -> u64| {
        rows.iter().filter(|row| row.structure == "heap").map(pick).max().unwrap_or(0)
    };
    let (worst_add, worst_del) = (most(|row| row.add.most), most(|row| row.del.most));
    let kept = if worst_add <= add && worst_del <= del { "and none did" } else { "and one DID" };
    format!(
        "Can a heap degrade to a list? N = {n}, deadlines in these orders:\n{}\n\
         No: its shape depends on N alone. An add may compare {add} times and a delete {del} times, {kept} more (most: {worst_add} and {worst_del}).\n\
         The list is what can be hurt: deadlines chosen for it make each add walk half of it, equal ones all of it. The red-black tree is bounded like the heap;\n\
         the hash and ring is the column wheel.",
        table::show(&shown)
    )
}
