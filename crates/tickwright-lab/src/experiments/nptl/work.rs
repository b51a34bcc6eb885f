//! The original's work option: a thread does not return at once, but computes or sleeps at random.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use tickwright_threads::this_thread;

use super::column::{Cell, Column};
use super::lanes::{self, Lane};
use super::model::Knobs;
use super::turns::Turns;
use crate::clock::OsClock;
use crate::error::LabError;
use crate::render::Format;
use crate::result::Section;

/// The options of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Work {
    /// Percentage of draws that compute; the others sleep.
    pub(crate) workload: u32,
    /// Number of mixes in one computation.
    pub(crate) workcost: u32,
    /// Number of draws per thread.
    pub(crate) draws: u32,
}

/// Duration of a sleep in the original.
const SLEEP: Duration = Duration::from_millis(10);

/// The result of the part.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) work: Work,
    pub(crate) cell: Cell,
    /// Sum of all computations, which is the same in every correct column.
    pub(crate) result: u32,
    pub(crate) lanes: Vec<Lane>,
}

/// Mixes four numbers `times` times.
fn mix(mut numbers: [u32; 4], times: u32) -> u32 {
    for _ in 0..times {
        let [a, b, c, d] = numbers;
        numbers = [
            a.wrapping_add(b).rotate_left(7),
            b ^ c.wrapping_mul(0x9e37_79b1),
            c.wrapping_add(d ^ a).rotate_left(13),
            d.wrapping_sub(b) ^ a >> 3,
        ];
    }
    numbers.iter().fold(0, |sum, number| sum.wrapping_add(*number))
}

impl Work {
    /// Runs the draws of one thread and returns its part of the sum. Calls `sleep` for each draw
    /// that sleeps.
    pub(super) fn thread(&self, toplevel: usize, start: u64, mut sleep: impl FnMut()) -> u32 {
        // Each thread has its own generator, whose numbers depend only on the thread's number.
        let mut draws = Pcg64Mcg::seed_from_u64((toplevel as u64) << 40 ^ start);
        let mut sum = 0u32;
        for _ in 0..self.draws {
            if draws.random_range(0..100) < self.workload {
                let numbers = core::array::from_fn(|_| draws.random());
                sum = sum.wrapping_add(mix(numbers, self.workcost));
            } else {
                sleep();
            }
        }
        sum
    }

    /// Whether the column's threads can sleep without blocking a worker.
    pub(super) fn fits(column: Column) -> bool {
        column != Column::Tokio
    }

    fn run(&self, column: Column, knobs: &Knobs, cell: Cell, clock: OsClock) -> Result<(u32, u64), String> {
        let (work, sum) = (*self, Arc::new(AtomicU32::new(0)));
        let total = Arc::clone(&sum);
        let sleep: fn() = match column {
            Column::Ours(_) => || this_thread::sleep(SLEEP),
            Column::May => || may::coroutine::sleep(SLEEP),
            Column::Std | Column::Tokio => || std::thread::sleep(SLEEP),
        };
        let bodies = move |toplevel: usize, start: u64| {
            let total = Arc::clone(&total);
            move || {
                total.fetch_add(work.thread(toplevel, start, sleep), Ordering::Relaxed);
                1
            }
        };
        let (joined, ns) = column.run(knobs, cell, &bodies, clock)?;
        if joined as u64 != cell.starts {
            return Err(format!("{} threads were asked for and {joined} have run", cell.starts));
        }
        Ok((sum.load(Ordering::Relaxed), ns))
    }
}

/// Times all columns in turns; all must compute the same result.
///
/// # Errors
/// A thread that was not created or not joined, or a different result.
pub(crate) fn run(
    work: Work,
    columns: &[Column],
    knobs: &Knobs,
    cell: Cell,
    turns: &Turns,
    clock: OsClock,
) -> Result<Outcome, LabError> {
    let columns: Vec<Column> = columns.iter().copied().filter(|&column| Work::fits(column)).collect();
    let names: Vec<String> = columns.iter().map(|column| column.name().to_owned()).collect();
    let mut result = None;
    let samples = turns.run(&names, |at| {
        let wrong = |why| LabError::failed(format!("{}, with work: {why}", names[at]));
        let (sum, ns) = work.run(columns[at], knobs, cell, clock).map_err(wrong)?;
        let first = *result.get_or_insert(sum);
        if sum != first {
            return Err(wrong(format!("the result is {sum:08x}, another's is {first:08x}")));
        }
        Ok(ns as f64 / cell.starts as f64)
    })?;
    let lane = |(column, ns)| Lane { ns, ..Lane::new("with work", column, *knobs) };
    let lanes = columns.into_iter().zip(samples).map(lane).collect();
    Ok(Outcome { work, cell, result: result.unwrap_or(0), lanes })
}

impl Outcome {
    pub(super) fn section(&self) -> Section {
        let Self { work, cell, result, lanes } = self;
        let Cell { toplevel, children, starts } = cell;
        let beside = lanes.first().map_or("the first", |lane| lane.column.name());
        let whole = lanes.first().and_then(Lane::median).unwrap_or(0.0) * *starts as f64;
        let whole = Format::Span.write(whole);
        let table = lanes::table(lanes, lanes::first, beside);
        Section::new("Threads that compute or sleep").table(table).text(format!(
            "{starts} threads at P = {toplevel}, C = {children}. Each draws {} times: {} of 100 draws compute ({} \
             mixes), the others sleep 10 ms. tokio takes no part: its tasks would hold up a worker.\n\
             Run time of {beside}: {whole}. Result, the same in every model: {result:08x}",
            work.draws, work.workload, work.workcost
        ))
    }
}
