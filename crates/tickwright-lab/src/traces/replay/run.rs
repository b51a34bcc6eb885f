//! Decodes a workload, then runs it on every structure.

use core::ops::ControlFlow;

use tickwright_trace::Profile;

use super::data::{Data, Plan, Row};
use super::pass::{Feed, Pass, Passed, Purpose};
use crate::clock::calibrate;
use crate::error::LabError;
use crate::experiment::Lab;
use crate::output::table::count;
use crate::progress::Progress;
use crate::render::Format;
use crate::rounds::Rounds;
use crate::structures::candidate::Candidate;
use crate::structures::registry::{self, Structure, Visitor};
use crate::traces::decode::{Counts, Decoder};
use crate::traces::input::Input;
use crate::traces::steps::{Chunk, Step};
use crate::{allocator, interrupt};

/// Operations of a piece.
const PIECE: usize = 1 << 14;

/// Operations of a piece when caches are overwritten before each.
const COLD_PIECE: usize = 64;

/// This many operations are kept in memory (16 bytes each). A longer trace is decoded in each pass.
const KEPT: u64 = 1 << 22;

/// Bytes that are overwritten between pieces: more than a last-level cache usually has for a core.
const WASTE: usize = 32 << 20;

/// Rounds in which each operation is timed alone.
const CALL_ROUNDS: usize = 5;

/// A structure that is called at each tick is left out above this number of ticks.
const MOST_TICKS: u64 = 20_000_000;

/// Runs a replay.
///
/// # Errors
/// The trace cannot be read; the first wrong answer; memory that the system refuses. An
/// interruption is noted in `lab`.
pub(crate) fn run(plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
    let (profile, found) = plan.input.describe(plan.tick_ns.unwrap_or(0))?;
    lab.notes.extend(found.notes);
    let tick_ns = plan.tick_ns.unwrap_or_else(|| suitable_tick(&plan.input, &profile));
    let mut steps = Steps::of(plan, tick_ns, &profile);
    let counts = steps.count()?;
    let mut data =
        Data { profile, unseen: found.header.unseen, counts, tick_ns, scale: plan.scale, rows: Vec::new() };
    if counts.operations() == 0 {
        return Err(LabError::usage(format!("{} has no operation that can be replayed", plan.input.name())));
    }
    let structures = able(plan, &counts, lab)?;
    let capacity = counts.ids as usize;
    let biggest = structures.iter().map(|structure| registry::bytes_per_timer(structure)).max();
    allocator::room(
        biggest.unwrap_or(0).saturating_mul(capacity),
        &format!("a replay with {} timers", count(capacity)),
    )?;
    let passes = structures.len() * (2 + plan.rounds + 1 + CALL_ROUNDS);
    let progress = Progress::steps(passes as u64, "replay");
    let feed = |take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>| steps.each(take);
    let clock = calibrate(lab.meter).cost_ns as u64;
    let mut waste = vec![0; if plan.cold { WASTE } else { 0 }];
    let meter = lab.meter;
    let pass = |structure: &'static Structure, purpose: Purpose<'_>| {
        progress.step();
        let feed: &Feed<'_> = &feed;
        registry::visit(structure, Pass { feed, capacity, purpose, meter })
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
        let answers = pass(structure, Purpose::Verify).and_then(|verified| {
            let take = |take: &mut dyn FnMut(&Chunk) -> Result<(), LabError>| {
                steps.decode_by(Decoder::new(tick_ns).with_times(), take).map(drop)
            };
            progress.step();
            let wakes = Pass { feed: &take, capacity, purpose: Purpose::Wakes, meter };
            Ok((verified, registry::visit(structure, wakes)?))
        });
        let Some((verified, wakes)) = unless_interrupted(answers, lab)? else { return Ok(data) };
        let Passed { idle_wakes, late_ticks, .. } = wakes;
        right.push(verified.fold);
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
}

impl<'p> Steps<'p> {
    fn of(plan: &'p Plan, tick_ns: u64, profile: &Profile) -> Self {
        let piece = if plan.cold { COLD_PIECE } else { PIECE };
        // Copies are shifted by a second altogether, or by a quarter of a shorter trace.
        let spread = i64::try_from(profile.span_ns / 4).unwrap_or(i64::MAX).min(1_000_000_000);
        Self { input: &plan.input, tick_ns, scale: plan.scale, spread, piece, kept: None }
    }

    /// Decodes once: counts operations, and keeps them unless there are too many.
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
        Ok(counts)
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
        let mut put = |step: Step| {
            chunk.0.push(step);
            if chunk.0.len() < self.piece {
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

/// The tick of the selected queues if they have one. Otherwise the power of ten, from a microsecond
/// to a millisecond, that is at most a tenth of the shortest delays.
pub(crate) fn suitable_tick(input: &Input, profile: &Profile) -> u64 {
    let fits = |tick: &u64| *tick <= profile.delays.p1 / 10;
    let power = || [1_000_000, 100_000, 10_000].into_iter().find(fits).unwrap_or(1000);
    input.tick_ns().unwrap_or_else(power)
}

/// The structures that can run the workload. The others are noted with the reason.
fn able(plan: &Plan, counts: &Counts, lab: &mut Lab<'_>) -> Result<Vec<&'static Structure>, LabError> {
    let mut left_out: Vec<(String, Vec<&str>)> = Vec::new();
    let mut able = Vec::new();
    for &structure in &plan.structures {
        let horizon = registry::visit(structure, Horizon);
        let why = match registry::why_not(structure, counts.most as usize)? {
            Some(why) => Some(why),
            None if counts.longest > horizon => Some("the longest delay is beyond its horizon".to_owned()),
            None if PER_TICK.contains(&structure.id) && counts.ticks > MOST_TICKS => {
                Some(format!("it is called at each tick, and there are {} ticks", counts.ticks))
            }
            None => None,
        };
        match why {
            None => able.push(structure),
            Some(why) => match left_out.iter_mut().find(|(known, _)| *known == why) {
                Some((_, ids)) => ids.push(structure.id),
                None => left_out.push((why, vec![structure.id])),
            },
        }
    }
    lab.notes.extend(left_out.into_iter().map(|(why, ids)| format!("not run: {}: {why}", ids.join(", "))));
    if able.is_empty() {
        return Err(LabError::usage("no structure can run this workload: name others with --structures"));
    }
    Ok(able)
}

/// Structures of others that do work at each tick, whether a timer is due or not.
const PER_TICK: [&str; 3] = ["hash-wheel", "nexus-timer", "delay-queue"];

struct Horizon;

impl Visitor for Horizon {
    type Out = u64;

    fn visit<C: Candidate>(self, _: &'static Structure) -> u64 {
        C::HORIZON
    }
}
