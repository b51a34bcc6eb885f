//! A turn of one structure: its timers are armed, the driver sleeps until the head is due, and the
//! periodic timer is removed and armed again.
//!
//! The operations have the same order as in the original's tick handler. The handler reads the
//! head, removes it, and arms it for the next point of its grid, until the head is not due. Then it
//! reads the head once more to set the alarm. Finally, the timer's owner runs and reads the clock,
//! so every operation on the queue is part of the lateness.

use super::clock::Host;
use super::grid::{Due, Grid};
use crate::error::LabError;
use crate::models::erased::Erased;
use crate::models::live::with_one;
use crate::structures::registry::{self, Structure};

const PERIODIC: u32 = 0;
const HOST_TICK: u32 = 1;

/// The longest sleep, in ns. The bound limits how late Ctrl-C is noticed during a long period.
const LOOK_NS: u64 = 250_000_000;

/// The first deadline is at least a millisecond ahead, as in the original.
const FIRST_NS: u64 = 1_000_000;

/// The parameters of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Period of the timer, in ns.
    pub(super) period: u64,
    /// Number of points of the grid.
    pub(super) points: u64,
    /// Period of the emulated host's tick, in ns; 0 for no host tick.
    pub(super) host_period: u64,
}

/// A gap: time in which the process did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// Lateness of the first missed point, in ns.
    pub(super) ns: u64,
    /// Number of points that passed during the gap.
    pub(super) periods: u64,
    /// Whether the process was stopped and continued. Otherwise the process was suspended or
    /// starved.
    pub(super) stopped: bool,
}

/// The measurements of a turn. Later turns use the same memory.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Lateness of each point, in ns.
    pub(super) lateness: Vec<u64>,
    /// Points that passed before the owner ran for them, including the points of gaps.
    pub(super) overruns: u64,
    pub(super) gaps: Vec<Gap>,
    pub(super) host_ticks: u64,
    pub(super) wakes: u64,
}

impl Seen {
    /// The maximum number of points in a turn. Their samples take 128 MiB.
    pub(super) const MOST: u64 = 1 << 24;

    /// Allocates room for `points` samples and writes to it, so that the measured loop causes no
    /// page fault.
    pub(super) fn new(points: u64) -> Self {
        // The additional room is for points that pass after the end of the turn.
        let room = usize::try_from(points.min(Self::MOST)).unwrap_or(0).saturating_add(1024);
        let mut lateness = vec![u64::MAX; room];
        lateness.clear();
        Self { lateness, ..Self::default() }
    }

    fn clear(&mut self) {
        let lateness = core::mem::take(&mut self.lateness);
        *self = Self { lateness, ..Self::default() };
        self.lateness.clear();
    }

    /// Records the points of `due`. The timer's owner sees these points at `now`.
    #[inline]
    pub(super) fn note(&mut self, grid: &Grid, due: Due, now: u64, stopped: bool) {
        let late = now.saturating_sub(due.expected);
        self.overruns += due.missed;
        if grid.is_gap(late, stopped) {
            // The first point was missed as well as the points after it.
            self.overruns += 1;
            self.gaps.push(Gap { ns: late, periods: due.missed + 1, stopped });
        } else {
            self.lateness.extend(grid.samples(due, now));
        }
    }
}

/// A turn that is not bound to a structure yet.
pub(super) struct Drive<'a> {
    pub(super) turn: Turn,
    pub(super) host: &'a mut dyn Host,
    pub(super) seen: &'a mut Seen,
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl Drive<'_> {
    /// Runs the turn with an empty queue of `structure`.
    pub(super) fn run(self, structure: &'static Structure) -> Result<(), LabError> {
        let id = structure.id;
        if !registry::holds(structure, 2)? {
            return Err(LabError::usage(format!(
                "'{id}' cannot hold two timers: take it away with --structures '!{id}'"
            )));
        }
        with_one(structure, 2, false, |live| drive(&mut *live.sampler.queue(), self))
            .map_err(|wrong| LabError::failed(format!("'{id}' is wrong: {wrong}; its figures are void")))
    }
}

/// The queue and the host are trait objects, so that this loop is compiled once. The indirect calls
/// add some 75 instructions, about 20 ns, to each wake-up, which is tens of microseconds late. The
/// added time is the same for every structure.
fn drive(queue: &mut dyn Erased, with: Drive<'_>) -> Result<(), String> {
    let Drive { turn, host, seen, stop } = with;
    seen.clear();
    // The queue's time 0 is now. Wheels, and other crates' structures with a horizon, expect this
    // origin.
    let origin = host.now();
    let start = turn.period.max(FIRST_NS);
    let mut grid = Grid::new(start, turn.period);
    let end = start.saturating_add(turn.points.saturating_mul(turn.period));
    // The host tick is shifted by half a period, so that it is sometimes the head, like the tick of
    // a real host.
    let mut host_grid = Grid::new(start.saturating_add(turn.period / 2), turn.host_period);
    queue.insert(PERIODIC, grid.expected());
    if turn.host_period > 0 {
        queue.insert(HOST_TICK, host_grid.expected());
    }
    host.was_stopped();
    let (mut now, mut stopped) = (0u64, false);
    let mut shot = queue.wake();
    while grid.expected() < end && !stop() {
        let at = shot.ok_or("it lost both timers")?;
        host.wait(at.min(now.saturating_add(LOOK_NS)).saturating_add(origin));
        now = host.now().saturating_sub(origin);
        seen.wakes += 1;
        let mut periodic = None;
        while queue.look_at_head().is_some_and(|head| head <= now) {
            let (id, expiry) = queue.take_head(now).ok_or("its head is due and cannot be taken")?;
            let (points, expected) = match id {
                PERIODIC => (&mut grid, Some(&mut periodic)),
                HOST_TICK => (&mut host_grid, None),
                other => return Err(format!("it delivered timer {other}, which never was")),
            };
            let due = points.take(now).filter(|due| due.expected == expiry);
            let due = due.ok_or_else(|| format!("timer {id} came for {expiry}, which is not its time"))?;
            queue.insert(id, due.next);
            match expected {
                Some(periodic) => *periodic = Some(due),
                None => seen.host_ticks += due.missed + 1,
            }
        }
        shot = queue.wake();
        if let Some(due) = periodic {
            let then = host.now().saturating_sub(origin);
            stopped |= host.was_stopped();
            seen.note(&grid, due, then, stopped);
            // The process could have been stopped after the loop read the clock. In that case, the
            // points that have passed since then belong to the next wake-up and to the same gap.
            stopped &= grid.expected() <= then;
        }
    }
    let told = seen.lateness.len() as u64 + seen.gaps.iter().map(|gap| gap.periods).sum::<u64>();
    if told < turn.points && !stop() {
        return Err(format!("{told} of {} periods are samples or in gaps", turn.points));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
