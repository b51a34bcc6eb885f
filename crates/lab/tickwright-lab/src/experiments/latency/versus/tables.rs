//! The report of the comparison with cyclictest.

use super::data::{Data, Leg, Plan, ROUNDS, TOOLS};
use crate::experiments::latency::histogram::{self, Cells};
use crate::render::Format;
use crate::result::{Cell, Finding, Section, Table, Unit, labels};
use crate::stats::{self, Bound, Summary, Verdict};

/// A figure of one run, and the bound for its ratio to cyclictest's figure.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) of: fn(&Leg) -> f64,
    bound: Bound,
    /// A reason why a run might miss the bound.
    because: &'static str,
}

/// Two tools that measure the same quantity should differ by at most a tenth. Less processor time
/// than cyclictest's is also accepted.
pub(super) const FIGURES: [Figure; 3] = [
    Figure {
        name: "median lateness",
        unit: Unit::Ns,
        of: |leg| leg.percentile(0.5),
        bound: Bound::Within(0.9, 1.1),
        because: QUEUE,
    },
    Figure {
        name: "p99 lateness",
        unit: Unit::Ns,
        of: |leg| leg.percentile(0.99),
        bound: Bound::Within(0.9, 1.1),
        because: QUEUE,
    },
    Figure {
        name: "processor time",
        unit: Unit::Percent,
        of: |leg| leg.cpu_percent,
        bound: Bound::AtMost(1.0),
        because: "shorter sleeps than it asked for, or a debug build",
    },
];

const QUEUE: &str = "ours re-arms its queue before it reads the clock, and cyclictest wakes a second thread 100 \
                     times a second; on an idle machine with a fixed clock rate neither shows";

impl Figure {
    /// Returns the figure for the runs of both tools, in the order of rounds.
    fn both(&self, legs: &[Vec<Leg>; 2]) -> [Vec<f64>; 2] {
        legs.each_ref().map(|legs| legs.iter().map(self.of).collect())
    }
}

/// Returns the ratio of cyclictest's odd rounds to its even rounds, which shows the noise and not a
/// difference between the tools.
fn itself(theirs: &[f64]) -> Option<Summary> {
    let every_second = |from: usize| theirs.iter().copied().skip(from).step_by(2).collect::<Vec<f64>>();
    stats::ratios(&every_second(1), &every_second(0))
}

pub(super) fn findings(legs: &[Vec<Leg>; 2]) -> Vec<Finding> {
    let finding = |figure: &Figure| {
        let about = format!("{} to cyclictest's", figure.name);
        let [ours, theirs] = figure.both(legs);
        let Some(ratio) = stats::ratios(&ours, &theirs) else {
            return Finding::stated(about, "not measured").judged(Verdict::NotShown);
        };
        let of = labels([("figure", figure.name.into())]);
        Finding { here: format!("{:.2}x", ratio.median), ..Finding::bounded(about, ratio, figure.bound) }
            .published(figure.bound.to_string())
            .labelled(of)
    };
    FIGURES.iter().map(finding).collect()
}

pub(super) fn sections(plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
    let Some(call) = &plan.call else { return Vec::new() };
    let text = format!(
        "{} and cyclictest in turns, {ROUNDS} runs of each: {}\nalone: {}",
        plan.structure.id,
        plan.wake.words(data.granted),
        call.words()
    );
    let mut table = Table::new().column("median of rounds", Format::Text);
    for name in ["ours", "cyclictest"] {
        table = table.column(name, Format::Fixed(3));
    }
    for name in ["ratio", "from", "to", "itself"] {
        table = table.column(name, Format::Fixed(2));
    }
    let mut table = table.column("limit", Format::Text).column("verdict", Format::Text);
    let mut because: Vec<String> = Vec::new();
    for (figure, finding) in FIGURES.iter().zip(findings) {
        let both = figure.both(&data.legs);
        let (unit, scale) = if figure.unit == Unit::Ns { ("us", 1e3) } else { ("%", 1.0) };
        let medians = both.each_ref().map(|samples| stats::median(samples).map(|median| median / scale));
        let ratio = finding.figure.map(|ratio| [ratio.median, ratio.interval.low, ratio.interval.high]);
        let ratio = ratio.map_or([None; 3], |figures| figures.map(Some));
        let itself = itself(&both[1]).map(|itself| itself.median);
        let numbers = medians.into_iter().chain(ratio).chain([itself]).map(Cell::maybe);
        let words = [figure.bound.to_string().into(), finding.verdict.words().into()];
        table.row([format!("{}, {unit}", figure.name).into()].into_iter().chain(numbers).chain(words));
        if finding.verdict == Verdict::Missed && !because.iter().any(|line| line.contains(figure.because)) {
            because.push(format!("{}: {}", figure.name, figure.because));
        }
    }
    let itself =
        "itself: cyclictest's odd rounds over its even ones, which is no difference between the tools";
    let sums: Vec<Cells> =
        data.legs.iter().map(|legs| Cells::sum(legs.iter().map(|leg| &leg.cells))).collect();
    let curves = TOOLS.into_iter().zip(&sums);
    let plot = histogram::plot("Wake-up lateness, samples of all rounds in each cell", curves);
    vec![
        Section::new("Beside cyclictest")
            .text(text)
            .table(table)
            .text(itself)
            .text(because.join("\n"))
            .plot(plot),
    ]
}
