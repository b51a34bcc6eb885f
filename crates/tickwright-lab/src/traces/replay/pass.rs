//! One run of all operations on one structure, on a fresh queue.

use hdrhistogram::Histogram;

use super::data::Calls;
use crate::allocator;
use crate::clock::Meter;
use crate::error::LabError;
use crate::models::verify::{Answer, Evidence, Fold, Judge, Log, Script, Witness};
use crate::structures::candidate::{BenchQueue, Candidate};
use crate::structures::erased::Erased;
use crate::structures::registry::{self, Structure, Visitor};
use crate::traces::steps::{Chunk, Guarded, KINDS, Step};

/// Calls its argument with all operations, piece by piece. The error ends it.
pub(super) type Feed<'f> =
    dyn Fn(&mut dyn FnMut(&Chunk) -> Result<(), LabError>) -> Result<(), LabError> + 'f;

/// What a pass is for.
pub(super) enum Purpose<'p> {
    /// Compare the answers with the oracle's, and weigh the queue.
    Verify(Compare<'p>),
    /// Time all operations together.
    Time,
    /// Time each operation alone; the number is what a reading of the clock costs. Before each
    /// piece the bytes are overwritten, and caches with them.
    Calls(u64, &'p mut [u8]),
    /// Time all operations together, with caches overwritten before each piece. The number is what
    /// a reading of the processor time costs.
    Cold(u64, &'p mut [u8]),
    /// Count wake-ups at which nothing is due, and the lateness of deliveries.
    Wakes,
}

/// How answers are compared.
#[derive(Clone, Copy)]
pub(super) struct Compare<'p> {
    /// The last tick to which the queue is advanced at the end.
    pub(super) end: u64,
    /// The right answers. `None`: they are computed on the way.
    pub(super) known: Option<&'p Known>,
    /// The answers of this many pieces are folded apart.
    pub(super) pieces: usize,
}

/// The right answers of an exact structure, computed once for all structures.
pub(super) struct Known {
    /// For each piece.
    answers: Vec<Answer>,
    /// The state after the last piece.
    judge: Judge,
}

impl Known {
    /// Computes the answers to all pieces. `in_time` is called before each, and its error ends it.
    pub(super) fn of(pieces: &[Chunk], in_time: &dyn Fn() -> Result<(), LabError>) -> Result<Self, LabError> {
        let mut judge = Judge::default();
        let expect = |piece: &Chunk| in_time().map(|()| judge.expect(piece, Evidence::Log));
        let answers = pieces.iter().map(expect).collect::<Result<_, _>>()?;
        Ok(Self { answers, judge })
    }
}

/// What a pass found.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The processor time of the operations that count.
    pub(super) ns: u64,
    /// The answers.
    pub(super) fold: Fold,
    /// The answers of the first pieces: see [`Compare::pieces`].
    pub(super) first: Fold,
    pub(super) bytes: usize,
    pub(super) calls: [Option<Calls>; 4],
    pub(super) idle_wakes: u64,
    pub(super) late_ticks: u64,
    /// Timers that were pending at the end were not compared beyond this tick. `None`: all were.
    pub(super) compared_to: Option<u64>,
}

/// A pass over a structure.
pub(super) struct Pass<'p> {
    pub(super) feed: &'p Feed<'p>,
    pub(super) capacity: usize,
    /// This many operations run before the clock starts. A piece ends with them.
    pub(super) untimed: u64,
    pub(super) purpose: Purpose<'p>,
    pub(super) meter: &'p dyn Meter,
}

impl Visitor for Pass<'_> {
    type Out = Result<Passed, LabError>;

    fn visit<C: Candidate>(self, structure: &'static Structure) -> Self::Out {
        let arena = C::arena(self.capacity);
        let before = allocator::live_bytes();
        let queue = C::queue(&arena, self.capacity);
        let capacity = self.capacity;
        let passed = if C::EXACT {
            self.run(structure, queue, before)
        } else {
            self.run(structure, Guarded::new(queue, capacity), before)
        };
        passed.map(|passed| Passed { bytes: passed.bytes + C::INLINE, ..passed })
    }
}

impl Pass<'_> {
    fn run<Q: BenchQueue>(
        self,
        structure: &'static Structure,
        mut queue: Q,
        before: isize,
    ) -> Result<Passed, LabError> {
        let Self { feed, purpose, meter, capacity, mut untimed } = self;
        let mut passed = Passed::default();
        let queue = &mut queue;
        match purpose {
            Purpose::Verify(compare) => {
                let queue = &mut Erased::new(queue);
                verify(structure, queue, feed, (before, compare, meter), &mut passed)?;
            }
            Purpose::Time => feed(&mut |chunk| {
                let ns = timed(queue, chunk, &mut passed.fold, meter);
                passed.ns += if counts(&mut untimed, chunk) { ns } else { 0 };
                Ok(())
            })?,
            Purpose::Cold(clock, waste) => feed(&mut |chunk| {
                pollute(waste);
                let ns = timed(queue, chunk, &mut passed.fold, meter).saturating_sub(clock);
                passed.ns += if counts(&mut untimed, chunk) { ns } else { 0 };
                Ok(())
            })?,
            Purpose::Calls(clock, waste) => {
                calls(queue, feed, (clock, waste, untimed), meter, &mut passed)?;
            }
            Purpose::Wakes => {
                let mut deadlines = vec![0; capacity];
                let mut queue = Erased::new(queue);
                feed(&mut |chunk| {
                    wakes(&mut queue, chunk, &mut deadlines, &mut passed);
                    Ok(())
                })?;
            }
        }
        Ok(passed)
    }
}

/// Whether the time of a piece counts. `untimed` is the number of operations before those that do.
fn counts(untimed: &mut u64, chunk: &Chunk) -> bool {
    let counts = *untimed == 0;
    *untimed = untimed.saturating_sub(chunk.operations());
    counts
}

/// The timed loop: compiled once for each structure, shared by cold and warm runs. It measures the
/// processor time of the thread, so that other programs do not count.
#[inline(never)]
fn timed<Q: BenchQueue>(queue: &mut Q, chunk: &Chunk, fold: &mut Fold, meter: &dyn Meter) -> u64 {
    let start = meter.cpu();
    chunk.run(queue, fold);
    meter.cpu().saturating_sub(start)
}

/// Records each answer twice: in a log for the judge, and in a fold for later runs.
struct Both<'b> {
    log: Log,
    fold: &'b mut Fold,
}

impl Witness for Both<'_> {
    fn delivered(&mut self, id: u32, expiry: u64, now: u64) {
        self.log.delivered(id, expiry, now);
        self.fold.delivered(id, expiry, now);
    }

    fn read(&mut self, answer: Option<u64>) {
        self.log.read(answer);
        self.fold.read(answer);
    }
}

/// Compares all answers. A trace may end before any timer is due: then its own operations ask for
/// no answer. So the queue is advanced at the end beyond every deadline of the trace. There each
/// pending timer must come, and no timer that was cancelled. Figures of memory and the fold do not
/// include this part.
fn verify(
    structure: &'static Structure,
    queue: &mut Erased<'_>,
    feed: &Feed<'_>,
    (before, compare, meter): (isize, Compare<'_>, &dyn Meter),
    passed: &mut Passed,
) -> Result<(), LabError> {
    let Compare { end, known, pieces } = compare;
    let mut done = 0;
    let mut judge = Judge::default();
    let wrongly = |wrong: String| LabError::failed(format!("{} answered wrongly: {wrong}", structure.id));
    let mut last = 0;
    let mut own = allocator::live_bytes() - before;
    let mut most = own;
    feed(&mut |chunk| {
        let computed;
        let expected = match known.and_then(|known| known.answers.get(done)) {
            Some(answer) => answer,
            None => {
                computed = judge.expect(chunk, Evidence::Log);
                &computed
            }
        };
        let mut both = Both { log: Log::of(chunk), fold: &mut passed.fold };
        let (start, logged) = (allocator::live_bytes(), both.log.bytes());
        let begun = meter.cpu();
        chunk.run(queue, &mut both);
        passed.ns += meter.cpu().saturating_sub(begun);
        let log_growth = isize::try_from(both.log.bytes() - logged).unwrap_or(0);
        own += allocator::live_bytes() - start - log_growth;
        most = most.max(own);
        last = chunk.0.iter().map(|step| step.reaches()).fold(last, u64::max);
        judge.judge(structure, chunk, &Answer::Logged(both.log), expected).map_err(wrongly)?;
        done += 1;
        if done <= pieces {
            passed.first = passed.fold;
        }
        Ok(())
    })?;
    // Delays begin at tick 0 or later, so no bound is longer than that of the last deadline.
    let bound = registry::lateness(structure)(last);
    let all = last.saturating_add(bound);
    passed.compared_to = (end < all).then_some(end);
    let rest = Chunk(vec![Step::Advance { now: all.min(end) }]);
    let expected = match known {
        Some(known) => known.judge.clone().expect(&rest, Evidence::Log),
        None => judge.expect(&rest, Evidence::Log),
    };
    let mut log = Log::of(&rest);
    rest.run(queue, &mut log);
    judge.judge(structure, &rest, &Answer::Logged(log), &expected).map_err(|wrong| {
        wrongly(format!("after the last operation, advanced to tick {}: {wrong}", all.min(end)))
    })?;
    passed.bytes = usize::try_from(most).unwrap_or(0).saturating_sub(queue.callers_bytes());
    Ok(())
}

fn calls<Q: BenchQueue>(
    queue: &mut Q,
    feed: &Feed<'_>,
    (clock, waste, mut untimed): (u64, &mut [u8], u64),
    meter: &dyn Meter,
    passed: &mut Passed,
) -> Result<(), LabError> {
    // The range and the three digits are valid arguments; a longer call counts as the longest.
    let histogram = || {
        Histogram::<u64>::new_with_bounds(1, 1 << 40, 3).map_err(|error| LabError::failed(error.to_string()))
    };
    let mut times = [histogram()?, histogram()?, histogram()?, histogram()?];
    feed(&mut |chunk| {
        pollute(waste);
        if !counts(&mut untimed, chunk) {
            chunk.run(queue, &mut passed.fold);
            return Ok(());
        }
        for step in &chunk.0 {
            if !step.is_operation() {
                step.run(queue, &mut passed.fold);
                continue;
            }
            let start = meter.now();
            step.run(queue, &mut passed.fold);
            let ns = meter.now().saturating_sub(start).saturating_sub(clock);
            times[step.kind()].saturating_record(ns);
        }
        Ok(())
    })?;
    for (kind, times) in times.iter().enumerate().take(KINDS.len()).filter(|(_, times)| !times.is_empty()) {
        let at = |share| times.value_at_quantile(share) as f64;
        passed.calls[kind] = Some(Calls {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: times.max() as f64,
        });
    }
    Ok(())
}

/// Runs operations under a driver that wakes when the queue asks for it. `deadlines` are those of
/// all ids.
fn wakes(queue: &mut Erased<'_>, chunk: &Chunk, deadlines: &mut [u64], passed: &mut Passed) {
    for &step in &chunk.0 {
        if let Step::Insert { id, deadline } | Step::Reschedule { id, deadline } = step
            && let Some(place) = deadlines.get_mut(id as usize)
        {
            *place = deadline;
        }
        match step {
            Step::Clock { at } => {
                drive(queue, at, deadlines, passed);
                queue.tell(at);
            }
            Step::Advance { now } => {
                drive(queue, now, deadlines, passed);
                deliver(queue, now, deadlines, passed);
            }
            step => step.run(queue, &mut Fold::default()),
        }
    }
}

/// Delivers what is due. Returns how many timers were delivered.
fn deliver(queue: &mut Erased<'_>, now: u64, deadlines: &[u64], passed: &mut Passed) -> u64 {
    let mut delivered = 0;
    queue.advance(now, usize::MAX, &mut |id, _| {
        delivered += 1;
        let deadline = deadlines.get(id as usize).copied().unwrap_or(now);
        passed.late_ticks = passed.late_ticks.max(now.saturating_sub(deadline));
    });
    delivered
}

/// Wakes whenever the queue asks for it before the tick `until`.
fn drive(queue: &mut Erased<'_>, until: u64, deadlines: &[u64], passed: &mut Passed) {
    while let Some(wake) = queue.wake().filter(|wake| *wake < until) {
        let delivered = deliver(queue, wake, deadlines, passed);
        passed.idle_wakes += u64::from(delivered == 0);
        // A queue whose wake-up does not move would hold the driver for ever.
        if delivered == 0 && queue.wake().is_some_and(|next| next <= wake) {
            break;
        }
    }
}

/// Writes to memory, so that caches hold none of the queue.
fn pollute(waste: &mut [u8]) {
    for line in waste.chunks_mut(64) {
        line[0] = line[0].wrapping_add(1);
    }
    core::hint::black_box(waste);
}

#[cfg(test)]
mod tests;
