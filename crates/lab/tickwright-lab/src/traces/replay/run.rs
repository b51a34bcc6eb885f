//! Decodes a workload, then runs it on every structure.

use core::cell::Cell;
use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::HashMap;

use tickwright_trace::{Profile, What};

use super::data::{Data, LeftOut, Limits, Plan, Row};
use super::pass::{Compare, Feed, Known, Pass, Passed, Processor, Purpose, Take};
use crate::clock::{Meter, calibrate};
use crate::error::LabError;
use crate::experiment::Lab;
use crate::models::tape::{Step, Tape};
use crate::models::witness::Fold;
use crate::output::table::count;
use crate::progress::Progress;
use crate::render::Format;
use crate::rounds::Rounds;
use crate::stats::FEWEST_ROUNDS;
use crate::structures::registry::{self, Structure};
use crate::traces::decode::{Counts, Decoder};
use crate::traces::input::Input;
use crate::{allocator, interrupt};

/// The number of operations in a piece.
const PIECE: usize = 1 << 14;

/// The number of operations in a piece when caches are overwritten before each piece.
const COLD_PIECE: usize = 64;

/// At most this many steps (16 bytes each) are kept in memory. A longer trace is decoded again in
/// each pass.
const KEPT: u64 = 1 << 22;

/// Bytes that are overwritten between pieces: more than the share of the last-level cache that one
/// core usually has.
const WASTE: usize = 32 << 20;

/// The number of rounds in which each operation is timed separately.
const CALL_ROUNDS: usize = 5;

/// A structure that is called at each tick is left out if the replay has more ticks than this.
const MOST_TICKS: u64 = 20_000_000;

/// A structure that is called at each tick is advanced at most this many ticks beyond the last
/// operation.
const MOST_TICKS_AT_END: u64 = 2_000_000;

/// In a replay with limits, at most this many operations are timed separately.
const CALLED: u64 = 1 << 17;

/// Runs a replay. Without limits the replay takes as long as it needs. With limits, a trace that
/// has only waits, or too few timers, is not replayed, because such a replay leads to no
/// recommendation.
///
/// # Errors
/// If the trace cannot be read, if an answer is wrong (the error describes the first wrong answer),
/// or if the system refuses memory. An interruption is not an error; it is noted in `lab`.
pub(crate) fn run(plan: &Plan, limits: Option<Limits>, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let (profile, found) = plan.input.describe(plan.tick_ns.unwrap_or(0))?;
    lab.notes.extend(found.doubts());
    lab.notes.extend(found.notes);
    let tick_ns = plan.tick_ns.unwrap_or_else(|| suitable_tick(&plan.input, &profile));
    let (unseen, gaps, waits_alone) = (found.header.unseen, found.gaps, found.waits_alone);
    let (scale, whole, starts, filter) = (plan.scale, found.whole, found.starts, found.filter);
    let mut data =
        Data { profile, whole, unseen, gaps, waits_alone, starts, filter, tick_ns, scale, ..Data::default() };
    let no_verdict = |limits: Limits| waits_alone || limits.needs_enough && data.too_little().is_some();
    if limits.is_some_and(no_verdict) {
        return Ok(data);
    }
    let mut steps = Steps::of(plan, limits, tick_ns, &data.profile, lab.meter);
    let decoding = lab.meter.now();
    let (counts, part) = steps.count()?;
    let decoding = Duration::from_nanos(lab.meter.now().saturating_sub(decoding));
    (data.counts, data.untimed, data.initial) = (counts, steps.untimed, steps.initial);
    data.replayed = part.events;
    if counts.operations() == 0 {
        return Err(LabError::usage(format!("{} has no operation that can be replayed", plan.input.name())));
    }
    let many = Format::Thousands.write(counts.operations() as f64);
    if part.is_cut {
        let share = Format::Percent.write(100.0 * part.span_ns as f64 / whole.span_ns.max(1) as f64);
        lab.notes
            .push(format!("the first {many} operations were replayed: {share} of the time of the trace"));
    }
    let structures = able(plan, &counts, &mut data.left_out, lab)?;
    let capacity = counts.ids as usize;
    let biggest = structures.iter().map(|structure| registry::facts(structure).bytes_per_timer).max();
    allocator::room(
        biggest.unwrap_or(0).saturating_mul(capacity),
        &format!("a replay with {} timers", count(capacity)),
    )?;
    if steps.kept.is_none() {
        lab.notes.push(format!(
            "{many} operations do not stay in memory: they are decoded between pieces, which cools caches"
        ));
    }
    let known = steps.kept.as_deref().map(|kept| Known::of(kept, &|| steps.in_time())).transpose()?;
    let mut bench = Bench {
        plan,
        limits,
        steps: &steps,
        known: known.as_ref(),
        capacity,
        counts,
        meter: lab.meter,
        rows: Vec::new(),
        folds: Vec::new(),
        untimed: steps.untimed.iter().sum(),
        begun: [lab.meter.now(), lab.meter.cpu()],
        decoding,
    };
    let done = bench
        .compare(&structures, &mut data.left_out, lab)
        .and_then(|()| bench.time(&mut data.left_out, lab));
    data.rows = bench.rows;
    match done {
        // An interruption is not an error.
        Err(LabError::Interrupted) => lab.interrupted = true,
        done => done?,
    }
    Ok(data)
}

/// What the parts of a replay share.
struct Bench<'b> {
    plan: &'b Plan,
    limits: Option<Limits>,
    steps: &'b Steps<'b>,
    known: Option<&'b Known>,
    capacity: usize,
    counts: Counts,
    meter: &'b dyn Meter,
    /// One row for each structure whose answers are right.
    rows: Vec<Row>,
    /// The answers of these structures: first to the pieces whose calls are timed separately, then
    /// to all pieces.
    folds: Vec<[Fold; 2]>,
    /// The number of operations that run before the timed operations.
    untimed: u64,
    /// The time and the processor time at the beginning.
    begun: [u64; 2],
    /// How long it took to decode all operations.
    decoding: Duration,
}

impl Bench<'_> {
    /// Returns whether a limit of time has passed.
    fn is_past(&self, limit: fn(&Limits) -> u64) -> bool {
        self.limits.is_some_and(|limits| self.meter.now() > limit(&limits))
    }

    /// Returns the name of a part for the progress bar, with the time that is left for the whole
    /// run.
    fn named(&self, part: &str) -> String {
        let Some(limits) = &self.limits else { return part.into() };
        let left = limits.whole.saturating_sub(self.meter.now()) / 1_000_000_000;
        format!("{part}, at most {left} s in all")
    }

    /// Returns the number of pieces whose calls are timed separately.
    fn called(&self) -> usize {
        match (&self.limits, &self.steps.kept) {
            (Some(_), Some(kept)) => pieces(kept, self.untimed + CALLED),
            _ => usize::MAX,
        }
    }

    fn pass(
        &self,
        structure: &'static Structure,
        purpose: Purpose<'_>,
        feed: &Feed<'_>,
    ) -> Result<Passed, LabError> {
        let (capacity, untimed, meter) = (self.capacity, self.untimed, self.meter);
        Pass { feed, capacity, untimed, purpose, meter }.run(structure)
    }

    /// Compares the answers of each structure with the oracle's answers, and makes a row for the
    /// structure. With limits, a structure is left out if the time ends before its comparison.
    fn compare(
        &mut self,
        structures: &[&'static Structure],
        left_out: &mut Vec<LeftOut>,
        lab: &mut Lab<'_>,
    ) -> Result<(), LabError> {
        let progress = Progress::steps(2 * structures.len() as u64, self.named("comparing answers"));
        let mut late: Vec<&'static Structure> = Vec::new();
        for (at, &structure) in structures.iter().enumerate() {
            if interrupt::requested() {
                return Err(LabError::Interrupted);
            }
            progress.doing(structure.id);
            let is_free = self.limits.is_none_or(|limits| at < limits.always);
            let is_late = || !is_free && self.is_past(|limits| limits.compare_until);
            // A pass that runs out of time ends with the same error as an interrupted pass.
            let in_time = || if is_late() { Err(LabError::Interrupted) } else { Ok(()) };
            let compared = in_time().and_then(|()| {
                let compare = Compare {
                    end: end_of(structure, &self.counts),
                    known: self.known,
                    pieces: self.called(),
                };
                let feed = |take: &mut Take<'_>| {
                    self.steps.each(usize::MAX, &mut |chunk| in_time().and_then(|()| take(chunk)))
                };
                let verified = self.pass(structure, Purpose::Verify(compare), &feed)?;
                progress.step();
                let wakes = self.pass(structure, Purpose::Wakes, &feed)?;
                progress.step();
                Ok((verified, wakes))
            });
            match compared {
                Err(LabError::Interrupted) if !interrupt::requested() => late.push(structure),
                Err(error) => return Err(error),
                Ok((verified, wakes)) => {
                    let one = Duration::from_nanos(self.meter.now().saturating_sub(self.begun[0]));
                    let times = [one, self.decoding, self.plan.within];
                    let words = long(times, structures.len(), self.steps.kept.is_some());
                    // A replay with limits ends in time, so it needs no warning about its length.
                    if let Some(words) = words.filter(|_| at == 0 && self.limits.is_none()) {
                        progress.say(&format!("tickwright: {words}"));
                    }
                    if let Some(tick) = verified.compared_to {
                        let why = "it is called at each tick; what is pending then was not compared";
                        let id = structure.id;
                        lab.notes.push(format!("{id}: answers were compared up to tick {tick}: {why}"));
                    }
                    self.folds.push([verified.first, verified.fold]);
                    self.rows.push(Row {
                        structure,
                        total_ns: Vec::new(),
                        calls: [const { Vec::new() }; 4],
                        bytes: verified.bytes,
                        idle_wakes: wakes.idle_wakes,
                        late_ticks: wakes.late_ticks,
                        compared_ns: verified.ns,
                    });
                }
            }
        }
        leave_out("compared", late, left_out, lab);
        Ok(())
    }

    /// Times rounds of all operations, then single calls. With limits, the slowest structures are
    /// left out if the minimum number of rounds with all structures would take too long.
    fn time(&mut self, left_out: &mut Vec<LeftOut>, lab: &mut Lab<'_>) -> Result<(), LabError> {
        let (plan, meter) = (self.plan, self.meter);
        let begun = meter.now();
        if let Some(limits) = &self.limits {
            // The processor time that remains if other programs continue to use as much as they
            // have used so far.
            let [elapsed, used] =
                [begun.saturating_sub(self.begun[0]), meter.cpu().saturating_sub(self.begun[1])];
            let left = limits.rounds_until.saturating_sub(begun) as f64;
            let left = left * (used as f64 / elapsed.max(1) as f64).min(1.0);
            let costs: Vec<u64> = self.rows.iter().map(|row| row.compared_ns).collect();
            let fits = fitting(&costs, left as u64);
            let slow = self.rows.iter().zip(&fits).filter(|(_, fits)| !**fits).map(|(row, _)| row.structure);
            let slow = slow.collect();
            let (mut of_rows, mut of_folds) = (fits.iter(), fits.iter());
            self.rows.retain(|_| of_rows.next() == Some(&true));
            self.folds.retain(|_| of_folds.next() == Some(&true));
            leave_out("timed", slow, left_out, lab);
        }
        let lanes = self.rows.len();
        let structures: Vec<&'static Structure> = self.rows.iter().map(|row| row.structure).collect();
        let same = |lane: usize, which: usize, passed: &Passed| {
            let why = || {
                LabError::failed(format!(
                    "{} answered otherwise than when it was verified; no time of this run counts",
                    structures[lane].id
                ))
            };
            if passed.fold == self.folds[lane][which] { Ok(()) } else { Err(why()) }
        };
        let mut waste = vec![0; if plan.cold { WASTE } else { 0 }];
        let clock = if plan.cold { calibrate(&Processor(meter)).cost_ns as u64 } else { 0 };
        let mut progress = None;
        let more = || u128::from(meter.now().saturating_sub(begun)) <= plan.within.as_nanos();
        // The passes of the warm-up round and of the first counted round run even if they are late.
        let free = if self.limits.is_some_and(|limits| limits.always > 0) { 2 * lanes } else { 0 };
        let passes = Cell::new(0);
        let is_late = || passes.get() >= free && self.is_past(|limits| limits.rounds_until);
        let stop = || interrupt::requested() || is_late();
        let all = |take: &mut Take<'_>| self.steps.each(usize::MAX, take);
        let taken = Rounds::new(plan.rounds, plan.seed).run_until(lanes, more, stop, |turn| {
            let passed = self.pass(structures[turn.lane], Purpose::Time(clock, &mut waste), &all)?;
            same(turn.lane, 1, &passed)?;
            passes.set(passes.get() + 1);
            if turn.round == 0 && turn.is_last_of(lanes) {
                // The duration of the first round shows how many rounds there will be.
                let round = Duration::from_nanos(meter.now().saturating_sub(begun));
                let rounds = expected_rounds(round, plan.within, plan.rounds);
                progress = Some(Progress::steps((rounds * lanes) as u64, self.named("timing")));
            }
            progress.iter().for_each(Progress::step);
            Ok::<_, LabError>(passed.ns as f64)
        })?;
        drop(progress);
        let is_late = taken.interrupted && !interrupt::requested();
        lab.interrupted |= taken.interrupted && !is_late;
        for (row, samples) in self.rows.iter_mut().zip(taken.lanes()) {
            row.total_ns = samples;
        }
        let rounds = self.rows.first().map_or(0, |row| row.total_ns.len());
        if is_late && (rounds as u64) < FEWEST_ROUNDS {
            lab.notes.push(format!(
                "the time sufficed for {rounds} rounds: nothing can be shown below {FEWEST_ROUNDS}"
            ));
        }
        if lab.interrupted {
            return Ok(());
        }
        let pieces = self.called();
        let clock = calibrate(meter).cost_ns as u64;
        let progress = Progress::steps((lanes * CALL_ROUNDS) as u64, self.named("single calls"));
        let stop = || interrupt::requested() || self.is_past(|limits| limits.end);
        let first = |take: &mut Take<'_>| self.steps.each(pieces, take);
        let alone = Rounds::new(CALL_ROUNDS, plan.seed).without_warm_up();
        let taken = alone.clone().run_until(
            lanes,
            || true,
            stop,
            |turn| {
                progress.step();
                let passed = self.pass(structures[turn.lane], Purpose::Calls(clock, &mut waste), &first)?;
                same(turn.lane, 0, &passed)?;
                Ok::<_, LabError>(passed.calls)
            },
        )?;
        lab.interrupted |= taken.interrupted && interrupt::requested();
        for (row, rounds) in self.rows.iter_mut().zip(taken.lanes()) {
            for (kind, calls) in row.calls.iter_mut().enumerate() {
                calls.extend(rounds.iter().filter_map(|round| round[kind]));
            }
        }
        Ok(())
    }
}

/// Returns the number of pieces that contain the first `operations`.
fn pieces(kept: &[Tape], operations: u64) -> usize {
    let mut sum = 0;
    let is_before = |piece: &&Tape| {
        let before = sum < operations;
        sum += piece.operations();
        before
    };
    kept.iter().take_while(is_before).count()
}

/// Returns which structures run, given the time of one pass of each. The fastest structures run: as
/// many of them as can complete the minimum number of rounds within `left` ns in total. The first
/// structure, which the program uses today, and the fastest other structure always run.
fn fitting(costs: &[u64], left: u64) -> Vec<bool> {
    let mut order: Vec<usize> = (1..costs.len()).collect();
    order.sort_by_key(|at| costs[*at]);
    let mut fits = vec![false; costs.len()];
    let mut sum = 0_u64;
    for (place, at) in core::iter::once(0).chain(order).enumerate().filter(|(_, at)| *at < costs.len()) {
        sum = sum.saturating_add(costs[at].saturating_mul(FEWEST_ROUNDS + 1));
        fits[at] = place < 2 || sum <= left;
    }
    fits
}

/// Returns the expected number of rounds, including one warm-up round, if a round takes `round`.
fn expected_rounds(round: Duration, within: Duration, most: usize) -> usize {
    let fit = within.as_nanos() / round.as_nanos().max(1) + 1;
    usize::try_from(fit).unwrap_or(usize::MAX).max(FEWEST_ROUNDS as usize + 1).min(most + 1)
}

/// Notes the structures for which there was not enough time.
fn leave_out(what: &str, late: Vec<&'static Structure>, left_out: &mut Vec<LeftOut>, lab: &mut Lab<'_>) {
    if late.is_empty() {
        return;
    }
    let ids: Vec<&str> = late.iter().map(|structure| structure.id).collect();
    lab.notes.push(format!("not {what}, for lack of time: {}", ids.join(", ")));
    let why = format!("it was not {what}");
    let late = late.into_iter();
    left_out.extend(late.map(|structure| LeftOut {
        structure,
        why: why.clone(),
        is_able: true,
        is_late: true,
    }));
}

/// A replay that will take longer than this prints a warning after the comparison of the first
/// structure.
const LONG: Duration = Duration::from_secs(60);

/// If a replay will take longer than [`LONG`], returns how long it will take and how to shorten it.
/// The three times are: comparing the answers of one structure, decoding once, and the value of
/// `--within`.
fn long([one, decoding, within]: [Duration; 3], structures: usize, is_kept: bool) -> Option<String> {
    // If the operations are not kept, each later pass decodes them again: the minimum number of
    // rounds, the warm-up round, and the rounds that time single calls.
    let again = if is_kept { 0 } else { FEWEST_ROUNDS as usize + 1 + CALL_ROUNDS };
    let times = |one: Duration, count: usize| one.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let compared = times(one, structures);
    let all = compared.saturating_add(times(decoding, again * structures)).saturating_add(within);
    let span = |time: Duration| Format::Span.write(time.as_nanos() as f64);
    (all > LONG).then(|| {
        format!(
            "about {}: {} to compare the answers of {structures} structures, which --within does not \
             bound; fewer --structures, or one --base, take less",
            span(all),
            span(compared)
        )
    })
}

/// The part of a trace that was decoded.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// The number of events, over all copies.
    events: u64,
    /// The time from the first event to the last, in ns.
    span_ns: u64,
    /// Whether decoding stopped before the end of the trace because it had enough operations.
    is_cut: bool,
}

/// The operations of a plan.
struct Steps<'p> {
    input: &'p Input,
    tick_ns: u64,
    scale: u32,
    /// The shifts of the copies are spread over this time, in ns.
    spread: i64,
    piece: usize,
    kept: Option<Vec<Tape>>,
    /// At most this many operations are decoded, not counting those that fill the queue.
    most: u64,
    /// Decoding ends with an error after this time.
    until: Option<u64>,
    meter: &'p dyn Meter,
    /// See [`Data::untimed`].
    untimed: [u64; 4],
    /// See [`Data::initial`].
    initial: u64,
}

impl<'p> Steps<'p> {
    fn of(
        plan: &'p Plan,
        limits: Option<Limits>,
        tick_ns: u64,
        profile: &Profile,
        meter: &'p dyn Meter,
    ) -> Self {
        let piece = if plan.cold { COLD_PIECE } else { PIECE };
        // The shifts of the copies span one second, or a quarter of the trace if that is shorter.
        let spread = i64::try_from(profile.span_ns / 4).unwrap_or(i64::MAX).min(1_000_000_000);
        Self {
            input: &plan.input,
            tick_ns,
            scale: plan.scale,
            spread,
            piece,
            kept: None,
            most: limits.map_or(u64::MAX, |limits| limits.operations),
            // If no structure has to run regardless of the time, decoding also obeys the time limit
            // of the comparison.
            until: limits.filter(|limits| limits.always == 0).map(|limits| limits.compare_until),
            meter,
            untimed: [0; 4],
            initial: 0,
        }
    }

    /// Decodes once: counts operations, and keeps them unless there are too many. Finds the
    /// operations that are not timed. Also returns which part of the trace was decoded.
    fn count(&mut self) -> Result<(Counts, Part), LabError> {
        if self.input.begins_full() {
            (self.untimed, self.initial) = self.filling()?;
            self.most = self.most.saturating_add(self.untimed.iter().sum());
        }
        let mut kept = Some(Vec::new());
        let mut all = 0;
        let (counts, part) = self.decode(&mut |chunk| {
            all += chunk.steps.len() as u64;
            if all > KEPT {
                kept = None;
            }
            if let Some(kept) = &mut kept {
                kept.push(chunk.clone());
            }
            Ok(())
        })?;
        self.kept = kept;
        if self.untimed.iter().sum::<u64>() >= counts.operations() {
            // The trace has no other operations, so filling the queue is the work to time.
            (self.untimed, self.initial) = ([0; 4], 0);
        }
        Ok((counts, part))
    }

    /// Returns the number of operations, by kind, up to the last arm with which a copy begins. Also
    /// returns the number of arms with which copies begin.
    fn filling(&self) -> Result<([u64; 4], u64), LabError> {
        let mut decoder = Decoder::new(self.tick_ns);
        let mut begins: HashMap<u32, i64> = HashMap::new();
        let (mut untimed, mut initial, mut first) = ([0; 4], 0, None);
        self.input.superposed(self.scale, self.spread, &mut |copy, event| {
            decoder.push(copy, event, &mut |_| ControlFlow::Continue(()));
            let begin = *begins.entry(copy).or_insert(event.time);
            if event.time == begin && matches!(event.what, What::Arm { .. }) {
                untimed = decoder.counts().kinds;
                initial += 1;
            }
            // The last copy begins at most `spread` ns after the first. Until the last copy begins,
            // the other copies fill the queue.
            let first = *first.get_or_insert(event.time);
            let is_over = event.time > first.saturating_add(self.spread);
            if is_over || self.in_time().is_err() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok((untimed, initial))
    }

    /// Returns an error if a signal arrived or no time is left.
    fn in_time(&self) -> Result<(), LabError> {
        let is_late = self.until.is_some_and(|until| self.meter.now() > until);
        if is_late || interrupt::requested() { Err(LabError::Interrupted) } else { Ok(()) }
    }

    /// Passes the first pieces to `take`. If operations are not kept in memory, passes all pieces.
    fn each(&self, pieces: usize, take: &mut Take<'_>) -> Result<(), LabError> {
        match &self.kept {
            Some(kept) => kept.iter().take(pieces).try_for_each(take),
            None => self.decode(take).map(drop),
        }
    }

    /// Decodes the trace and passes the pieces to `take`. Ends at the first error, at a signal, or
    /// when there are enough operations.
    fn decode(&self, take: &mut Take<'_>) -> Result<(Counts, Part), LabError> {
        let mut decoder = Decoder::new(self.tick_ns);
        let mut chunk = Tape::of(Vec::with_capacity(self.piece));
        let mut done = Ok(());
        // A piece ends with an operation. The last of the operations that are not timed also ends a
        // piece.
        let mut untimed: u64 = self.untimed.iter().sum();
        let mut here = 0;
        let mut put = |step: Step| {
            chunk.steps.push(step);
            if !step.is_operation() {
                return ControlFlow::Continue(());
            }
            here += 1;
            let is_last = untimed == 1;
            untimed = untimed.saturating_sub(1);
            if here < self.piece && !is_last {
                return ControlFlow::Continue(());
            }
            here = 0;
            done = self.in_time().and_then(|()| take(&chunk));
            chunk.steps.clear();
            if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let (mut stopped, mut begun, mut part) = (false, None, Part::default());
        self.input.superposed(self.scale, self.spread, &mut |copy, event| {
            let mut put = |step| {
                let flow = put(step);
                stopped |= flow.is_break();
                flow
            };
            decoder.push(copy, event, &mut put);
            let begun = *begun.get_or_insert(event.time);
            part.events += 1;
            part.span_ns = part.span_ns.max(event.time.saturating_sub(begun).unsigned_abs());
            part.is_cut = decoder.counts().operations() >= self.most;
            if stopped || part.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        done?;
        take(&chunk)?;
        Ok((decoder.counts(), part))
    }
}

/// Returns the tick of the selected queues if they have one. Otherwise returns the largest power of
/// ten, from a microsecond to a millisecond, that is at most a tenth of the shortest delays.
fn suitable_tick(input: &Input, profile: &Profile) -> u64 {
    let fits = |tick: &u64| *tick <= profile.delays.p1 / 10;
    let power = || [1_000_000, 100_000, 10_000].into_iter().find(fits).unwrap_or(1000);
    input.tick_ns().unwrap_or_else(power)
}

/// Returns the structures that can run the workload. The other structures are noted with the
/// reason.
fn able(
    plan: &Plan,
    counts: &Counts,
    without: &mut Vec<LeftOut>,
    lab: &mut Lab<'_>,
) -> Result<Vec<&'static Structure>, LabError> {
    let mut left_out: Vec<(String, Vec<&str>)> = Vec::new();
    let mut able = Vec::new();
    for &structure in &plan.structures {
        let horizon = registry::facts(structure).horizon;
        let population = counts.most as usize;
        let would_take_long = structure.sensible.is_some_and(|sensible| population > sensible.most);
        let why = match registry::why_not(structure, population)? {
            Some(why) => Some((why, would_take_long)),
            None if counts.longest > horizon => {
                Some(("the longest delay is beyond its horizon".to_owned(), false))
            }
            None if PER_TICK.contains(&structure.id) && counts.ticks > MOST_TICKS => {
                Some((format!("it is called at each tick, and there are {} ticks", counts.ticks), true))
            }
            None => None,
        };
        let Some((why, is_able)) = why else {
            able.push(structure);
            continue;
        };
        match left_out.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(structure.id),
            None => left_out.push((why.clone(), vec![structure.id])),
        }
        without.push(LeftOut { structure, why, is_able, is_late: false });
    }
    lab.notes.extend(left_out.into_iter().map(|(why, ids)| format!("not run: {}: {why}", ids.join(", "))));
    if able.is_empty() {
        return Err(LabError::usage("no structure can run this workload: name others with --structures"));
    }
    Ok(able)
}

/// Other crates' structures that do work at each tick, whether a timer is due or not.
const PER_TICK: [&str; 3] = ["hash-wheel", "nexus-timer", "delay-queue"];

/// Returns the last tick to which a structure is advanced when its answers are compared.
fn end_of(structure: &Structure, counts: &Counts) -> u64 {
    let is_called_per_tick = PER_TICK.contains(&structure.id);
    if is_called_per_tick { counts.ticks.saturating_add(MOST_TICKS_AT_END) } else { u64::MAX }
}

#[cfg(test)]
mod tests;
