//! Which structure wakes up earlier, and whether the run shows the difference.
//!
//! The turns of a round are within a second of each other, so each pair of structures is compared
//! round by round, by the averages of their turns as in the original experiment. No single average
//! decides, because one stall of the host changes an average. The same policy as for all ratios
//! decides whether the run shows a difference. The probability that is printed with each pair comes
//! from a sign test. Its null hypothesis is that neither structure wakes up earlier, so that each
//! structure is earlier in half of the rounds.

use super::structures::PUBLISHED;
use crate::result::{Finding, labels};
use crate::stats::{self, Summary, Verdict, sign_test};

/// The data of one structure: its average over all samples, and the average of each turn.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: &'static str,
    pub(super) average: f64,
    pub(super) rounds: Vec<f64>,
}

/// Two structures: the earlier structure and the later structure in this run, by the median ratio.
#[derive(Debug, Clone, PartialEq)]
struct Pair {
    earlier: &'static str,
    later: &'static str,
    /// The earlier structure's average divided by the later structure's, round by round.
    ratio: Summary,
    /// The number of rounds in which `earlier` was earlier. `behind` is the number of rounds in
    /// which it was later.
    ahead: u64,
    behind: u64,
}

/// The order of the structures in a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    /// Ids in the order of their averages, earliest first.
    pub(super) by_average: Vec<&'static str>,
    pairs: Vec<Pair>,
    /// How much of the published order the run shows, in words.
    pub(super) here: String,
    pub(super) verdict: Verdict,
}

impl Order {
    /// Compares the structures in pairs, and the resulting order with the `published` order. The
    /// published order lists ids of one storage, earliest first.
    pub(super) fn of(entries: &[Entry], published: &[String]) -> Self {
        let mut sorted: Vec<&Entry> = entries.iter().filter(|entry| entry.average.is_finite()).collect();
        sorted.sort_by(|a, b| a.average.total_cmp(&b.average));
        let pairs: Vec<Pair> = sorted
            .iter()
            .enumerate()
            .flat_map(|(at, one)| sorted[at + 1..].iter().filter_map(|other| Pair::of(one, other)))
            .collect();
        let (here, verdict) = judge(&pairs, published);
        Self { by_average: sorted.iter().map(|entry| entry.id).collect(), pairs, here, verdict }
    }

    /// Returns the finding that compares this run with the `published` order.
    pub(super) fn finding(&self, about: impl Into<String>) -> Finding {
        Finding::stated(about, &self.here).published(&*PUBLISHED.words).judged(self.verdict)
    }

    /// Returns a finding for each pair.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Finding> {
        self.pairs.iter().map(|pair| {
            let Pair { earlier, later, ratio, ahead, behind } = pair;
            let chance = sign_test(*ahead, *behind);
            let chance = if chance < 0.001 { "< 0.001".into() } else { format!("= {chance:.3}") };
            let here = format!("{ahead} of {} rounds, p {chance}", ahead + behind);
            Finding::ratio(format!("{earlier} beside {later}"), *ratio, here)
                .labelled(labels([("structure", (*earlier).into()), ("beside", (*later).into())]))
        })
    }
}

impl Pair {
    fn of(one: &Entry, other: &Entry) -> Option<Self> {
        let [there, back] = [(one, other), (other, one)].map(|(a, b)| stats::ratios(&a.rounds, &b.rounds));
        let (there, back) = (there?, back?);
        let (one, other, ratio) =
            if there.median <= back.median { (one, other, there) } else { (other, one, back) };
        let rounds = || one.rounds.iter().zip(&other.rounds);
        let ahead = rounds().filter(|(a, b)| a < b).count() as u64;
        let behind = rounds().filter(|(a, b)| a > b).count() as u64;
        Some(Self { earlier: one.id, later: other.id, ratio, ahead, behind })
    }

    fn is_shown(&self) -> bool {
        Verdict::on(&self.ratio) == Verdict::Faster
    }
}

/// Compares the pairs with the published order. Returns the result in words, and a verdict.
fn judge(pairs: &[Pair], published: &[String]) -> (String, Verdict) {
    let place = |id: &str| published.iter().position(|known| known == id);
    let places = |pair: &Pair| Some((place(pair.earlier)?, place(pair.later)?));
    let asked: Vec<&Pair> = pairs.iter().filter(|pair| places(pair).is_some()).collect();
    let shown: Vec<&Pair> = asked.iter().copied().filter(|pair| pair.is_shown()).collect();
    let mut present: Vec<usize> = asked.iter().filter_map(|p| places(p)).flat_map(|(a, b)| [a, b]).collect();
    present.sort_unstable();
    present.dedup();
    let step = |pair: &&&Pair| places(pair).is_some_and(|(a, b)| present.windows(2).any(|two| two == [a, b]));
    let steps = shown.iter().filter(step).count();
    if asked.is_empty() {
        ("fewer than two published structures took part".into(), Verdict::Stated)
    } else if shown.is_empty() {
        ("no difference shown between any two".into(), Verdict::NoDifferenceShown)
    } else if let Some(pair) = shown.iter().find(|pair| places(pair).is_some_and(|(a, b)| a > b)) {
        (format!("another order: {} before {}", pair.earlier, pair.later), Verdict::Missed)
    } else if steps + 1 == present.len() {
        ("the published order, every step of it shown".into(), Verdict::Held)
    } else {
        let (shown, asked) = (shown.len(), asked.len());
        (format!("{shown} of {asked} pairs shown in the published order"), Verdict::NotShown)
    }
}

#[cfg(test)]
mod tests;
