//! Decodes a workload, then runs it on every structure.

use core::mem;

use tickwright_trace::{Header, Profile};

use super::data::{Data, Plan, Row};
use super::pass::{Feed, Pass, Passed, Purpose};
use crate::clock::calibrate;
use crate::error::LabError;
use crate::experiment::Lab;
use crate::output::table::count;
use crate::progress::Progress;
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

/// So many operations are kept in memory (16 bytes each). A longer trace is decoded in each pass.
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
    let tick_ns = plan.tick_ns.unwrap_or_else(|| suitable_tick(&found.header, &profile));
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
    let mut right = Vec::new();
    for &structure in &structures {
        if interrupt::requested() {
            lab.interrupted = true;
            return Ok(data);
        }
        progress.doing(format!("{}: answers", structure.id));
        let verified = pass(structure, Purpose::Verify)?;
        let Passed { idle_wakes, late_ticks, .. } = pass(structure, Purpose::Wakes)?;
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
        let passed = pass(structures[turn.lane], Purpose::Calls(clock))?;
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
        let mut decoder = Decoder::new(self.tick_ns);
        let mut chunk = Chunk::default();
        let mut wrong = Ok(());
        let piece = self.piece;
        let mut cut = |chunk: &mut Chunk, wrong: &mut Result<(), LabError>| {
            let mut rest: Vec<Step> = mem::take(&mut chunk.0);
            while !rest.is_empty() && wrong.is_ok() {
                let more = rest.split_off(rest.len().min(piece));
                *wrong = take(&Chunk(mem::replace(&mut rest, more)));
            }
        };
        self.input.superposed(self.scale, self.spread, |copy, event| {
            decoder.push(copy, event, &mut chunk.0);
            if chunk.0.len() >= piece {
                cut(&mut chunk, &mut wrong);
            }
        })?;
        cut(&mut chunk, &mut wrong);
        wrong.map(|()| decoder.counts())
    }
}

/// The tick of a trace: that of its queues if they have one tick; else the power of ten, from a
/// microsecond to a millisecond, that is at most a tenth of the shortest delays.
fn suitable_tick(header: &Header, profile: &Profile) -> u64 {
    let mut ticks = header.bases.iter().map(|base| base.tick_ns);
    match ticks.next() {
        Some(tick) if tick >= 1000 && ticks.all(|other| other == tick) => tick,
        _ => [1_000_000, 100_000, 10_000]
            .into_iter()
            .find(|tick| *tick <= profile.delays.p1 / 10)
            .unwrap_or(1000),
    }
}

/// The structures that can run the workload. The others are noted with the reason.
fn able(plan: &Plan, counts: &Counts, lab: &mut Lab<'_>) -> Result<Vec<&'static Structure>, LabError> {
    let mut left_out: Vec<(String, Vec<&str>)> = Vec::new();
    let mut able = Vec::new();
    for &structure in &plan.structures {
        let horizon = registry::visit(structure, Horizon);
        let why = match registry::why_not(structure, counts.ids as usize)? {
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
