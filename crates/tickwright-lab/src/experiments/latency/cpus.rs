//! `--cpus`: one measuring thread for each CPU. The threads start together, and each turn begins on
//! all CPUs at the same time. So all CPUs run the same structure at one moment.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use super::hdr::Log;
use super::lines::Lines;
use super::meeting::{Meeting, Seat};
use super::overhead::Overhead;
use super::plan::{Data, Plan};
use super::rights::{LockedMemory, Priority, Wish, named};
use super::thread::{Measured, Setup, Shared};
use crate::error::LabError;
use crate::interrupt;

/// What the system granted a thread before the run.
#[derive(Debug)]
struct Asked {
    cpu: usize,
    granted: Priority,
    refused: Vec<String>,
}

/// What the threads of a run have in common.
#[derive(Debug, Default)]
struct Common {
    /// Set when a thread fails, so that the other threads end.
    failed: AtomicBool,
    asked: Mutex<Vec<Asked>>,
    /// The lines, which are set once the heading is printed.
    lines: OnceLock<Lines>,
}

impl Common {
    fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || interrupt::requested()
    }
}

/// Ends all threads when it is dropped, unless `succeeded` was set before. So a panic of one thread
/// ends the others too.
#[derive(Debug)]
struct EndsAll<'c> {
    failed: &'c AtomicBool,
    succeeded: bool,
}

impl<'c> EndsAll<'c> {
    fn unless_told(failed: &'c AtomicBool) -> Self {
        Self { failed, succeeded: false }
    }
}

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        if !self.succeeded {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

/// Measures on all CPUs at the same time. Each `setup` runs on a thread of its own. Refusals are
/// added to `notes`. The first error of a thread ends all of them and is returned.
pub(super) fn measure(
    plan: &Plan,
    setups: Vec<Setup<'_>>,
    log: &Mutex<Log>,
    on: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<Measured>, LabError> {
    let (meeting, common) = (Meeting::default(), Common::default());
    thread::scope(|scope| {
        // If the code below fails, this guard ends the threads that were started.
        let mut ends_all = EndsAll::unless_told(&common.failed);
        let seat = meeting.seat();
        let mut threads = Vec::new();
        for setup in setups {
            let seat = meeting.seat();
            let common = &common;
            let cpu = setup.cpu.unwrap_or(0);
            let own = move || on_thread(plan, setup, log, common, seat);
            let builder = thread::Builder::new().name(format!("latency-{cpu}"));
            let started = builder.spawn_scoped(scope, own);
            threads.push(started.map_err(|source| LabError::io("starting a measuring thread", source))?);
        }
        // Every thread has now asked for its rights, and all memory of the run is allocated.
        seat.wait();
        let mut asked = core::mem::take(&mut *common.asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.sort_by_key(|asked| asked.cpu);
        notes.extend(refusals(&asked));
        let locked = plan.wake.mlock.then(LockedMemory::ask).transpose();
        notes.extend(locked.as_ref().err().cloned());
        let granted = asked.iter().map(|asked| asked.granted).min_by_key(|granted| granted.get());
        let lines = Lines::begin(on, true, &plan.words(granted.unwrap_or_default()))?;
        let _ = common.lines.set(lines);
        ends_all.succeeded = true;
        seat.wait();
        drop(seat);
        let ended: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        drop(locked);
        ended.into_iter().map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// The work of one thread.
fn on_thread(
    plan: &Plan,
    setup: Setup<'_>,
    log: &Mutex<Log>,
    common: &Common,
    seat: Seat<'_>,
) -> Result<Measured, LabError> {
    let mut ends_all = EndsAll::unless_told(&common.failed);
    let cpu = setup.cpu.unwrap_or(0);
    // Memory is locked for the whole process, so the thread that started this one asks for the
    // lock.
    let wish = Wish { mlock: false, cpu: Some(cpu), ..plan.wake.wish() };
    let (ready, refused) = setup.ready(wish);
    let asked = Asked { cpu, granted: ready.granted(), refused };
    common.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    seat.wait();
    seat.wait();
    // If there are no lines, the thread that started this one failed.
    let lines = common.lines.get().ok_or(LabError::Interrupted)?;
    let shared = Shared { lines, log };
    let measured = ready.measure(&shared, || seat.wait(), || common.is_over())?;
    ends_all.succeeded = true;
    Ok(measured)
}

/// The refusals of all threads, which are in the order of their CPUs. A refusal that is equal on
/// all CPUs is noted once. Any other refusal names its CPUs.
fn refusals(asked: &[Asked]) -> Vec<String> {
    let mut cpus: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for Asked { cpu, refused, .. } in asked {
        for why in refused {
            let of = cpus.entry(why).or_default();
            if of.is_empty() {
                order.push(why);
            }
            of.push(*cpu);
        }
    }
    let note = |why: &str| {
        let cpus = &cpus[why];
        if cpus.len() == asked.len() { why.to_owned() } else { format!("{}: {why}", named(cpus)) }
    };
    order.into_iter().map(note).collect()
}

/// Combines the measurements of a run's threads into the data of the run.
pub(super) fn combine(mut threads: Vec<Measured>) -> Data {
    // A round counts if it is complete on all CPUs.
    let rows = threads.iter().flat_map(|thread| &thread.lanes).map(|lane| lane.rows.len());
    let whole = rows.min().unwrap_or(0);
    for lane in threads.iter_mut().flat_map(|thread| &mut thread.lanes) {
        lane.rows.truncate(whole);
    }
    let granted = threads.iter().map(|thread| thread.granted).min_by_key(|granted| granted.get());
    let overhead = threads.iter().map(|thread| thread.overhead).fold(Overhead::NONE, Overhead::or_more);
    let cpu_percent = threads.iter().map(|thread| thread.cpu_percent).sum();
    let mut by_cpu = Vec::new();
    let mut lanes = Vec::new();
    for thread in threads {
        match thread.cpu {
            None => lanes = thread.lanes,
            Some(cpu) => by_cpu.push((cpu, thread.lanes)),
        }
    }
    if let [(_, first), others @ ..] = by_cpu.as_slice() {
        lanes.clone_from(first);
        for (_, of_cpu) in others {
            lanes.iter_mut().zip(of_cpu).for_each(|(lane, other)| lane.merge(other));
        }
    }
    Data { lanes, by_cpu, granted: granted.unwrap_or_default(), overhead, cpu_percent }
}

#[cfg(test)]
mod tests;
