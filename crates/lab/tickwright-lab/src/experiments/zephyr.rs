//! Zephyr's question of 2026: its kernel keeps all time-outs in one delta list. Should a heap, a
//! wheel or a skip list replace it?
//!
//! A [delta list](delta) is sorted, and an insert walks it. In March, pull request 106013 proposed
//! a heap, with times that were measured on a board. At 64 time-outs, an insert took half of the
//! list's time, and an abort took nearly three times as long. Pull request 108339 proposed a wheel,
//! 117320 proposed a skip list, and 111746 made the back end a build option. The list stayed the
//! default: it is "inexpensive for the handful a typical system has pending".
//!
//! # What is repeated
//!
//! Four of the five back ends are modelled here from their descriptions, as small programs that
//! share nothing but the [rings](links) of the list and the wheel. A node has the same fields as
//! the kernel's node, so the bytes can be compared. The models have no lock and no hardware clock,
//! and unlike the kernel they check each index. Therefore only ratios between the models can be
//! compared with published ratios. The benchmark's delays are not published. We measure two orders:
//! random delays, and rising delays, which are the worst case for a list.
//!
//! A time-out is inserted, and then it is aborted or it fires. [`verify`] first compares every
//! answer with the oracle. Then [`run`] times the three operations, alternating between queues.
//!
//! [`boards`] adds the instruction counts of our structures on this project's emulated boards.

mod backend;
mod boards;
mod delta;
mod heap;
mod links;
mod published;
mod run;
mod skip;
mod subject;
mod tables;
mod verify;
mod wheel;

use clap::Args;

pub(crate) use self::published::FILE;
use self::published::Published;
use self::run::{Cell, Data, Order, Plan};
use self::subject::Subject;
use crate::error::LabError;
use crate::experiment::{Experiment, Lab, Parameters};
use crate::experiments::request::{self, names};
use crate::experiments::row;
use crate::models::scenario::{Operations, Rounds, Seed, Within};
use crate::result::{Finding, Section, Series};

/// Number of pending time-outs.
type TimeOuts = Within<1, 100_000>;

/// Zephyr's back ends for time-outs, 2026: does the delta list lose where devices are?
#[derive(Debug, Clone, Args)]
pub(crate) struct ZephyrArgs {
    /// Back ends of Zephyr and structures of ours
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "list,heap,wheel,skip-list,our-list,our-heap,our-wheel,our-slab-heap"
    )]
    structures: Vec<Subject>,
    /// The order of the delays
    #[arg(long, value_enum, value_delimiter = ',', default_value = "random,rising")]
    order: Vec<Order>,
    /// How many time-outs are inserted before one is aborted or fires
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        allow_hyphen_values = true,
        default_value = "1,2,4,8,16,24,32,48,64,96,128,192,256",
        value_parser = TimeOuts::parse
    )]
    n: Vec<TimeOuts>,
    /// The least number of inserts in a sample
    #[arg(long, allow_hyphen_values = true, default_value = "16k", value_parser = Operations::parse)]
    operations: Operations,
    /// Samples of each structure; below 6 no difference can be shown
    #[arg(long, allow_hyphen_values = true, default_value = "15", value_parser = Rounds::parse)]
    rounds: Rounds,
    /// The seed of delays, aborts and turns
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = Seed::parse)]
    seed: Seed,
}

impl Experiment for ZephyrArgs {
    type Plan = (Plan, Published);
    type Data = Data;

    fn name(&self) -> String {
        "reproduce zephyr".into()
    }

    fn plan(&self) -> Result<Self::Plan, LabError> {
        let mut sizes: Vec<usize> = self.n.iter().filter_map(|n| usize::try_from(n.get()).ok()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let plan = Plan {
            subjects: request::once(&self.structures),
            orders: request::once(&self.order),
            sizes,
            operations: usize::try_from(self.operations.get()).unwrap_or(usize::MAX),
            rounds: self.rounds.get() as usize,
            seed: self.seed.get(),
        };
        Ok((plan, row::published(FILE)?))
    }

    fn parameters(&self, (plan, _): &Self::Plan) -> Parameters {
        request::parameters([
            ("structures", names(&plan.subjects).into()),
            ("order", names(&plan.orders).into()),
            ("n", request::list(&plan.sizes).into()),
            ("operations", plan.operations.into()),
            ("rounds", plan.rounds.into()),
        ])
    }

    fn seed(&self, (plan, _): &Self::Plan) -> Option<u64> {
        Some(plan.seed)
    }

    fn expected(&self, (plan, _): &Self::Plan) -> Vec<Series> {
        let lanes = vec![vec![[1.0; 3]]; plan.subjects.len()];
        let cell = |order: Order, n: usize| Cell { order, n, lanes: lanes.clone() };
        let cells = plan.orders.iter().flat_map(|order| plan.sizes.iter().map(move |n| (*order, *n)));
        cells.flat_map(|(order, n)| cell(order, n).series(&plan.subjects)).collect()
    }

    fn run(&self, (plan, _): &Self::Plan, lab: &mut Lab<'_>) -> Result<Data, LabError> {
        let in_order = verify::run(&plan.subjects, plan.seed)?;
        Ok(Data { in_order, cells: run::run(plan, lab.meter)? })
    }

    fn series(&self, (plan, _): &Self::Plan, data: &Data) -> Vec<Series> {
        data.cells.iter().flat_map(|cell| cell.series(&plan.subjects)).collect()
    }

    fn findings(&self, (plan, published): &Self::Plan, data: &Data) -> Vec<Finding> {
        tables::findings(plan, published, data)
    }

    fn sections(&self, (plan, published): &Self::Plan, data: &Data, findings: &[Finding]) -> Vec<Section> {
        tables::sections(plan, published, data, findings)
    }
}

#[cfg(test)]
mod tests;
