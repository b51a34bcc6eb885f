//! Asterisk's scheduler experiment of 2009: should a sorted list or a heap hold the callbacks?
//!
//! Russell Bryant's change (Review Board #160) replaced the scheduler's doubly linked list with a
//! binary heap. Its test module created a context and timed N adds with random delays from 0 to 60
//! s. Then it timed N deletes by id in the order of the adds. In the published times, the list and
//! the heap are equally fast up to about N = 100, and at a million the heap takes 0.4 % of the
//! list's time.
//!
//! # Two modes
//!
//! *faithful*: the schedulers of 2009 ([`then`]). The times of these schedulers include a mutex, an
//! allocation, a hash table, and, for each delay, a read of eight bytes from the system's random
//! source. *ours*: this project's scheduler with each of our structures, whose delays are drawn
//! before the clock starts.
//!
//! # What the reviewers asked
//!
//! - Can a heap become as slow as a list? No: the shape of a heap depends only on N, so an add
//!   makes at most log N comparisons and a delete at most twice as many.
//! - How does a red-black tree, or a hash with a ring, compare with the heap? The trees and the
//!   wheel are columns of the table.
//! - In which order were the calls made? The first sentence of the report states the order.

mod column;
mod power;
mod published;
mod sample;
mod shape;
mod table;
mod then;
mod verify;

use core::time::Duration;

use clap::Args;
use tickwright::scheduler::Structure;

use self::column::{Column, Mode};
pub(crate) use self::published::FILE;
use self::published::Published;
use self::sample::Delays;
use self::table::{Lane, Table};
use crate::duration;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::{request, row};
use crate::models::scenario::{Population, Rounds, Seed};
use crate::result::{Finding, Section, Series};
use crate::structures::registry;

/// Asterisk's scheduler experiment of 2009: should a sorted list or a heap hold the callbacks?
#[derive(Debug, Clone, Args)]
pub(crate) struct AsteriskArgs {
    /// The schedulers of 2009, this project's scheduler, or both
    /// [default: both, or ours where the system has no random source]
    #[arg(long, value_enum, value_delimiter = ',')]
    mode: Vec<Mode>,
    /// Structures of this project's scheduler, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_value = "list,heap2,heap4,rb,rb-cached,wheel", value_parser = registry::family)]
    structures: Vec<Structure>,
    /// How many timers are added and deleted
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true, default_value = "100,500,1k,5k,10k,100k,1M", value_parser = Population::parse)]
    n: Vec<Population>,
    /// The most samples of each structure at each N; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "9", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// The most time for a structure at one N. Longer measurements are extrapolated instead; the
    /// list at a million takes hours
    #[arg(long, allow_hyphen_values = true, default_value = "10s", value_parser = duration::parse)]
    budget: Duration,
    /// The seed of delays, orders and calls; the faithful mode draws its delays from the system's
    /// random source
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = Seed::parse)]
    seed: Seed,
}

/// A checked request.
#[derive(Debug)]
pub(crate) struct Plan {
    table: table::Plan,
    published: Published,
}

/// The measurements.
#[derive(Debug)]
pub(crate) struct Data {
    /// The number of verified events in the scripts, which run in virtual time.
    verified: usize,
    table: Table,
}

/// The number of adds in a script in virtual time.
const SCRIPT: usize = 2000;

impl AsteriskArgs {
    /// Returns the modes to run. By default, the faithful mode is left out on a system without the
    /// random source of 2009.
    fn modes(&self) -> Vec<Mode> {
        let is_asked = |mode: &Mode| {
            if self.mode.is_empty() { Delays::of(*mode, 1, 0).is_ok() } else { self.mode.contains(mode) }
        };
        Mode::ALL.into_iter().filter(is_asked).collect()
    }

    fn columns(&self) -> Vec<Column> {
        let modes = self.modes();
        let of = |mode| modes.contains(&mode);
        let mut columns: Vec<Column> = Column::THEN.into_iter().filter(|_| of(Mode::Faithful)).collect();
        for column in self.structures.iter().map(|&structure| Column::Ours(structure)) {
            if of(Mode::Ours) && !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }
}

impl Experiment for AsteriskArgs {
    type Plan = Plan;
    type Data = Data;

    fn name(&self) -> String {
        "reproduce asterisk".into()
    }

    fn plan(&self) -> Result<Plan, LabError> {
        for &mode in &self.mode {
            Delays::of(mode, 1, 0)?;
        }
        let mut sizes = request::sizes(&self.n);
        sizes.sort_unstable();
        sizes.dedup();
        let table = table::Plan {
            columns: self.columns(),
            sizes,
            rounds: self.rounds.get() as usize,
            budget: self.budget,
            seed: self.seed.get(),
        };
        Ok(Plan { table, published: row::published(FILE)? })
    }

    fn parameters(&self, plan: &Plan) -> Parameters {
        let names = |values: &[&str]| values.join(",");
        request::parameters([
            ("mode", names(&self.modes().iter().map(|mode| mode.name()).collect::<Vec<_>>()).into()),
            ("structures", request::list(&self.structures).into()),
            ("n", request::list(&plan.table.sizes).into()),
            ("rounds", plan.table.rounds.into()),
            ("rounds within", duration::show(self.budget).into()),
        ])
    }

    fn seed(&self, plan: &Plan) -> Option<u64> {
        Some(plan.table.seed)
    }

    fn run(&self, plan: &Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let table::Plan { columns, seed, .. } = &plan.table;
        let verified = verify::run(columns, SCRIPT, *seed)?;
        Ok(Data { verified, table: table::run(&plan.table, lab.meter)? })
    }

    fn expected(&self, Plan { table, .. }: &Plan) -> Vec<Series> {
        let cells: Vec<_> = table.sizes.iter().map(|n| (*n, Vec::new())).collect();
        let lane = |column: &Column| Lane { column: *column, trials: Vec::new(), cells: cells.clone() };
        let lanes = table.columns.iter().map(lane).collect();
        shape::series(&Table { sizes: table.sizes.clone(), lanes })
    }

    fn series(&self, _: &Plan, data: &Data) -> Vec<Series> {
        shape::series(&data.table)
    }

    fn findings(&self, plan: &Plan, data: &Data) -> Vec<Finding> {
        shape::findings(&data.table, &plan.published)
    }

    fn sections(&self, plan: &Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        let sequence = format!(
            "A sample creates a context, adds N timers with random delays from 0 to 60 s, and deletes them by id in the \
             order of the adds. Nothing runs, and no thread waits.\nEvery sample is verified: N timers were pending, \
             each due its delay after its add, and each was deleted once. In virtual time, {} events ran in the order \
             of sorting.",
            data.verified
        );
        let mut all = vec![Section::new("").text(sequence)];
        let times = |mode| shape::times(&data.table, &plan.published, plan.table.budget, mode);
        all.extend(Mode::ALL.into_iter().flat_map(times));
        all.extend(shape::shapes(findings));
        all
    }
}

#[cfg(test)]
mod tests;
