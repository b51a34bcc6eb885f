//! Up to how many timers is the list as fast as another structure? Alternates samples of the two
//! structures and evaluates the samples.

use crate::error::LabError;
use crate::progress::Progress;
use crate::render::Format;
use crate::result::{Axis, Cell, Plot, Section, Table};
use crate::rounds::Rounds;
use crate::stats::{self, CONFIDENCE, Summary, Verdict};

/// The list and its best rival at one N; `S` names structures.
#[derive(Debug, Clone)]
pub(crate) struct Point<S> {
    pub(crate) n: usize,
    /// The median of the list's samples, in ns or in instructions.
    pub(crate) list_ns: f64,
    /// The rival with the least median.
    pub(crate) best: S,
    pub(crate) best_ns: f64,
    /// Ratio of the list to the rival, computed round by round; above 1 the list is slower.
    pub(crate) ratio: Summary,
    pub(crate) verdict: Verdict,
}

/// A list and its rivals at all N, in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct Crossover<S> {
    pub(crate) list: S,
    pub(crate) points: Vec<Point<S>>,
}

/// Samples at one N: a list per structure, in the order of rounds.
#[derive(Debug, Clone)]
pub(crate) struct Sampled<T> {
    pub(crate) n: usize,
    pub(crate) samples: Vec<Vec<T>>,
}

/// Takes samples of all `structures` in random order, round by round. The first round is a warm-up.
/// `sample` receives the round's number, from 0. After an interruption, some sizes are missing.
///
/// # Errors
/// The first error of `sample`.
pub(crate) fn in_turns<S: Copy, T>(
    structures: &[S],
    sizes: &[usize],
    rounds: usize,
    seed: u64,
    what: String,
    mut sample: impl FnMut(S, usize, usize) -> Result<T, LabError>,
) -> Result<Vec<Sampled<T>>, LabError> {
    let mut turns = Rounds::new(rounds, seed);
    let progress = Progress::steps(sizes.len() as u64, what);
    let mut done = Vec::new();
    for &n in sizes {
        let taken = turns.run(structures.len(), |turn| sample(structures[turn.lane], n, turn.round))?;
        if taken.interrupted {
            break;
        }
        done.push(Sampled { n, samples: taken.lanes() });
        progress.step();
    }
    Ok(done)
}

impl<S: Copy> Point<S> {
    /// Compares the list with the best of its rivals, by medians. `None` without samples.
    pub(crate) fn of(n: usize, list: &[f64], rivals: &[(S, &[f64])]) -> Option<Self> {
        let median = |samples: &[f64]| Some(stats::summarise(samples.iter().copied())?.median);
        let rivals: Vec<(S, &[f64], f64)> = rivals
            .iter()
            .map(|(rival, samples)| Some((*rival, *samples, median(samples)?)))
            .collect::<Option<_>>()?;
        let &(best, samples, best_ns) = rivals.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
        let ratio = stats::ratios(list, samples)?;
        Some(Self { n, list_ns: median(list)?, best, best_ns, ratio, verdict: Verdict::on(&ratio) })
    }
}

impl<S> Crossover<S> {
    /// The largest N up to which no interval lies above 1, and the smallest N from which every
    /// interval lies above 1. The crossover lies between the two.
    pub(crate) fn between(&self) -> (Option<usize>, Option<usize>) {
        let above =
            |point: &Point<S>| point.ratio.interval.low > 1.0 && point.ratio.interval.coverage >= CONFIDENCE;
        let never = self.points.iter().take_while(|point| !above(point)).last();
        (never.map(|point| point.n), self.from(above))
    }

    /// The smallest N from which the verdict is "slower" at every N.
    pub(crate) fn slower(&self) -> Option<usize> {
        self.from(|point| point.verdict == Verdict::Slower)
    }

    fn from(&self, is: impl Fn(&Point<S>) -> bool) -> Option<usize> {
        self.points.iter().rev().take_while(|point| is(point)).last().map(|point| point.n)
    }

    /// The largest N at which the list is faster, if there is one.
    pub(crate) fn faster(&self) -> Option<usize> {
        self.points.iter().filter(|point| point.verdict == Verdict::Faster).map(|point| point.n).max()
    }

    /// The N at which the medians are equal, interpolated between neighbors on logarithmic axes.
    pub(crate) fn at(&self) -> Option<f64> {
        let above = self.points.iter().rposition(|point| point.ratio.median < 1.0)?;
        let (low, high) = (self.points.get(above)?, self.points.get(above + 1)?);
        let [from, to] = [low, high].map(|point| (point.n as f64).ln());
        let share = low.ratio.median.ln() / (low.ratio.median.ln() - high.ratio.median.ln());
        Some((from + share * (to - from)).exp())
    }

    /// The points as a table and as a plot, with the result in a sentence. `name` names structures.
    pub(crate) fn section(&self, title: String, name: impl Fn(&S) -> String) -> Section {
        let mut table = Table::new()
            .column("N", Format::Count)
            .columns(["list, ns", "best, ns"], Format::Ns)
            .column("best", Format::Text)
            .columns(["list to best", "from", "to"], Format::Ratio)
            .column("verdict", Format::Text);
        for Point { n, list_ns, best, best_ns, ratio, verdict } in &self.points {
            let times: [Cell; 4] = [(*n).into(), (*list_ns).into(), (*best_ns).into(), name(best).into()];
            let ratio = [ratio.median, ratio.interval.low, ratio.interval.high].map(Cell::from);
            table.row(times.into_iter().chain(ratio).chain([verdict.words().into()]));
        }
        let curve =
            |of: fn(&Point<S>) -> f64| self.points.iter().map(move |point| (point.n as f64, of(point)));
        let (x, y) = (Axis::log("timers", Format::Count), Axis::linear("ns", Format::Thousands));
        let plot = Plot::new("The list beside the best of the others", x, y)
            .curve("list", curve(|point| point.list_ns))
            .curve("best of the others", curve(|point| point.best_ns));
        Section::new(title).table(table).text(self.words("the best")).plot(plot)
    }

    /// Describes the result in a sentence; `rival` names what the list is compared with.
    pub(crate) fn words(&self, rival: &str) -> String {
        let faster = match self.faster() {
            Some(n) => format!("The list is shown to be faster up to N = {n}"),
            None => format!("The list is nowhere shown to be faster than {rival}"),
        };
        let at = self.at().map_or(String::new(), |at| format!(" (equal medians near {at:.0})"));
        let between = match self.between() {
            (_, None) => "no difference against it is shown up to the largest N".to_owned(),
            (None, Some(_)) => "it is behind from the smallest N on".into(),
            (Some(never), Some(always)) => format!("the crossover lies between {never} and {always}{at}"),
        };
        let slower = match self.slower() {
            Some(n) => format!("by a fifth and more it is slower from N = {n} on"),
            None => "by a fifth it is not shown to be slower at the largest N".into(),
        };
        format!("{faster}; {between}; {slower}.")
    }
}

#[cfg(test)]
mod tests;
