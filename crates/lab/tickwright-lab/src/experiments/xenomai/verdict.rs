//! Decides whether a run reproduced the experiment: compares its counts with the model's
//! predictions.

use super::instrument::Op;
use super::run::{Lane, Mode};
use super::workload::{Params, Workload};
use crate::stats::Verdict;

/// The largest accepted deviation from the model's prediction, relative to the prediction.
const TOLERANCE: f64 = 0.05;

/// A host keeps up if at least this share of its ticks has a separate wake-up. At 0.95, shared
/// wake-ups change the ratio of head reads to inserts by 4 %, so the tolerance still distinguishes
/// an incorrect driver from a late driver.
const KEEPS_UP: f64 = 0.95;

/// The minimum number of ticks with which a ratio is precise to 5 %.
const ENOUGH_TICKS: u64 = 1000;

/// The model's predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prediction {
    /// Head reads per insert on a host that keeps up.
    pub(crate) head_to_insert: f64,
    /// Mean number of armed timers: half of all timers. Without toggles the number stays at its
    /// initial value, a whole number.
    pub(crate) population: f64,
    /// Ticks per second, including the host tick.
    pub(crate) ticks_per_second: f64,
    inserts_per_tick: f64,
}

impl Prediction {
    /// Computes the prediction by the two formulas of the [module](super). With the toggle
    /// probability p, there are (1 + p/2) T + H inserts and (3 + p) T + 4 H head reads per second.
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

    /// Returns the head reads per insert when ticks share wake-ups. Two of the three head reads of
    /// a tick happen once per wake-up, regardless of the number of ticks in it.
    pub(crate) fn head_to_insert_at(&self, wakes_per_tick: f64) -> f64 {
        self.head_to_insert - 2.0 * (1.0 - wakes_per_tick) / self.inserts_per_tick
    }
}

/// The measured figures of a structure, and whether its run reproduced the experiment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Acceptance {
    pub(crate) head_to_insert: f64,
    /// Mean number of armed timers over the wake-ups.
    pub(crate) population: f64,
    /// Wake-ups per tick: 1 if every tick has a separate wake-up.
    pub(crate) wakes_per_tick: f64,
    /// Whether the host kept up. If the host did not keep up, ticks shared wake-ups, and fewer head
    /// reads per insert are expected.
    pub(crate) keeps_up: bool,
    /// Deviations from the model; empty if the run is accepted.
    pub(crate) failures: Vec<String>,
    pub(crate) too_short: bool,
}

impl Acceptance {
    /// Judges the counts of a lane.
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

impl Acceptance {
    /// Returns the verdict: not shown if the run was too short, otherwise held or missed.
    pub(crate) fn verdict(&self) -> Verdict {
        match (self.too_short, self.failures.is_empty()) {
            (true, _) => Verdict::NotShown,
            (false, true) => Verdict::Held,
            (false, false) => Verdict::Missed,
        }
    }

    pub(crate) fn words(&self) -> String {
        match self.verdict() {
            Verdict::NotShown => format!("fewer than {ENOUGH_TICKS} ticks: not judged"),
            Verdict::Missed => self.failures.join("; "),
            _ if self.keeps_up => "accepted".into(),
            _ => "accepted, but does not keep up".into(),
        }
    }
}
