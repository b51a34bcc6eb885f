//! The protocol in all its schedules, or in many of them: `TICKWRIGHT_SCHEDULES=1000000` runs more.

mod judge;
mod store;
mod world;

use store::Mutant;
use world::{Counts, World};

fn schedules() -> u64 {
    std::env::var("TICKWRIGHT_SCHEDULES").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000)
}

#[test]
fn eight_guarantees_hold_in_every_schedule() {
    let mut all = Counts::default();
    for seed in 0..schedules() {
        match World::run(seed, None) {
            Ok(counts) => {
                all.begun += counts.begun;
                all.repeated += counts.repeated;
                all.statements += counts.statements;
            }
            Err((guarantee, what)) => panic!("seed {seed}: guarantee {guarantee} is broken: {what}"),
        }
    }
    println!("{} schedules: {all:?}", schedules());
    assert!(all.repeated > 0 && all.begun > all.repeated, "{all:?}: the schedules have no trouble");
}

/// Which guarantees a mutant breaks within some schedules.
fn killed(mutant: Mutant) -> Option<(u64, u8, String)> {
    (0..2_000).find_map(|seed| match World::run(seed, Some(mutant)) {
        Ok(_) => None,
        Err((guarantee, what)) => Some((seed, guarantee, what)),
    })
}

#[test]
fn the_judge_kills_every_mutant() {
    let mutants = [
        Mutant::NoFence,
        Mutant::AnswerWithoutEpoch,
        Mutant::EarlyClaim,
        Mutant::SameAttempt,
        Mutant::NoOrphans,
        Mutant::LostLowerBound,
        Mutant::CancelIgnoresDoubt,
        Mutant::CancelLeavesRow,
        Mutant::ReplaceClearsDoubt,
        Mutant::AnswerClearsDoubt,
        Mutant::NoEarlyRow,
        Mutant::EarlyBeforeWakeOnly,
        Mutant::EarlyRowsStay,
        Mutant::LeaseIgnoresEarly,
        Mutant::NoGuard,
        Mutant::SeqAgain,
        Mutant::DoneLeavesRow,
        Mutant::WakeTooLate,
        Mutant::EndlessLease,
        Mutant::TakeoverAtOnce,
        Mutant::AddBeforeCommit,
        Mutant::Heartbeat,
    ];
    let mut survivors = Vec::new();
    for mutant in mutants {
        match killed(mutant) {
            Some((seed, guarantee, what)) => println!("{mutant:?}: {guarantee} at seed {seed}: {what}"),
            None => survivors.push(mutant),
        }
    }
    assert!(survivors.is_empty(), "{survivors:?} keep every guarantee");
}
