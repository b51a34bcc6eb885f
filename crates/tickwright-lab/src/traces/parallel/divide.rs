//! The operations of a trace, divided among lanes.

use core::ops::ControlFlow;
use std::collections::HashMap;

use tickwright_trace::{Event, What};

use crate::error::LabError;
use crate::traces::input::Input;

/// An arm or re-arm, or a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    /// When, in ticks.
    pub(super) at: u64,
    /// `None`: it is cancelled.
    pub(super) deadline: Option<u64>,
    pub(super) timer: u32,
}

/// Operations between two meetings, by lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) lanes: Vec<Vec<Op>>,
}

/// All operations.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) windows: Vec<Window>,
    pub(super) lanes: usize,
    /// Threads of the trace.
    pub(super) threads: usize,
    pub(super) timers: usize,
    pub(super) operations: usize,
    /// The trace is longer.
    pub(super) is_cut: bool,
}

impl Work {
    /// The same operations on one lane, in the order of their times.
    pub(super) fn merged(&self) -> Self {
        let merge = |window: &Window| {
            let mut all: Vec<Op> = window.lanes.concat();
            // Stable: what a lane does to a timer stays in order.
            all.sort_by_key(|op| op.at);
            Window { lanes: vec![all] }
        };
        Self { windows: self.windows.iter().map(merge).collect(), lanes: 1, ..*self }
    }

    /// The greatest deadline; 0 if nothing is armed.
    pub(super) fn last_deadline(&self) -> u64 {
        let ops = self.windows.iter().flat_map(|window| &window.lanes).flatten();
        ops.filter_map(|op| op.deadline).max().unwrap_or(0)
    }
}

/// The number of operations in a window.
const WINDOW: usize = 4096;

/// The maximum number of operations that are kept, of 32 bytes each.
const MOST: usize = 1 << 22;

/// Divides the operations of a trace among at most `most` lanes.
///
/// # Errors
/// The trace cannot be read.
pub(super) fn divide(input: &Input, tick_ns: u64, most: usize) -> Result<Work, LabError> {
    let mut events: Vec<Event> = Vec::new();
    let mut is_cut = false;
    input.each(|event| {
        if matches!(event.what, What::Fire) {
            return ControlFlow::Continue(());
        }
        is_cut = events.len() == MOST;
        if is_cut {
            return ControlFlow::Break(());
        }
        events.push(*event);
        ControlFlow::Continue(())
    })?;
    let mut busiest: HashMap<u32, usize> = HashMap::new();
    for event in &events {
        *busiest.entry(event.thread).or_default() += 1;
    }
    let mut order: Vec<(u32, usize)> = busiest.into_iter().collect();
    order.sort_by_key(|&(thread, operations)| (core::cmp::Reverse(operations), thread));
    let lanes = order.len().min(most).max(1);
    // The busiest thread to the first lane, the second one to the second, and back again.
    let lane_of: HashMap<u32, usize> =
        (0..).zip(&order).map(|(at, (thread, _))| (*thread, at % lanes)).collect();
    let origin = events.first().map_or(0, |event| event.time);
    let tick = |ns: i64| u64::try_from(ns.saturating_sub(origin)).unwrap_or(0) / tick_ns.max(1);
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let (mut windows, mut now) = (Vec::new(), 0);
    for part in events.chunks(WINDOW) {
        let mut window = Window { lanes: vec![Vec::new(); lanes] };
        let mut owner: HashMap<u32, usize> = HashMap::new();
        for event in part {
            let next = numbers.len() as u32;
            let timer = *numbers.entry(event.timer).or_insert(next);
            let lane = *owner.entry(timer).or_insert(lane_of[&event.thread]);
            now = tick(event.time).max(now);
            // Rounded up, and not before the tick that has begun.
            let deadline = event.what.armed().map(|(deadline, _)| tick(deadline).max(now) + 1);
            window.lanes[lane].push(Op { at: now, deadline, timer });
        }
        windows.push(window);
    }
    let threads = order.len();
    Ok(Work { windows, lanes, threads, timers: numbers.len(), operations: events.len(), is_cut })
}
