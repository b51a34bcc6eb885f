//! Which structure wakes up earlier, and whether that is more than chance.
//!
//! The slices of a round lie within a second of each other, so each pair of structures is compared
//! round by round: one is earlier in so many rounds, later in so many. Were the two alike, either
//! would be a toss of a coin. The average of a slice is compared, since the original went by
//! averages, but no single average is trusted: one stall of the host moves it.

use serde::Serialize;

use super::lane::Lane;
use crate::stats::{Summary, sign_test, summarise};

/// The four structures of the experiment, in the order that it published, as a kernel holds them:
/// nodes inside the timers.
pub(super) const PUBLISHED: [&str; 4] = ["list/hook", "heap2/hook", "rb/hook", "rb-cached/hook"];

/// What the order of averages was then.
pub(super) const PUBLISHED_WORDS: &str = "list < heap < red-black < red-black with cached head";

/// The chance, over all pairs together, that a difference is shown where there is none.
const CHANCE: f64 = 0.05;

/// Two structures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Pair {
    pub(super) earlier: &'static str,
    pub(super) later: &'static str,
    /// Later minus earlier in a round, us.
    pub(super) difference_us: Option<Summary>,
    /// The same as a share of the earlier one's average, in percent.
    pub(super) percent: f64,
    /// The chance of rounds so one-sided, if there were no difference.
    pub(super) p: f64,
    /// That is less than what is allowed, shared among all pairs.
    pub(super) shown: bool,
}

/// What the run says about the published order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Every neighbour before its neighbour, each shown.
    Published,
    /// Some pairs of it are shown, and none against it.
    PartOfIt,
    /// A pair is shown against it.
    Another,
    /// No pair is shown.
    NoDifference,
    /// Fewer than two of the published structures took part.
    NotAsked,
}

/// The order of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Order {
    /// By average lateness of all samples, earliest first.
    pub(super) by_average: Vec<&'static str>,
    /// Every pair, in the direction that this run has.
    pub(super) pairs: Vec<Pair>,
    pub(super) verdict: Verdict,
}

/// What is compared: a structure, its place in the published order if it has one, and the averages
/// of its slices in us.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: &'static str,
    pub(super) average: f64,
    pub(super) slices: Vec<f64>,
}

impl Entry {
    /// Of a lane.
    pub(super) fn of(lane: &Lane) -> Self {
        Self { id: lane.structure.id, average: lane.average(), slices: lane.averages() }
    }
}

impl Order {
    /// Compares all with all. `published` is the order to hold them against, earliest first.
    pub(super) fn of(entries: &[Entry], published: &[&'static str]) -> Self {
        let mut sorted: Vec<&Entry> = entries.iter().filter(|entry| entry.average.is_finite()).collect();
        sorted.sort_by(|a, b| a.average.total_cmp(&b.average));
        let place = |id: &str| published.iter().position(|known| *known == id);
        let count = entries.len() * entries.len().saturating_sub(1) / 2;
        let mut pairs = Vec::new();
        for (at, one) in entries.iter().enumerate() {
            for other in &entries[at + 1..] {
                pairs.push(pair(one, other, CHANCE / count.max(1) as f64));
            }
        }
        let known = |pair: &&Pair| place(pair.earlier).is_some() && place(pair.later).is_some();
        let against = |pair: &Pair| place(pair.earlier) > place(pair.later);
        let neighbours = |pair: &Pair| {
            let present: Vec<_> =
                published.iter().filter(|id| entries.iter().any(|e| e.id == **id)).collect();
            present.windows(2).any(|two| *two[0] == pair.earlier && *two[1] == pair.later)
        };
        let asked: Vec<&Pair> = pairs.iter().filter(known).collect();
        let shown: Vec<&&Pair> = asked.iter().filter(|pair| pair.shown).collect();
        let steps = entries.iter().filter(|entry| place(entry.id).is_some()).count().saturating_sub(1);
        let verdict = if asked.is_empty() {
            Verdict::NotAsked
        } else if shown.is_empty() {
            Verdict::NoDifference
        } else if shown.iter().any(|pair| against(pair)) {
            Verdict::Another
        } else if shown.iter().filter(|pair| neighbours(pair)).count() == steps {
            Verdict::Published
        } else {
            Verdict::PartOfIt
        };
        Self { by_average: sorted.iter().map(|entry| entry.id).collect(), pairs, verdict }
    }

    /// The verdict as a sentence.
    pub(super) fn words(&self) -> String {
        let shown: Vec<String> = self
            .pairs
            .iter()
            .filter(|pair| pair.shown)
            .map(|pair| format!("{} before {}", pair.earlier, pair.later))
            .collect();
        let shown = shown.join(", ");
        match self.verdict {
            Verdict::Published => format!("this run shows the published order: {shown}"),
            Verdict::PartOfIt => {
                format!(
                    "this run shows a part of the published order: {shown}; of the rest no difference is shown"
                )
            }
            Verdict::Another => format!("this run shows another order than the published one: {shown}"),
            Verdict::NoDifference => {
                "this run shows no difference: the order of its averages may be chance".into()
            }
            Verdict::NotAsked if shown.is_empty() => "no difference shown".into(),
            Verdict::NotAsked => format!("shown: {shown}"),
        }
    }
}

/// Two structures, round by round.
fn pair(one: &Entry, other: &Entry, chance: f64) -> Pair {
    let rounds = || one.slices.iter().zip(&other.slices).filter(|(a, b)| a.is_finite() && b.is_finite());
    let before = rounds().filter(|(a, b)| a < b).count();
    let behind = rounds().filter(|(a, b)| a > b).count();
    let (earlier, later, sign) = if before >= behind { (one, other, 1.0) } else { (other, one, -1.0) };
    let difference_us = summarise(rounds().map(|(a, b)| sign * (b - a)));
    let p = sign_test(before as u64, behind as u64);
    let base = summarise(earlier.slices.iter().copied()).map_or(f64::NAN, |summary| summary.median);
    let percent = difference_us.map_or(f64::NAN, |difference| difference.median / base * 100.0);
    Pair { earlier: earlier.id, later: later.id, difference_us, percent, p, shown: p < chance }
}

#[cfg(test)]
mod tests;
