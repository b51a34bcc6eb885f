//! The verdict from the rows of a replay.

use tickwright_trace::Profile;

use super::data::{Criteria, Data, Plan};
use crate::models::tape::KINDS;
use crate::render::Format;
use crate::result::{Axis, Cell, Finding, Plot, Section, Series, Table, Unit, labels};
use crate::stats::{FEWEST_ROUNDS, Verdict};
use crate::structures::registry::{self, Kind, Structure, Ties};
use crate::traces::describe::workload_line;
use crate::traces::remedy::remedies;
use crate::traces::replay::{Data as Replayed, P50, P999, Row};

impl Criteria {
    /// Returns whether a structure is allowed to be recommended.
    fn admit(&self, data: &Replayed, row: &Row) -> bool {
        row.structure.kind == Kind::Ours && self.broken(data, row).is_none()
    }

    /// Returns a condition that the structure does not fulfil. This also judges structures of other
    /// projects.
    fn broken(&self, data: &Replayed, row: &Row) -> Option<String> {
        let late = self.late_ticks(data, row) as f64 * data.tick_ns as f64;
        let exact = row.structure.ties.exact();
        let bytes = bytes(data, row);
        if self.no_alloc && !is_callers(row.structure) {
            return Some("it allocates".into());
        }
        if let Some(most) = self.bytes.filter(|most| bytes > f64::from(*most)) {
            return Some(format!(
                "it takes {} bytes a timer, more than {most}",
                Format::Fixed(0).write(bytes)
            ));
        }
        if !exact && self.late_ns.is_none_or(|most| late > most) {
            return Some(format!("it delivers up to {} late", span(late)));
        }
        let away = self.horizon(data);
        let most = registry::facts(row.structure).horizon;
        if away > most {
            let most = span(most as f64 * data.tick_ns as f64);
            return Some(format!("it holds no timer that is more than {most} away"));
        }
        None
    }

    /// Returns the lateness that the replay showed. With a horizon, returns the lateness of a timer
    /// at the horizon if that is greater.
    fn late_ticks(&self, data: &Replayed, row: &Row) -> u64 {
        let away = self.horizon(data);
        let of_the_furthest = if self.horizon_ns > 0 && !row.structure.ties.exact() {
            (registry::facts(row.structure).lateness)(away)
        } else {
            0
        };
        row.late_ticks.max(of_the_furthest)
    }

    /// Returns how far away the deadline of a timer can be, in ticks.
    fn horizon(&self, data: &Replayed) -> u64 {
        self.horizon_ns.div_ceil(data.tick_ns.max(1)).max(data.counts.longest)
    }
}

/// Returns whether the caller owns the nodes, so that the structure does not allocate.
fn is_callers(structure: &Structure) -> bool {
    structure.id.ends_with("/hook") || structure.id == "intrusive-rb"
}

/// Returns the bytes per pending timer. Nodes that the caller owns count too.
fn bytes(data: &Replayed, row: &Row) -> f64 {
    let node = if is_callers(row.structure) { registry::facts(row.structure).bytes_per_timer } else { 0 };
    row.bytes as f64 / f64::from(data.counts.most.max(1)) + node as f64
}

/// Returns the name of the structure without its storage.
fn family(structure: &Structure) -> &str {
    structure.id.split('/').next().unwrap_or(structure.id)
}

/// The recommended row, and the best row of another family.
struct Choice<'d> {
    best: &'d Row,
    next: Option<&'d Row>,
    /// The structure that the program has now. The next field is its row, if the structure ran.
    asked: &'d Structure,
    current: Option<&'d Row>,
}

impl Choice<'_> {
    /// Returns the structure that the program has after the verdict, which is either the
    /// recommended structure or the present structure.
    fn kept(&self, data: &Replayed, criteria: &Criteria) -> &'static Structure {
        match self.current {
            Some(current) if !sentence(data, self, criteria).1 => current.structure,
            _ => self.best.structure,
        }
    }
}

fn choose<'d>(data: &'d Replayed, criteria: &Criteria, current: &'d Structure) -> Option<Choice<'d>> {
    let ranked = data.ranked();
    let mut admitted = ranked.iter().filter(|row| criteria.admit(data, row)).copied();
    let best = admitted.next()?;
    let is_other = |row: &&Row| family(row.structure) != family(best.structure) && row.structure != current;
    let next = admitted.find(is_other);
    Some(Choice { best, next, asked: current, current: data.row(current.id) })
}

/// Returns the structures to replay with more timers: the current structure, the recommended
/// structure, the runner-up, the best structure of another project, and the best of each shape.
pub(super) fn finalists(
    data: &Replayed,
    criteria: &Criteria,
    current: &'static Structure,
) -> Vec<&'static Structure> {
    let mut all = vec![current];
    if let Some(choice) = choose(data, criteria, current) {
        all.extend([Some(choice.best), choice.next].into_iter().flatten().map(|row| row.structure));
    }
    let rival = |row: &&Row| row.structure.kind != Kind::Ours && criteria.broken(data, row).is_none();
    all.extend(data.ranked().into_iter().find(rival).map(|row| row.structure));
    for row in data.ranked().into_iter().filter(|row| criteria.admit(data, row)) {
        let has_shape = |known: &&Structure| known.shape == row.structure.shape && **known != *current;
        if !all.iter().any(has_shape) {
            all.push(row.structure);
        }
    }
    let mut once: Vec<&'static Structure> = Vec::new();
    for structure in all {
        if !once.contains(&structure) {
            once.push(structure);
        }
    }
    once
}

fn percent(value: f64) -> String {
    match value {
        v if v < 0.001 => "less than 0.001 %".into(),
        v => Format::Percent.write(v),
    }
}

/// Returns the verdict in one sentence, and whether it asks for a change.
fn sentence(data: &Replayed, choice: &Choice<'_>, criteria: &Criteria) -> (String, bool) {
    let (best, asked) = (choice.best, choice.asked);
    let id = best.structure.id;
    let of_best = data.cpu_percent(best);
    let share = percent(of_best);
    let Some(current) = choice.current else {
        let did = match data.left_out.iter().find(|left| left.structure == asked) {
            Some(left) if left.is_able => format!("was left out, as it would take too long: {}", left.why),
            Some(left) => format!("cannot run this workload: {}", left.why),
            None => "did not run".into(),
        };
        return (format!("{id}: {share} of a CPU. The current structure, {}, {did}.", asked.id), true);
    };
    let (was, of_current) = (current.structure.id, data.cpu_percent(current));
    let now = percent(of_current);
    if let Some(why) = criteria.broken(data, current) {
        let words = format!(
            "{was} does not fulfil the conditions: {why}. Of those that do, {id} is the fastest: it takes {share} \
             of a CPU, {was} {now}."
        );
        return (words, true);
    }
    if of_current.max(of_best) < criteria.negligible {
        let words = format!("timers take {now} of a CPU on {was}, {share} on {id}.");
        return (format!("It does not matter for you: {words}"), false);
    }
    if current.structure == best.structure {
        let words = format!("it takes {share} of a CPU, and is the fastest that may be recommended.");
        return (format!("Keep {id}: {words}"), false);
    }
    // The ratio, computed round by round, decides which structure is faster. The share of the
    // faster structure must follow from the same ratio, because otherwise a lucky round of the
    // slower structure could contradict the ratio.
    let ratio = best.ratio(current);
    let of_best = ratio.as_ref().map_or(of_best, |ratio| of_current * ratio.median);
    let (saved, share) = (percent(of_current - of_best), percent(of_best));
    let keep = format!("Keep {was}: it takes {now} of a CPU");
    match ratio.map(|ratio| Verdict::on(&ratio)) {
        Some(Verdict::Faster) => {
            (format!("{was} -> {id} saves {saved} of a CPU: from {now} to {share}."), true)
        }
        Some(Verdict::Slower) => (format!("{keep}. {id} is slower: {share}."), false),
        _ => (format!("{keep}; {id} takes {share}, no difference shown."), false),
    }
}

/// Returns the verdict and its margin.
pub(super) fn findings(plan: &Plan, data: &Data) -> Vec<Finding> {
    let own = &data.own;
    let stated = |words: &str| {
        let current = plan.known_by.sentence(plan.current);
        vec![Finding::stated("the verdict", words), Finding::stated("the current structure", current)]
    };
    if let Some(words) = no_verdict(own) {
        return vec![Finding::stated("the verdict", words), Finding::stated("next", next_steps())];
    }
    if own.ranked().is_empty() {
        return stated("interrupted before the first round: nothing was measured");
    }
    let Some(choice) = choose(own, &plan.criteria, plan.current) else {
        if own.left_out.iter().any(|left| left.is_late) {
            return stated("not shown: no structure that fulfils the conditions had its turn in time");
        }
        return stated("no structure fulfils the conditions: relax one of them");
    };
    let mut all = stated(&sentence(own, &choice, &plan.criteria).0);
    for other in [choice.next, choice.current].into_iter().flatten() {
        let Some(ratio) = choice.best.ratio(other).filter(|_| other.structure != choice.best.structure)
        else {
            continue;
        };
        let (best, other) = (choice.best.structure.id, other.structure.id);
        let here =
            format!("{:.2}x, interval {:.2} to {:.2}", ratio.median, ratio.interval.low, ratio.interval.high);
        all.push(Finding::ratio(format!("{best} beside {other}"), ratio, here));
    }
    let kept = choice.kept(own, &plan.criteria);
    for more in &data.more {
        all.push(Finding::stated(
            scaled(more),
            grown(own, more, &plan.criteria, [kept, choice.best.structure]),
        ));
    }
    all
}

/// The verdict on a trace that has no timer of the program itself.
const WAITS_ALONE: &str = "Only waits and sleeps were seen: nothing can be said about timers that the \
    program manages itself.";

/// Returns why there is no verdict, regardless of what the structures would cost.
fn no_verdict(own: &Replayed) -> Option<String> {
    if own.waits_alone { Some(WAITS_ALONE.into()) } else { own.too_little() }
}

/// Returns what the user can do after this verdict.
fn next_steps() -> String {
    let steps = remedies("PROGRAM").map(|step| format!("Next, {step}."));
    steps.join("\n")
}

/// Returns every sample of the replays with copies of the workload.
pub(super) fn series(data: &Replayed) -> Vec<Series> {
    let of_row = |row: &Row| {
        let of = labels([("structure", row.structure.id.into()), ("copies", data.scale.into())]);
        let times = row.total_ns.iter().map(|ns| ns / data.timed());
        Series::new("replay of copies", Unit::Ns, of).per("operation").of(times)
    };
    data.rows.iter().map(of_row).collect()
}

/// Returns one screen of text: verdict, workload, table, and what would change the verdict.
pub(super) fn sections(plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
    let own = &data.own;
    let verdict = findings.first().map_or("", |finding| &finding.here);
    let front = Section::new("Verdict").text(verdict);
    let workload = Section::new("Workload").text(workload_line(&own.profile)).text(touched(&own.profile));
    if no_verdict(own).is_some() {
        return vec![front.text(next_steps()), workload];
    }
    let front = front.text(plan.known_by.sentence(plan.current));
    let Some(choice) = choose(own, &plan.criteria, plan.current) else { return vec![front, workload] };
    let reasons =
        Section::new("Structures").table(table(own, &choice, &plan.criteria)).text(margins(findings));
    let more = Section::new("What would change it").text(changes(plan, data, &choice, findings));
    let advice = Section::new("Advice").text(advice(own, &choice, &plan.criteria));
    let unseen = Section::new("Not seen by the recorder").text(own.unseen.join("; "));
    let source =
        Section::new("Source").text(format!("{}; ticks of {}", plan.source, span(own.tick_ns as f64)));
    let sections = [front, workload, reasons, more, advice, unseen, source, picture(data)];
    sections.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

/// Returns how early timers are cancelled and moved, and by which threads.
fn touched(profile: &Profile) -> String {
    let mut words = Vec::new();
    for (what, left) in [("cancelled", &profile.cancel_left), ("re-armed", &profile.rearm_left)] {
        if left.count > 0 {
            words.push(format!("half of the {what} timers had {} % of their delay or more left", left.p50));
        }
    }
    if profile.remote > 0 {
        words.push(format!("{} cancels and re-arms came from another thread than the arm", profile.remote));
    }
    words.join("; ")
}

fn span(ns: f64) -> String {
    Format::Span.write(ns)
}

fn table(data: &Replayed, choice: &Choice<'_>, criteria: &Criteria) -> Table {
    let kind = data.commonest();
    let mut table = Table::new()
        .columns(["", "structure"], Format::Text)
        .column("ns an operation", Format::Ns)
        .columns([format!("{} p50", KINDS[kind]), "p99.9".into()], Format::Ns)
        .column("worst call", Format::Span)
        .column("bytes a timer", Format::Fixed(0))
        .column("idle wakes an hour", Format::Thousands)
        .column("late by", Format::Span)
        .column("FIFO", Format::Text);
    let hours = data.whole.span_ns as f64 / 3.6e12;
    let mut row = |role: &str, row: &Row| {
        table.row([
            role.into(),
            row.structure.id.into(),
            data.per_operation(row).into(),
            Cell::from(row.call(kind, P50)),
            Cell::from(row.call(kind, P999)),
            Cell::from(row.worst()),
            bytes(data, row).into(),
            (data.of_whole(row.idle_wakes) / hours).round().into(),
            (criteria.late_ticks(data, row).saturating_mul(data.tick_ns)).into(),
            (if row.structure.ties == Ties::Fifo { "yes" } else { "no" }).into(),
        ]);
    };
    if let Some(current) = choice.current.filter(|current| current.structure != choice.best.structure) {
        row("current", current);
    }
    let is_asked_for = sentence(data, choice, criteria).1;
    row(if is_asked_for { "recommended" } else { "fastest of ours" }, choice.best);
    if let Some(next) = choice.next {
        row("runner-up", next);
    }
    table
}

/// Returns how certain the order of the structures is.
fn margins(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let apart =
            finding.figure.is_some_and(|figure| figure.interval.high < 1.0 || figure.interval.low > 1.0);
        let verdict = match finding.verdict {
            Verdict::NoDifferenceShown if apart => TIE,
            verdict => verdict.words(),
        };
        format!("{}: {}; {verdict}", finding.about, finding.here)
    };
    findings.iter().filter(|finding| finding.figure.is_some()).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the verdicts under other conditions, from the same rows and from copies of the workload.
fn changes(plan: &Plan, data: &Data, choice: &Choice<'_>, findings: &[Finding]) -> String {
    let own = &data.own;
    let best = choice.best.structure;
    let mut lines = Vec::new();
    let mut other = |words: &str, criteria: Criteria| {
        let found = choose(own, &criteria, plan.current).filter(|found| found.best.structure != best);
        if let Some(found) = found {
            let (id, ns) = (found.best.structure.id, figure(own, found.best));
            lines.push(format!("{words}: {id}, {ns} an operation"));
        }
    };
    other("Without an allocator", Criteria { no_alloc: true, ..plan.criteria });
    other("If late deliveries are fine (--late)", Criteria { late_ns: Some(f64::INFINITY), ..plan.criteria });
    let least = own.rows.iter().filter(|row| plan.criteria.admit(own, row)).map(|row| bytes(own, row));
    if let Some(least) = least.min_by(f64::total_cmp) {
        let most = least.ceil() as u32;
        other(&format!("With at most {most} bytes a timer"), Criteria { bytes: Some(most), ..plan.criteria });
    }
    for more in &data.more {
        let about = scaled(more);
        let grown =
            findings.iter().find(|finding| finding.about == about).map_or("", |finding| &finding.here);
        let about = about.replacen('w', "W", 1);
        lines.push(format!("{about} ({} on average): {grown}", many(mean(more))));
    }
    lines.join("\n")
}

/// Returns the name of the line about copies of the workload.
fn scaled(more: &Replayed) -> String {
    format!("with {} times as many timers", more.scale)
}

fn many(timers: f64) -> String {
    if timers < 10.0 { Format::Fixed(1).write(timers) } else { Format::Thousands.write(timers) }
}

/// Returns the time per operation, with its interval.
fn figure(data: &Replayed, row: &Row) -> String {
    let ns = Format::Ns.write(data.per_operation(row));
    let interval = data.interval(row).map(|interval| [interval.low, interval.high]);
    let [low, high] = interval.unwrap_or([0.0; 2]).map(|ns| Format::Ns.write(ns));
    format!("{ns} ns ({low} to {high})")
}

/// The words for two structures whose difference exceeds the interval, but is too small for a
/// change.
const TIE: &str = "within the margin of a tie, 20 %";

/// Returns whether the measurements show that a structure is faster than another.
fn is_faster(row: &Row, than: &Row) -> bool {
    row.ratio(than).map(|ratio| Verdict::on(&ratio)) == Some(Verdict::Faster)
}

/// Returns what changes with more timers, after the verdict for `kept`. `best` is the fastest of
/// our structures now.
///
/// A structure is named only if the measurements show no other structure to be faster. All
/// structures that ran compete, including the current structure and the structures of other
/// projects. If another structure is faster beyond the interval, but within the margin of a tie,
/// the line says so.
fn grown(
    own: &Replayed,
    more: &Replayed,
    criteria: &Criteria,
    [kept, best]: [&'static Structure; 2],
) -> String {
    let is_late = |structure: &&Structure| {
        more.left_out.iter().any(|left| left.is_late && left.structure == *structure)
    };
    if let Some(late) = [kept, best].into_iter().find(is_late) {
        return format!("not shown, as {} had no turn in time", late.id);
    }
    let rows = more.ranked();
    let rounds = rows.first().map_or(0, |row| row.total_ns.len());
    if (rounds as u64) < FEWEST_ROUNDS {
        return format!("not shown, as {rounds} rounds were run in time");
    }
    // The rate comes from the workload itself, because copies of a long workload contain only its
    // beginning.
    let calls = own.lasting() * f64::from(more.scale) / f64::from(own.scale.max(1));
    let share = |row: &Row| percent(own.percent_of(row.least() / more.timed(), calls));
    let fulfils = |row: &&Row| criteria.broken(more, row).is_none();
    let is_beaten = |row: &Row| rows.iter().any(|other| is_faster(other, row));
    let unbeaten: Vec<&Row> = rows.iter().copied().filter(|row| !is_beaten(row)).collect();
    let named: Vec<&Row> = unbeaten.iter().copied().filter(fulfils).collect();
    let is_kept = |row: &&Row| row.structure == kept;
    let is_second =
        |row: &Row| rows.iter().any(|other| other.ratio(row).is_some_and(|ratio| ratio.interval.high < 1.0));
    let alone = |row: &Row| {
        let tie = if is_second(row) { format!(" ({TIE})") } else { String::new() };
        format!("{}{tie}, {}, {} of a CPU", row.structure.id, figure(more, row), share(row))
    };
    let (words, shown) = if let Some(row) = named.iter().copied().find(is_kept) {
        (format!("still {}", alone(row)), vec![row])
    } else if let [one] = named[..] {
        (alone(one), vec![one])
    } else if named.is_empty() {
        let ahead = unbeaten.first().map_or("another structure", |row| row.structure.id);
        (format!("{ahead} is faster than all that fulfil the conditions"), Vec::new())
    } else {
        let ids: Vec<&str> = named.iter().take(3).map(|row| row.structure.id).collect();
        let apart = named.iter().take(3).any(|row| is_second(row));
        let tie = if apart { TIE } else { Verdict::NoDifferenceShown.words() };
        let words = format!("{}, {tie}, {} of a CPU", ids.join(" or "), share(named[0]));
        (words, Vec::new())
    };
    // Also shows the structures that are closest in time, and the structure of the verdict.
    let others = rows.iter().copied().filter(|row| !shown.iter().any(|one| one.structure == row.structure));
    let (verdict, others): (Vec<&Row>, Vec<&Row>) = others.partition(is_kept);
    let beside = verdict.into_iter().chain(others).take(2);
    beside.fold(words, |words, row| format!("{words}; {} {}", row.structure.id, figure(more, row)))
}

/// Returns advice about capacity, tick and geometry.
fn advice(data: &Replayed, choice: &Choice<'_>, criteria: &Criteria) -> String {
    let counts = &data.counts;
    let capacity = (u64::from(counts.most) * 3 / 2).next_power_of_two().max(16);
    let mut lines = vec![format!(
        "Capacity: at most {} timers were pending; {capacity} leaves room.",
        Format::Thousands.write(f64::from(counts.most))
    )];
    let by_trace = data.profile.population.max.saturating_mul(u64::from(data.scale));
    if by_trace > 0 && by_trace != u64::from(counts.most) {
        lines.push(format!(
            "The trace itself has at most {} pending: there a timer ends when the program ran it. In a replay it \
             ends on its tick, and a periodic one goes on until its cancel.",
            Format::Thousands.write(by_trace as f64)
        ));
    }
    let (tick, p1) = (data.tick_ns as f64, data.profile.delays.p1 as f64);
    if p1 >= 100.0 * tick {
        lines.push(format!(
            "Tick: {} is fine; one of {} is still below a hundredth of the shortest delays.",
            span(tick),
            span(p1 / 100.0)
        ));
    } else if p1 < tick {
        lines.push(format!(
            "Tick: {} is longer than the shortest delays ({}): timers expire up to a tick late.",
            span(tick),
            span(p1)
        ));
    }
    if choice.best.structure.shape.word() == "wheel" {
        let longest = criteria.horizon(data);
        let bits = u64::BITS - longest.leading_zeros();
        let what = if longest > counts.longest { "horizon" } else { "longest delay" };
        lines.push(format!(
            "Geometry: the {what} is {longest} ticks: {} levels of 64 slots.",
            bits.div_ceil(6).max(1)
        ));
    }
    lines.join("\n")
}

/// Returns how many timers were pending on average, over all copies.
fn mean(data: &Replayed) -> f64 {
    data.profile.population.mean * f64::from(data.scale)
}

/// Returns the average, the 99th percentile and the maximum of the number of pending timers, over
/// all copies.
pub(super) fn range(data: &Replayed) -> [f64; 3] {
    let (population, copies) = (&data.profile.population, f64::from(data.scale));
    [mean(data), population.p99 as f64 * copies, population.max as f64 * copies]
}

/// Returns a plot of cost by population, with the range of this workload at its lower edge.
fn picture(data: &Data) -> Section {
    let all: Vec<&Replayed> = core::iter::once(&data.own).chain(&data.more).collect();
    let pending = Axis::log("timers pending on average", Format::Count);
    let ids: Vec<&'static Structure> =
        data.more.first().map_or(Vec::new(), |more| more.rows.iter().map(|row| row.structure).collect());
    let cost = |data: &Replayed, structure: &Structure| {
        data.row(structure.id).map(|row| (mean(data), data.per_operation(row)))
    };
    let curves: Vec<(&str, Vec<(f64, f64)>)> = ids
        .into_iter()
        .map(|structure| (structure.id, all.iter().filter_map(|data| cost(data, structure)).collect()))
        .collect();
    let least = curves.iter().flat_map(|(_, points)| points).map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min);
    let range = range(&data.own);
    let title = "Cost by population, of copies of this workload";
    let plot = Plot::new(title, pending, Axis::log("ns an operation", Format::Ns));
    let plot = curves.into_iter().fold(plot, |plot, (id, points)| plot.curve(id, points));
    let plot =
        plot.curve("from the average to the most of this workload", range.map(|most| (most, least * 0.8)));
    Section::new("Cost by population").plot(plot)
}
