//! The times beside the published ones, the verdicts, and the answers to what the reviewers asked.

use core::time::Duration;

use super::column::{Column, Mode};
use super::comparisons::{self, Calls};
use super::crossover::Few;
use super::published::{Published, Row};
use super::table::{Figure, Lane, Plan, Table, What};
use crate::duration;
use crate::experiments::crossover::{Crossover, Point};
use crate::output::table::count;
use crate::render::Format;
use crate::result::{
    Axis, Better, Cell, Finding, Label, Labels, Plot, Section, Series, Table as Rows, Unit, findings_table,
    labels,
};
use crate::stats::{self, CONFIDENCE, Verdict};

fn of_column(column: Column, n: usize) -> Labels {
    labels([("mode", column.mode().name().into()), ("structure", column.title().into()), ("n", n.into())])
}

/// Labels of a finding about a mode.
fn part<const N: usize>(part: &'static str, mode: Mode, more: [(&str, Label); N]) -> Labels {
    let mut all = labels([("part", part.into()), ("mode", mode.name().into())]);
    all.extend(labels(more));
    all
}

/// The findings with these labels.
fn among(findings: &[Finding], part: Labels) -> Vec<Finding> {
    let has = |finding: &&Finding| part.iter().all(|(key, value)| finding.labels.get(key) == Some(value));
    findings.iter().filter(has).cloned().collect()
}

/// Every sample of the table, per timer.
pub(super) fn series(table: &Table) -> Vec<Series> {
    let mut all = Vec::new();
    for lane in &table.lanes {
        for &n in &table.sizes {
            for what in [What::Add, What::Delete] {
                let samples = lane.samples(n, what);
                if !samples.is_empty() {
                    let series = Series::new(what.word(), Unit::Ns, of_column(lane.column, n));
                    all.push(series.per("timer").of(samples.iter().map(|ns| ns / n as f64)));
                }
            }
        }
    }
    all
}

/// A figure with a mark where it is extrapolated.
fn words(figure: Figure, format: Format) -> String {
    let mark = if figure.extrapolated { "~" } else { "" };
    format!("{}{mark}", format.write(figure.value))
}

fn cell(figure: Option<Figure>, format: Format) -> Cell {
    match figure {
        Some(figure) if figure.extrapolated => words(figure, format).into(),
        figure => figure.map(|figure| figure.value).into(),
    }
}

/// Seconds that were published, as ns.
fn published_ns(row: &Row, what: What) -> [f64; 2] {
    [&row.list, &row.heap].map(|times| match what {
        What::Add => times.add * 1e9,
        What::Delete => times.delete * 1e9,
        What::Total => times.total * 1e9,
    })
}

/// One table of a mode, with the published figures of list and heap to the left of the faithful
/// ones.
fn grid(
    (table, published): (&Table, &Published),
    mode: Mode,
    (name, format): (&str, Format),
    then: impl Fn(&Row) -> [f64; 2],
    here: impl Fn(&Lane, usize) -> Option<Figure>,
) -> Rows {
    let mut rows = Rows::new().column(format!("{name}, N ="), Format::Count);
    if mode == Mode::Faithful {
        rows = rows.column("list, 2009", format).column("heap, 2009", format);
    }
    for lane in table.lanes_of(mode) {
        rows = rows.column(format!("{} here", lane.column.title()), format);
    }
    for &n in &table.sizes {
        let mut row = vec![n.into()];
        if mode == Mode::Faithful {
            let then = published.at(n).map(&then);
            row.extend([then.map(|[list, _]| list).into(), then.map(|[_, heap]| heap).into()]);
        }
        row.extend(table.lanes_of(mode).map(|lane| cell(here(lane, n), format)));
        rows.row(row);
    }
    rows
}

/// The total of `lane` in percent of that of the list of its mode.
fn share(table: &Table, lane: &Lane, n: usize) -> Option<Figure> {
    let list = table.list_of(lane.column.mode())?.figure(n, What::Total)?;
    let own = lane.figure(n, What::Total)?;
    Some(Figure { extrapolated: list.extrapolated || own.extrapolated, ..own.times(100.0 / list.value) })
}

/// The times of a mode, if it was run: a picture, and a table for each thing that was published.
pub(super) fn times(table: &Table, published: &Published, plan: &Plan, mode: Mode) -> Vec<Section> {
    if table.lanes_of(mode).next().is_none() {
        return Vec::new();
    }
    let data = (table, published);
    let (title, about) = match mode {
        Mode::Faithful => (
            "Faithful: the schedulers of 2009",
            format!(
                "A mutex for each call, an allocation for each entry, ids in a hash table, 8 bytes of /dev/urandom for \
                 each delay. The figures of 2009: {}; {}.",
                published.source, published.machine
            ),
        ),
        Mode::Ours => (
            "Ours: the scheduler of this project with plain callbacks",
            "Delays are drawn before the clock starts.".to_owned(),
        ),
    };
    let mut sections = vec![Section::new(title).text(about).plot(picture(table, published, mode))];
    for what in What::ALL {
        let then = |row: &Row| published_ns(row, what);
        let head = (what.word(), Format::Span);
        let grid = grid(data, mode, head, then, |lane, n| lane.figure(n, what));
        sections.push(Section::new("").table(grid));
    }
    let per_timer = grid(
        data,
        mode,
        ("ns per timer", Format::Ns),
        |row| published_ns(row, What::Total).map(|ns| ns / row.n as f64),
        |lane, n| Some(lane.figure(n, What::Total)?.times(1.0 / n as f64)),
    );
    sections.push(Section::new("").table(per_timer));
    if table.list_of(mode).is_some() {
        let shares = grid(
            data,
            mode,
            ("share of list", Format::Percent),
            |row| [100.0, row.percent],
            |lane, n| share(table, lane, n),
        );
        sections.push(Section::new("").table(shares));
    }
    let growths = growths(table, mode, plan.budget);
    if !growths.is_empty() {
        sections.push(Section::new("").text(growths));
    }
    sections
}

/// What was measured, over N; what was extrapolated is left out.
fn picture(table: &Table, published: &Published, mode: Mode) -> Plot {
    let x = Axis::log("timers", Format::Count);
    let y = Axis::log("ns per timer", Format::Thousands);
    let mut plot = Plot::new(format!("An add and its delete by N, {}", mode.name()), x, y);
    if mode == Mode::Faithful {
        for (at, name) in ["list, 2009", "heap, 2009"].into_iter().enumerate() {
            let point = |row: &Row| (row.n as f64, published_ns(row, What::Total)[at] / row.n as f64);
            plot = plot.curve(name, published.times.iter().map(point));
        }
    }
    for lane in table.lanes_of(mode) {
        let point = |&n: &usize| {
            let figure = lane.figure(n, What::Total).filter(|figure| !figure.extrapolated)?;
            Some((n as f64, figure.value / n as f64))
        };
        plot = plot.curve(lane.column.title(), table.sizes.iter().filter_map(point));
    }
    plot
}

/// What "~" means, column by column.
fn growths(table: &Table, mode: Mode, budget: Duration) -> String {
    let mut parts = Vec::new();
    for lane in table.lanes_of(mode) {
        let missing = |&n: &usize| lane.figure(n, What::Total).is_some_and(|figure| figure.extrapolated);
        let (Some(add), Some(delete)) = (lane.law(What::Add), lane.law(What::Delete)) else { continue };
        if table.sizes.iter().any(missing) {
            let on: Vec<String> = add.on.iter().map(|&n| count(n)).collect();
            parts.push(format!(
                "  {}: add ~ N^{:.2}, delete ~ N^{:.2}, fitted on N = {}",
                lane.column.name(),
                add.exponent,
                delete.exponent,
                on.join(", ")
            ));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "~ was not reached, or would take more than --budget {}. It is extrapolated, too low where caches are \
         too small for it:\n{}",
        duration::show(budget),
        parts.join("\n")
    )
}

/// The list to the heap of its mode at `n`.
fn standing(list: &Lane, heap: &Lane, n: usize) -> Option<Finding> {
    let figures = [list, heap].map(|lane| lane.figure(n, What::Total));
    let (Some(a), Some(b)) = (figures[0], figures[1]) else { return None };
    let about = format!("{} to {}, N = {}", list.column.title(), heap.column.title(), count(n));
    let here = format!("{} to {}", words(a, Format::Span), words(b, Format::Span));
    let ratio = stats::ratios(&list.samples(n, What::Total), &heap.samples(n, What::Total));
    let finding = match ratio {
        Some(ratio) => Finding::ratio(about, ratio, here),
        None => Finding { figure: stats::summarise([a.value / b.value]), ..Finding::stated(about, here) },
    };
    Some(finding.labelled(part("table", list.column.mode(), [("n", n.into())])))
}

/// The list wins or ties up to here, and loses from there on.
const SMALL: usize = 100;
const LARGE: usize = 1000;

/// Whether the published shape holds: the heap's share of the list's time, small, large and
/// largest.
fn shape(
    table: &Table,
    published: &Published,
    mode: Mode,
    standings: &[(usize, Finding)],
) -> Option<Finding> {
    let heap = table.heap_of(mode)?;
    let small = table.sizes.iter().copied().filter(|&n| n <= SMALL).max();
    let large = table.sizes.iter().copied().find(|&n| n >= LARGE);
    let largest = table.sizes.last().copied().filter(|&n| Some(n) > large);
    let some: Vec<usize> = [small, large, largest].into_iter().flatten().collect();
    let list = |figure: &dyn Fn(usize) -> Option<Figure>| {
        let one = |&n: &usize| Some(format!("{} at {}", words(figure(n)?, Format::Percent), count(n)));
        some.iter().filter_map(one).collect::<Vec<_>>().join(", ")
    };
    let then = list(&|n| Some(Figure { value: published.at(n)?.percent, extrapolated: false }));
    let here = list(&|n| share(table, heap, n));
    // What rests on too few rounds for an interval decides nothing.
    let shown = |n: usize| {
        let standing = standings.iter().find(|standing| standing.0 == n)?;
        let figure = standing.1.figure.filter(|figure| figure.interval.coverage >= CONFIDENCE)?;
        Some(Verdict::on(&figure))
    };
    let small: Vec<Verdict> = table.sizes.iter().filter(|n| **n <= SMALL).filter_map(|n| shown(*n)).collect();
    let large: Vec<Verdict> = table.sizes.iter().filter(|n| **n >= LARGE).filter_map(|n| shown(*n)).collect();
    let verdict = if small.contains(&Verdict::Slower) || large.contains(&Verdict::Faster) {
        Verdict::Missed
    } else if small.is_empty() || large.is_empty() || large.contains(&Verdict::NoDifferenceShown) {
        Verdict::NotShown
    } else {
        Verdict::Held
    };
    let about = format!("the heap's share of the list's time, {}", mode.name());
    let mut finding = Finding::stated(about, here).judged(verdict);
    if !then.is_empty() {
        finding = finding.published(then);
    }
    Some(finding.labelled(part("table", mode, [])))
}

/// The shape of each mode, then the list to the heap at each N.
pub(super) fn findings(table: &Table, published: &Published) -> Vec<Finding> {
    let (mut shapes, mut all) = (Vec::new(), Vec::new());
    for mode in Mode::ALL {
        let (Some(list), Some(heap)) = (table.list_of(mode), table.heap_of(mode)) else { continue };
        let standings: Vec<(usize, Finding)> =
            table.sizes.iter().filter_map(|&n| Some((n, standing(list, heap, n)?))).collect();
        shapes.extend(shape(table, published, mode, &standings));
        all.extend(standings.into_iter().map(|(_, finding)| finding));
    }
    [shapes, all].concat()
}

/// Whether the published shape holds, mode by mode.
pub(super) fn shapes(findings: &[Finding]) -> Vec<Section> {
    let asked = Section::new("Does the published shape hold?").text(format!(
        "The list wins or ties up to N = {SMALL}, and loses to the heap from {} on. A ratio without an interval \
         (too few rounds, or extrapolated) decides nothing.",
        count(LARGE)
    ));
    let mut sections = vec![asked];
    for mode in Mode::ALL {
        let of = among(findings, part("table", mode, []));
        let Some((shape, ratios)) = of.split_first() else { continue };
        let verdict = match shape.verdict {
            Verdict::Held => "holds",
            Verdict::Missed => "does NOT hold",
            _ => "is not shown at every N",
        };
        let heap = format!("The heap's share of the list's time: {}.", shape.here);
        let words = format!("In the mode {} it {verdict}. {heap}", mode.name());
        let ratios = findings_table("total", Format::Ratio, ratios);
        sections.push(Section::new("").text(words).table(ratios));
    }
    sections
}

/// What the crossover sampled: ns of an add and its delete.
pub(super) fn crossover_series(few: &Few) -> Vec<Series> {
    let of = |n: usize, at: usize, column: Column| {
        let samples = few.sampled.iter().filter(move |sampled| sampled.n == n);
        let samples = samples.flat_map(move |sampled| sampled.samples[at].iter().copied());
        Series::new("add and delete", Unit::Ns, of_column(column, n)).per("pair").of(samples)
    };
    let sizes = few.sampled.iter().map(|sampled| sampled.n);
    sizes.flat_map(|n| few.columns.iter().enumerate().map(move |(at, &column)| of(n, at, column))).collect()
}

/// Where the list crosses the best of the others.
pub(super) fn crossover_finding(crossover: &Crossover<Column>) -> Finding {
    let mode = crossover.list.mode();
    let about = format!("up to how many timers the list is as good as the best, {}", mode.name());
    Finding::stated(about, crossover.words("the best")).labelled(part("crossover", mode, []))
}

pub(super) fn crossing(crossover: &Crossover<Column>) -> Section {
    let mode = crossover.list.mode();
    let mut rows = Rows::new().column("N", Format::Count);
    for name in ["list, ns", "best, ns"] {
        rows = rows.column(name, Format::Ns);
    }
    rows = rows.column("best", Format::Text);
    for name in ["list to best", "from", "to"] {
        rows = rows.column(name, Format::Ratio);
    }
    rows = rows.column("verdict", Format::Text);
    for Point { n, list_ns, best, best_ns, ratio, verdict } in &crossover.points {
        rows.row([
            (*n).into(),
            (*list_ns).into(),
            (*best_ns).into(),
            best.title().into(),
            ratio.median.into(),
            ratio.interval.low.into(),
            ratio.interval.high.into(),
            verdict.words().into(),
        ]);
    }
    let title = format!("Few timers, {}: an add and its delete, with up to N pending", mode.name());
    let curve = |of: fn(&Point<Column>) -> f64| crossover.points.iter().map(move |p| (p.n as f64, of(p)));
    let y = Axis::linear("ns", Format::Thousands);
    let plot = Plot::new("The list beside the best of the others", Axis::log("timers", Format::Count), y)
        .curve("list", curve(|point| point.list_ns))
        .curve("best of the others", curve(|point| point.best_ns));
    Section::new(title).table(rows).text(crossover.words("the best")).plot(plot)
}

/// What is counted of a call: its name, and how it is written.
type Count = (&'static str, Format, fn(&Calls) -> f64);

const COUNTS: [Count; 2] = [
    ("most comparisons", Format::Thousands, |calls| calls.most as f64),
    ("mean comparisons", Format::Fixed(1), |calls| calls.mean),
];

/// The comparisons of adds and of deletes.
pub(super) fn comparison_series(rows: &[comparisons::Row]) -> Vec<Series> {
    let mut all = Vec::new();
    for row in rows {
        for (call, calls) in [("add", &row.add), ("delete", &row.delete)] {
            for (name, _, count) in COUNTS {
                let of = labels([
                    ("structure", row.structure.into()),
                    ("order", row.order.into()),
                    ("call", call.into()),
                    ("n", row.n.into()),
                ]);
                all.push(Series::new(name, Unit::Count, of).better(Better::Lower).of([count(calls)]));
            }
        }
    }
    all
}

/// Whether the heap kept its bounds; they are counts, so no interval is needed.
pub(super) fn comparison_finding(rows: &[comparisons::Row]) -> Option<Finding> {
    let n = rows.first()?.n;
    let heap = || rows.iter().filter(|row| row.structure == "heap");
    let (add, delete) = comparisons::heap_bounds(n);
    let most = (heap().map(|row| row.add.most).max()?, heap().map(|row| row.delete.most).max()?);
    let about = format!("can a heap degrade to a list? comparisons at N = {}", count(n as usize));
    let here = format!("at most {} an add and {} a delete", most.0, most.1);
    let verdict = if most.0 <= add && most.1 <= delete { Verdict::Held } else { Verdict::Missed };
    let bounds = format!("by its shape at most {add} and {delete}");
    Some(Finding::stated(about, here).published(bounds).judged(verdict))
}

pub(super) fn compared(rows: &[comparisons::Row]) -> Vec<Section> {
    let Some(finding) = comparison_finding(rows) else { return Vec::new() };
    let orders: Vec<&str> = rows.iter().filter(|row| row.structure == "list").map(|row| row.order).collect();
    let mut sections = Vec::new();
    for (name, format, count) in COUNTS {
        let head = Rows::new().column(name, Format::Text);
        let mut table = orders.iter().fold(head, |table, order| table.column(*order, format));
        for of_structure in rows.chunks(orders.len()) {
            let structure = of_structure[0].structure;
            let row = |call: &str, calls: fn(&comparisons::Row) -> &Calls| {
                let counts = of_structure.iter().map(|row| Cell::from(count(calls(row))));
                [format!("{structure}, {call}").into()].into_iter().chain(counts).collect::<Vec<_>>()
            };
            table.row(row("add", |row| &row.add));
            table.row(row("delete", |row| &row.delete));
        }
        let title =
            if sections.is_empty() { "Can a heap degrade to a list? Deadlines in five orders" } else { "" };
        sections.push(Section::new(title).table(table));
    }
    let no = format!(
        "No: the shape of a heap depends on N alone. The heap compared {}; {}.\nThe list can be hurt: deadlines chosen \
         for it make each add walk half of it, and equal deadlines all of it. The red-black tree is bounded like the \
         heap. The hash and ring of the reviewers is the wheel. (Inward: late and early by turns, towards the \
         middle.)",
        finding.here,
        finding.published.unwrap_or_default()
    );
    sections.push(Section::new("").text(no));
    sections
}
