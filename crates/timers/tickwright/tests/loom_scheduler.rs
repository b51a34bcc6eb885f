//! Loom models of the scheduler, in all schedules of two threads and in all schedules of three
//! threads with at most three preemptions. One thread runs a pass while another thread does an
//! operation on the due timer. In some schedule the operation finds the timer in each of its
//! states: queued, taken from the queue, running, and finished.
//!
//! The callback writes to a loom cell, and so does its drop. Loom reports two unordered accesses.
//! It thereby detects a callback or a drop that runs at the same time as another one, or after a
//! waiting cancel has returned.
//!
//! Each of these wrong changes to the shipped code was made by hand, and at least the named test
//! failed:
//!
//! - `cancel_sync_against_a_pass`: `stop` does not wait, or `Run::end` settles before it drops the
//!   callback.
//! - `cancel_sync_does_not_wait_for_the_next_run`: `stop` waits until `running` is `None` instead
//!   of waiting for the end of the run with its serial number, or waiting threads are woken only at
//!   the end of the pass instead of the end of the run.
//! - `two_runners`: a second pass runs at the same time as the first.
//! - `cancel_against_a_pass`: `finish` ignores that the timer was suppressed.
//! - `shutdown_against_a_pass`: `shutdown` does not wait.
//! - `re_arm_then_cancel_against_a_pass`: a cancel does not undo a start that happened during the
//!   run.
//! - `the_removal_of_a_wake_against_an_arm`: an arm reads the wake function under a second hold of
//!   the lock.
//! - `a_loop_that_asks_against_a_pass`: the end of a pass does not check whether a loop sleeps.
#![cfg(loom)]

mod loom_common;

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom_common::{explore, together};
use tickwright::scheduler::{
    Callback, Cancelled, Firing, Next, Scheduler, Settings, Site, State, TimerId, Timing,
};
use tickwright::time::VirtualHost;

/// A cell to which the callback, its drop and the test write, never at the same time.
struct Place(UnsafeCell<u32>);

// SAFETY: 1. only `touch` reaches the cell; 2. loom fails the model if two touches are not ordered.
unsafe impl Sync for Place {}
// SAFETY: a `u32` may be sent.
unsafe impl Send for Place {}

impl Place {
    fn touch(&self) {
        // SAFETY: loom checks that no other thread touches the cell now.
        self.0.with_mut(|count| unsafe { *count += 1 });
    }
}

/// A callback that writes to a [`Place`] when it runs and when it is dropped.
struct Probe {
    place: Arc<Place>,
    counts: Arc<Counts>,
    answers: Vec<Next>,
    act: fn(&Firing<'_, Self>),
    /// If there is a gate, the callback waits for its notification before it ends.
    gate: Option<Arc<Notify>>,
}

#[derive(Default)]
struct Counts {
    runs: AtomicU32,
    drops: AtomicU32,
}

impl Counts {
    fn runs(&self) -> u32 {
        self.runs.load(Ordering::Relaxed)
    }

    fn drops(&self) -> u32 {
        self.drops.load(Ordering::Relaxed)
    }
}

impl Callback for Probe {
    fn call(&mut self, firing: &Firing<'_, Self>) -> Next {
        self.place.touch();
        (self.act)(firing);
        self.counts.runs.fetch_add(1, Ordering::Relaxed);
        if let Some(gate) = &self.gate {
            gate.wait();
        }
        self.place.touch();
        self.answers.pop().unwrap_or(Next::Done)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.place.touch();
        self.counts.drops.fetch_add(1, Ordering::Relaxed);
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// A scheduler with one due timer. Its callback returns the elements of `answers`, beginning with
/// the last.
#[derive(Clone)]
struct Scene {
    host: VirtualHost,
    scheduler: Arc<Scheduler<Probe>>,
    place: Arc<Place>,
    counts: Arc<Counts>,
    id: TimerId,
}

fn probe(answers: &[Next], act: fn(&Firing<'_, Probe>)) -> (Probe, Arc<Place>, Arc<Counts>) {
    let (place, counts) = (Arc::new(Place(UnsafeCell::new(0))), Arc::<Counts>::default());
    let probe = Probe {
        place: Arc::clone(&place),
        counts: Arc::clone(&counts),
        answers: answers.to_vec(),
        act,
        gate: None,
    };
    (probe, place, counts)
}

fn scene_doing(answers: &[Next], act: fn(&Firing<'_, Probe>)) -> Scene {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let (probe, place, counts) = probe(answers, act);
    let id = scheduler.keep(&Site::here("probe"), probe).unwrap();
    scheduler.start(id, Timing::after(SECOND)).unwrap();
    host.advance(SECOND);
    Scene { host, scheduler, place, counts, id }
}

fn scene(answers: &[Next]) -> Scene {
    let host = VirtualHost::new();
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.monotonic())));
    let (probe, place, counts) = probe(answers, |_| {});
    let id = scheduler.add(SECOND, probe).unwrap();
    host.advance(SECOND);
    Scene { host, scheduler, place, counts, id }
}

impl Scene {
    fn pass(&self) {
        // If another thread is running the queue, this thread leaves the work to it.
        let _ = self.scheduler.run_queue();
    }

    /// Call it after all threads are done. It checks that only pending timers still run, and that
    /// each callback is dropped once.
    fn settle(self) {
        let Self { host, scheduler, counts, id, .. } = self;
        assert_eq!(scheduler.check(), Ok(()));
        let info = scheduler.find(id);
        assert!(info.is_none_or(|info| info.state != State::Running), "it runs for ever");
        let pending = info.is_some_and(|info| info.state == State::Pending);
        let before = counts.runs();
        host.advance(SECOND * 10);
        let _ = scheduler.run_queue().unwrap();
        assert_eq!(counts.runs() > before, pending, "runs if and only if it is pending");
        assert_eq!(scheduler.check(), Ok(()));
        drop(scheduler);
        assert_eq!(counts.drops(), 1, "dropped once");
    }
}

#[test]
fn try_cancel_against_a_pass() {
    for answers in [&[][..], &[Next::Again]] {
        explore(None, move || {
            let scene = scene(answers);
            let (runner, canceller) = (scene.clone(), scene.clone());
            together!(move || runner.pass(), move || {
                let Scene { scheduler, counts, place, id, .. } = canceller;
                match scheduler.try_cancel(id) {
                    Cancelled::Removed(probe) => {
                        place.touch();
                        drop(probe);
                    }
                    Cancelled::Running { here } => assert!(!here),
                    Cancelled::NotFound => assert_eq!(counts.runs(), 1),
                    other => panic!("{}", name(&other)),
                }
            });
            scene.settle();
        });
    }
}

fn name<C>(found: &Cancelled<C>) -> &'static str {
    match found {
        Cancelled::Removed(_) => "removed",
        Cancelled::Disarmed => "disarmed",
        Cancelled::Idle => "idle",
        Cancelled::Running { .. } => "running",
        Cancelled::Finished { .. } => "finished",
        Cancelled::NotFound => "not found",
    }
}

#[test]
fn cancel_against_a_pass() {
    for answers in [&[][..], &[Next::Again]] {
        explore(None, move || {
            let scene = scene(answers);
            let (runner, canceller) = (scene.clone(), scene.clone());
            together!(move || runner.pass(), move || {
                let found = canceller.scheduler.cancel(canceller.id);
                assert!(matches!(
                    found,
                    Cancelled::Removed(_) | Cancelled::Running { here: false } | Cancelled::NotFound
                ));
            });
            assert!(scene.scheduler.find(scene.id).is_none(), "gone, whatever it answered");
            scene.settle();
        });
    }
}

#[test]
fn cancel_sync_against_a_pass() {
    for answers in [&[][..], &[Next::Again]] {
        explore(None, move || {
            let scene = scene(answers);
            let (runner, canceller) = (scene.clone(), scene.clone());
            together!(move || runner.pass(), move || {
                let Scene { scheduler, counts, place, id, .. } = canceller;
                let found = scheduler.cancel_sync(id).unwrap();
                // At this point neither the callback nor its drop is allowed to be in progress.
                place.touch();
                match found {
                    Cancelled::Removed(_) => {}
                    Cancelled::Finished { suppressed } => {
                        assert_eq!(counts.runs(), 1);
                        assert!(!suppressed || !answers.is_empty());
                    }
                    Cancelled::NotFound => assert_eq!((counts.runs(), answers.len()), (1, 0)),
                    other => panic!("{}", name(&other)),
                }
                assert!(scheduler.find(id).is_none());
            });
            scene.settle();
        });
    }
}

#[test]
fn two_wait_for_one_run() {
    explore(Some(3), || {
        let scene = scene(&[Next::Again]);
        let (runner, one, two) = (scene.clone(), scene.clone(), scene.clone());
        let suppressed = Arc::new(AtomicU32::new(0));
        let (first, second) = (Arc::clone(&suppressed), Arc::clone(&suppressed));
        let cancel = |scene: Scene, suppressed: Arc<AtomicU32>| match scene.scheduler.cancel_sync(scene.id) {
            Ok(Cancelled::Finished { suppressed: true } | Cancelled::Removed(_)) => {
                suppressed.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Cancelled::Finished { suppressed: false } | Cancelled::NotFound) => {}
            _ => panic!("neither removed nor ended"),
        };
        together!(move || runner.pass(), move || cancel(one, first), move || cancel(two, second));
        assert_eq!(suppressed.load(Ordering::Relaxed), 1, "one of them took it");
        scene.settle();
    });
}

/// A timer runs again and again. A thread that cancels it waits for only one run.
#[test]
fn cancel_sync_does_not_wait_for_the_next_run() {
    explore(Some(3), || {
        let scene = scene(&[]);
        let (mut next, ..) = probe(&[], |_| {});
        let gate = Arc::new(Notify::new());
        next.gate = Some(Arc::clone(&gate));
        scene.scheduler.add(Duration::ZERO, next).unwrap();
        let (runner, canceller) = (scene.clone(), scene.clone());
        together!(move || runner.pass(), move || {
            let Scene { scheduler, place, id, .. } = canceller;
            let _ = scheduler.cancel_sync(id).unwrap();
            place.touch();
            gate.notify();
        });
        scene.settle();
    });
}

#[test]
fn re_arm_against_a_pass() {
    for answers in [&[][..], &[Next::Again]] {
        explore(None, move || {
            let scene = scene_doing(answers, |_| {});
            let (runner, owner) = (scene.clone(), scene.clone());
            together!(move || runner.pass(), move || owner
                .scheduler
                .start(owner.id, Timing::after(SECOND * 5))
                .unwrap());
            assert_eq!(scene.scheduler.remaining(scene.id), Some(SECOND * 5), "the last word is the owner's");
            scene.scheduler.shutdown_timer(scene.id);
            scene.settle();
        });
    }
}

#[test]
fn re_arm_then_cancel_against_a_pass() {
    explore(None, || {
        let scene = scene_doing(&[Next::Again], |_| {});
        let (runner, owner) = (scene.clone(), scene.clone());
        together!(move || runner.pass(), move || {
            owner.scheduler.start(owner.id, Timing::after(SECOND)).unwrap();
            let _ = owner.scheduler.cancel_sync(owner.id).unwrap();
            owner.place.touch();
            assert_eq!(owner.scheduler.find(owner.id).map(|info| info.state), Some(State::Idle));
        });
        assert!(matches!(scene.scheduler.shutdown_timer(scene.id), Cancelled::Removed(_)));
        scene.settle();
    });
}

/// The timer's own callback armed it for the current time, so it was popped again, and waits for
/// the next pass.
#[test]
fn cancel_sync_against_one_that_re_arms_itself_for_now() {
    explore(Some(3), || {
        let scene = scene_doing(&[], |firing| {
            let _ = firing.scheduler().start(firing.id, Timing::after(Duration::ZERO));
        });
        let (runner, canceller) = (scene.clone(), scene.clone());
        together!(
            move || {
                runner.pass();
                runner.pass();
            },
            move || {
                let Scene { scheduler, place, id, .. } = canceller;
                let _ = scheduler.shutdown_timer_sync(id).unwrap();
                place.touch();
                assert!(scheduler.find(id).is_none());
            }
        );
        scene.settle();
    });
}

#[test]
fn shutdown_timer_against_re_arm_and_a_pass() {
    explore(Some(3), || {
        let scene = scene_doing(&[Next::Again], |_| {});
        let (runner, owner, other) = (scene.clone(), scene.clone(), scene.clone());
        together!(
            move || runner.pass(),
            move || {
                let _ = other.scheduler.start(other.id, Timing::after(SECOND));
            },
            move || {
                let Scene { scheduler, place, id, .. } = owner;
                drop(scheduler.shutdown_timer_sync(id).unwrap());
                place.touch();
            }
        );
        assert!(scene.scheduler.find(scene.id).is_none(), "nothing arms it again");
        scene.settle();
    });
}

#[test]
fn shutdown_against_a_pass() {
    for answers in [&[][..], &[Next::Again]] {
        explore(None, move || {
            let scene = scene(answers);
            let (runner, owner) = (scene.clone(), scene.clone());
            together!(move || runner.pass(), move || {
                let Scene { scheduler, place, counts, .. } = owner;
                drop(scheduler.shutdown().unwrap());
                place.touch();
                assert_eq!(counts.drops(), 1);
                let (late, ..) = probe(&[], |_| {});
                assert!(scheduler.add(SECOND, late).is_err());
            });
            scene.settle();
        });
    }
}

#[test]
fn shutdown_and_cancel_sync_against_a_pass() {
    explore(Some(3), || {
        let scene = scene(&[Next::Again]);
        let (runner, owner, other) = (scene.clone(), scene.clone(), scene.clone());
        together!(
            move || runner.pass(),
            move || {
                drop(other.scheduler.cancel_sync(other.id).unwrap());
            },
            move || drop(owner.scheduler.shutdown().unwrap())
        );
        scene.settle();
    });
}

/// All handles except the handle of the running thread are dropped while a pass is in progress.
/// That last handle keeps the scheduler alive until the pass has ended.
#[test]
fn drop_against_a_pass() {
    for answers in [&[][..], &[Next::Again]] {
        explore(None, move || {
            let Scene { scheduler, counts, .. } = scene(answers);
            let (runner, owner) = (Arc::clone(&scheduler), scheduler);
            together!(
                move || {
                    let _ = runner.run_queue();
                },
                move || drop(owner)
            );
            assert_eq!(counts.drops(), 1);
        });
    }
}

#[test]
fn two_runners() {
    explore(None, || {
        let scene = scene(&[]);
        let (mut next, _, counts) = probe(&[], |_| {});
        next.place = Arc::clone(&scene.place);
        scene.scheduler.add(Duration::ZERO, next).unwrap();
        let (one, two) = (scene.clone(), scene.clone());
        together!(move || one.pass(), move || two.pass());
        assert_eq!((scene.counts.runs(), counts.runs()), (1, 1));
        scene.settle();
    });
}

#[test]
fn replace_against_a_pass() {
    explore(None, || {
        let scene = scene(&[Next::Again]);
        let (runner, owner) = (scene.clone(), scene.clone());
        let (next, _, counts) = probe(&[], |_| {});
        together!(move || runner.pass(), move || {
            let Scene { scheduler, id, .. } = owner;
            let timing = Timing::after(SECOND * 3);
            let (new, _) = scheduler.timer(timing).named("new").replace(id, next).ok().unwrap();
            assert_eq!(scheduler.remaining(new), Some(SECOND * 3));
        });
        assert!(scene.scheduler.find(scene.id).is_none());
        scene.settle();
        assert_eq!((counts.runs(), counts.drops()), (1, 1));
    });
}

/// The loop of a C program sleeps without a limit. One thread arms a timer, and another thread
/// removes the function that wakes the loop. If the removal comes first, the arm is refused.
#[test]
fn the_removal_of_a_wake_against_an_arm() {
    explore(None, || {
        let scheduler = Arc::new(Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic())));
        let wakes = count_wakes(&scheduler);
        assert_eq!(scheduler.timeout_of_loop(), None);
        let arms = Arc::clone(&scheduler);
        let is_armed =
            together!(move || arms.add(SECOND, probe(&[], |_| {}).0).is_ok(), || scheduler.set_wake(None));
        assert_eq!(wakes.load(Ordering::Relaxed), u32::from(is_armed));
    });
}

fn count_wakes(scheduler: &Scheduler<Probe>) -> Arc<AtomicU32> {
    let wakes = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&wakes);
    scheduler.set_wake(Some(Arc::new(move || {
        counts.fetch_add(1, Ordering::Relaxed);
    })));
    wakes
}

/// A loop requests its time-out at any moment of a pass. The callback of this pass asks to run
/// again in 1 s.
#[test]
fn a_loop_that_asks_against_a_pass() {
    for has_function in [true, false] {
        explore(None, move || {
            let scene = scene(&[Next::After(SECOND)]);
            let wakes = if has_function { count_wakes(&scene.scheduler) } else { Arc::default() };
            let runner = scene.clone();
            let scheduler = Arc::clone(&scene.scheduler);
            let asked = Arc::new(std::sync::Mutex::new(None));
            let slept = Arc::clone(&asked);
            together!(move || runner.pass(), move || {
                *slept.lock().unwrap() = Some(scheduler.timeout_of_loop());
            });
            let slept = asked.lock().unwrap().take().unwrap();
            let is_late = slept.is_none_or(|slept| slept > SECOND);
            assert_eq!(wakes.load(Ordering::Relaxed), u32::from(is_late), "{slept:?}");
            assert!(has_function || !is_late);
            scene.settle();
        });
    }
}
