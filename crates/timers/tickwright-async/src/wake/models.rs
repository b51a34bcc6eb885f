//! Models of the driver's sleep against threads that file timers, in all schedules. A wake-up that
//! is lost is a thread that sleeps for ever, which loom reports as a deadlock: its waits have no
//! end.

use super::*;
use crate::sync::Arc;

/// A stand-in for the shards: the earliest tick, behind a lock.
#[derive(Clone)]
struct Scene {
    sleeper: Arc<Sleeper>,
    earliest: Arc<Mutex<u64>>,
}

impl Scene {
    fn new() -> Self {
        let sleeper = Sleeper::default();
        assert!(sleeper.call(u64::MAX), "the first call starts the thread");
        Self { sleeper: Arc::new(sleeper), earliest: Arc::new(Mutex::new(u64::MAX)) }
    }

    /// Files a timer. Returns whether a thread has to be started.
    fn file(&self, tick: u64) -> bool {
        let mut earliest = lock(&self.earliest);
        let is_first = tick < *earliest;
        *earliest = tick.min(*earliest);
        drop(earliest);
        is_first && self.sleeper.call(tick)
    }
}

/// Fails when `begin` comes after the look, or when `call` does not store the tick that it is
/// given.
#[test]
fn a_timer_that_is_filed_during_a_look_wakes_the_thread() {
    loom::model(|| {
        let scene = Scene::new();
        let other = scene.clone();
        let filer = loom::thread::spawn(move || assert!(!other.file(5)));
        loop {
            scene.sleeper.begin();
            let next = *lock(&scene.earliest);
            if next == 5 {
                break;
            }
            // Ticks up to 5 are past.
            scene.sleeper.sleep(next, |tick| (tick > 5).then_some(Duration::from_secs(1)));
        }
        filer.join().unwrap();
    });
}

/// Fails when the thread checks whether it is idle before it stores that it ends.
#[test]
fn a_thread_that_ends_against_a_timer_that_is_filed() {
    loom::model(|| {
        let scene = Scene::new();
        let other = scene.clone();
        let filer = loom::thread::spawn(move || other.file(5));
        let has_ended = scene.sleeper.end(|| *lock(&scene.earliest) == u64::MAX);
        let starts = filer.join().unwrap();
        assert_eq!(has_ended, starts, "there is one thread for the timer");
    });
}
