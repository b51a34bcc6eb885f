//! Decodes a workload, then runs it on every structure.

use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::HashMap;

use tickwright_trace::{Profile, What};

use super::data::{Data, LeftOut, Plan, Row};
use super::pass::{Feed, Pass, Passed, Purpose};
use crate::clock::calibrate;
use crate::error::LabError;
use crate::experiment::Lab;
use crate::output::table::count;
use crate::progress::Progress;
use crate::render::Format;
use crate::rounds::Rounds;
use crate::stats::FEWEST_ROUNDS;
use crate::structures::registry::{self, Structure};
use crate::traces::decode::{Counts, Decoder};
use crate::traces::input::Input;
use crate::traces::steps::{Chunk, Step};
use crate::{allocator, interrupt};

/// The number of operations in a piece.
const PIECE: usize = 1 << 14;

/// The number of operations in a piece when caches are overwritten before each piece.
const COLD_PIECE: usize = 64;

/// This many operations are kept in memory (16 bytes each). A longer trace is decoded in each pass.
const KEPT: u64 = 1 << 22;

/// Bytes that are overwritten between pieces: more than a last-level cache usually has for a core.
const WASTE: usize = 32 << 20;

/// Rounds in which each operation is timed alone.
const CALL_ROUNDS: usize = 5;

/// A structure that is called at each tick is left out above this number of ticks.
const MOST_TICKS: u64 = 20_000_000;

/// A structure that is called at each tick is advanced at most so far beyond the last operation.
const MOST_TICKS_AT_END: u64 = 2_000_000;

/// Runs a replay.
///
/// # Errors
/// Returns that the trace cannot be read, the first wrong answer, or that the system refuses
/// memory. An interruption is noted in `lab`.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let (profile, found) = plan.input.describe(plan.tick_ns.unwrap_or(0))?;
    lab.notes.extend(found.notes);
    let tick_ns = plan.tick_ns.unwrap_or_else(|| suitable_tick(&plan.input, &profile));
    let mut steps = Steps::of(plan, tick_ns, &profile);
    let decoding = lab.meter.now();
    let counts = steps.count()?;
    let decoding = Duration::from_nanos(lab.meter.now().saturating_sub(decoding));
    let (unseen, waits_alone) = (found.header.unseen, found.waits_alone);
    let (untimed, initial) = (steps.untimed, steps.initial);
    let scale = plan.scale;
    let mut data =
        Data { profile, unseen, waits_alone, counts, untimed, initial, tick_ns, scale, ..Data::default() };
    if counts.operations() == 0 {
        return Err(LabError::usage(format!("{} has no operation that can be replayed", plan.input.name())));
    }
    let structures = able(plan, &counts, &mut data.left_out, lab)?;
    let capacity = counts.ids as usize;
    let biggest = structures.iter().map(|structure| registry::bytes_per_timer(structure)).max();
    allocator::room(
        biggest.unwrap_or(0).saturating_mul(capacity),
        &format!("a replay with {} timers", count(capacity)),
    )?;
    let passes = structures.len() * (2 + plan.rounds + 1 + CALL_ROUNDS);
    let progress = Progress::steps(passes as u64, "replay");
    if let Some(words) = long(decoding, structures.len(), steps.kept.is_some(), plan.within) {
        progress.say(&format!("tickwright: {words}"));
    }
    let untimed = untimed.iter().sum();
    let feed = |take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>| steps.each(take);
    let clock = calibrate(lab.meter).cost_ns as u64;
    let mut waste = vec![0; if plan.cold { WASTE } else { 0 }];
    let meter = lab.meter;
    let pass = |structure: &'static Structure, purpose: Purpose<'_>| {
        progress.step();
        let feed: &Feed<'_> = &feed;
        registry::visit(structure, Pass { feed, capacity, untimed, purpose, meter })
    };
    if steps.kept.is_none() {
        let many = Format::Thousands.write(counts.operations() as f64);
        lab.notes.push(format!(
            "{many} operations do not stay in memory: they are decoded between pieces, which cools caches"
        ));
    }
    let mut right = Vec::new();
    for &structure in &structures {
        if interrupt::requested() {
            lab.interrupted = true;
            return Ok(data);
        }
        progress.doing(format!("{}: answers", structure.id));
        let answers = pass(structure, Purpose::Verify(end_of(structure, &counts))).and_then(|verified| {
            let take = |take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>| {
                steps.decode_by(Decoder::new(tick_ns).with_times(), take).map(drop)
            };
            progress.step();
            let wakes = Pass { feed: &take, capacity, untimed, purpose: Purpose::Wakes, meter };
            Ok((verified, registry::visit(structure, wakes)?))
        });
        let Some((verified, wakes)) = unless_interrupted(answers, lab)? else { return Ok(data) };
        let Passed { idle_wakes, late_ticks, .. } = wakes;
        right.push(verified.fold);
        if let Some(tick) = verified.compared_to {
            let why = "it is called at each tick; what is pending then was not compared";
            lab.notes.push(format!("{}: answers were compared up to tick {tick}: {why}", structure.id));
        }
        let calls = [const { Vec::new() }; 4];
        let bytes = verified.bytes;
        data.rows.push(Row { structure, total_ns: Vec::new(), calls, bytes, idle_wakes, late_ticks });
    }
    let same = |lane: usize, passed: &Passed| {
        let id = structures[lane].id;
        let why = || {
            LabError::failed(format!(
                "{id} answered otherwise than when it was verified; no time of this run counts"
            ))
        };
        if passed.fold == right[lane] { Ok(()) } else { Err(why()) }
    };
    progress.doing("times");
    let begun = meter.now();
    let more = || u128::from(meter.now().saturating_sub(begun)) <= plan.within.as_nanos();
    let taken = Rounds::new(plan.rounds, plan.seed).run_while(structures.len(), more, |turn| {
        let purpose = if plan.cold { Purpose::Cold(&mut waste) } else { Purpose::Time };
        let passed = pass(structures[turn.lane], purpose)?;
        same(turn.lane, &passed)?;
        Ok::<_, LabError>(passed.ns as f64)
    });
    let Some(taken) = unless_interrupted(taken, lab)? else { return Ok(data) };
    lab.interrupted |= taken.interrupted;
    for (row, samples) in data.rows.iter_mut().zip(taken.lanes()) {
        row.total_ns = samples;
    }
    progress.doing("single calls");
    let alone = Rounds::new(CALL_ROUNDS, plan.seed).without_warm_up();
    let taken = alone.clone().run(structures.len(), |turn| {
        let passed = pass(structures[turn.lane], Purpose::Calls(clock, &mut waste))?;
        same(turn.lane, &passed)?;
        Ok::<_, LabError>(passed.calls)
    });
    let Some(taken) = unless_interrupted(taken, lab)? else { return Ok(data) };
    lab.interrupted |= taken.interrupted;
    for (row, rounds) in data.rows.iter_mut().zip(taken.lanes()) {
        for (kind, calls) in row.calls.iter_mut().enumerate() {
            calls.extend(rounds.iter().filter_map(|round| round[kind]));
        }
    }
    Ok(data)
}

/// A replay that takes longer says so before it begins.
const LONG: Duration = Duration::from_secs(60);

/// How long a replay takes that [`LONG`] does not suffice for, and how to shorten it. The judge of
/// one structure decodes nothing, but answers each operation as decoding does: two passes over it
/// take about twice the time of `decoding`.
fn long(decoding: Duration, structures: usize, is_kept: bool, within: Duration) -> Option<String> {
    // Each later pass decodes again if the operations are not kept: the fewest rounds, one that
    // warms up, and those of single calls.
    let again = if is_kept { 0 } else { FEWEST_ROUNDS as usize + 1 + CALL_ROUNDS };
    let times =
        |passes: usize| decoding.saturating_mul(u32::try_from(passes * structures).unwrap_or(u32::MAX));
    let (compared, all) = (times(2), times(2 + again).saturating_add(within));
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

/// An interruption while a trace was decoded ends the run; it is no error.
fn unless_interrupted<T>(taken: Result<T, LabError>, lab: &mut Lab<'_>) -> Result<Option<T>, LabError> {
    match taken {
        Err(LabError::Interrupted) => {
            lab.interrupted = true;
            Ok(None)
        }
        taken => taken.map(Some),
    }
}

/// The operations of a plan.
struct Steps<'p> {
    input: &'p Input,
    tick_ns: u64,
    scale: u32,
    /// Copies are shifted over this time, in ns.
    spread: i64,
    piece: usize,
    kept: Option<Vec<Chunk>>,
    /// See [`Data::untimed`].
    untimed: [u64; 4],
    /// See [`Data::initial`].
    initial: u64,
}

impl<'p> Steps<'p> {
    fn of(plan: &'p Plan, tick_ns: u64, profile: &Profile) -> Self {
        let piece = if plan.cold { COLD_PIECE } else { PIECE };
        // Copies are shifted by a second altogether, or by a quarter of a shorter trace.
        let spread = i64::try_from(profile.span_ns / 4).unwrap_or(i64::MAX).min(1_000_000_000);
        Self {
            input: &plan.input,
            tick_ns,
            scale: plan.scale,
            spread,
            piece,
            kept: None,
            untimed: [0; 4],
            initial: 0,
        }
    }

    /// Decodes once: counts operations, and keeps them unless there are too many. Finds those that
    /// are not timed.
    fn count(&mut self) -> Result<Counts, LabError> {
        let mut kept = Some(Vec::new());
        let mut all = 0;
        let counts = self.decode(&mut |chunk| {
            all += chunk.0.len() as u64;
            if all > KEPT {
                kept = None;
            }
            if let Some(kept) = &mut kept {
                kept.push(chunk.clone());
            }
            Ok(())
        })?;
        self.kept = kept;
        if self.input.begins_full() {
            (self.untimed, self.initial) = self.filling()?;
        }
        let untimed = self.untimed.iter().sum();
        if untimed >= counts.operations() {
            // Nothing else happens: filling is the work.
            (self.untimed, self.initial) = ([0; 4], 0);
        } else if let Some(kept) = &mut self.kept {
            split(kept, untimed);
        }
        Ok(counts)
    }

    /// The operations up to the last arm with which a copy begins, by kind; and the number of those
    /// arms.
    fn filling(&self) -> Result<([u64; 4], u64), LabError> {
        let mut decoder = Decoder::new(self.tick_ns);
        let mut begins: HashMap<u32, i64> = HashMap::new();
        let (mut untimed, mut initial) = ([0; 4], 0);
        self.input.superposed(self.scale, self.spread, |copy, event| {
            decoder.push(copy, event, &mut |_| ControlFlow::Continue(()));
            let begin = *begins.entry(copy).or_insert(event.time);
            if event.time == begin && matches!(event.what, What::Arm { .. }) {
                untimed = decoder.counts().kinds;
                initial += 1;
            }
            // The last copy begins at most `spread` ns after the first. Until then the queue fills
            // from the other copies.
            if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((untimed, initial))
    }

    fn each(&self, take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>) -> Result<(), LabError> {
        match &self.kept {
            Some(kept) => kept.iter().try_for_each(take),
            None => self.decode(take).map(drop),
        }
    }

    fn decode(&self, take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>) -> Result<Counts, LabError> {
        self.decode_by(Decoder::new(self.tick_ns), take)
    }

    /// Decodes with a decoder, and hands out pieces. Ends at the first error, and at a signal.
    fn decode_by(
        &self,
        mut decoder: Decoder,
        take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>,
    ) -> Result<Counts, LabError> {
        let mut chunk = Chunk(Vec::with_capacity(self.piece));
        let mut done = Ok(());
        // A piece ends with the operations that are not timed.
        let mut untimed: u64 = self.untimed.iter().sum();
        let mut put = |step: Step| {
            chunk.0.push(step);
            let is_last = untimed == 1;
            untimed = untimed.saturating_sub(1);
            if chunk.0.len() < self.piece && !is_last {
                return ControlFlow::Continue(());
            }
            done = if interrupt::requested() { Err(LabError::Interrupted) } else { take(&chunk) };
            chunk.0.clear();
            if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let mut stopped = false;
        self.input.superposed(self.scale, self.spread, |copy, event| {
            let mut put = |step| {
                let flow = put(step);
                stopped |= flow.is_break();
                flow
            };
            decoder.push(copy, event, &mut put);
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        done?;
        take(&chunk)?;
        Ok(decoder.counts())
    }
}

/// Makes a piece end after the first `untimed` operations.
fn split(kept: &mut Vec<Chunk>, untimed: u64) {
    let mut left = usize::try_from(untimed).unwrap_or(usize::MAX);
    for at in 0..kept.len() {
        let here = kept[at].0.len();
        if left < here {
            if left > 0 {
                let rest = kept[at].0.split_off(left);
                kept.insert(at + 1, Chunk(rest));
            }
            return;
        }
        left -= here;
    }
}

/// The tick of the selected queues if they have one. Otherwise the power of ten, from a microsecond
/// to a millisecond, that is at most a tenth of the shortest delays.
pub(crate) fn suitable_tick(input: &Input, profile: &Profile) -> u64 {
    let fits = |tick: &u64| *tick <= profile.delays.p1 / 10;
    let power = || [1_000_000, 100_000, 10_000].into_iter().find(fits).unwrap_or(1000);
    input.tick_ns().unwrap_or_else(power)
}

/// The structures that can run the workload. The others are noted with the reason.
fn able(
    plan: &Plan,
    counts: &Counts,
    without: &mut Vec<LeftOut>,
    lab: &mut Lab<'_>,
) -> Result<Vec<&'static Structure>, LabError> {
    let mut left_out: Vec<(String, Vec<&str>)> = Vec::new();
    let mut able = Vec::new();
    for &structure in &plan.structures {
        let horizon = registry::horizon(structure);
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
        without.push(LeftOut { structure, why, is_able });
    }
    lab.notes.extend(left_out.into_iter().map(|(why, ids)| format!("not run: {}: {why}", ids.join(", "))));
    if able.is_empty() {
        return Err(LabError::usage("no structure can run this workload: name others with --structures"));
    }
    Ok(able)
}

/// Structures of others that do work at each tick, whether a timer is due or not.
const PER_TICK: [&str; 3] = ["hash-wheel", "nexus-timer", "delay-queue"];

/// The last tick to which a structure is advanced when its answers are compared.
fn end_of(structure: &Structure, counts: &Counts) -> u64 {
    let is_called_per_tick = PER_TICK.contains(&structure.id);
    if is_called_per_tick { counts.ticks.saturating_add(MOST_TICKS_AT_END) } else { u64::MAX }
}

#[cfg(test)]
mod tests;
