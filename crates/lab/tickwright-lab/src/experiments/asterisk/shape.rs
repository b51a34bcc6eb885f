//! Results of the table: each structure compared with the published times, and a check of the
//! published shape.

use core::time::Duration;

use super::column::{Column, Mode};
use super::published::Published;
use super::table::{Figure, Lane, Table, What};
use crate::duration;
use crate::output::table::count;
use crate::render::Format;
use crate::result::{
    Axis, Cell, Finding, Labels, Plot, Section, Series, Table as Rows, Unit, findings_table, labels,
};
use crate::stats::{self, CONFIDENCE, Verdict};

pub(super) fn of_column(column: Column, n: usize) -> Labels {
    labels([("mode", column.mode().name().into()), ("structure", column.title().into()), ("n", n.into())])
}

/// Returns all samples, as times per timer.
pub(super) fn series(table: &Table) -> Vec<Series> {
    let of = |lane: &Lane, n: usize, what: What| {
        let samples = lane.samples(n, what).into_iter().map(|ns| ns / n as f64);
        Series::new(what.word(), Unit::Ns, of_column(lane.column, n)).per("timer").of(samples)
    };
    let cells = table.lanes.iter().flat_map(|lane| lane.cells.iter().map(move |cell| (lane, cell.0)));
    cells.flat_map(|(lane, n)| [What::Add, What::Delete].map(|what| of(lane, n, what))).collect()
}

/// The scale of a table's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Whole,
    PerTimer,
    /// In percent of the time of the list.
    OfList,
}

/// The tables for each mode.
const VIEWS: [(&str, Format, What, Scale); 5] = [
    ("add", Format::Span, What::Add, Scale::Whole),
    ("delete", Format::Span, What::Delete, Scale::Whole),
    ("total", Format::Span, What::Total, Scale::Whole),
    ("ns per timer", Format::Thousands, What::Total, Scale::PerTimer),
    ("share of list", Format::Percent, What::Total, Scale::OfList),
];

/// Returns the published figures of the list and the heap at `n`.
fn then(published: &Published, n: usize, what: What, scale: Scale) -> Option<[f64; 2]> {
    let row = published.at(n)?;
    let ns = [&row.list, &row.heap].map(|times| match what {
        What::Add => times.add * 1e9,
        What::Delete => times.delete * 1e9,
        What::Total => times.total * 1e9,
    });
    Some(match scale {
        Scale::Whole => ns,
        Scale::PerTimer => ns.map(|ns| ns / n as f64),
        Scale::OfList => [100.0, row.percent],
    })
}

/// Returns the figure of a column at `n`, in this run.
fn here(table: &Table, lane: &Lane, n: usize, what: What, scale: Scale) -> Option<Figure> {
    let Figure { value, extrapolated } = lane.figure(n, what)?;
    Some(match scale {
        Scale::Whole => Figure { value, extrapolated },
        Scale::PerTimer => Figure { value: value / n as f64, extrapolated },
        Scale::OfList => {
            let list = table.list_of(lane.column.mode())?.figure(n, what)?;
            Figure { value: 100.0 * value / list.value, extrapolated: extrapolated || list.extrapolated }
        }
    })
}

/// Returns a figure as text, with a mark if the figure is extrapolated.
fn words(figure: Figure, format: Format) -> String {
    let mark = if figure.extrapolated { "~" } else { "" };
    format!("{}{mark}", format.write(figure.value))
}

/// Returns a plot of the times of a mode, and one table for each published figure. Returns nothing
/// if the mode was not run.
pub(super) fn times(table: &Table, published: &Published, budget: Duration, mode: Mode) -> Vec<Section> {
    let about = match mode {
        _ if table.lanes_of(mode).next().is_none() => return Vec::new(),
        Mode::Faithful => format!(
            "Faithful: the schedulers of 2009\n\
             A mutex for each call, an allocation for each entry, ids in a hash table, 8 bytes of /dev/urandom \
             for each delay. The figures of 2009: {}; {}.",
            published.source, published.machine
        ),
        Mode::Ours => "Ours: the scheduler of this project with plain callbacks\n\
                       Delays are drawn before the clock starts."
            .to_owned(),
    };
    let (title, about) = about.split_once('\n').unwrap_or_default();
    let mut sections = vec![Section::new(title).text(about).plot(picture(table, published, mode))];
    for (name, format, what, scale) in VIEWS {
        if scale == Scale::OfList && table.list_of(mode).is_none() {
            continue;
        }
        let mut rows = Rows::of([(format!("{name}, N ="), Format::Count)]);
        if mode == Mode::Faithful {
            rows = rows.column("list, 2009", format).column("heap, 2009", format);
        }
        for lane in table.lanes_of(mode) {
            rows = rows.column(format!("{} here", lane.column.title()), format);
        }
        for &n in &table.sizes {
            let mut row = vec![Cell::from(n)];
            if mode == Mode::Faithful {
                let then = then(published, n, what, scale);
                row.extend([0, 1].map(|at| Cell::from(then.map(|then| then[at]))));
            }
            row.extend(table.lanes_of(mode).map(|lane| match here(table, lane, n, what, scale) {
                Some(figure) if figure.extrapolated => words(figure, format).into(),
                figure => figure.map(|figure| figure.value).into(),
            }));
            rows.row(row);
        }
        sections.push(Section::new("").table(rows));
    }
    let growths = growths(table, mode);
    if !growths.is_empty() {
        sections.push(Section::new("").text(format!(
            "~ was not reached, or would take more than --budget {}. It is extrapolated, too low where caches \
             are too small for it:\n{}",
            duration::show(budget),
            growths.join("\n")
        )));
    }
    sections
}

/// Returns a plot of the measured times over N, without extrapolated times.
fn picture(table: &Table, published: &Published, mode: Mode) -> Plot {
    let x = Axis::log("timers", Format::Count);
    let y = Axis::log("ns per timer", Format::Thousands);
    let mut plot = Plot::new(format!("An add and its delete by N, {}", mode.name()), x, y);
    if mode == Mode::Faithful {
        for (at, name) in ["list, 2009", "heap, 2009"].into_iter().enumerate() {
            let sizes = published.times.iter().map(|row| row.n);
            let point = |n| Some((n as f64, then(published, n, What::Total, Scale::PerTimer)?[at]));
            plot = plot.curve(name, sizes.filter_map(point));
        }
    }
    for lane in table.lanes_of(mode) {
        let point = |&(n, _): &(usize, _)| {
            Some((n as f64, here(table, lane, n, What::Total, Scale::PerTimer)?.value))
        };
        plot = plot.curve(lane.column.title(), lane.cells.iter().filter_map(point));
    }
    plot
}

/// Returns the power laws of the columns that have an extrapolated figure.
fn growths(table: &Table, mode: Mode) -> Vec<String> {
    let growth = |lane: &Lane| {
        let missing = |&n: &usize| lane.figure(n, What::Total).is_some_and(|figure| figure.extrapolated);
        let (add, delete) = (lane.law(What::Add)?, lane.law(What::Delete)?);
        let on: Vec<String> = add.on.iter().map(|&n| count(n)).collect();
        table.sizes.iter().any(missing).then(|| {
            format!(
                "  {}: add ~ N^{:.2}, delete ~ N^{:.2}, fitted on N = {}",
                lane.column.name(),
                add.exponent,
                delete.exponent,
                on.join(", ")
            )
        })
    };
    table.lanes_of(mode).filter_map(growth).collect()
}

/// In the published shape, the list is at least as fast as the heap up to `SMALL`, and slower from
/// `LARGE` on.
const SMALL: usize = 100;
const LARGE: usize = 1000;

/// Returns a finding on the shape of each mode, and then the ratio of the list's time to the heap's
/// time at each N.
pub(super) fn findings(table: &Table, published: &Published) -> Vec<Finding> {
    let (mut shapes, mut all) = (Vec::new(), Vec::new());
    for mode in Mode::ALL {
        let (Some(list), Some(heap)) = (table.list_of(mode), table.heap_of(mode)) else { continue };
        let ratio = |&n: &usize| Some((n, ratio(list, heap, n)?));
        let ratios: Vec<(usize, Finding)> = table.sizes.iter().filter_map(ratio).collect();
        shapes.push(shape(table, heap, published, &ratios));
        all.extend(ratios.into_iter().map(|(_, finding)| finding));
    }
    [shapes, all].concat()
}

/// Returns the list's time divided by the time of the same mode's heap, at `n`.
fn ratio(list: &Lane, heap: &Lane, n: usize) -> Option<Finding> {
    let (a, b) = (list.figure(n, What::Total)?, heap.figure(n, What::Total)?);
    let about = format!("{} to {}, N = {}", list.column.title(), heap.column.title(), count(n));
    let here = format!("{} to {}", words(a, Format::Span), words(b, Format::Span));
    let finding = match stats::ratios(&list.samples(n, What::Total), &heap.samples(n, What::Total)) {
        Some(ratio) => Finding::ratio(about, ratio, here),
        None => Finding { figure: stats::summarise([a.value / b.value]), ..Finding::stated(about, here) },
    };
    let of = [("part", "table".into()), ("mode", list.column.mode().name().into()), ("n", n.into())];
    Some(finding.labelled(labels(of)))
}

/// Returns the finding about whether the published shape holds. The finding gives the heap's time
/// as a share of the list's time, at a small, a large and the largest N. A ratio without an
/// interval cannot decide the finding.
fn shape(table: &Table, heap: &Lane, published: &Published, ratios: &[(usize, Finding)]) -> Finding {
    let mode = heap.column.mode().name();
    let small = table.sizes.iter().copied().filter(|&n| n <= SMALL).max();
    let large = table.sizes.iter().copied().find(|&n| n >= LARGE);
    let largest = table.sizes.last().copied().filter(|&n| Some(n) > large);
    let list = |figure: &dyn Fn(usize) -> Option<Figure>| {
        let one = |n| Some(format!("{} at {}", words(figure(n)?, Format::Percent), count(n)));
        [small, large, largest].into_iter().flatten().filter_map(one).collect::<Vec<_>>().join(", ")
    };
    let here = list(&|n| here(table, heap, n, What::Total, Scale::OfList));
    let then = list(&|n| Some(Figure { value: published.at(n)?.percent, extrapolated: false }));
    let shown: Vec<(usize, Verdict)> = ratios
        .iter()
        .filter(|(_, finding)| finding.figure.is_some_and(|figure| figure.interval.coverage >= CONFIDENCE))
        .map(|(n, finding)| (*n, finding.verdict))
        .collect();
    let (small, large): (Vec<_>, Vec<_>) =
        shown.into_iter().filter(|&(n, _)| n <= SMALL || n >= LARGE).partition(|&(n, _)| n <= SMALL);
    let any = |of: &[(usize, Verdict)], verdict| of.iter().any(|shown| shown.1 == verdict);
    let verdict = if any(&small, Verdict::Slower) || any(&large, Verdict::Faster) {
        Verdict::Missed
    } else if small.is_empty() || large.is_empty() || any(&large, Verdict::NoDifferenceShown) {
        Verdict::NotShown
    } else {
        Verdict::Held
    };
    let finding = Finding::stated(format!("the heap's share of the list's time, {mode}"), here)
        .judged(verdict)
        .labelled(labels([("part", "table".into()), ("mode", mode.into())]));
    if then.is_empty() { finding } else { finding.published(then) }
}

/// Returns the verdict on the published shape for each mode.
pub(super) fn shapes(findings: &[Finding]) -> Vec<Section> {
    let mut sections = vec![Section::new("Does the published shape hold?").text(format!(
        "The list wins or ties up to N = {SMALL}, and loses to the heap from {} on. A ratio without an interval \
         (too few rounds, or extrapolated) decides nothing.",
        count(LARGE)
    ))];
    for mode in Mode::ALL.map(Mode::name) {
        let wanted = labels([("part", "table".into()), ("mode", mode.into())]);
        let has =
            |finding: &&Finding| wanted.iter().all(|(key, value)| finding.labels.get(key) == Some(value));
        let of_mode: Vec<Finding> = findings.iter().filter(has).cloned().collect();
        let Some((shape, ratios)) = of_mode.split_first() else { continue };
        let verdict = match shape.verdict {
            Verdict::Held => "holds",
            Verdict::Missed => "does NOT hold",
            _ => "is not shown at every N",
        };
        let words =
            format!("In the mode {mode} it {verdict}. The heap's share of the list's time: {}.", shape.here);
        let ratios = findings_table("total", Format::Ratio, ratios);
        sections.push(Section::new("").text(words).table(ratios));
    }
    sections
}
