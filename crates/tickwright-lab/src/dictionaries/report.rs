//! Tables, targets and the answer of `bench registry`.

use core::fmt::Write;

use serde::Serialize;

use super::run::{Ascent, Cell, Report, Row};
use super::subject::{How, Kind};
use super::work::{Keys, Measure};
use crate::output::{SCHEMA, table};
use crate::stats::{self, CONFIDENCE, Summary};

/// A line of the CSV: a sample.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    schema: u32,
    keys: Option<Keys>,
    measure: &'static str,
    population: usize,
    dictionary: &'static str,
    round: usize,
    ns: f64,
}

pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let mut all = Vec::new();
    let mut note = |keys, measure, population, rows: &[Row]| {
        for row in rows {
            all.extend(row.samples.iter().enumerate().map(|(round, &ns)| Line {
                schema: SCHEMA,
                keys,
                measure,
                population,
                dictionary: row.kind.name(),
                round: round + 1,
                ns,
            }));
        }
    };
    for cell in &report.cells {
        note(Some(cell.keys), cell.measure.words(), cell.population, &cell.rows);
    }
    for ascent in &report.ascents {
        note(None, how(ascent.how), ascent.population, &ascent.rows);
    }
    for threads in &report.threads {
        note(None, "thread", threads.population, &threads.rows);
    }
    all
}

fn how(how: How) -> &'static str {
    match how {
        How::Search => "ascending, by search",
        How::Hint => "ascending, by hint",
        How::Append => "ascending, appended",
    }
}

fn samples(rows: &[Row], kind: Kind) -> Option<&[f64]> {
    rows.iter().find(|row| row.kind == kind && !row.samples.is_empty()).map(|row| row.samples.as_slice())
}

fn median(rows: &[Row], kind: Kind) -> Option<f64> {
    stats::summarise(samples(rows, kind)?.iter().copied()).map(|summary| summary.median)
}

fn ratio(rows: &[Row], kind: Kind, to: &[Row], other: Kind) -> Option<Summary> {
    stats::ratios(samples(rows, kind)?, samples(to, other)?)
}

/// Bounds of a ratio.
pub(crate) const AT_10K: f64 = 0.85;
pub(crate) const ANYWHERE: f64 = 1.0;
pub(crate) const ASCENT: f64 = 1.0 / 3.0;
/// Of look-ups at a million.
const BPLUS: f64 = 1.2;

/// Whether a ratio keeps a bound, in a word.
pub(crate) fn kept(ratio: &Summary, bound: f64) -> &'static str {
    match ratio.interval {
        interval if interval.coverage < CONFIDENCE => "too few rounds",
        interval if interval.high <= bound => "kept",
        interval if interval.low > bound => "MISSED",
        _ => "not shown",
    }
}

pub(crate) fn text(report: &Report) -> String {
    let mut out = format!("{}\nclock  {}\n", report.host, report.clock);
    for note in &report.notes {
        out += &format!("note   {note}\n");
    }
    let mut keys: Vec<Keys> = report.cells.iter().map(|cell| cell.keys).collect();
    keys.dedup();
    for keys in Keys::ALL.into_iter().filter(|of| keys.contains(of)) {
        for measure in Measure::ALL {
            let cells: Vec<&Cell> =
                report.cells.iter().filter(|cell| (cell.keys, cell.measure) == (keys, measure)).collect();
            let columns: Vec<(usize, &[Row])> =
                cells.iter().map(|cell| (cell.population, cell.rows.as_slice())).collect();
            out += &format!(
                "\n{}\n",
                shown(&format!("{}, {} keys, ns", measure.words(), keys.name()), &columns)
            );
        }
    }
    for each in [How::Search, How::Hint, How::Append] {
        let columns: Vec<(usize, &[Row])> = report
            .ascents
            .iter()
            .filter(|ascent| ascent.how == each)
            .map(|ascent| (ascent.population, ascent.rows.as_slice()))
            .collect();
        if !columns.is_empty() {
            out += &format!("\n{}\n", shown(&format!("insert, {}, ns", how(each)), &columns));
        }
    }
    out += &against_avl(report);
    out += &targets(report);
    out += &answer(report);
    out
}

/// A column for each population: medians, and ours to intrusive-collections' tree.
fn shown(title: &str, columns: &[(usize, &[Row])]) -> String {
    let mut rows =
        table::new([title.to_owned()].into_iter().chain(columns.iter().map(|(n, _)| table::count(*n))));
    for kind in Kind::ALL {
        let cells: Vec<Option<String>> = columns
            .iter()
            .map(|(_, rows)| {
                let ns = table::ns(median(rows, kind)?);
                Some(match ratio(rows, kind, rows, Kind::IntrusiveRbtree) {
                    Some(ratio) if kind != Kind::IntrusiveRbtree => format!("{ns} {:.2}x", ratio.median),
                    Some(_) => format!("{ns}  base"),
                    None => ns,
                })
            })
            .collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into()));
            rows.add_row([kind.name().to_owned()].into_iter().chain(cells));
        }
    }
    table::show(&rows)
}

/// The red-black tree to AVL, with intervals: what HelenOS's figures of 2018 are about. It has no
/// bound.
fn against_avl(report: &Report) -> String {
    let mut rows = table::text([
        "odict to avl, by rounds",
        "N",
        "hooks",
        "from",
        "to",
        "differs",
        "slab",
        "from",
        "to",
        "differs",
    ]);
    let mut count = 0;
    for cell in &report.cells {
        let pairs = [(Kind::OdictHook, Kind::AvlHook), (Kind::OdictSlab, Kind::AvlSlab)];
        let ratios = pairs.map(|(odict, avl)| ratio(&cell.rows, odict, &cell.rows, avl));
        if ratios.iter().all(Option::is_none) {
            continue;
        }
        count += 1;
        let mut line =
            vec![format!("{}, {}", cell.measure.words(), cell.keys.name()), table::count(cell.population)];
        for ratio in ratios {
            line.extend(ratio.map_or_else(
                || ["-", "", "", ""].map(str::to_owned),
                |ratio| {
                    let at = |value: f64| format!("{value:.2}");
                    let interval = ratio.interval;
                    [at(ratio.median), at(interval.low), at(interval.high), differs(&ratio).to_owned()]
                },
            ));
        }
        rows.add_row(line);
    }
    if count == 0 { String::new() } else { format!("\n{}\n", table::show(&rows)) }
}

/// Which of the two takes less, if the interval shows it.
pub(crate) fn differs(ratio: &Summary) -> &'static str {
    match ratio.interval {
        interval if interval.coverage < CONFIDENCE => "too few rounds",
        interval if interval.high < 1.0 => "odict faster",
        interval if interval.low > 1.0 => "avl faster",
        _ => "not shown",
    }
}

/// From so many entries on there is something to search, which a hint can save.
const SEARCHED: usize = 100;

/// What ours are meant to reach.
fn targets(report: &Report) -> String {
    let mut rows = table::text(["target", "N", "ratio", "from", "to", "bound", ""]);
    let mut missed = Vec::new();
    let mut row = |what: String, n: usize, ratio: &Summary, bound: f64, always: bool| {
        let word = kept(ratio, bound);
        if always || word != "kept" {
            rows.add_row([
                what.clone(),
                table::count(n),
                format!("{:.2}", ratio.median),
                format!("{:.2}", ratio.interval.low),
                format!("{:.2}", ratio.interval.high),
                format!("{bound:.2}"),
                word.to_owned(),
            ]);
        }
        missed.extend((word == "MISSED").then(|| format!("{what} at {}", table::count(n))));
    };
    let mut count = 0;
    for cell in &report.cells {
        for kind in [Kind::OdictHook, Kind::AvlHook] {
            let Some(ratio) = ratio(&cell.rows, kind, &cell.rows, Kind::IntrusiveRbtree) else { continue };
            let at_10k = cell.population == 10_000;
            let what = format!(
                "{} to intrusive-rbtree, {}, {}",
                kind.name(),
                cell.measure.words(),
                cell.keys.name()
            );
            row(what, cell.population, &ratio, if at_10k { AT_10K } else { ANYWHERE }, at_10k);
            count += 1;
        }
    }
    let look_ups = |cell: &&Cell| cell.population == 1_000_000 && cell.measure != Measure::Churn;
    for cell in report.cells.iter().filter(look_ups) {
        let Some(ratio) = ratio(&cell.rows, Kind::Bplus, &cell.rows, Kind::BtreeMap) else { continue };
        let what = format!("bplus to btree-map, {}, {}", cell.measure.words(), cell.keys.name());
        row(what, cell.population, &ratio, BPLUS, true);
        count += 1;
    }
    let searched = |ascent: &&Ascent| ascent.how != How::Search && ascent.population >= SEARCHED;
    for ascent in report.ascents.iter().filter(searched) {
        let search =
            report.ascents.iter().find(|a| (a.population, a.how) == (ascent.population, How::Search));
        // The B+ tree takes hints and does not use them, as it says.
        let uses = |kind: &Kind| kind.ours() && (*kind, ascent.how) != (Kind::Bplus, How::Hint);
        for kind in Kind::ALL.into_iter().filter(uses) {
            let Some(ratio) = search.and_then(|search| ratio(&ascent.rows, kind, &search.rows, kind)) else {
                continue;
            };
            row(
                format!("{}, {} to by search", kind.name(), how(ascent.how)),
                ascent.population,
                &ratio,
                ASCENT,
                true,
            );
            count += 1;
        }
    }
    if count == 0 {
        return String::new();
    }
    let missed =
        if missed.is_empty() { "none is missed".into() } else { format!("missed: {}", missed.join("; ")) };
    format!(
        "\nOf {count} targets {missed}. Those at 10k, of the B+ tree at 1M, of ascending inserts, and others that are not shown to be kept:\n{}\n",
        table::show(&rows)
    )
}

/// What a thread must spend in the dictionary for that to matter.
const MATTERS: f64 = 0.01;

/// The author's question: what would touch the trees?
fn answer(report: &Report) -> String {
    let mut out = String::new();
    let mut rows = table::new(["std thread, registered", "N", "ns each", "destroy and create, ns", "share"]);
    let mut first: Vec<(Kind, Option<usize>)> = Vec::new();
    let mut largest: Option<(usize, f64)> = None;
    for threads in &report.threads {
        let churn = report
            .cells
            .iter()
            .find(|cell| cell.population == threads.population && cell.measure == Measure::Churn);
        for row in &threads.rows {
            let (Some(whole), Some(tree)) =
                (median(&threads.rows, row.kind), churn.and_then(|churn| median(&churn.rows, row.kind)))
            else {
                continue;
            };
            let share = tree / whole.max(1.0);
            rows.add_row([
                row.kind.name().to_owned(),
                table::count(threads.population),
                table::ns(whole),
                table::ns(tree),
                format!("{:.2} %", share * 100.0),
            ]);
            let known = first.iter().position(|(kind, _)| *kind == row.kind);
            let at = known.unwrap_or_else(|| {
                first.push((row.kind, None));
                first.len() - 1
            });
            // From where on: there, and at all larger ones.
            first[at].1 = (share >= MATTERS).then(|| first[at].1.unwrap_or(threads.population));
            if row.kind == Kind::OdictHook {
                largest = Some((threads.population, share));
            }
        }
    }
    if first.is_empty() {
        return out;
    }
    let said: Vec<String> = first
        .iter()
        .map(|(kind, from)| {
            let from =
                from.map_or("at none of these N".to_owned(), |n| format!("from N = {}", table::count(n)));
            format!("{} {from}", kind.name())
        })
        .collect();
    let _ = write!(
        out,
        "\n{}\nWould creating and destroying threads show the tree? It takes {:.0} % of a thread's life: {}.",
        table::show(&rows),
        MATTERS * 100.0,
        said.join(", ")
    );
    if let Some((n, share)) = largest {
        let _ = write!(out, " At N = {} odict takes {:.2} %.", table::count(n), share * 100.0);
    }
    out += "\nA ping-pong asks no tree, or one once (`tickwright reproduce helenos`); this asks it twice in each life, and the tables above ask nothing else.\n";
    out
}
