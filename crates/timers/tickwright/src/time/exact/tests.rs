use std::sync::mpsc;
use std::thread;

use super::*;
use crate::time::{Clock, SystemClock};

#[derive(Default)]
struct Event {
    notified: Mutex<bool>,
    condition: Condvar,
    sleepers: Sleepers,
}

impl Event {
    fn wait_for(&self, most: Duration) {
        let guard = lock(&self.notified);
        drop(self.sleepers.wait_for(&self.condition, &self.notified, guard, most));
    }
}

#[test]
fn no_sleep_is_too_short() {
    let event = Event::default();
    for nanos in [0, 1, 99, 100, 101, 300_000, 999_999, 1_000_001, 15_600_000, 20_000_000] {
        let (begun, span) = (SystemClock::Monotonic.now(), Duration::from_nanos(nanos));
        event.wait_for(span);
        let slept = SystemClock::Monotonic.now().duration_since(begun);
        assert!(slept >= span, "{slept:?} for {span:?}");
    }
    assert!(lock(&event.sleepers.0).is_empty());
    assert!(SLEEPER.with(|sleeper| sleeper.as_ref().unwrap().timer.is_some()), "each system has a timer");
}

/// A sleeper without a timer waits for a whole number of milliseconds, which is rounded up.
#[test]
fn no_sleep_without_a_timer_is_too_short() {
    let sleeper = Sleeper { timer: None, ..Sleeper::new().unwrap() };
    let (begun, span) = (SystemClock::Monotonic.now(), Duration::from_micros(2300));
    sleeper.sleep(span);
    assert!(SystemClock::Monotonic.now().duration_since(begun) >= span);
}

#[test]
fn a_notice_wakes_each_thread() {
    let event = Arc::new(Event::default());
    let (tell, told) = mpsc::channel();
    let threads = (0..3).map(|_| {
        let (event, tell) = (Arc::clone(&event), tell.clone());
        thread::spawn(move || {
            let mut guard = lock(&event.notified);
            tell.send(()).unwrap();
            while !*guard {
                let hour = Duration::from_secs(3600);
                guard = event.sleepers.wait_for(&event.condition, &event.notified, guard, hour);
            }
        })
    });
    let threads = threads.collect::<Vec<_>>();
    (0..3).for_each(|_| told.recv().unwrap());
    *lock(&event.notified) = true;
    event.sleepers.notify_all();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A notification that came while the thread did not wait ends only one later wait early.
#[test]
fn a_late_notice_is_used_up() {
    let sleeper = Sleeper::new().unwrap();
    // SAFETY: the handle is open, and of an event.
    unsafe { SetEvent(sleeper.notice.as_raw_handle()) };
    sleeper.sleep(Duration::from_secs(3600));
    let (begun, span) = (SystemClock::Monotonic.now(), Duration::from_millis(3));
    sleeper.sleep(span);
    assert!(SystemClock::Monotonic.now().duration_since(begun) >= span);
}
