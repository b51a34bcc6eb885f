//! Tables, targets and the answer of `registry`.

use clap::ValueEnum;

use super::run::{Cell, Plan, Row, What};
use super::subject::{How, Kind};
use super::work::{Keys, Measure};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{Cell as Field, Finding, Section, Table, findings_table};
use crate::stats::{self, Bound, CONFIDENCE, Summary};

fn samples(rows: &[Row], kind: Kind) -> Option<&[f64]> {
    rows.iter().find(|row| row.kind == kind && !row.samples.is_empty()).map(|row| row.samples.as_slice())
}

fn median(rows: &[Row], kind: Kind) -> Option<f64> {
    stats::median(samples(rows, kind)?)
}

fn ratio(rows: &[Row], kind: Kind, to: &[Row], other: Kind) -> Option<Summary> {
    stats::ratios(samples(rows, kind)?, samples(to, other)?)
}

/// The upper bounds of our trees' time divided by the time of intrusive-collections' tree: at n =
/// 10k, and at every other n.
const AT_10K: Bound = Bound::AtMost(0.85);
const ANYWHERE: Bound = Bound::AtMost(1.0);
/// The upper bound of our B+ tree's look-up time divided by the look-up time of the standard
/// library's B-tree, at a million entries.
const BPLUS: Bound = Bound::AtMost(1.2);
/// The upper bound of the time of an ascending insert by hint or at the end, divided by the time of
/// an insert by search: a third.
const ASCENT: Bound = Bound::AtMost(0.333);

pub(super) fn sections(plan: &Plan, cells: &[Cell], findings: &[Finding]) -> Vec<Section> {
    let above = "Median ns of one call; x: its ratio to intrusive-rbtree, round by round. hash-map has no order: \
                 it shows what order costs.";
    let mut sections = vec![Section::new("Registries over each dictionary").text(above)];
    let calls = plan.keys.iter().flat_map(|keys| Measure::ALL.map(|measure| What::Calls(measure, *keys)));
    let ascents = [How::Search, How::Hint, How::Append].map(What::Ascent);
    for what in calls.chain(ascents) {
        sections.push(medians(what, cells));
    }
    sections.push(Section::new("The red-black tree to AVL, by rounds").table(against_avl(cells)));
    let targets = findings_table("target", Format::Fixed(2), findings);
    sections.push(Section::new("Targets").table(targets));
    sections.push(answer(cells));
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

/// Returns two columns for each population: the medians, and the ratio of each median to the median
/// of intrusive-collections' tree.
fn medians(what: What, cells: &[Cell]) -> Section {
    let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.what == what).collect();
    let mut table = Table::new().column("", Format::Text);
    for cell in &cells {
        table =
            table.column(format!("n={}", count(cell.population)), Format::Ns).column("x", Format::Fixed(2));
    }
    for &kind in Kind::value_variants() {
        if cells.iter().all(|cell| samples(&cell.rows, kind).is_none()) {
            continue;
        }
        let columns = cells.iter().flat_map(|cell| {
            let to_base = match ratio(&cell.rows, kind, &cell.rows, Kind::IntrusiveRbtree) {
                Some(_) if kind == Kind::IntrusiveRbtree => "base".into(),
                Some(ratio) => ratio.median.into(),
                None => "".into(),
            };
            [median(&cell.rows, kind).into(), to_base]
        });
        table.row([kind.name().into()].into_iter().chain(columns));
    }
    let title = match what {
        What::Calls(measure, keys) => format!("{}, {} keys", measure.words(), keys.name()),
        what => what.words().to_owned(),
    };
    Section::new(title).table(table)
}

/// Returns the time of the red-black tree divided by the time of the AVL tree, with the interval of
/// this ratio. HelenOS's figures of 2018 compare the same trees. These ratios have no bound.
fn against_avl(cells: &[Cell]) -> Table {
    let mut table = Table::new().column("", Format::Text).column("N", Format::Count);
    for storage in ["hooks", "slab"] {
        table = table.column(storage, Format::Fixed(2));
        table = table.column("from", Format::Fixed(2)).column("to", Format::Fixed(2));
        table = table.column("differs", Format::Text);
    }
    for cell in cells {
        let What::Calls(measure, keys) = cell.what else { continue };
        let pairs = [(Kind::OdictHook, Kind::AvlHook), (Kind::OdictSlab, Kind::AvlSlab)];
        let ratios = pairs.map(|(odict, avl)| ratio(&cell.rows, odict, &cell.rows, avl));
        if ratios.iter().all(Option::is_none) {
            continue;
        }
        let columns = ratios.into_iter().flat_map(|ratio| {
            let interval = ratio.map(|ratio| ratio.interval);
            [
                ratio.map(|ratio| ratio.median).into(),
                interval.map(|interval| interval.low).into(),
                interval.map(|interval| interval.high).into(),
                Field::from(ratio.as_ref().map_or("", differs)),
            ]
        });
        let what = format!("{}, {}", measure.words(), keys.name());
        table.row([what.into(), cell.population.into()].into_iter().chain(columns));
    }
    table
}

/// Returns which of the two trees is faster, if the interval shows it.
pub(super) fn differs(ratio: &Summary) -> &'static str {
    match ratio.interval {
        interval if interval.coverage < CONFIDENCE => "too few rounds",
        interval if interval.high < 1.0 => "odict faster",
        interval if interval.low > 1.0 => "avl faster",
        _ => "not shown",
    }
}

/// The smallest population at which a hint can save a search.
const SEARCHED: usize = 100;

/// Returns the targets of our dictionaries.
pub(super) fn targets(cells: &[Cell]) -> Vec<Finding> {
    let mut targets = Vec::new();
    let mut target = |what: String, n: usize, ratio: Summary, bound: Bound| {
        targets.push(Finding::bounded(format!("{what}, n={}", count(n)), ratio, bound));
    };
    let with =
        |what: &str, measure: Measure, keys: Keys| format!("{what}, {}, {}", measure.words(), keys.name());
    for cell in cells {
        let What::Calls(measure, keys) = cell.what else { continue };
        for kind in [Kind::OdictHook, Kind::AvlHook] {
            let Some(ratio) = ratio(&cell.rows, kind, &cell.rows, Kind::IntrusiveRbtree) else { continue };
            let bound = if cell.population == 10_000 { AT_10K } else { ANYWHERE };
            let what = format!("{} to intrusive", kind.name());
            target(with(&what, measure, keys), cell.population, ratio, bound);
        }
        if cell.population == 1_000_000 && measure != Measure::Churn {
            let Some(ratio) = ratio(&cell.rows, Kind::Bplus, &cell.rows, Kind::BtreeMap) else { continue };
            target(with("bplus to btree-map", measure, keys), cell.population, ratio, BPLUS);
        }
    }
    for cell in cells.iter().filter(|cell| cell.population >= SEARCHED) {
        let What::Ascent(how @ (How::Hint | How::Append)) = cell.what else { continue };
        let search =
            |other: &&Cell| (other.what, other.population) == (What::Ascent(How::Search), cell.population);
        let Some(search) = cells.iter().find(search) else { continue };
        // The B+ tree accepts hints but does not use them, as its documentation says.
        let uses = |kind: &Kind| kind.ours() && (*kind, how) != (Kind::Bplus, How::Hint);
        for kind in Kind::value_variants().iter().copied().filter(uses) {
            if let Some(ratio) = ratio(&cell.rows, kind, &search.rows, kind) {
                let what = format!("{}, {} to by search", kind.name(), cell.what.words());
                target(what, cell.population, ratio, ASCENT);
            }
        }
    }
    targets
}

/// The dictionary matters from this share of a thread's life on, in percent.
const MATTERS: f64 = 1.0;

/// Answers the author's question: what workload would use the trees?
fn answer(cells: &[Cell]) -> Section {
    let mut table = Table::new()
        .column("std thread, registered", Format::Text)
        .column("N", Format::Count)
        .column("ns each", Format::Ns)
        .column("destroy and create, ns", Format::Ns)
        .column("share", Format::Percent);
    let mut shares: Vec<(Kind, usize, f64)> = Vec::new();
    for threads in cells.iter().filter(|cell| cell.what == What::Thread) {
        let n = threads.population;
        let is_churn =
            |cell: &&Cell| cell.population == n && matches!(cell.what, What::Calls(Measure::Churn, _));
        let churn = cells.iter().find(is_churn).map_or(&[][..], |churn| &churn.rows);
        for row in &threads.rows {
            let both = median(&threads.rows, row.kind).zip(median(churn, row.kind));
            let Some((whole, tree)) = both else { continue };
            let share = 100.0 * tree / whole.max(1.0);
            table.row([row.kind.name().into(), n.into(), whole.into(), tree.into(), share.into()]);
            shares.push((row.kind, n, share));
        }
    }
    let of = |kind: Kind| shares.iter().rev().filter(move |share| share.0 == kind);
    let said = Kind::value_variants().iter().filter(|kind| of(**kind).next().is_some()).map(|&kind| {
        // The smallest N such that the share matters at this N and at all larger N.
        let from = of(kind).take_while(|share| share.2 >= MATTERS).last();
        let from =
            from.map_or("at none of these N".to_owned(), |share| format!("from N = {}", count(share.1)));
        format!("{} {from}", kind.name())
    });
    let mut text =
        format!("The tree takes {MATTERS} % of a thread's life: {}.\n", said.collect::<Vec<_>>().join(", "));
    if let Some((_, n, share)) = of(Kind::OdictHook).next() {
        text += &format!("At N = {} odict takes {share:.2} %.\n", count(*n));
    }
    text += "A ping-pong asks no tree, or one once (`tickwright reproduce helenos`). This asks it twice in each \
             life, and the tables above ask nothing else.";
    let section = Section::new("Would creating and destroying threads show the tree?");
    if shares.is_empty() { Section::default() } else { section.table(table).text(text) }
}
