//! Tests of a timer set on the virtual clock: grids, policies, slack, steps of the wall clock, and
//! suspends.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tickwright::scheduler::{
    Cancelled, Missed, Next, Refusal, Settings, Site, State, Structure, TimerSet, Timing, When,
};
use tickwright::time::{Clock, Instant, VirtualHost};

const SECOND: u64 = 1_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn exact() -> impl Iterator<Item = Structure> {
    Structure::all().into_iter().filter(Structure::is_exact)
}

/// Runs one pass, and arms all timers that ran again. Returns (payload, due time in s, overruns) of
/// each timer that ran.
fn pass(set: &mut TimerSet<&'static str>) -> Vec<(&'static str, u64, u64)> {
    set.begin_pass();
    let mut ran = Vec::new();
    while let Some(due) = set.take() {
        assert!(due.due <= due.now, "early");
        ran.push((due.payload, due.due.as_nanos() / SECOND, due.overruns));
        set.finish(due.id, due.payload, Next::Again);
    }
    set.end_pass();
    assert_eq!(set.check(), Ok(()));
    ran
}

fn all_passes(set: &mut TimerSet<&'static str>) -> Vec<(&'static str, u64, u64)> {
    let mut ran = pass(set);
    while set.timeout() == Some(Duration::ZERO) {
        ran.extend(pass(set));
    }
    ran
}

#[test]
fn each_policy_does_what_its_table_says() {
    for structure in exact() {
        for (missed, ran, next) in [
            (Missed::Burst, vec![("t", 20, 0), ("t", 30, 0), ("t", 40, 0)], 50),
            (Missed::Skip, vec![("t", 40, 2)], 50),
            (Missed::Delay, vec![("t", 20, 2)], 57),
            (Missed::Collapse, vec![("t", 20, 2), ("t", 47, 0)], 57),
            (Missed::Persist, vec![("t", 20, 2)], 57),
        ] {
            let host = VirtualHost::new();
            let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure));
            let timing = Timing::after(secs(20)).every(secs(10)).missed(missed);
            set.add(timing, &Site::here("t"), "t").unwrap();
            host.advance(secs(47));
            assert_eq!(all_passes(&mut set), ran, "{structure} {missed:?}");
            assert_eq!(set.timeout(), Some(secs(next - 47)), "{structure} {missed:?}");
        }
    }
}

/// A timer that was due at 20 runs at 23, which is late by less than a period. The grid stays,
/// except with the policy that has no grid.
#[test]
fn no_period_was_missed() {
    for (missed, next) in [
        (Missed::Burst, 30),
        (Missed::Skip, 30),
        (Missed::Delay, 33),
        (Missed::Collapse, 30),
        (Missed::Persist, 30),
    ] {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
        let timing = Timing::after(secs(20)).every(secs(10)).missed(missed);
        set.add(timing, &Site::here("t"), "t").unwrap();
        host.advance(secs(23));
        assert_eq!(all_passes(&mut set), [("t", 20, 0)]);
        assert_eq!(set.timeout(), Some(secs(next - 23)), "{missed:?}");
    }
}

/// Follows libevent: a timer is next due one period after its previous due time. If that time has
/// passed when the run begins, the timer is due one period after the beginning of the run.
#[test]
fn a_persistent_timer_keeps_its_grid_until_it_misses() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let timing = Timing::after(secs(100)).every(secs(100)).missed(Missed::Persist);
    let id = set.add(timing, &Site::here("t"), "t").unwrap();
    let mut now = 0;
    // The columns are the time of the run, the length of the run, the overruns, and the next due
    // time. At 400 the next due time is exactly the time of the run, so no period was missed.
    for (at, takes, overruns, next) in [
        (103, 0, 0, 200),
        (250, 0, 0, 300),
        (400, 0, 0, 400),
        (400, 0, 0, 500),
        (777, 50, 2, 877),
        (880, 150, 0, 977),
        (1030, 0, 0, 1077),
    ] {
        host.advance(secs(at - now));
        set.begin_pass();
        let due = set.take().unwrap();
        assert_eq!(due.overruns, overruns, "at {at}");
        host.advance(secs(takes));
        now = at + takes;
        set.finish(due.id, due.payload, Next::Again);
        set.end_pass();
        assert_eq!(set.find(id).map(|info| info.due.as_nanos() / SECOND), Some(next), "at {at}");
    }
}

/// If a timer without a period asks to run again, it runs after its delay, and its policy still
/// applies.
#[test]
fn policies_without_a_period() {
    for (missed, next, overruns) in [
        (Missed::Burst, 20, 0),
        (Missed::Skip, 50, 3),
        (Missed::Delay, 57, 3),
        (Missed::Collapse, 47, 3),
        (Missed::Persist, 57, 3),
    ] {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
        let id = set.add(Timing::after(secs(10)).missed(missed), &Site::here("t"), "t").unwrap();
        host.advance(secs(47));
        assert_eq!(pass(&mut set), [("t", 10, 0)]);
        assert_eq!(set.find(id).map(|info| info.due.as_nanos() / SECOND), Some(next), "{missed:?}");
        assert_eq!(set.statistics().overruns, overruns, "{missed:?}");
    }
}

#[test]
fn a_grid_does_not_drift_in_a_million_periods() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let period = Duration::from_nanos(333_333);
    set.add(Timing::after(period).every(period).missed(Missed::Skip), &Site::here("t"), ()).unwrap();
    let mut ran = 0;
    for step in 0..1_000_000u64 {
        // Each run is late, by a changing amount.
        host.advance(Duration::from_nanos(333_333 + step % 2 * 7));
        host.advance(Duration::from_nanos(0));
        set.begin_pass();
        while let Some(due) = set.take() {
            ran += 1 + due.overruns;
            assert_eq!(due.due.as_nanos() % 333_333, 0);
            set.finish(due.id, (), Next::Again);
        }
    }
    assert_eq!(ran, set.now().as_nanos() / 333_333);
}

#[test]
fn a_timer_armed_in_a_pass_waits_for_the_next() {
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure));
        let now = Timing::after(Duration::ZERO);
        for name in ["a", "b"] {
            set.add(now, &Site::here(name), name).unwrap();
        }
        host.advance(secs(1));
        for _ in 0..5 {
            let ran: Vec<_> = pass(&mut set).into_iter().map(|(name, ..)| name).collect();
            assert_eq!(ran, ["a", "b"], "{structure}: each once, in order");
            // A wheel can round the due time up to the next tick.
            host.advance(Duration::from_millis(10));
        }
        assert_eq!(set.statistics().fired, 10);
    }
}

#[test]
fn the_first_of_the_next_pass_can_be_cancelled_and_moved() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let id = set.add(Timing::after(Duration::ZERO), &Site::here("t"), "t").unwrap();
    assert_eq!(pass(&mut set).len(), 1);
    assert_eq!(set.find(id).map(|info| info.state), Some(State::Pending));
    assert_eq!(set.timeout(), Some(Duration::ZERO));
    set.start(id, Timing::after(secs(5))).unwrap();
    assert_eq!((set.timeout(), set.check()), (Some(secs(5)), Ok(())));
    host.advance(secs(5));
    assert_eq!(pass(&mut set).len(), 1);
    host.advance(secs(5));
    assert_eq!(pass(&mut set), [("t", 10, 0)]);
    assert_eq!(set.cancel(id), Cancelled::Removed("t"));
    assert_eq!((set.timeout(), set.check()), (None, Ok(())));
}

#[test]
fn slack_lets_timers_meet_and_never_early_nor_later_than_it() {
    for structure in exact() {
        let host = VirtualHost::new();
        let tick = Duration::from_millis(1);
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure).tick(tick));
        let slack = secs(1);
        for ms in (0..1000).step_by(10) {
            let timing = Timing::after(Duration::from_millis(60_000 + ms)).slack(slack);
            set.add(timing, &Site::here("t"), "t").unwrap();
        }
        let mut wakes = 0;
        while let Some(left) = set.timeout() {
            host.advance(left);
            wakes += 1;
            set.begin_pass();
            while let Some(due) = set.take() {
                assert!(due.now >= due.due && due.now.duration_since(due.due) <= secs(1), "{structure}");
                set.finish(due.id, due.payload, Next::Done);
            }
        }
        assert!(wakes <= 3, "{structure}: {wakes} wake-ups for 100 timers");
        assert_eq!(set.statistics().fired, 100);
    }
}

#[test]
fn steps_of_the_wall_move_timers_by_the_wall_alone() {
    for structure in exact() {
        for (step, due_in) in [(-3600i64, Some(3605u64)), (86_400, None), (3, Some(2))] {
            let host = VirtualHost::new();
            let mut set = TimerSet::new(Settings::new().clock(host.real_time()).structure(structure));
            set.add(Timing::at(When::Wall(secs(5))), &Site::here("wall"), "wall").unwrap();
            set.add(Timing::after(secs(5)), &Site::here("delay"), "delay").unwrap();
            host.step_wall(step * 1_000_000_000);
            let names = |ran: Vec<(&'static str, u64, u64)>| {
                ran.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
            };
            match due_in {
                Some(left) => {
                    assert_eq!(set.timeout(), Some(secs(left.min(5))));
                    assert_eq!(
                        set.iter().find(|i| i.site.name == "wall").map(|i| i.due),
                        Some(Instant::ZERO + secs(left))
                    );
                }
                None => {
                    assert_eq!(set.timeout(), Some(Duration::ZERO));
                    set.begin_pass();
                    let due = set.take().unwrap();
                    assert_eq!(due.payload, "wall");
                    set.finish(due.id, due.payload, Next::Done);
                    assert!(set.take().is_none());
                }
            }
            host.advance(secs(5));
            assert!(names(pass(&mut set)).contains(&"delay"), "{structure}: a delay is a delay");
            assert_eq!(set.statistics().steps, 1);
        }
    }
}

#[test]
fn a_periodic_timer_by_the_wall_runs_once_after_a_step_forward_and_comes_nearer_after_one_back() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    host.step_wall(5000 * SECOND as i64);
    let timing = Timing::at(When::Wall(secs(5010))).every(secs(10)).missed(Missed::Skip);
    set.add(timing, &Site::here("t"), "t").unwrap();
    host.step_wall(-100 * SECOND as i64);
    assert_eq!(set.timeout(), Some(secs(110)), "its first time is what was asked for");
    host.step_wall(100 * SECOND as i64);
    host.advance(secs(10));
    assert_eq!(pass(&mut set), [("t", 10, 0)]);
    host.step_wall(53 * SECOND as i64);
    // The wall clock shows 63, so the timer was due at 20, and missed 30 to 60.
    assert_eq!(pass(&mut set).iter().map(|ran| ran.2).collect::<Vec<_>>(), [4]);
    assert_eq!(set.timeout(), Some(secs(7)));
    host.step_wall(-1000 * SECOND as i64);
    assert_eq!(set.timeout(), Some(secs(7)), "the grid goes on from there");
}

/// The wall clock is set back by a whole number of periods. The next run is one period later, and
/// not at once.
#[test]
fn a_grid_by_the_wall_that_is_set_back_to_a_point_of_the_grid_waits_a_period() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    let timing = Timing::at(When::Wall(secs(100))).every(secs(10)).missed(Missed::Skip);
    set.add(timing, &Site::here("t"), "t").unwrap();
    host.advance(secs(100));
    assert_eq!(pass(&mut set), [("t", 100, 0)]);
    assert_eq!(set.timeout(), Some(secs(10)));
    // The wall clock shows 80, and the timer is due at 110, which is three periods later.
    host.step_wall(-20 * SECOND as i64);
    assert_eq!(set.timeout(), Some(secs(10)));
    assert_eq!(pass(&mut set), []);
    host.advance(secs(10));
    assert_eq!(pass(&mut set), [("t", 110, 0)]);
}

#[test]
fn a_wall_that_is_slewed_makes_nothing_early() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
    set.add(Timing::at(When::Wall(secs(5))), &Site::here("t"), "t").unwrap();
    host.step_wall(-400_000);
    host.advance(secs(5));
    assert_eq!(pass(&mut set), [], "the wall shows 400 us less");
    assert_eq!(set.timeout(), Some(Duration::from_micros(400)));
    host.advance(Duration::from_micros(400));
    assert_eq!(pass(&mut set).len(), 1);
}

#[test]
fn sleep_counts_by_the_boot_time_alone() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let mut awake = TimerSet::new(Settings::new().clock(host.boot_time()));
    set.add(Timing::after(HOUR), &Site::here("t"), "t").unwrap();
    awake.add(Timing::after(HOUR).every(HOUR).missed(Missed::Skip), &Site::here("t"), "t").unwrap();
    host.suspend(HOUR * 3);
    assert_eq!(set.timeout(), Some(HOUR));
    assert_eq!(pass(&mut awake).iter().map(|ran| ran.2).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_clock_without_a_wall_refuses_times_by_it() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let refused = set.add(Timing::at(When::Wall(secs(5))), &Site::here("t"), "t").unwrap_err();
    assert_eq!((refused.reason, refused.payload), (Refusal::NoWall, "t"));
    assert_eq!((set.statistics().timers, set.check()), (0, Ok(())));
}

/// Wherever in a tick a timer with a delay of `d` is armed, it does not run before `d` has passed,
/// and it runs less than a tick after that.
#[test]
fn after_the_delay_it_runs_at_every_phase_of_a_tick() {
    for structure in exact() {
        for tick in [1, 7, 1_000] {
            for phase in 0..20 {
                let host = VirtualHost::new();
                let settings = Settings::new().clock(host.monotonic()).structure(structure);
                let mut set = TimerSet::new(settings.tick(Duration::from_nanos(tick)));
                host.advance(Duration::from_nanos(phase * 53));
                let delay = 1_000 + phase * 11;
                set.add(Timing::after(Duration::from_nanos(delay)), &Site::here("t"), "t").unwrap();
                host.advance(Duration::from_nanos(delay - 1));
                assert_eq!(pass(&mut set), []);
                let left = set.timeout().unwrap();
                assert!(left >= Duration::from_nanos(1) && left <= Duration::from_nanos(tick));
                host.advance(left);
                set.begin_pass();
                assert!(set.take().is_some(), "{structure}, tick {tick}, phase {phase}");
            }
        }
    }
}

#[test]
fn every_deadline_is_ordinary() {
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let mut set = TimerSet::new(Settings::new().clock(host.monotonic()).structure(structure));
        host.advance(secs(1));
        for when in [
            When::At(Instant::ZERO),
            When::At(Instant::MAX),
            When::After(Duration::MAX),
            When::After(Duration::ZERO),
        ] {
            set.add(Timing::at(when).slack(Duration::MAX).every(Duration::MAX), &Site::here("t"), "t")
                .unwrap();
        }
        host.advance(secs(1));
        // With that much slack, the tick depends on the structure.
        let _ = pass(&mut set);
        host.advance(Duration::MAX);
        let _ = pass(&mut set);
        let _ = pass(&mut set);
        assert_eq!(set.check(), Ok(()), "{structure}");
    }
}

#[test]
fn a_kept_timer_goes_through_its_states() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let id = set.keep(&Site::here("t"), "t").unwrap();
    let state = |set: &TimerSet<_>| set.find(id).map(|info| info.state);
    assert_eq!(state(&set), Some(State::Idle));
    assert_eq!(set.cancel(id), Cancelled::Idle);
    set.start(id, Timing::after(secs(1))).unwrap();
    assert_eq!((state(&set), set.cancel(id)), (Some(State::Pending), Cancelled::Disarmed));
    set.start(id, Timing::after(secs(1))).unwrap();
    host.advance(secs(1));
    set.begin_pass();
    let due = set.take().unwrap();
    assert_eq!(state(&set), Some(State::Running));
    // The timer is cancelled and armed again while it runs. The last call is effective.
    assert_eq!(set.cancel(id), Cancelled::Running { here: true });
    assert_eq!(set.cancel(id), Cancelled::Running { here: true });
    set.start(id, Timing::after(secs(2))).unwrap();
    assert_eq!(set.finish(id, due.payload, Next::Done), None);
    assert_eq!((state(&set), set.timeout()), (Some(State::Pending), Some(secs(2))));
    assert_eq!(set.shutdown(id), Cancelled::Removed("t"));
    assert_eq!(set.start(id, Timing::after(secs(1))), Err(Refusal::NotFound));
    assert_eq!(set.cancel(id), Cancelled::NotFound);
}

#[test]
fn finishing_what_does_not_run_changes_nothing() {
    let host = VirtualHost::new();
    let mut set = TimerSet::new(Settings::new().clock(host.monotonic()));
    let id = set.add(Timing::after(secs(1)), &Site::here("t"), "t").unwrap();
    assert_eq!(set.finish(id, "other", Next::Again), Some("other"));
    assert_eq!(set.cancel(id), Cancelled::Removed("t"));
    assert_eq!(set.finish(id, "other", Next::Again), Some("other"));
    assert_eq!(set.check(), Ok(()));
}

/// The wall clock makes small steps, each too small to insert the timers again. The timer is
/// inserted with an offset below the recorded offset, and runs with an offset above it.
#[test]
fn timers_by_the_wall_are_at_most_a_millisecond_late() {
    const MS: i64 = 1_000_000;
    for most in (10..=200).map(|tenth| tenth * MS / 100) {
        for (back, on) in [(most, 2 * most), (most, most), (0, most), (most / 2, most + most / 2)] {
            let host = VirtualHost::starting_at(Instant::ZERO, 1_700_000_000_000 * MS);
            let clock = host.real_time();
            let wall = || clock.now().as_nanos() as i64 + clock.wall_offset().unwrap();
            let mut set = TimerSet::new(Settings::new().clock(host.real_time()));
            let begin = wall();
            let far = Timing::at(When::Wall(Duration::from_nanos((begin + 1_000_000 * MS) as u64)));
            set.add(far, &Site::here("keeps the offset"), "far").unwrap();
            let due = begin + 100 * MS;
            set.add(Timing::at(When::Wall(Duration::from_nanos(due as u64))), &Site::here("near"), "near")
                .unwrap();
            host.step_wall(-back);
            host.advance(Duration::from_nanos(100 * MS as u64));
            let run = |set: &mut TimerSet<&str>| {
                set.begin_pass();
                let due = set.take();
                if let Some(due) = &due {
                    set.finish(due.id, due.payload, Next::Done);
                }
                set.end_pass();
                due.is_some()
            };
            assert_eq!(run(&mut set), back == 0, "never early: back {back}");
            if back > 0 {
                host.step_wall(on);
                while !run(&mut set) {
                    host.advance(Duration::from_nanos(10_000));
                }
                // By the wall clock, the lateness is at most 1 ms, unless a single step is longer
                // than that.
                let late = wall() - due;
                assert!((0..=MS.max(on - back)).contains(&late), "back {back}, on {on}: {late} ns late");
            }
        }
    }
}

/// Runs a pass, and arms no timer again.
fn finished(set: &mut TimerSet<&'static str>) -> Vec<&'static str> {
    set.begin_pass();
    let mut ran = Vec::new();
    while let Some(due) = set.take() {
        ran.push(due.payload);
        let _ = set.finish(due.id, due.payload, Next::Done);
    }
    ran
}

const NOTHING: [&str; 0] = [];

/// A clock that counts its reads.
struct CountedClock(tickwright::time::VirtualClock, Arc<AtomicU32>);

impl Clock for CountedClock {
    fn now(&self) -> Instant {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.now()
    }

    fn wall_offset(&self) -> Option<i64> {
        self.0.wall_offset()
    }
}

#[test]
fn a_delay_since_a_given_time_reads_no_clock_and_is_never_early_by_that_time() {
    for structure in Structure::all() {
        let (host, reads) = (VirtualHost::new(), Arc::new(AtomicU32::new(0)));
        host.advance(secs(100));
        let clock = CountedClock(host.real_time(), Arc::clone(&reads));
        let mut set = TimerSet::new(Settings::new().structure(structure).clock(clock));
        let base = set.now();
        // The timer is armed with an instant that is 3 s in the past.
        host.advance(secs(3));
        let before = reads.load(Ordering::Relaxed);
        let id = set.add(Timing::since(base, secs(10)), &Site::here("add"), "add").unwrap();
        let kept = set.keep(&Site::here("kept"), "kept").unwrap();
        set.start(kept, Timing::since(base, secs(20))).unwrap();
        set.start(id, Timing::since(base, secs(5))).unwrap();
        let read = reads.load(Ordering::Relaxed) - before;
        // The lateness of a granular structure counts from the current time, which must be read.
        assert_eq!(read, if structure.is_exact() { 0 } else { 3 }, "{structure}");
        assert_eq!(set.find(id).unwrap().due, base + secs(5), "{structure}");
        assert_eq!(set.find(id).unwrap().period, secs(5), "again means after the delay: {structure}");
        host.advance(secs(2) - Duration::from_nanos(1));
        assert_eq!(finished(&mut set), NOTHING, "{structure}");
        host.advance(secs(40));
        assert_eq!(finished(&mut set), ["add", "kept"], "{structure}");

        // The set reads the wall clock while timers that follow it are pending.
        set.add(Timing::at(When::Wall(secs(1000))), &Site::here("wall"), "wall").unwrap();
        let before = reads.load(Ordering::Relaxed);
        set.start(kept, Timing::since(base, secs(60))).unwrap();
        assert!(reads.load(Ordering::Relaxed) > before, "{structure}");
        assert_eq!(set.check(), Ok(()), "{structure}");
    }
}

#[test]
fn an_instant_may_be_past_or_to_come() {
    for structure in exact() {
        let host = VirtualHost::new();
        host.advance(secs(100));
        let mut set = TimerSet::new(Settings::new().structure(structure).clock(host.monotonic()));
        let later = set.now() + secs(10);
        for (name, base) in [("past", Instant::ZERO), ("later", later), ("never", Instant::MAX)] {
            set.add(Timing::since(base, secs(1)), &Site::here("x"), name).unwrap();
        }
        assert_eq!(finished(&mut set), ["past"], "{structure}");
        host.advance(secs(11));
        assert_eq!(finished(&mut set), ["later"], "{structure}");
        host.advance(secs(1 << 30));
        assert_eq!(finished(&mut set), NOTHING, "{structure}");
    }
}
