//! Samples inserts, aborts and firings of all back ends, alternately.

use clap::ValueEnum;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::backend::{BackEnd, Ticking, Visitor};
use super::subject::Subject;
use crate::clock::Meter;
use crate::error::LabError;
use crate::experiments::request::word;
use crate::models::verify::oracle::Oracle;
use crate::models::witness::{SPREAD, fold};
use crate::progress::Progress;
use crate::result::{Label, Series, Unit, labels};
use crate::rounds::Rounds;
use crate::stats::{self, Summary, Verdict, median};

/// The order of the delays of the time-outs that are inserted one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// Each delay is drawn anew
    Random,
    /// Each time-out fires after all before it
    Rising,
}

/// A checked request.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) subjects: Vec<Subject>,
    pub(super) orders: Vec<Order>,
    pub(super) sizes: Vec<usize>,
    /// The least number of inserts in a sample.
    pub(super) operations: usize,
    pub(super) rounds: usize,
    pub(super) seed: u64,
}

/// The measurements.
#[derive(Debug)]
pub(crate) struct Data {
    /// Whether time-outs of one tick fired in the order of their insertion, by subject.
    pub(super) in_order: Vec<bool>,
    pub(super) cells: Vec<Cell>,
}

/// The longest delay, in ticks: a tenth of a second at the 10 kHz of the published run.
const LONGEST: u64 = 1000;
/// The kernel announces ticks to the queue in steps of this length.
const STEP: u64 = 32;
/// The number of queues in a sample. The work alternates among them, so that the cost of one
/// reading of the clock is spread over many operations.
const QUEUES: usize = 64;
/// The number of time-outs in all queues of a sample together, unless a single queue has more.
const TOGETHER: usize = 1024;

/// The names of the operations, by index in [`Times`].
pub(super) const OPERATIONS: [&str; 3] = ["insert", "abort", "fire"];
/// The name of the time that all [`OPERATIONS`] take together.
pub(super) const LIFE: &str = "life";

/// ns per operation. NaN if there was no such operation.
pub(super) type Times = [f64; 3];

/// All samples of one order and population.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) order: Order,
    pub(super) n: usize,
    /// The samples of each subject, in the order of rounds.
    pub(super) lanes: Vec<Vec<Times>>,
}

/// The comparison of the list with Zephyr's best other back end, by the time of a time-out's whole
/// life.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) n: usize,
    pub(super) best: Subject,
    /// The list's time divided by the other back end's time, round by round.
    pub(super) ratio: Summary,
    pub(super) verdict: Verdict,
}

impl Cell {
    /// Returns the ns per operation, round by round.
    pub(super) fn of(&self, lane: usize, operation: usize) -> Vec<f64> {
        self.lanes[lane].iter().map(|times| times[operation]).collect()
    }

    /// Returns the ns of the whole life of a time-out: its insert, and its abort or its firing.
    fn lives(&self, lane: usize) -> Vec<f64> {
        let aborted = aborted(self.n) as f64 / self.n as f64;
        let life = |[insert, abort, fire]: &Times| {
            insert + aborted * abort + if aborted < 1.0 { (1.0 - aborted) * fire } else { 0.0 }
        };
        self.lanes[lane].iter().map(life).collect()
    }

    /// Returns the comparison, or `None` if the list, another back end, or a complete round is
    /// missing.
    pub(super) fn beside(&self, subjects: &[Subject]) -> Option<Beside> {
        let list = subjects.iter().position(|subject| *subject == Subject::List)?;
        let rivals = (0..subjects.len()).filter(|lane| *lane != list && subjects[*lane].is_zephyrs());
        let medians: Option<Vec<_>> = rivals.map(|lane| Some((lane, median(&self.lives(lane))?))).collect();
        let (best, _) = medians?.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let ratio = stats::ratios(&self.lives(list), &self.lives(best))?;
        Some(Beside { n: self.n, best: subjects[best], ratio, verdict: Verdict::on(&ratio) })
    }

    pub(super) fn series(&self, subjects: &[Subject]) -> Vec<Series> {
        let mut all = Vec::new();
        for (lane, subject) in subjects.iter().enumerate() {
            let of: [(&str, Label); 3] = [
                ("structure", word(subject).into()),
                ("order", word(&self.order).into()),
                ("n", self.n.into()),
            ];
            let series = |name: &str, per, samples: Vec<f64>| {
                let series = Series::new(name, Unit::Ns, labels(of.clone())).per(per);
                series.of(samples.into_iter().filter(|ns| ns.is_finite()))
            };
            let operations = OPERATIONS.iter().enumerate();
            all.extend(operations.map(|(at, name)| series(name, "operation", self.of(lane, at))));
            all.push(series(LIFE, "time-out", self.lives(lane)));
        }
        all.retain(|series| !series.samples.is_empty());
        all
    }
}

/// Returns how many of `n` time-outs are aborted. The others fire.
fn aborted(n: usize) -> usize {
    n.div_ceil(2)
}

/// The operations of one queue in one pass: the delays of time-outs 0, 1, ..., and the numbers of
/// the time-outs that are aborted.
type Turn = (Vec<u64>, Vec<u32>);

/// The work of a sample. No pass repeats another pass, so that the processor's branch predictor
/// cannot learn the work.
#[derive(Debug)]
pub(super) struct Work {
    n: usize,
    /// The turns of all queues, by pass. The first pass is not timed.
    passes: Vec<Vec<Turn>>,
}

impl Work {
    pub(super) fn new(order: Order, n: usize, operations: usize, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let queues = (TOGETHER / n).clamp(1, QUEUES);
        let mut turn = || {
            let mut delays: Vec<u64> = (0..n).map(|_| random.random_range(1..=LONGEST)).collect();
            if order == Order::Rising {
                delays.sort_unstable();
            }
            let mut ids: Vec<u32> = (0..).take(n).collect();
            ids.shuffle(&mut random);
            ids.truncate(aborted(n));
            (delays, ids)
        };
        let passes = 1 + operations.div_ceil(queues * n);
        Self { n, passes: (0..passes).map(|_| (0..queues).map(|_| turn()).collect()).collect() }
    }

    fn queues(&self) -> usize {
        self.passes[0].len()
    }

    /// Returns how many inserts, aborts and firings are timed.
    fn counts(&self) -> [usize; 3] {
        let aborted = aborted(self.n);
        [self.n, aborted, self.n - aborted].map(|count| count * self.queues() * (self.passes.len() - 1))
    }
}

/// The time-outs that fired, folded into four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fired {
    count: u64,
    /// A hash of the ticks in order.
    ticks: u64,
    /// A hash of the pairs of time-out and tick, in any order.
    pairs: u64,
    /// A hash of the time-outs in order.
    order: u64,
}

impl Fired {
    #[inline]
    fn note(&mut self, id: u32, tick: u64) {
        self.count += 1;
        self.ticks = fold(self.ticks, tick);
        self.pairs = self.pairs.wrapping_add((tick << 20 ^ u64::from(id)).wrapping_mul(SPREAD));
        self.order = fold(self.order, id.into());
    }

    /// Returns whether this answer is allowed for a subject when the oracle's answer is `right`.
    pub(super) fn is_right(self, right: Self, subject: Subject) -> bool {
        let order = if subject.keeps_order() { self.order } else { right.order };
        Self { order, ..self } == right
    }
}

/// Runs all passes.
struct Pass<'w> {
    work: &'w Work,
    meter: &'w dyn Meter,
}

impl Visitor for Pass<'_> {
    type Out = (Times, Fired);

    fn visit<B: BackEnd>(self, queues: &mut [B]) -> (Times, Fired) {
        let Self { work, meter } = self;
        let (mut spent, mut fired) = ([0_u64; 3], Fired::default());
        for (pass, turns) in work.passes.iter().enumerate() {
            let begin = meter.now();
            for (queue, (delays, _)) in queues.iter_mut().zip(turns) {
                for (id, &ticks) in (0..).zip(delays) {
                    queue.insert(id, ticks);
                }
            }
            let inserted = meter.now();
            for (queue, (_, aborts)) in queues.iter_mut().zip(turns) {
                for &id in aborts {
                    queue.abort(id);
                }
            }
            let aborted = meter.now();
            for queue in &mut *queues {
                for _ in 0..LONGEST.div_ceil(STEP) {
                    queue.announce(STEP, |id, tick| fired.note(id, tick));
                }
            }
            let ended = meter.now();
            if pass > 0 {
                let parts = [(begin, inserted), (inserted, aborted), (aborted, ended)];
                for (spent, (from, to)) in spent.iter_mut().zip(parts) {
                    *spent += to.saturating_sub(from);
                }
            }
        }
        let counts = work.counts();
        let ns = |at: usize| if counts[at] > 0 { spent[at] as f64 / counts[at] as f64 } else { f64::NAN };
        ([ns(0), ns(1), ns(2)], fired)
    }
}

/// Takes a sample of a subject.
///
/// # Errors
/// If the time-outs that fired differ from the oracle's.
fn sample(
    subject: Subject,
    n: usize,
    work: &Work,
    right: Fired,
    meter: &dyn Meter,
) -> Result<Times, LabError> {
    let (times, fired) = subject.visit(work.queues(), n, Pass { work, meter });
    if fired.is_right(right, subject) {
        return Ok(times);
    }
    let name = word(&subject);
    Err(LabError::failed(format!("{name}, N = {n}: {} time-outs fired, not as the oracle says", fired.count)))
}

/// Returns what fires according to the oracle.
pub(super) fn right(work: &Work) -> Fired {
    let mut queues: Vec<_> = (0..work.queues()).map(|_| Ticking::new(Oracle::default())).collect();
    Pass { work, meter: &crate::clock::FakeMeter::steady(0) }.visit(&mut queues).1
}

/// Samples all subjects at all populations. After an interruption, some samples are missing.
///
/// # Errors
/// If an answer is wrong.
pub(super) fn run(plan: &Plan, meter: &dyn Meter) -> Result<Vec<Cell>, LabError> {
    let mut cells = Vec::new();
    let mut turns = Rounds::new(plan.rounds, plan.seed);
    let progress = Progress::steps((plan.orders.len() * plan.sizes.len()) as u64, "zephyr");
    for &order in &plan.orders {
        for &n in &plan.sizes {
            // All subjects of a round have the same work.
            let work = |round: usize| {
                let work = Work::new(order, n, plan.operations, plan.seed ^ (round as u64) << 32);
                let right = right(&work);
                (round, work, right)
            };
            let mut now = work(0);
            let taken = turns.run(plan.subjects.len(), |turn| {
                if now.0 != turn.round {
                    now = work(turn.round);
                }
                sample(plan.subjects[turn.lane], n, &now.1, now.2, meter)
            })?;
            if taken.interrupted {
                return Ok(cells);
            }
            cells.push(Cell { order, n, lanes: taken.lanes() });
            progress.step();
        }
    }
    Ok(cells)
}
