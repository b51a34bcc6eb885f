//! One run of all operations on one structure, on a fresh queue.

use hdrhistogram::Histogram;

use super::data::{AT, Calls};
use crate::clock::Meter;
use crate::error::LabError;
use crate::models::erased::Erased;
use crate::models::live::{Live, with_one};
use crate::models::tape::{KINDS, Step, Tape};
use crate::models::verify::Judge;
use crate::models::witness::{Answer, Evidence, Fold};
use crate::structures::registry::{self, Structure};

/// Receives a piece of the operations. An error ends the pass.
pub(super) type Take<'t> = dyn FnMut(&Tape) -> Result<(), LabError> + 't;

/// Calls its argument with all operations, piece by piece.
pub(super) type Feed<'f> = dyn Fn(&mut Take<'_>) -> Result<(), LabError> + 'f;

/// What a pass is for.
pub(super) enum Purpose<'p> {
    /// Compare the answers with the oracle's, and measure the queue's memory.
    Verify(Compare<'p>),
    /// Time each operation separately. The number is the cost of reading the clock. Before each
    /// piece, the bytes are overwritten to evict the queue from the caches.
    Calls(u64, &'p mut [u8]),
    /// Time all operations together. Before each piece, the bytes are overwritten to evict the
    /// queue from the caches. The number is the cost of reading the processor time.
    Time(u64, &'p mut [u8]),
    /// Count wake-ups at which nothing is due, and the lateness of deliveries.
    Wakes,
}

/// How answers are compared.
#[derive(Clone, Copy)]
pub(super) struct Compare<'p> {
    /// The last tick to which the queue is advanced at the end.
    pub(super) end: u64,
    /// The right answers. `None`: they are computed during the pass.
    pub(super) known: Option<&'p Known>,
    /// The number of pieces at the beginning whose answers are also folded separately.
    pub(super) pieces: usize,
}

/// The right answers of an exact structure, computed once for all structures.
pub(super) struct Known {
    /// The right answers for each piece.
    answers: Vec<Answer>,
    /// The state after the last piece.
    judge: Judge,
}

impl Known {
    /// Computes the answers to all pieces. `in_time` is called before each piece, and an error of
    /// `in_time` ends the computation.
    pub(super) fn of(pieces: &[Tape], in_time: &dyn Fn() -> Result<(), LabError>) -> Result<Self, LabError> {
        let mut judge = Judge::default();
        let expect = |piece: &Tape| in_time().map(|()| judge.expect(piece, Evidence::Log));
        let answers = pieces.iter().map(expect).collect::<Result<_, _>>()?;
        Ok(Self { answers, judge })
    }
}

/// The results of a pass.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The processor time of the timed operations.
    pub(super) ns: u64,
    /// The answers.
    pub(super) fold: Fold,
    /// The answers of the first pieces: see [`Compare::pieces`].
    pub(super) first: Fold,
    pub(super) bytes: usize,
    pub(super) calls: [Option<Calls>; 4],
    pub(super) idle_wakes: u64,
    pub(super) late_ticks: u64,
    /// The tick up to which timers that were pending at the end were compared. `None`: all of these
    /// timers were compared.
    pub(super) compared_to: Option<u64>,
}

/// A pass over a structure.
pub(super) struct Pass<'p> {
    pub(super) feed: &'p Feed<'p>,
    pub(super) capacity: usize,
    /// This many operations run before the clock starts. The last of these operations also ends a
    /// piece.
    pub(super) untimed: u64,
    pub(super) purpose: Purpose<'p>,
    pub(super) meter: &'p dyn Meter,
}

impl Pass<'_> {
    /// Runs the pass on a fresh queue of a structure.
    pub(super) fn run(self, structure: &'static Structure) -> Result<Passed, LabError> {
        with_one(structure, self.capacity, true, |live| self.on(live))
    }

    /// Runs the pass on an empty queue.
    fn on(self, live: Live<'_>) -> Result<Passed, LabError> {
        let Self { feed, purpose, meter, capacity, mut untimed } = self;
        let mut passed = Passed::default();
        // The processor time of this thread excludes the time that other programs use.
        let processor = Processor(meter);
        match purpose {
            Purpose::Verify(compare) => verify(live, feed, compare, &processor, &mut passed)?,
            Purpose::Time(clock, waste) => feed(&mut |piece| {
                pollute(waste);
                // The time of a piece starts with this reading of the clock.
                let sample = live.sampler.sample(piece, Evidence::Fold, &processor);
                passed.fold.append(sample.answer.fold());
                passed.ns += if counts(&mut untimed, piece) { sample.ns.saturating_sub(clock) } else { 0 };
                Ok(())
            })?,
            Purpose::Calls(clock, waste) => calls(live, feed, (clock, waste, untimed), meter, &mut passed)?,
            Purpose::Wakes => {
                let (mut queue, mut deadlines) = (live.sampler.queue(), vec![0; capacity]);
                feed(&mut |piece| {
                    wakes(&mut *queue, piece, &mut deadlines, &mut passed);
                    Ok(())
                })?;
            }
        }
        Ok(passed)
    }
}

/// A clock that reads the processor time of `Meter`.
pub(super) struct Processor<'m>(pub(super) &'m dyn Meter);

impl Meter for Processor<'_> {
    fn now(&self) -> u64 {
        self.0.cpu()
    }
}

/// Returns whether the time of a piece counts. The time of the first `untimed` operations does not
/// count.
fn counts(untimed: &mut u64, piece: &Tape) -> bool {
    let counts = *untimed == 0;
    *untimed = untimed.saturating_sub(piece.operations());
    counts
}

/// Compares all answers. A trace can end before any timer is due, and its operations then ask for
/// no answer. Therefore the queue is finally advanced beyond every deadline of the trace. This
/// advance must deliver every pending timer and no cancelled timer. The memory figures and the fold
/// do not include this part.
fn verify(
    live: Live<'_>,
    feed: &Feed<'_>,
    Compare { end, known, pieces }: Compare<'_>,
    meter: &dyn Meter,
    passed: &mut Passed,
) -> Result<(), LabError> {
    let Live { structure, sampler, .. } = live;
    let mut done = 0;
    let mut judge = Judge::default();
    let wrongly = |wrong: String| LabError::failed(format!("{} answered wrongly: {wrong}", structure.id));
    let mut last = 0;
    passed.bytes = live.inline + live.heap_bytes();
    feed(&mut |piece| {
        let computed;
        let expected = match known.and_then(|known| known.answers.get(done)) {
            Some(answer) => answer,
            None => {
                computed = judge.expect(piece, Evidence::Log);
                &computed
            }
        };
        let sample = sampler.sample(piece, Evidence::Log, meter);
        passed.ns += sample.ns;
        passed.bytes = passed.bytes.max(live.inline + live.heap_bytes());
        last = piece.steps.iter().map(|step| step.reaches()).fold(last, u64::max);
        judge.judge(structure, piece, &sample.answer, expected).map_err(wrongly)?;
        passed.fold.append(sample.answer.fold());
        done += 1;
        if done <= pieces {
            passed.first = passed.fold;
        }
        Ok(())
    })?;
    // Delays begin at tick 0 or later, so no timer has a larger bound than a timer armed at tick 0
    // for the last deadline.
    let bound = (registry::facts(structure).lateness)(last);
    let all = last.saturating_add(bound);
    passed.compared_to = (end < all).then_some(end);
    let rest = Tape::of([Step::Advance { now: all.min(end) }]);
    let expected = match known {
        Some(known) => known.judge.clone().expect(&rest, Evidence::Log),
        None => judge.expect(&rest, Evidence::Log),
    };
    let sample = sampler.sample(&rest, Evidence::Log, meter);
    judge.judge(structure, &rest, &sample.answer, &expected).map_err(|wrong| {
        wrongly(format!("after the last operation, advanced to tick {}: {wrong}", all.min(end)))
    })
}

fn calls(
    live: Live<'_>,
    feed: &Feed<'_>,
    (clock, waste, mut untimed): (u64, &mut [u8], u64),
    meter: &dyn Meter,
    passed: &mut Passed,
) -> Result<(), LabError> {
    // The range and the three digits are valid arguments. A call beyond the range counts as the
    // longest call of the range.
    let histogram = || {
        Histogram::<u64>::new_with_bounds(1, 1 << 40, 3).map_err(|error| LabError::failed(error.to_string()))
    };
    let mut times = [histogram()?, histogram()?, histogram()?, histogram()?];
    feed(&mut |piece| {
        pollute(waste);
        let answer = if counts(&mut untimed, piece) {
            live.sampler.calls(piece, Evidence::Fold, meter, &mut |step, ns| {
                times[step.kind()].saturating_record(ns.saturating_sub(clock));
            })
        } else {
            live.sampler.sample(piece, Evidence::Fold, meter).answer
        };
        passed.fold.append(answer.fold());
        Ok(())
    })?;
    for (kind, times) in times.iter().enumerate().take(KINDS.len()).filter(|(_, times)| !times.is_empty()) {
        passed.calls[kind] = Some(AT.map(|(_, share)| times.value_at_quantile(share) as f64));
    }
    Ok(())
}

/// Runs operations under a driver that wakes when the queue asks for it. `deadlines` has the
/// deadline of each id.
fn wakes(queue: &mut dyn Erased, piece: &Tape, deadlines: &mut [u64], passed: &mut Passed) {
    for &step in &piece.steps {
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
            Step::Insert { id, deadline } => queue.insert(id, deadline),
            Step::Reschedule { id, deadline } => queue.reschedule(id, deadline),
            Step::Remove { id } => queue.remove(id),
            // A trace has no other steps.
            _ => {}
        }
    }
}

/// Delivers the due timers. Returns how many timers were delivered.
fn deliver(queue: &mut dyn Erased, now: u64, deadlines: &[u64], passed: &mut Passed) -> u64 {
    let mut delivered = 0;
    queue.deliver(now, usize::MAX, &mut |id, _| {
        delivered += 1;
        let deadline = deadlines.get(id as usize).copied().unwrap_or(now);
        passed.late_ticks = passed.late_ticks.max(now.saturating_sub(deadline));
    });
    delivered
}

/// Wakes whenever the queue asks for it before the tick `until`.
fn drive(queue: &mut dyn Erased, until: u64, deadlines: &[u64], passed: &mut Passed) {
    while let Some(wake) = queue.wake().filter(|wake| *wake < until) {
        let delivered = deliver(queue, wake, deadlines, passed);
        passed.idle_wakes += u64::from(delivered == 0);
        // A queue whose wake-up does not advance would keep the driver in this loop forever.
        if delivered == 0 && queue.wake().is_some_and(|next| next <= wake) {
            break;
        }
    }
}

/// Writes to memory, so that no part of the queue stays in the caches.
fn pollute(waste: &mut [u8]) {
    for line in waste.chunks_mut(64) {
        line[0] = line[0].wrapping_add(1);
    }
    core::hint::black_box(waste);
}

#[cfg(test)]
mod tests;
