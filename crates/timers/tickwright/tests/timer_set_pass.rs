//! Tests of passes: the order in which timers run, and that no timer starves, even if other timers
//! are always armed for the current time or for the past.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{
    Boxed, Missed, Next, Scheduler, Settings, Site, Structure, TimerSet, Timing, When,
};
use tickwright::time::{Instant, VirtualHost};

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn each(mut test: impl FnMut(Structure) -> Result<(), String>) {
    let failed: Vec<_> =
        Structure::all().into_iter().filter_map(|s| test(s).err().map(|e| format!("{s}: {e}"))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// One timer with the policy `Burst` has missed many periods, and another timer is due.
#[test]
fn a_burst_far_behind_does_not_hold_others_back() {
    each(|structure| {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(
            Settings::new().clock(host.monotonic()).structure(structure).tick(Duration::from_millis(1)),
        );
        let burst = Timing::after(secs(1)).every(secs(1)).missed(Missed::Burst);
        set.add(burst, &Site::here("burst"), "burst").unwrap();
        set.add(Timing::after(secs(5000)), &Site::here("once"), "once").unwrap();
        host.advance(Duration::from_secs(10_000));
        for _ in 0..5 {
            set.begin_pass();
            while let Some(due) = set.take() {
                if due.payload == "once" {
                    return Ok(());
                }
                set.finish(due.id, due.payload, Next::Again);
            }
            set.end_pass();
            host.advance(Duration::from_millis(1));
        }
        Err("5 passes, and the other timer has not run".into())
    });
}

#[test]
fn one_armed_for_the_past_does_not_starve_others() {
    each(|structure| {
        let host = VirtualHost::new();
        let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()).structure(structure));
        let log: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (a, b) = (Arc::clone(&log), Arc::clone(&log));
        scheduler
            .add(
                secs(1),
                Boxed::new(move |firing| {
                    a.lock().unwrap().push(b'a');
                    firing.scheduler().start(firing.id, Timing::at(When::At(Instant::ZERO))).unwrap();
                    Next::Done
                }),
            )
            .unwrap();
        scheduler.add(secs(50), Boxed::once(move |_| b.lock().unwrap().push(b'b'))).unwrap();
        host.advance(Duration::from_secs(60));
        for _ in 0..5 {
            scheduler.run_queue().unwrap();
            host.advance(Duration::from_millis(20));
        }
        let ran = log.lock().unwrap().clone();
        if ran.contains(&b'b') { Ok(()) } else { Err(String::from_utf8_lossy(&ran).into_owned()) }
    });
}

/// `Timing::every`: "A period of 0 is due again at each pass."
#[test]
fn a_period_of_zero_on_a_grid_does_not_starve_others() {
    each(|structure| {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure));
        let zero = Timing::after(secs(1)).every(Duration::ZERO).missed(Missed::Skip);
        set.add(zero, &Site::here("zero"), "zero").unwrap();
        set.add(Timing::after(secs(5)), &Site::here("once"), "once").unwrap();
        for _ in 0..50 {
            host.advance(Duration::from_secs(1));
            set.begin_pass();
            while let Some(due) = set.take() {
                if due.payload == "once" {
                    return Ok(());
                }
                set.finish(due.id, due.payload, Next::Again);
            }
            set.end_pass();
        }
        Err("50 passes".into())
    });
}

/// "A pass runs the timers that were due when it began and were armed before."
#[test]
fn a_pass_takes_all_that_was_due_and_armed_before() {
    each(|structure| {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(
            Settings::new().clock(host.monotonic()).structure(structure).tick(Duration::from_millis(1)),
        );
        for at in 1..=50u64 {
            set.add(Timing::after(Duration::from_millis(at * 7)), &Site::here("x"), at).unwrap();
        }
        host.advance(Duration::from_secs(60));
        // Each timer is re-armed in the past, in three passes.
        for pass in 0..3 {
            set.begin_pass();
            let mut ran = 0;
            while let Some(due) = set.take() {
                ran += 1;
                let _ = set.start(due.id, Timing::at(When::At(due.due)));
                set.finish(due.id, due.payload, Next::Done);
            }
            set.end_pass();
            if ran != 50 {
                return Err(format!("pass {pass}: {ran} of 50"));
            }
            host.advance(Duration::from_millis(100));
        }
        Ok(())
    });
}

#[test]
fn the_pass_counter_comes_round_unseen() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    for name in ["a", "b"] {
        set.add(Timing::after(secs(1)), &Site::here(name), name).unwrap();
    }
    for _ in 0..65_535 {
        set.begin_pass();
        assert!(set.take().is_none());
    }
    host.advance(Duration::from_secs(1));
    set.begin_pass();
    assert!(set.take().is_some(), "due, armed 65536 passes ago, and not taken");
}

/// A timer that is armed for the past during a pass comes after all timers that are due now, even
/// if the queue returns it first.
#[test]
fn one_held_ahead_and_armed_for_the_past_does_not_end_the_pass_early() {
    each(|structure| {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(
            Settings::new().clock(host.monotonic()).structure(structure).tick(Duration::from_millis(1)),
        );
        let burst = Timing::after(secs(1)).every(Duration::from_millis(1)).missed(Missed::Burst);
        set.add(burst, &Site::here("burst"), "burst").unwrap();
        set.add(Timing::after(secs(11)), &Site::here("once"), "once").unwrap();
        for seconds in [10, 2] {
            host.advance(Duration::from_secs(seconds));
            set.begin_pass();
            while let Some(due) = set.take() {
                if due.payload == "once" {
                    return Ok(());
                }
                set.finish(due.id, due.payload, Next::Again);
            }
            set.end_pass();
        }
        Err("due since a second and armed before, and the pass has left it".into())
    });
}

/// A callback runs for a long time and adds a timer. Timers that become due during the callback run
/// in the next pass, even if the add advances the queue's `now`.
#[test]
fn what_becomes_due_in_a_pass_waits_for_the_next() {
    each(|structure| {
        for host_tick in [false, true] {
            let host = VirtualHost::new();
            let settings = Settings::new().clock(host.monotonic()).structure(structure);
            let mut scheduler = Scheduler::new(settings.tick(Duration::from_millis(1)));
            let ms = Duration::from_millis;
            let machine = host.clone();
            let a = Boxed::new(move |firing| {
                machine.advance(Duration::from_millis(50));
                firing.scheduler().add(secs(1), Boxed::new(|_| Next::Done)).unwrap();
                Next::Done
            });
            scheduler.add(ms(10), a).unwrap();
            let b = scheduler.add(ms(40), Boxed::new(|_| Next::Done)).unwrap();
            if host_tick {
                scheduler.set_host(b).unwrap();
            }
            host.advance(Duration::from_millis(12));
            let first = scheduler.run_queue();
            scheduler.check().map_err(|violation| violation.to_string())?;
            let (wait, second) = (scheduler.timeout(), scheduler.run_queue());
            if (first, wait, second) != (Ok(1), Some(Duration::ZERO), Ok(1)) {
                return Err(format!("host tick {host_tick}: {first:?}, {wait:?}, {second:?}"));
            }
        }
        Ok(())
    });
}

/// A timer that waits for the next pass is pending until then, and can be cancelled and re-armed
/// like any other timer.
#[test]
fn what_waits_for_the_next_pass_can_be_cancelled_and_armed() {
    each(|structure| {
        for again in [false, true] {
            let host = VirtualHost::new();
            let settings = Settings::new().clock(host.monotonic()).structure(structure);
            let mut set = TimerSet::new(settings.tick(Duration::from_millis(1)));
            let add = |set: &mut TimerSet<_>, ms| {
                set.add(Timing::after(Duration::from_millis(ms)), &Site::here("x"), ms).unwrap()
            };
            add(&mut set, 10);
            let b = add(&mut set, 40);
            host.advance(Duration::from_millis(12));
            set.begin_pass();
            let due = set.take().ok_or("nothing is due")?;
            host.advance(Duration::from_millis(50));
            add(&mut set, 1000);
            if let Some(due) = set.take() {
                return Err(format!("{} ms was taken", due.payload));
            }
            set.finish(due.id, due.payload, Next::Done);
            if again {
                set.start(b, Timing::after(Duration::from_millis(100))).unwrap();
            } else {
                set.cancel(b);
            }
            set.end_pass();
            set.check().map_err(|violation| violation.to_string())?;
            set.begin_pass();
            if let Some(due) = set.take() {
                return Err(format!("{} ms was taken, again {again}", due.payload));
            }
        }
        Ok(())
    });
}
