//! The whole run: structures take turns in slices, in random order.

use core::time::Duration;
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::clock::System;
use super::hdr::Log;
use super::lane::Lane;
use super::lines::{self, Lines};
use super::load::Generator;
use super::overhead::Overhead;
use super::plan::Plan;
use super::rights::Granted;
use super::slice::{Drive, Seen};
use crate::error::LabError;
use crate::host::Host;
use crate::interrupt;
use crate::output;
use crate::structures::registry;

/// What came of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    /// One per structure, in the order asked for.
    pub(super) lanes: Vec<Lane>,
    /// What was not as asked.
    pub(super) notes: Vec<String>,
    /// As it was before the first turn, with this run's timer slack.
    pub(super) host: Host,
    /// Priority under SCHED_FIFO that was granted; 0 for none.
    pub(super) priority: u8,
    pub(super) overhead: Overhead,
    pub(super) hdr: Log,
    /// Processor time of the measuring thread, warm-up included, and how long it took.
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    pub(super) interrupted: bool,
}

/// Runs the plan; with `lines`, tells how it goes.
///
/// # Errors
/// A structure whose answers are wrong; a load that cannot be started.
pub(super) fn run(plan: &Plan, lines: bool) -> Result<Outcome, LabError> {
    let turn = plan.turn();
    let bucket = u64::try_from(plan.bucket.as_nanos()).unwrap_or(u64::MAX);
    let mut lanes: Vec<Lane> = plan.structures.iter().map(|s| Lane::new(s, plan.cells, bucket)).collect();
    let mut seen = Seen::new(turn.points);
    let mut host = System::new(plan.clock, plan.driver)?;
    let mut notes = plan.notes.clone();
    // Before the privileges, which it would inherit.
    let load = (!plan.load.is_empty()).then(|| Generator::start(&plan.load, plan.duration)).transpose()?;
    let (granted, refused) = Granted::ask(plan.wish());
    notes.extend(refused);
    let facts = Host::read();
    let overhead = Overhead::measure(&mut host);
    if lines {
        output::print(&lines::opening(plan, granted.priority))?;
    }
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    let mut random = Pcg64Mcg::seed_from_u64(plan.seed);
    let mut hdr = Log::start();
    let mut told = Lines::default();
    let (began, cpu_before) = (Instant::now(), thread_cpu());
    let (mut last_line, mut next_line) = (began, 0);
    'rounds: for round in 0..plan.rounds() {
        order.shuffle(&mut random);
        for &at in &order {
            let lane = &mut lanes[at];
            let since = began.elapsed();
            let drive = Drive { turn, host: &mut host, seen: &mut seen, stop: &interrupt::requested };
            registry::visit(lane.structure, drive)?;
            // What the first turns saw is thrown away, but not a figure of a run that ends in them.
            if round > 0 {
                lane.add(&seen);
                hdr.add(lane.structure.id, since, began.elapsed(), &seen.lateness);
                if lines {
                    for gap in &seen.gaps {
                        output::print(&lines::gap(lane.structure.id, gap))?;
                    }
                }
            }
            if interrupt::requested() {
                break 'rounds;
            }
            if round > 0 && lines && last_line.elapsed() >= Duration::from_secs(1) {
                last_line = Instant::now();
                let lane = &mut lanes[next_line];
                next_line = (next_line + 1) % order.len();
                if lane.lately.count() > 0 {
                    output::print(&told.next(lane, began.elapsed()))?;
                }
            }
        }
    }
    let (cpu, wall) = (thread_cpu().saturating_sub(cpu_before), began.elapsed());
    let priority = granted.priority;
    drop(granted);
    notes.extend(load.and_then(Generator::end));
    let interrupted = interrupt::requested();
    Ok(Outcome { lanes, notes, host: facts, priority, overhead, hdr, cpu, wall, interrupted })
}

/// Processor time of this thread.
pub(super) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
