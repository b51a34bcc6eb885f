//! Tests on the virtual clock, with meters that return given readings.

mod faults;
mod model;
mod wording;

use super::cli::XenomaiArgs;
use super::handler::Kernel;
use super::instrument::Probe;
use super::log::{Event, Log};
use super::machine::{Machine, Virtual};
use super::oracle::{Difference, Oracle, Verified};
use super::run::{Lane, Plan, run};
use super::scenario::{FILE, Published, Scenario};
use super::slice::{Slice, drive};
use super::workload::{Params, Workload};
use crate::clock::FakeMeter;
use crate::experiment::{Experiment, Lab};
use crate::experiments::{request, row};
use crate::structures::candidate::Candidate;
use crate::structures::registry::{self, STRUCTURES, Structure, Ties, Visitor};

const SECOND: u64 = 1_000_000_000;

fn params() -> Params {
    Scenario::built_in().expect("the file is right").params(0)
}

/// Drives `C` for `length` ns, or until `stop` returns true, and verifies its log.
fn judged_until<C: Candidate, M: Machine>(
    length: u64,
    machine: &mut M,
    stop: &dyn Fn() -> bool,
) -> (Slice, Vec<Event>, Result<Verified, Difference>) {
    let mut work = Workload::new(&params());
    let mut log = Log::new(500_000, 1001);
    let oracle = Oracle::filled(&work, Ties::Fifo);
    let (arena, meter) = (C::arena(1001), FakeMeter::steady(0));
    let mut queue = C::queue(&arena, 1001);
    let kernel = Kernel { work: &mut work, probe: Probe::default(), log: &mut log };
    let slice = drive(&mut queue, kernel, length, machine, &meter, stop);
    let verdict = oracle.verify(log.events());
    (slice, log.events().to_vec(), verdict)
}

fn judged<C: Candidate, M: Machine>(
    length: u64,
    machine: &mut M,
) -> (Slice, Vec<Event>, Result<Verified, Difference>) {
    judged_until::<C, M>(length, machine, &|| false)
}

/// Parses a request in virtual time, as a user would type it. Returns its arguments and its plan.
fn asked(more: &[&str]) -> (XenomaiArgs, Plan) {
    let words = [&["--mode", "virtual"], more].concat();
    let args: XenomaiArgs = request::words(&words).expect("the words are right");
    let plan = args.plan().expect("the request is right");
    (args, plan)
}

/// Runs the plan with a clock that advances by `step` ns at each reading.
fn ran(plan: &Plan, step: u64) -> Vec<Lane> {
    let meter = FakeMeter::steady(step);
    let mut lab = Lab { meter: &meter, notes: Vec::new(), interrupted: false };
    run(plan, &mut lab).expect("the structures are right")
}
