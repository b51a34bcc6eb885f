//! Loom models of a driver that sleeps and of threads that file timers, in all schedules. If a
//! wake-up is lost, a thread sleeps forever, because waits in a model have no time-out, and loom
//! reports a deadlock.

use tickwright::time::{Instant, Parker, Woken};

use super::*;
use crate::sync::Arc;

type Alarm = Arc<Parker<SystemClock>>;

/// A simplified core: an alarm replaces the thread, and the earliest time replaces the shards.
#[derive(Clone)]
struct Scene {
    place: Arc<Place<Alarm>>,
    earliest: Arc<Mutex<Instant>>,
}

impl Scene {
    /// Creates a scene in which the thread already exists.
    fn new() -> (Self, Alarm) {
        let (place, alarm) = (Place::new(), Parker::new(SystemClock::Monotonic));
        place.call(|| Ok(alarm.clone()), |_| {}).unwrap();
        (Self { place: Arc::new(place), earliest: Arc::new(Mutex::new(Instant::MAX)) }, alarm)
    }

    /// Files a timer that is due. Returns whether a thread had to be started.
    fn file(&self) -> bool {
        *lock(&self.earliest) = Instant::ZERO;
        let mut starts = false;
        let start = || {
            starts = true;
            Ok(Parker::new(SystemClock::Monotonic))
        };
        self.place.call(start, |alarm| alarm.bring_forward(Instant::ZERO)).unwrap();
        starts
    }
}

/// Fails if the thread, after it has checked the timers, sets its alarm instead of only bringing it
/// forward.
#[test]
fn a_timer_that_is_filed_during_a_look_wakes_the_thread() {
    loom::model(|| {
        let (scene, alarm) = Scene::new();
        let other = scene.clone();
        let filer = loom::thread::spawn(move || assert!(!other.file()));
        loop {
            let next = *lock(&scene.earliest);
            if next == Instant::ZERO {
                break;
            }
            alarm.bring_forward(next);
            assert_eq!(alarm.wait(), Woken::Due);
        }
        filer.join().unwrap();
    });
}

/// Fails if the thread checks whether it is idle before it leaves its place, instead of after that.
#[test]
fn a_thread_that_ends_against_a_timer_that_is_filed() {
    loom::model(|| {
        let (scene, alarm) = Scene::new();
        let other = scene.clone();
        let filer = loom::thread::spawn(move || other.file());
        let ends = scene.place.leave(|| *lock(&scene.earliest) == Instant::MAX);
        let starts = filer.join().unwrap();
        assert_eq!(ends, starts, "there is one thread for the timer");
        if !ends {
            assert_eq!(alarm.wait(), Woken::Due);
        }
    });
}

/// Fails if the thread does not check again whether it is idle after it has returned to its place.
#[test]
fn a_thread_that_stays_against_a_timer_that_is_freed() {
    loom::model(|| {
        let (scene, alarm) = Scene::new();
        // The timer is never due.
        *lock(&scene.earliest) = Instant::from_nanos(u64::MAX - 1);
        let other = scene.clone();
        let owner = loom::thread::spawn(move || {
            *lock(&other.earliest) = Instant::MAX;
            other.place.call_if_any(|alarm| alarm.bring_forward(Instant::ZERO));
        });
        while !scene.place.leave(|| *lock(&scene.earliest) == Instant::MAX) {
            assert_eq!(alarm.wait(), Woken::Due);
        }
        owner.join().unwrap();
    });
}
