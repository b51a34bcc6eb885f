//! What a run's figures say, by rule: whether it was the experiment, and what it shows.

use core::fmt;

use serde::Serialize;

use super::instrument::Op;
use super::published::{REFERENCE, family};
use super::run::{Lane, Mode};
use super::workload::{Params, Workload};
use crate::stats::{self, FEWEST_ROUNDS, Summary, Verdict};

/// Figures may be this far from what the model says.
const TOLERANCE: f64 = 0.05;

/// A host keeps up when so many of its ticks have a wake-up of their own. At 0.95 shared wake-ups
/// move head : insert by 4 %, so that the tolerance still tells a wrong driver from a late one.
const KEEPS_UP: f64 = 0.95;

/// Fewer ticks say nothing about a ratio to 5 %.
const ENOUGH_TICKS: u64 = 1000;

/// What the model predicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Prediction {
    /// Heads per insert on a host that keeps up.
    pub(crate) head_to_insert: f64,
    /// Armed timers on average: half of them. Where nothing toggles they stay as many as at first,
    /// a whole number.
    pub(crate) population: f64,
    /// Ticks a second, the host tick included.
    pub(crate) ticks_per_second: f64,
    /// Inserts per tick.
    inserts_per_tick: f64,
}

impl Prediction {
    /// See the counts in the [module](super): inserts = (1 + p/2) T + H, heads = (3 + p) T + 4 H.
    pub(crate) fn of(params: &Params) -> Self {
        let work = Workload::new(params);
        let rate = |period: u64| 1e9 / period as f64;
        let timers = (0..).zip(work.timers()).filter(|(id, _)| !work.is_host(*id));
        let timer_ticks = timers.map(|(_, timer)| rate(timer.period)).sum::<f64>() / 2.0;
        let host_ticks = params.host_tick_ns.map_or(0.0, rate);
        let p = params.toggle_probability;
        let inserts = (1.0 + p / 2.0) * timer_ticks + host_ticks;
        Self {
            head_to_insert: ((3.0 + p) * timer_ticks + 4.0 * host_ticks) / inserts,
            population: if p > 0.0 { f64::from(params.timers) / 2.0 } else { f64::from(params.timers / 2) },
            ticks_per_second: timer_ticks + host_ticks,
            inserts_per_tick: inserts / (timer_ticks + host_ticks),
        }
    }

    /// Heads per insert when ticks share wake-ups: a wake-up costs two of the three heads of a
    /// tick, whatever the number of its ticks.
    pub(crate) fn head_to_insert_at(&self, wakes_per_tick: f64) -> f64 {
        self.head_to_insert - 2.0 * (1.0 - wakes_per_tick) / self.inserts_per_tick
    }
}

/// Whether a structure's run was the experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Acceptance {
    /// Heads per insert, as counted.
    pub(crate) head_to_insert: f64,
    /// Armed timers, averaged over the wake-ups.
    pub(crate) population: f64,
    /// Wake-ups per tick: 1 when each tick has its own.
    pub(crate) wakes_per_tick: f64,
    /// Whether the host kept up. If not, head : insert is lower by the wake-ups that ticks shared,
    /// and is held to what they say.
    pub(crate) keeps_up: bool,
    /// Why it was not; empty when it was.
    pub(crate) failures: Vec<String>,
    /// Too short to tell.
    pub(crate) too_short: bool,
}

impl Acceptance {
    /// Judges what a lane counted.
    pub(crate) fn of(lane: &Lane, prediction: &Prediction, mode: Mode) -> Self {
        let total = &lane.total;
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let mut accepted = Self {
            head_to_insert: ratio(total.counts[Op::Head as usize], total.counts[Op::Insert as usize]),
            population: ratio(total.armed, total.wakes),
            wakes_per_tick: ratio(total.wakes, total.ticks),
            keeps_up: false,
            failures: Vec::new(),
            too_short: total.ticks < ENOUGH_TICKS,
        };
        accepted.keeps_up = accepted.wakes_per_tick >= KEEPS_UP;
        if accepted.too_short {
            return accepted;
        }
        let mut hold = |what: &str, found: f64, expected: f64| {
            if (found / expected - 1.0).abs() > TOLERANCE {
                accepted.failures.push(format!("{what} is {found:.2}, not {expected:.2} within 5 %"));
            }
        };
        hold("the pending population", accepted.population, prediction.population);
        let shared = prediction.head_to_insert_at(accepted.wakes_per_tick);
        hold("head : insert for these wake-ups", accepted.head_to_insert, shared);
        if accepted.keeps_up || mode == Mode::Virtual {
            hold("head : insert", accepted.head_to_insert, prediction.head_to_insert);
        }
        accepted
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { head_to_insert, population, wakes_per_tick, .. } = self;
        write!(
            f,
            "head : insert {head_to_insert:.3}, population {population:.1}, {wakes_per_tick:.2} wake-ups per tick"
        )?;
        if self.too_short {
            write!(f, " (fewer than {ENOUGH_TICKS} ticks: not judged)")
        } else if self.failures.is_empty() {
            f.write_str(if self.keeps_up {
                ": accepted"
            } else {
                ": accepted, though the host does not keep up"
            })
        } else {
            write!(f, ": REFUSED, {}", self.failures.join("; "))
        }
    }
}

/// Time per tick of each lane related to one of them.
#[derive(Debug)]
pub(crate) struct Standing<'a> {
    /// Which.
    pub(crate) lane: &'a Lane,
    /// ns per tick over its slices.
    pub(crate) per_tick: Summary,
    /// Related to the lane that spent least, round by round; `None` for that lane itself.
    pub(crate) to_best: Option<(Summary, Verdict)>,
}

/// All lanes that ran, the one that spent least first.
pub(crate) fn standings(lanes: &[Lane]) -> Vec<Standing<'_>> {
    let mut standings: Vec<_> = lanes
        .iter()
        .filter_map(|lane| {
            Some(Standing { lane, per_tick: stats::summarise(lane.per_tick.iter().copied())?, to_best: None })
        })
        .collect();
    standings.sort_by(|a, b| a.per_tick.median.total_cmp(&b.per_tick.median));
    if let Some(best) = standings.first().map(|standing| standing.lane) {
        for standing in &mut standings[1..] {
            standing.to_best = stats::ratios(&standing.lane.per_tick, &best.per_tick)
                .map(|ratio| (ratio, Verdict::on(&ratio)));
        }
    }
    standings
}

/// What a run ends with, from its own figures. A difference counts when the medians are 20 % apart
/// and the interval of the ratio does not touch 1. Nothing is concluded when a lane is among the
/// `refused`: what it measured was something else.
pub(crate) fn conclusion(lanes: &[Lane], refused: &[&str]) -> String {
    if !refused.is_empty() {
        return format!("No conclusion: {} did not run the experiment.", list(refused));
    }
    let standings = standings(lanes);
    let [best, others @ ..] = standings.as_slice() else { return "Nothing was measured.".into() };
    let leader = best.lane.structure.id;
    if others.is_empty() {
        return format!(
            "Only {leader} ran: {:.0} ns a tick; name a second structure for a comparison.",
            best.per_tick.median
        );
    }
    let pairs = |other: &Standing<'_>| other.to_best.map_or(0, |(ratio, _)| ratio.samples);
    let fewest = others.iter().map(pairs).min().unwrap_or(0);
    if (fewest as u64) < FEWEST_ROUNDS {
        return format!(
            "No conclusion: so few slices ({fewest} of each) cannot show a difference; it takes {FEWEST_ROUNDS}."
        );
    }
    let (slower, same): (Vec<_>, Vec<_>) =
        others.iter().partition(|other| matches!(other.to_best, Some((_, Verdict::Slower))));
    let same: Vec<_> = same.iter().map(|other| other.lane.structure.id).collect();
    if slower.is_empty() {
        return format!("No difference shown to {leader} in {}.", list(&same));
    }
    let slower: Vec<_> = slower
        .iter()
        .filter_map(|other| {
            Some(format!("{:.2} times in {}", other.to_best.as_ref()?.0.median, other.lane.structure.id))
        })
        .collect();
    let tied = if same.is_empty() {
        String::new()
    } else {
        format!("; no difference shown to {leader} in {}", list(&same))
    };
    format!("A tick cost least in {leader}, {:.0} ns; it cost {}{tied}.", best.per_tick.median, list(&slower))
}

/// How much of a tick's time is the clock's own, ns: one reading in each sample. `None` without
/// ticks.
pub(crate) fn clock_in_a_tick(lanes: &[Lane], reading_ns: f64) -> Option<f64> {
    let operations: u64 = lanes.iter().flat_map(|lane| lane.total.counts).sum();
    let ticks: u64 = lanes.iter().map(|lane| lane.total.ticks).sum();
    (ticks > 0).then(|| operations as f64 / ticks as f64 * reading_ns)
}

fn list(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [all @ .., last] => {
            let all: Vec<_> = all.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", all.join(", "), last.as_ref())
        }
    }
}

/// The lane that ratios refer to: the binary heap, in the first storage asked for.
pub(crate) fn reference(lanes: &[Lane]) -> Option<&Lane> {
    lanes.iter().find(|lane| family(lane.structure.id) == REFERENCE)
}
