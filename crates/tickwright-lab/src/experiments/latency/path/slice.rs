//! The path itself: from the entry of the tick handler to the callback, and on to the next alarm.

use core::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::counter::Counter;
use crate::models::verify::oracle::Oracle;
use crate::models::verify::{Fold, Witness};
use crate::structures::candidate::{BenchQueue, Candidate};
use crate::structures::registry::{self, Structure, Visitor};

/// Periods of the experiment's timer and of the emulated host's tick (250 Hz), in ns.
const PERIOD: u64 = 1_000_000;
const HOST_PERIOD: u64 = 4_000_000;
/// Periods of all further timers, in ns.
const PERIODS: core::ops::Range<u64> = PERIOD..10 * PERIOD;

/// Warm-up ticks for each timer, before the first tick that counts.
const WARM_UP: usize = 4;

/// Periods and first deadlines of the timers `0..population`. Timer 0 is the experiment's, timer 1
/// is the host's tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Timers {
    periods: Vec<u64>,
    first: Vec<u64>,
}

impl Timers {
    pub(super) fn new(population: usize, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let periods: Vec<u64> = (0..population)
            .map(|id| match id {
                0 => PERIOD,
                1 => HOST_PERIOD,
                _ => random.random_range(PERIODS),
            })
            .collect();
        let first = periods.iter().map(|period| random.random_range(1..=*period)).collect();
        Self { periods, first }
    }

    fn fill(&self, queue: &mut impl BenchQueue) {
        (0..).zip(&self.first).for_each(|(id, first)| queue.insert(id, *first));
    }
}

/// Reads a clock at three points of the path, or does nothing.
pub(super) trait Watch {
    /// Called when the handler is entered.
    fn entry(&mut self);
    /// Called just before the callback.
    fn callback(&mut self);
    /// Called when the next alarm is known.
    fn exit(&mut self);
}

/// Reads no clock.
impl Watch for () {
    #[inline(always)]
    fn entry(&mut self) {}
    #[inline(always)]
    fn callback(&mut self) {}
    #[inline(always)]
    fn exit(&mut self) {}
}

/// The mean cost of a tick in a slice, in ns or instructions. `to_callback` is `None` for
/// instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    pub(super) to_callback: Option<f64>,
    pub(super) tick: f64,
}

/// Records the counts from the entry to the callback, and from the entry to the exit.
#[derive(Debug)]
pub(super) struct Watched<'a> {
    counter: &'a Counter,
    entry: u64,
    to_callback: Vec<u64>,
    whole: Vec<u64>,
}

impl<'a> Watched<'a> {
    /// Creates a watch with room for `ticks` ticks.
    pub(super) fn new(counter: &'a Counter, ticks: usize) -> Self {
        Self { counter, entry: 0, to_callback: Vec::with_capacity(ticks), whole: Vec::with_capacity(ticks) }
    }

    /// The trimmed means in ns: to the callback, and of the whole path.
    pub(super) fn means(&mut self) -> Cost {
        Cost {
            to_callback: Some(self.counter.ns(1) * trimmed_mean(&mut self.to_callback)),
            tick: self.counter.ns(1) * trimmed_mean(&mut self.whole),
        }
    }
}

impl Watch for Watched<'_> {
    #[inline(always)]
    fn entry(&mut self) {
        self.entry = self.counter.read();
    }

    #[inline(always)]
    fn callback(&mut self) {
        self.to_callback.push(self.counter.read().wrapping_sub(self.entry));
    }

    #[inline(always)]
    fn exit(&mut self) {
        self.whole.push(self.counter.read().wrapping_sub(self.entry));
    }
}

/// The mean without the slowest sixteenth, which contains the interrupted ticks.
pub(super) fn trimmed_mean(counts: &mut [u64]) -> f64 {
    counts.sort_unstable();
    let kept = &counts[..counts.len() - counts.len() / 16];
    kept.iter().map(|count| *count as f64).sum::<f64>() / kept.len().max(1) as f64
}

/// Runs `ticks` ticks of the path: reads the head, takes it, calls back, re-arms it a period later,
/// and reads the head. Returns a hash of the deliveries, or `None` if the queue lost its head.
#[inline(always)]
pub(super) fn path<Q: BenchQueue, W: Watch>(
    queue: &mut Q,
    timers: &Timers,
    ticks: usize,
    watch: &mut W,
) -> Option<Fold> {
    let mut fold = Fold::default();
    let mut alarm = queue.head()?;
    for _ in 0..ticks {
        let now = alarm;
        watch.entry();
        queue.look_at_head().filter(|head| *head <= now)?;
        let (id, expiry) = queue.take_head(now)?;
        watch.callback();
        fold.delivered(black_box(id), expiry, now);
        queue.insert(id, expiry.saturating_add(*timers.periods.get(id as usize)?));
        alarm = queue.head()?;
        watch.exit();
    }
    Some(fold)
}

/// The storage under the path: a structure, or a slot for one timer instead of a queue. With the
/// slot, only the loop and the measurement remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Loop,
    Of(&'static Structure),
}

impl Lane {
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Loop => "the loop",
            Self::Of(structure) => structure.id,
        }
    }

    /// Fills a queue, warms it up and runs the slice. Returns `None` if a timer was lost.
    pub(super) fn run(self, slice: Slice<'_, impl Watch>) -> Option<Fold> {
        match self {
            Self::Loop => {
                let first = slice.timers.first.first().copied()?;
                slice.on(&mut Place(Some((0, first))))
            }
            Self::Of(structure) => registry::visit(structure, slice),
        }
    }
}

/// One run of the path, with `ticks` ticks.
pub(super) struct Slice<'a, W> {
    pub(super) timers: &'a Timers,
    pub(super) ticks: usize,
    pub(super) watch: &'a mut W,
    /// Is called with a closure that does the counted part of a run. It must call that closure.
    pub(super) around: &'a mut dyn FnMut(&mut dyn FnMut()),
}

impl<W: Watch> Slice<'_, W> {
    fn on<Q: BenchQueue>(self, queue: &mut Q) -> Option<Fold> {
        let Self { timers, ticks, watch, around } = self;
        path(queue, timers, WARM_UP * timers.periods.len(), &mut ())?;
        let mut fold = None;
        around(&mut || fold = path(queue, timers, ticks, watch));
        fold
    }
}

impl<W: Watch> Visitor for Slice<'_, W> {
    type Out = Option<Fold>;

    fn visit<C: Candidate>(self, _: &'static Structure) -> Option<Fold> {
        let arena = C::arena(self.timers.periods.len());
        let mut queue = C::queue(&arena, self.timers.periods.len());
        self.timers.fill(&mut queue);
        self.on(&mut queue)
    }
}

/// The expected deliveries of the path, computed with the oracle, a std map.
pub(super) fn expected(timers: &Timers, ticks: usize) -> Option<Fold> {
    let mut oracle = Oracle::default();
    timers.fill(&mut oracle);
    Slice { timers, ticks, watch: &mut (), around: &mut |run| run() }.on(&mut oracle)
}

/// A slot for one timer.
#[derive(Debug)]
struct Place(Option<(u32, u64)>);

impl BenchQueue for Place {
    #[inline(always)]
    fn insert(&mut self, id: u32, deadline: u64) {
        self.0 = Some((id, deadline));
    }

    fn remove(&mut self, _: u32) {
        self.0 = None;
    }

    fn reschedule(&mut self, id: u32, deadline: u64) {
        self.insert(id, deadline);
    }

    #[inline(always)]
    fn head(&mut self) -> Option<u64> {
        Some(self.0?.1)
    }

    fn second(&mut self) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn pop_expired(&mut self, now: u64) -> Option<(u32, u64)> {
        self.0.take_if(|timer| timer.1 <= now)
    }
}
