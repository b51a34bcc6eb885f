//! Tests in which threads of one runtime wait for threads of another runtime, which has another
//! clock.

mod common;

use core::mem::ManuallyDrop;
use core::time::Duration;
use std::sync::{Arc, mpsc};

use common::{Gate, Jumping};
use tickwright::time::{Clock, Instant, SystemClock, VirtualHost};
use tickwright_threads::{Attributes, JoinError, Knobs, ManyToMany, Model, OneToOne, Runtime, this_thread};

const PLAIN: Attributes = Attributes::new();
const HOUR: Duration = Duration::from_secs(3600);
/// A wait that takes longer than this time is treated as endless. No machine needs that much time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the models of the waiting threads, which differ in their clocks and in how their threads
/// sleep.
fn callers() -> Vec<(&'static str, Model)> {
    let one_to_one =
        ("one-to-one, standing", Model::OneToOne(OneToOne::new().clock(VirtualHost::new().monotonic())));
    if cfg!(not(unix)) {
        return vec![one_to_one];
    }
    let ours = Knobs::ours();
    let one = || ManyToMany::new().workers(1);
    let still = || VirtualHost::new().monotonic();
    vec![
        one_to_one,
        ("machine", Model::ManyToMany(one())),
        ("machine, pipe", Model::ManyToMany(one().knobs(Knobs { pipe_wake: true, ..ours }))),
        ("standing", Model::ManyToMany(one().clock(still()))),
        ("standing, pipe", Model::ManyToMany(one().clock(still()).knobs(Knobs { pipe_wake: true, ..ours }))),
        ("standing, ngpt", Model::ManyToMany(one().clock(still()).knobs(Knobs::ngpt()))),
        ("jumping", Model::ManyToMany(one().clock(Jumping::default()))),
        ("portable, standing", Model::ManyToMany(one().clock(still()).portable(true))),
    ]
}

/// Returns the settings of a runtime with this clock. The model is M:N if the system supports it.
fn by(clock: impl Clock + 'static) -> Model {
    if cfg!(unix) {
        Model::ManyToMany(ManyToMany::new().workers(1).clock(clock))
    } else {
        Model::OneToOne(OneToOne::new().clock(clock))
    }
}

/// In each model, a thread joins a thread of the runtime `there`, at most until the clock of
/// `there` shows an instant. When the joiner waits, or is about to wait, `then` moves that clock.
fn all_time_out(there: &Model, until: impl Fn(Instant) -> Instant, then: impl Fn()) {
    for (name, model) in callers() {
        // If the test fails, the runtimes are not dropped, because their threads would not end.
        let here = ManuallyDrop::new(common::start(model));
        let there = ManuallyDrop::new(common::start(there.clone()));
        let gate = Arc::new(Gate::default());
        let behind = Arc::clone(&gate);
        let never = there.create(&PLAIN, move || {
            while !behind.is_open() {
                this_thread::park();
            }
            5
        });
        let never = never.unwrap();
        let (other, at) = (there.handle(), until(there.now()));
        let (begins, begun) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        let joiner = here.create(&PLAIN, move || {
            begins.send(()).unwrap();
            let timed_out = matches!(other.join_until(never, at), Err(JoinError::TimedOut));
            ended.send((timed_out, other.now() >= at)).unwrap();
            0
        });
        begun.recv_timeout(PATIENCE).expect("begins");
        // From here on the joiner waits, or will read the clock before it waits.
        let mut said = None;
        while said.is_none() && !matches!(there.try_join(never), Err(JoinError::NotJoinable)) {
            said = ends.try_recv().ok();
            std::thread::yield_now();
        }
        then();
        let said = said.or_else(|| ends.recv_timeout(PATIENCE).ok());
        assert_eq!(said, Some((true, true)), "{name}: it waits for ever, or not long enough");
        here.join(joiner.unwrap()).unwrap();
        gate.open();
        there.unpark(never).unwrap();
        assert_eq!(there.join(never).unwrap(), 5);
        for runtime in [here, there] {
            drop(ManuallyDrop::<Runtime>::into_inner(runtime));
        }
    }
}

#[test]
fn a_join_by_a_clock_that_is_moved() {
    let host = VirtualHost::new();
    let there = Model::OneToOne(OneToOne::new().clock(host.monotonic()));
    all_time_out(&there, |now| now + HOUR, || host.advance(HOUR));
    let there = by(host.monotonic());
    all_time_out(&there, |now| now + HOUR, || host.advance(HOUR));
}

#[test]
fn a_join_by_a_clock_that_goes_on() {
    let there = by(SystemClock::Monotonic);
    all_time_out(&there, |now| now + Duration::from_nanos(2_000_000), || ());
}

#[test]
fn a_join_by_a_clock_that_jumps() {
    let clock = Jumping::default();
    let there = by(clock.clone());
    all_time_out(&there, |now| now + HOUR, || clock.leap(HOUR));
}

/// A wait for a time of another runtime's clock blocks neither the worker nor the threads of the
/// worker that sleep by their own clock.
#[test]
fn others_sleep_by_their_own_clock_meanwhile() {
    let host = VirtualHost::new();
    let here = common::start(by(host.monotonic()));
    let there = common::start(common::another());
    let gate = Arc::new(Gate::default());
    let behind = Arc::clone(&gate);
    let waits = there
        .create(&PLAIN, move || {
            behind.wait();
            6
        })
        .unwrap();
    let (other, sleeps) = (there.handle(), Arc::new(Gate::default()));
    let joiner = here.create(&PLAIN, move || other.join_timeout(waits, PATIENCE).unwrap()).unwrap();
    let begun = Arc::clone(&sleeps);
    let sleeper = here
        .create(&PLAIN, move || {
            begun.open();
            this_thread::sleep(Duration::from_secs(3600));
            7
        })
        .unwrap();
    sleeps.wait();
    // The clock is moved several times, because the sleeper can begin its sleep after some of the
    // moves.
    while matches!(here.try_join(sleeper), Err(JoinError::Busy)) {
        host.advance(HOUR);
        std::thread::yield_now();
    }
    gate.open();
    assert_eq!(here.join(joiner).unwrap(), 6);
}
