//! The findings and the tables.

use super::boards;
use super::published::Published;
use super::run::{Beside, Data, LIFE, OPERATIONS, Order, Plan};
use super::subject::Subject;
use crate::experiments::request::word;
use crate::render::Format;
use crate::result::{Cell, Claim, Finding, Section, Series, Table, default};
use crate::stats::{self, Bound, TIE, Verdict};

/// Returns the comparison of the list with the best other back end, for each population.
fn besides(plan: &Plan, data: &Data, order: Order) -> Vec<Beside> {
    let cells = data.cells.iter().filter(|cell| cell.order == order);
    cells.filter_map(|cell| cell.beside(&plan.subjects)).collect()
}

/// Returns the smallest population such that the measurements show the list to be slower at this
/// population and at every larger one.
fn slower_from(besides: &[Beside]) -> Option<usize> {
    besides.iter().rev().take_while(|of| of.verdict == Verdict::Slower).last().map(|of| of.n)
}

/// Returns whether this run confirms a published ratio of two times, given the verdict on the same
/// ratio in this run.
fn claim(published: f64, verdict: Verdict) -> Claim {
    match verdict {
        Verdict::Slower if published > 1.0 => Claim::Holds,
        Verdict::Faster if published < 1.0 => Claim::Holds,
        Verdict::Slower | Verdict::Faster => Claim::Fails,
        _ => Claim::Open,
    }
}

/// Returns the headline, the published ratios, the bytes and the order.
pub(super) fn findings(plan: &Plan, published: &Published, data: &Data) -> Vec<Finding> {
    // The delays can come in several orders. The headline uses the one that favors no structure.
    let mut all: Vec<Finding> =
        headline(&besides(plan, data, Order::Random), published).into_iter().collect();
    all.extend(ratios(plan, published, data));
    for (subject, in_order) in plan.subjects.iter().zip(&data.in_order) {
        let name = word(subject);
        let Some(node) = published.nodes.get(&name) else { continue };
        let as_published = |is: bool| if is { Verdict::Held } else { Verdict::Missed };
        let yes = |is: bool| if is { "yes" } else { "no" };
        all.push(
            Finding::stated(format!("equal ticks in the order of insertion: {name}"), yes(*in_order))
                .published(yes(node.in_order))
                .judged(as_published(node.in_order == *in_order)),
        );
        if let (Some(was), Some(is), true) = (node.bytes, subject.bytes(), cfg!(target_pointer_width = "64"))
        {
            all.push(
                Finding::stated(format!("bytes of a time-out: {name}"), is.to_string())
                    .published(was.to_string())
                    .judged(as_published(was == is)),
            );
        }
    }
    all
}

/// The beginning of the headline.
const QUESTION: &str = "does the delta list lose at up to";

/// Returns whether the list loses to the best other back end at any of a device's populations. The
/// run shows that the list does not lose only if the largest of these populations was measured, and
/// no interval extends beyond a tie.
fn headline(besides: &[Beside], published: &Published) -> Option<Finding> {
    let few: Vec<&Beside> = besides.iter().filter(|of| of.n <= published.handful).collect();
    let ratios = || few.iter().map(|of| of.ratio.median);
    let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
    let is_no_slower = |of: &&Beside| Bound::AtMost(1.0 + TIE).judge(&of.ratio) == Verdict::Held;
    let verdict = if few.iter().any(|of| of.verdict == Verdict::Slower) {
        Verdict::Missed
    } else if few.iter().any(|of| of.n == published.handful) && few.iter().all(is_no_slower) {
        Verdict::Held
    } else {
        Verdict::NotShown
    };
    let [least, most] = [least, most].map(|ratio| Format::Ratio.write(ratio));
    let about = format!("{QUESTION} {} time-outs?", published.handful);
    let from = slower_from(besides).map_or(String::new(), |n| format!(", slower from {n} on"));
    let here = format!("{least} to {most} of the best other back end's time{from}");
    Some(Finding::stated(about, here).published(format!("\"{}\"", published.claim)).judged(verdict))
}

/// Returns the heap's times divided by the list's times, at the published population.
fn ratios(plan: &Plan, published: &Published, data: &Data) -> Vec<Finding> {
    let lane = |of: Subject| plan.subjects.iter().position(|subject| *subject == of);
    let times = &published.times;
    let (Some(list), Some(heap)) = (lane(Subject::List), lane(Subject::Heap)) else { return Vec::new() };
    let was = [times.heap.insert / times.list.insert, times.heap.abort / times.list.abort];
    let cells = data.cells.iter().filter(|cell| cell.n == times.n);
    let both = cells.flat_map(|cell| was.into_iter().enumerate().map(move |(at, was)| (cell, at, was)));
    let finding = |(cell, at, was): (&super::run::Cell, usize, f64)| {
        let ratio = stats::ratios(&cell.of(heap, at), &cell.of(list, at))?;
        let about = format!("heap to list, {}, N = {}, {}", OPERATIONS[at], times.n, word(&cell.order));
        let finding = Finding::ratio(about, ratio, Format::Ratio.write(ratio.median));
        let claim = claim(was, finding.verdict);
        Some(finding.published(Format::Ratio.write(was)).claimed(claim))
    };
    both.filter_map(finding).collect()
}

pub(super) fn sections(
    plan: &Plan,
    published: &Published,
    data: &Data,
    findings: &[Finding],
) -> Vec<Section> {
    let about = format!(
        "A sample inserts N time-outs of up to 1000 ticks into each of several queues, aborts half of them (of one, that one) at \
         random, \
         and lets the others fire in steps of 32 ticks. All that fired is compared with the oracle. A life is an \
         insert, and an abort or a firing.\n\
         Back ends of Zephyr are models that share its nodes and its algorithms, without lock and hardware clock; \
         the wheel's firing includes its ticks without a time-out. Published: {}.",
        published.source
    );
    let mut all = vec![Section::new("").text(about)];
    // A run without the list has no headline.
    all.extend(findings.iter().find(|finding| finding.about.starts_with(QUESTION)).map(|headline| {
        Section::new("In short").text(format!("{}\n{}", headline.about, headline.lines().join("\n")))
    }));
    all.extend([beside(published, findings), nodes(plan, published, data)]);
    let series: Vec<Series> = data.cells.iter().flat_map(|cell| cell.series(&plan.subjects)).collect();
    for name in OPERATIONS.into_iter().chain([LIFE]) {
        let of: Vec<&Series> = series.iter().filter(|series| series.name == name).collect();
        let Some(one) = of.first() else { continue };
        all.push(Section::new(one.heading()).table(default::table_across("structure", &of)));
    }
    for &order in &plan.orders {
        all.push(lives(plan, data, order, &series));
    }
    all.push(boards::section());
    all
}

/// Returns a comparison of the list with the best other back end, and a plot of the times of whole
/// lives.
fn lives(plan: &Plan, data: &Data, order: Order, series: &[Series]) -> Section {
    let mut table = Table::new()
        .column("N", Format::Count)
        .column("best other", Format::Text)
        .columns(["list to it", "from", "to"], Format::Ratio)
        .column("verdict", Format::Text);
    let besides = besides(plan, data, order);
    for Beside { n, best, ratio, verdict } in &besides {
        let ratio = [ratio.median, ratio.interval.low, ratio.interval.high].map(Cell::from);
        let cells = [(*n).into(), word(best).into()].into_iter().chain(ratio);
        table.row(cells.chain([verdict.words().into()]));
    }
    let order = word(&order);
    let of = |series: &&Series| {
        series.name == LIFE && series.labels.get("order").is_some_and(|of| of.to_string() == order)
    };
    let of: Vec<&Series> = series.iter().filter(of).collect();
    let from = slower_from(&besides)
        .map_or(String::new(), |n| format!("By a fifth and more the list is slower from N = {n} on."));
    let section =
        Section::new(format!("From how many time-outs does the list lose? Whole lives, {order} delays"));
    let section = section.table(table).text(from);
    match default::plot(&format!("The life of a time-out, {order} delays"), &of) {
        Some(mut plot) => {
            // The label of the axis does not name the operation, because the title names it.
            plot.y.name = "ns per time-out".into();
            section.plot(plot)
        }
        None => section,
    }
}

/// Returns the published times compared with the times of this run.
fn beside(published: &Published, findings: &[Finding]) -> Section {
    let times = &published.times;
    let mut table = Table::new()
        .column("heap to list", Format::Text)
        .columns(["list then, ns", "heap then, ns"], Format::Thousands)
        .columns(["published", "here", "from", "to"], Format::Ratio)
        .column("", Format::Text);
    for finding in findings.iter().filter(|finding| finding.about.starts_with("heap to list")) {
        let Some(ratio) = finding.figure else { continue };
        let is_insert = finding.about.contains(OPERATIONS[0]);
        let of = if is_insert {
            [times.list.insert, times.heap.insert]
        } else {
            [times.list.abort, times.heap.abort]
        };
        let figures = [of[0], of[1], of[1] / of[0], ratio.median, ratio.interval.low, ratio.interval.high];
        let about = finding.about.trim_start_matches("heap to list, ");
        let cells = [about.into()].into_iter().chain(figures.map(Cell::from));
        table.row(cells.chain([finding.conclusion().into()]));
    }
    Section::new("Beside the times of March 2026").table(table).text(format!(
        "{}, N = {}. Its delays are not published, so both orders stand beside it.",
        times.machine, times.n
    ))
}

/// Returns a section on bytes and on the order of firing.
fn nodes(plan: &Plan, published: &Published, data: &Data) -> Section {
    let mut table = Table::new()
        .column("time-outs in", Format::Text)
        .columns(["bytes, published", "here"], Format::Fixed(0))
        .columns(["equal ticks in order, published", "here"], Format::Text);
    let yes = |is: bool| if is { "yes" } else { "no" };
    for (subject, in_order) in plan.subjects.iter().zip(&data.in_order) {
        let name = word(subject);
        let node = published.nodes.get(&name);
        let bytes = [node.and_then(|node| node.bytes), subject.bytes()].map(Cell::from);
        let order = node.map(|node| yes(node.in_order));
        let cells = [name.into()].into_iter().chain(bytes);
        table.row(cells.chain([order.into(), yes(*in_order).into()]));
    }
    Section::new("Bytes of a time-out, and whether equal ticks keep their order")
        .table(table)
        .text("The array of a heap comes on top.")
}
