//! The experiment on the virtual clock, with meters that are told what to read.

mod faults;
mod model;
mod wording;

use core::time::Duration;

use super::instrument::{Counting, Probe, Timing};
use super::log::{Event, Log};
use super::machine::{Machine, Virtual};
use super::oracle::{Difference, Oracle, Verified};
use super::run::{Lane, Mode, Outcome, Plan, Wait, run};
use super::scenario::Scenario;
use super::slice::{Slice, drive};
use super::workload::{Params, Workload};
use crate::clock::FakeMeter;
use crate::progress::Progress;
use crate::structures::candidate::Candidate;
use crate::structures::registry::{self, STRUCTURES, Structure, Ties, Visitor};

const SECOND: u64 = 1_000_000_000;

fn params() -> Params {
    Scenario::built_in().expect("the file is right").params(0)
}

/// Drives `C` for `length` ns and judges it.
fn judged<C: Candidate, M: Machine>(
    length: u64,
    machine: &mut M,
) -> (Slice, Vec<Event>, Result<Verified, Difference>) {
    let mut work = Workload::new(&params());
    let mut log = Log::new(500_000, 1001);
    let oracle = Oracle::filled(&work, Ties::Fifo);
    let slice = drive::<C, _, _>(&mut work, length, machine, &mut Counting::default(), &mut log, &|| false);
    let verdict = oracle.verify(log.events());
    (slice, log.events().to_vec(), verdict)
}

fn plan(mode: Mode, duration: Duration, instrument: bool) -> Plan {
    Plan { params: params(), mode, wait: Wait::Sleep, duration, instrument, structures: vec![&STRUCTURES[0]] }
}

fn ran(plan: &Plan, meter: &FakeMeter, stop: &dyn Fn() -> bool) -> Outcome {
    run(plan, meter, stop, &Progress::lasting(plan.duration, "test")).expect("the structures are right")
}

/// An experiment of the tour must not run under the rights of the one before.
#[cfg(target_os = "linux")]
#[test]
fn the_timer_slack_is_given_back() {
    use rustix::thread::{current_timer_slack, set_current_timer_slack};
    // In a thread of its own, since the slack is the thread's.
    let seen = std::thread::spawn(|| {
        set_current_timer_slack(core::num::NonZeroU64::new(70_000)).unwrap();
        let before = current_timer_slack().unwrap();
        let (punctual, _) = super::machine::prepare_real_time();
        let during = current_timer_slack().unwrap();
        drop(punctual);
        [before, during, current_timer_slack().unwrap()]
    });
    assert_eq!(seen.join().unwrap(), [70_000, 1, 70_000]);
}
