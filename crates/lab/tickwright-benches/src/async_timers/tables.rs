//! The tables of the report: cost by library, lateness, memory, and the targets.

use super::data::Data;
use super::lane::{Lane, Work};
use super::late::Late;
use super::library::Library;

use crate::render::Format;
use crate::result::{Finding, Section, Table, findings_table};
use crate::stats::{self, Bound, Summary, Verdict};

impl Data {
    fn ns(&self, work: Work, library: Library) -> &[f64] {
        let lane = Lane { work, library };
        self.rows.iter().find(|row| row.0 == lane).map_or(&[], |row| &row.1)
    }

    fn ratio(&self, work: Work, ours: Library, other: Library) -> Option<Summary> {
        stats::ratios(self.ns(work, ours), self.ns(work, other))
    }

    fn median(&self, work: Work, library: Library) -> Option<Summary> {
        stats::summarise(self.ns(work, library).iter().copied())
    }

    fn works(&self) -> Vec<Work> {
        let mut works: Vec<Work> = Vec::new();
        for (lane, _) in &self.rows {
            if !works.contains(&lane.work) {
                works.push(lane.work);
            }
        }
        works
    }
}

/// Returns a percentile of sorted numbers.
fn percentile(sorted: &[u64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1).min(last)] as f64)
}

fn sorted(late: &Late) -> Vec<u64> {
    let mut all: Vec<u64> = late.ns().collect();
    all.sort_unstable();
    all
}

/// Returns the 99th percentile of each round, in microseconds.
fn p99_us(late: &Late) -> impl Iterator<Item = f64> {
    late.rounds.iter().filter_map(|round| {
        let mut round = round.clone();
        round.sort_unstable();
        Some(percentile(&round, 0.99)? / 1e3)
    })
}

/// Returns the targets, and whether this run reaches them.
pub(super) fn findings(data: &Data) -> Vec<Finding> {
    use Library::{Ours, Pingora, Pinned, Slot, Tokio};
    let mut all = Vec::new();
    let mut judge = |about: String, bound: Bound, figure: Option<Summary>| {
        all.push(match figure {
            Some(figure) => Finding::bounded(about, figure, bound),
            None => Finding::stated(about, "not measured").judged(Verdict::NotShown),
        });
    };
    for threads in [1, 2] {
        let work = Work::Pending(threads);
        for (ours, other, most) in
            [(Ours, Tokio, 0.3), (Ours, Pingora, 0.5), (Slot, Tokio, 0.3), (Slot, Pingora, 0.5)]
        {
            let about = format!("{}: {} to {}, ratio", work.name(), ours.name(), other.name());
            judge(about, Bound::AtMost(most), data.ratio(work, ours, other));
        }
    }
    for work in [1, 2].map(Work::Pending) {
        let about = format!("{}: {} to {}, ratio", work.name(), Slot.name(), Pinned.name());
        judge(about, Bound::AtMost(0.6), data.ratio(work, Slot, Pinned));
    }
    judge(
        format!("{}: tickwright to tokio, ratio", Work::Ready.name()),
        Bound::AtMost(1.0),
        data.ratio(Work::Ready, Ours, Tokio),
    );
    for work in data.works() {
        let most = match work {
            Work::Reset(_) => 0.5,
            Work::ResetElsewhere(_) => 0.6,
            _ => continue,
        };
        let about = format!("{}: tickwright to tokio, ratio", work.name());
        judge(about, Bound::AtMost(most), data.ratio(work, Ours, Tokio));
    }
    let about = "re-arm one of 1k slots, ns".into();
    judge(about, Bound::AtMost(15.0), data.median(Work::Reset(1_000), Slot));
    for work in data.works().into_iter().filter(|work| matches!(work, Work::Queue(_))) {
        let about = format!("{}: tickwright to tokio-util, ratio", work.name());
        judge(about, Bound::AtMost(0.3), data.ratio(work, Ours, Tokio));
    }
    for late in data.late.iter().filter(|late| late.library == Ours && !late.busy) {
        let about = "lateness while idle, p99 of each round, us".into();
        judge(about, Bound::AtMost(150.0), stats::summarise(p99_us(late)));
    }
    for lost in &data.lost {
        let about = format!("sleeps that nobody wakes: {}", lost.library.name());
        let verdict = match (lost.lost, lost.sleeps) {
            (0, 0) => Verdict::NotShown,
            (0, _) => Verdict::Held,
            _ => Verdict::Missed,
        };
        all.push(Finding::stated(about, format!("{} of {}", lost.lost, lost.sleeps)).judged(verdict));
    }
    for resting in data.resting.iter().filter(|resting| resting.library == Ours) {
        let (here, verdict) = match resting.wakes {
            Some(0) => ("0 a second".into(), Verdict::Held),
            Some(wakes) => (format!("{wakes} a second, not 0"), Verdict::Missed),
            None => ("not counted on this system".into(), Verdict::NotShown),
        };
        all.push(Finding::stated("wake-ups with no timer due for minutes", here).judged(verdict));
    }
    all
}

pub(super) fn sections(data: &Data, findings: &[Finding]) -> Vec<Section> {
    let mut costs = Table::new().column("ns of one, median", Format::Text);
    for library in Library::ALL {
        costs = costs.column(library.name(), Format::Ns);
    }
    for work in data.works() {
        let figures =
            Library::ALL.map(|library| data.median(work, library).map(|figure| figure.median).into());
        costs.row([work.name().into()].into_iter().chain(figures));
    }
    let mut late = Table::new().columns(["lateness of a sleep", "processors"], Format::Text);
    for name in ["p50", "p99", "p99.9", "most"] {
        late = late.column(name, Format::Span);
    }
    for one in &data.late {
        let ns = sorted(one);
        let figures = [0.5, 0.99, 0.999, 1.0].map(|share| percentile(&ns, share).into());
        let load = if one.busy { "busy" } else { "idle" };
        late.row([one.library.name().into(), load.into()].into_iter().chain(figures));
    }
    let mut lost = Table::new()
        .column("first polls that race with their timers", Format::Text)
        .columns(["sleeps", "never woken"], Format::Thousands);
    for one in &data.lost {
        lost.row([one.library.name().into(), (one.sleeps as f64).into(), (one.lost as f64).into()]);
    }
    let mut resting = Table::new()
        .column("a timer that rests", Format::Text)
        .column("bytes of the future", Format::Thousands)
        .column("of the heap beside it", Format::Fixed(0))
        .column("wake-ups a second", Format::Thousands);
    for one in &data.resting {
        resting.row([
            one.library.name().into(),
            one.future.into(),
            one.heap.into(),
            one.wakes.map(|wakes| wakes as f64).into(),
        ]);
    }
    vec![
        Section::new("Timers of futures").table(costs),
        Section::new("Lateness").table(late),
        Section::new("Lost wake-ups").table(lost),
        Section::new("Rest").table(resting),
        Section::new("Targets").table(findings_table("target", Format::Fixed(2), findings)),
    ]
}
