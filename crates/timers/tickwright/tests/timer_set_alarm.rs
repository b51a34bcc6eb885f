//! Tests that the alarm of a timer set is never later than its first timer, whatever the queue
//! reports about its head, and whichever thread is notified of a step of the wall clock.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{Next, Plain, Scheduler, Settings, Site, Structure, TimerSet, Timing};
use tickwright::time::{Alarm, DriverThread, Instant, Parker, VirtualHost};

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Default)]
struct Bell(Mutex<Option<Instant>>);

impl Alarm for Bell {
    fn set(&self, at: Option<Instant>) {
        *self.0.lock().unwrap() = at;
    }
}

#[test]
fn the_alarm_is_never_later_than_the_first_timer() {
    let mut late = Vec::new();
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure));
        let bell = Arc::new(Bell::default());
        set.set_alarm(Some(bell.clone()));
        let add = |set: &mut TimerSet<()>, hours| {
            set.add(Timing::after(hours * HOUR), &Site::here("x"), ()).unwrap()
        };
        let first = add(&mut set, 5);
        add(&mut set, 9);
        let _ = set.cancel(first);
        set.begin_pass();
        set.end_pass();
        add(&mut set, 6);
        let (set, next) = (bell.0.lock().unwrap().unwrap(), set.next_wake().unwrap());
        if set > next {
            late.push(format!("{structure}: the alarm is {:?} late", set.duration_since(next)));
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}

/// A driver thread runs a wheel. If the alarm were too late, the driver would sleep past the timer.
#[test]
fn a_driver_thread_runs_a_wheel_in_time() {
    let host = VirtualHost::new();
    let settings = Settings::new().clock(host.monotonic()).structure("wheel".parse().unwrap());
    let scheduler: Arc<Scheduler<Plain<()>>> = Arc::new(Scheduler::new(settings));
    let parker = Parker::new(host.monotonic());
    scheduler.set_alarm(Some(parker.clone()));
    let runs = Arc::clone(&scheduler);
    let driver = DriverThread::spawn("driver", parker, move || {
        let _ = runs.run_queue();
    })
    .unwrap();
    let nothing = Plain::new((), |(), _| Next::Done);
    let cancelled = scheduler.add(5 * HOUR, nothing).unwrap();
    scheduler.add(9 * HOUR, nothing).unwrap();
    scheduler.add(HOUR, nothing).unwrap();
    let _ = scheduler.cancel(cancelled);
    host.advance(HOUR);
    assert!(driver.settle());
    let soon = scheduler.add(5 * HOUR, nothing).unwrap();
    host.advance(7 * HOUR);
    assert!(driver.settle());
    assert_eq!(scheduler.find(soon), None, "it is two hours late, and the driver sleeps");
}

/// A driver is notified of a step while another thread runs the queue, so the driver's run is
/// refused. The other thread must then read the wall clock.
#[test]
fn a_step_that_is_heard_of_while_busy_is_not_lost() {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Barrier;
    use tickwright::scheduler::{Boxed, When};

    let host = VirtualHost::starting_at(Instant::ZERO, 0);
    let scheduler = Arc::new(Scheduler::new(Settings::new().clock(host.real_time())));
    let fired = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fired);
    let at = Timing::at(When::Wall(24 * HOUR));
    let counts = Boxed::once(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    scheduler.timer(at).named("wall").add(counts).unwrap();
    let (begun, ended) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (b, e) = (Arc::clone(&begun), Arc::clone(&ended));
    let waits = Boxed::once(move |_| {
        b.wait();
        e.wait();
    });
    scheduler.add(Duration::ZERO, waits).unwrap();
    let other = Arc::clone(&scheduler);
    let pass = std::thread::spawn(move || other.run_queue());
    begun.wait();
    let parker = Parker::new(host.real_time());
    scheduler.set_alarm(Some(parker.clone()));
    let runs = Arc::clone(&scheduler);
    let driver = DriverThread::spawn("driver", parker, move || {
        let _ = runs.run_queue();
    })
    .unwrap();
    assert!(driver.settle());
    host.step_wall((48 * HOUR).as_nanos() as i64);
    assert!(driver.settle());
    ended.wait();
    assert_eq!(pass.join().unwrap(), Ok(1));
    assert!(driver.settle());
    assert_eq!(fired.load(Ordering::SeqCst), 1, "a day late by the wall, and the driver sleeps");
}

/// Like `a_step_that_is_heard_of_while_busy_is_not_lost`, but the wall clock is stepped before the
/// set gets its alarm.
#[test]
fn a_step_before_the_alarm_was_given_is_not_lost() {
    use tickwright::scheduler::When;
    let host = VirtualHost::starting_at(Instant::ZERO, 0);
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    set.add(Timing::at(When::Wall(24 * HOUR)), &Site::here("x"), ()).unwrap();
    host.step_wall((48 * HOUR).as_nanos() as i64);
    let bell = Arc::new(Bell::default());
    set.set_alarm(Some(bell.clone()));
    assert!(bell.0.lock().unwrap().is_some_and(|at| at == Instant::ZERO), "{:?}", bell.0.lock().unwrap());
}
